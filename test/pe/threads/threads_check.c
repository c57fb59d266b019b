/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks SHMEM_CHECK=1, which the program sets itself, and queries, while a thread changes the
 * records that they read: blocks of the heap and of a space, users and team of a space, and the
 * table of spaces. No check may report a live block as dead, and each query must return a
 * consistent state.
 */
#include "pe_spaces.h"
#include "pe_threads.h"

#include <fcntl.h>
#include <sched.h>
#include <shmemx.h>
#include <stdatomic.h>
#include <unistd.h>

enum { BLOCKS = 400, CHURN = 200, ALONE = 200, COMINGS = 12, VISITS = 4, USERS = 2, VALUES = 8 };
enum { THREADS = USERS + 3 };

/* Objects of the using threads, in the middle of blocks that come and go. */
struct user {
    int id;
    long *in_heap, *in_space; /* VALUES + 2 words each */
    long *lock;
};

static struct user users[USERS];
static shmem_space_t own = SHMEM_SPACE_INVALID; /* with blocks that come and go */
static atomic_bool over;
static int nowhere; /* /dev/null */

/* ---- threads that use and ask, until it is over ------------------------------------------ */

/* Not yet over. In barriers PEs wait for each other's turn on the cores: let them have it. */
static bool goes_on(void)
{
    if (pe_n > 1) sched_yield();
    return !atomic_load(&over);
}

/* Every routine here looks its symmetric arguments up among the live blocks. */
static void use(const struct user *user, long *mine, int pe)
{
    uint64_t *signal = (uint64_t *)&mine[VALUES + 1];
    long values[VALUES] = {user->id, 1, 2, 3, 4, 5, 6, 7}, got[VALUES];

    shmem_long_put(mine, values, VALUES, pe);
    shmem_long_get(got, mine, VALUES, pe);
    shmem_long_put_nbi(mine, values, VALUES, pe);
    shmem_quiet();
    shmem_long_iput(mine, values, 2, 1, VALUES / 2, pe);
    shmem_long_p(&mine[1], shmem_long_g(&mine[1], pe), pe);
    shmem_long_atomic_inc(&mine[VALUES], pe);
    shmem_long_put_signal(mine, values, 1, signal, 1, SHMEM_SIGNAL_ADD, pe);
    shmem_fence(); /* the fetch below may pass the addition otherwise, and does on TCP */
    PE_CHECK(shmem_long_atomic_fetch(&mine[VALUES], pe) > 0,
             "atomic_fetch after atomic_inc and fence returned 0 or less");
}

static void *use_all(void *arg)
{
    const struct user *user = arg;
    int pe = pe_right();

    while (goes_on()) {
        use(user, user->in_heap, pe);
        use(user, user->in_space, pe);
        shmem_set_lock(user->lock);
        shmem_clear_lock(user->lock);
    }
    return NULL;
}

/* One block at most is live in a space, at its beginning: the rest is one free block. */
static void check_books(shmem_space_t space)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    PE_CHECK(
        info.used + info.largest == info.nbytes,
        "inconsistent query of a space: %zu bytes in use, %zu in the largest free block, of %zu: "
        "expected an exact sum",
        info.used, info.largest, info.nbytes);
    PE_CHECK(
        info.n_blocks == (info.used > 0),
        "inconsistent query of a space: %zu blocks have %zu bytes in use, expected one block or "
        "none",
        info.n_blocks, info.used);
}

static void *ask_books(void *arg)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    while (goes_on()) {
        check_books(*(shmem_space_t *)arg);
        PE_CHECK_EQ(shmemx_space_query(SHMEM_SPACE_DEFAULT, &info), 0);
        PE_CHECK(
            info.used + info.largest <= info.nbytes,
            "inconsistent query of the heap: %zu bytes in use, %zu in the largest free block, of "
            "%zu",
            info.used, info.largest, info.nbytes);
    }
    return NULL;
}

static void *ask_tables(void *arg)
{
    shmem_space_t found;

    while (goes_on()) {
        PE_CHECK_EQ(shmemx_space_print(nowhere), 0);
        PE_CHECK_EQ(shmem_get_space(arg, &found), 0);
        PE_CHECK(found == SHMEM_SPACE_DEFAULT,
                 "shmem_get_space of a block of the heap is not SHMEM_SPACE_DEFAULT");
        PE_CHECK_EQ(shmem_addr_accessible(arg, pe_right()), 1);
    }
    return NULL;
}

/* What the guest does with the space below, and what it was seen to do last. */
enum visit { AWAY, BINDS, ASKS };

static struct {
    _Atomic enum visit wanted, seen;
    atomic_long bound; /* contexts */
    shmem_space_t space;
    shmem_team_t team;
} guest;

static void want(enum visit visit)
{
    atomic_store(&guest.wanted, visit);
    while (atomic_load(&guest.seen) != visit)
        sched_yield();
}

static void bind_context(void)
{
    const shmemx_ctx_config_t config = {.team = guest.team, .space = guest.space};
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;

    if (shmemx_ctx_create(0, &config, &ctx) == 0) shmem_ctx_destroy(ctx);
    atomic_fetch_add(&guest.bound, 1);
}

static void ask_team(void)
{
    shmem_team_t team = SHMEM_TEAM_INVALID;

    PE_CHECK_EQ(shmem_space_get_team(guest.space, &team), 0);
    PE_CHECK(team == guest.team || team == SHMEM_TEAM_INVALID,
             "shmem_space_get_team returned the team of another space");
}

static void *visit(void *arg)
{
    while (goes_on()) {
        enum visit now = atomic_load(&guest.wanted);

        if (now == BINDS) bind_context();
        if (now == ASKS) ask_team();
        atomic_store(&guest.seen, now);
    }
    return arg;
}

/* ---- what changes ----------------------------------------------------------------------------*/

static void churn(shmem_space_t alone, void **heap, void **space)
{
    unsigned seed = 1; /* the same on all PEs */
    /* Nobody to wait for in barriers: much more happens in the same time. */
    int rounds = pe_n == 1 ? CHURN * ALONE : pe_rounds(CHURN);

    for (int round = 0; round < rounds; round++) {
        int i = (int)((seed = seed * 1103515245 + 12345) >> 8) % BLOCKS;
        size_t nbytes = 16 + (seed >> 16) % 5000;
        void **kept = round % 2 ? &heap[i] : &space[i];
        void *single = round % 8 == 0 ? shmem_space_malloc(alone, nbytes) : NULL;

        if (round % 5 == 0) {
            *kept =
                round % 2 ? shmem_realloc(*kept, nbytes) : shmemx_space_realloc(own, *kept, nbytes);
        } else if (round % 2) {
            shmem_free(*kept);
            *kept = shmem_malloc(nbytes);
        } else {
            shmem_space_free(own, *kept);
            *kept = shmem_space_malloc(own, nbytes);
        }
        PE_REQUIRE(*kept != NULL, "round %d: an allocation of %zu bytes returned NULL", round,
                   nbytes);
        shmem_space_free(alone, single);
    }
}

static void come_and_go(void)
{
    for (int round = 0; round < pe_rounds(COMINGS); round++) {
        shmem_team_t team, half = SHMEM_TEAM_INVALID;
        shmem_space_t space = pe_space_create(PE_MIB, &team);
        void *block = shmem_space_malloc(space, 4096);

        half = pe_split(team, 0, 1, (pe_n + 1) / 2);
        PE_CHECK(block != NULL, "shmem_space_malloc in a new space returned NULL");
        shmem_team_destroy(half);
        shmem_space_free(space, block);
        pe_space_end(space, team);
    }
}

/* What it found out about users stays unordered with what the guest does next. */
static void refuse_to_destroy(void)
{
    long bound = atomic_load(&guest.bound);

    PE_CHECK(shmem_space_destroy(guest.space) != 0,
             "shmem_space_destroy of a space in use returned 0, expected an error");
    while (atomic_load(&guest.bound) < bound + 2)
        sched_yield();
}

/* The last team of a space goes while a thread asks for it; before, it is in use. */
static void have_guest(void)
{
    for (int round = 0; round < pe_rounds(VISITS); round++) {
        guest.space = pe_space_create(PE_MIB, &guest.team);
        want(BINDS);
        refuse_to_destroy();
        want(ASKS);
        shmem_team_destroy(guest.team);
        want(AWAY);
        PE_CHECK_EQ(shmem_space_destroy(guest.space), 0);
    }
}

/* ---- all of it -------------------------------------------------------------------------------*/

static void fill(void **heap, void **space, int from, int to)
{
    for (int i = from; i < to; i++) {
        heap[i] = shmem_malloc(64);
        space[i] = shmem_space_malloc(own, 64);
    }
}

static void check_threads(void)
{
    static void *heap[BLOCKS], *space[BLOCKS];
    shmem_team_t own_team, alone_team;
    shmem_space_t alone = pe_space_create(PE_MIB, &alone_team);
    pthread_t thread[THREADS];

    own = pe_space_create(16 * PE_MIB, &own_team);
    fill(heap, space, 0, BLOCKS / 2);
    for (int i = 0; i < USERS; i++) {
        users[i] = (struct user){i, shmem_calloc(VALUES + 2, sizeof(long)),
                                 shmem_space_calloc(own, VALUES + 2, sizeof(long)),
                                 shmem_calloc(1, sizeof(long))};
        PE_REQUIRE(users[i].in_heap && users[i].in_space && users[i].lock,
                   "an allocation for a using thread returned NULL");
    }
    fill(heap, space, BLOCKS / 2, BLOCKS);
    for (int i = 0; i < USERS; i++)
        thread[i] = pe_thread(use_all, &users[i]);
    thread[USERS] = pe_thread(ask_books, &alone);
    thread[USERS + 1] = pe_thread(ask_tables, users[0].in_heap);
    thread[USERS + 2] = pe_thread(visit, NULL);
    churn(alone, heap, space);
    come_and_go();
    have_guest();
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < BLOCKS; i++) {
        shmem_free(heap[i]);
        shmem_space_free(own, space[i]);
    }
    for (int i = 0; i < USERS; i++)
        shmem_space_free(own, users[i].in_space);
    pe_space_end(alone, alone_team);
    pe_space_end(own, own_team);
}

int main(void)
{
    setenv("SHMEM_CHECK", "1", 1);
    if (!pe_threads_begin()) return pe_test_end();
    nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    PE_REQUIRE(nowhere >= 0, "/dev/null cannot be opened");
    check_threads();
    return pe_test_end();
}
