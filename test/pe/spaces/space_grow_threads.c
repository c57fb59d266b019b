/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that a space grows while other threads put, get and add in its old and new memory and
 * across the border, and while another thread grows a space of its own team. No byte and no
 * addition may be lost.
 */
#include "pe_kinds.h"

#include <pthread.h>

enum { TRAFFIC = 2, ROUNDS = 4, GROWTHS = 3, WORDS = 2000 };
enum { SIZE = 2 * PE_MIB, MAX = 900 * PE_MIB, PIECE = 48 * PE_MIB };

/* What threads work on: each its own words, WORDS of them around the border of each block. */
static struct {
    long *counter;              /* in what the space began with */
    char *borders[GROWTHS + 1]; /* of blocks, as they come */
    int n;                      /* of these, with release */
    bool stop;
} job;

struct traffic {
    pthread_t thread;
    int id;
    long added, rounds;
};

/* Out and back, across the border: the words of this thread at the right neighbour. */
static void exchange(char *border, int id, long round)
{
    long *there = (long *)(void *)border + (id - TRAFFIC / 2) * WORDS - WORDS / 2;
    long out[WORDS], back[WORDS];

    for (long i = 0; i < WORDS; i++)
        out[i] = round * 1000000 + i;
    memset(back, 0, sizeof(back));
    if (round % 2 == 0)
        shmem_long_put(there, out, WORDS, pe_right());
    else
        shmem_long_put_nbi(there, out, WORDS, pe_right());
    shmem_quiet();
    shmem_long_get(back, there, WORDS, pe_right());
    for (long i = 0; i < WORDS; i++)
        if (!PE_CHECK(back[i] == out[i],
                      "thread %d, round %ld: word %ld came back as %ld, which was not put", id,
                      round, i, back[i]))
            return;
    shmem_long_p(there + WORDS / 2, -round, pe_right());
    shmem_quiet();
    PE_CHECK_EQ(shmem_long_g(there + WORDS / 2, pe_right()), -round);
}

static void *run_traffic(void *arg)
{
    struct traffic *mine = arg;

    while (!__atomic_load_n(&job.stop, __ATOMIC_ACQUIRE) || mine->rounds < 3) {
        int n = __atomic_load_n(&job.n, __ATOMIC_ACQUIRE);

        shmem_long_atomic_add(job.counter, 1, pe_right());
        mine->added++;
        if (shmem_long_atomic_fetch_add(job.counter, 1, pe_right()) >= 0) mine->added++;
        for (int i = 0; i < n; i++)
            exchange(job.borders[i], mine->id, mine->rounds);
        mine->rounds++;
    }
    shmem_quiet();
    return NULL;
}

static shmem_space_t make(shmem_team_t parent, shmem_team_t *team)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, SIZE);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmem_space_t space;

    attr.parent = parent;
    attr.max_size = MAX;
    PE_REQUIRE(shmemx_space_create_attr(&config, &attr, &space, team) == 0,
               "shmemx_space_create_attr with max_size failed");
    return space;
}

/* Beside all that: spaces of another team, by one thread. */
static void *run_other(void *arg)
{
    for (int round = 0; round < ROUNDS; round++) {
        shmem_team_t team;
        shmem_space_t space = make(*(shmem_team_t *)arg, &team);

        for (int i = 0; i < GROWTHS; i++) {
            char *block = shmem_space_malloc(space, PIECE);

            PE_REQUIRE(
                block != NULL,
                "shmem_space_malloc in the other thread's space returned NULL: it did not grow");
            shmem_char_p(block + PIECE - 1, (char)i, pe_right());
            shmem_quiet();
            PE_CHECK_EQ(shmem_char_g(block + PIECE - 1, pe_right()), (char)i);
        }
        pe_space_end(space, team);
    }
    return NULL;
}

static void publish(char *border)
{
    job.borders[job.n] = border;
    __atomic_store_n(&job.n, job.n + 1, __ATOMIC_RELEASE);
}

static void run_round(void)
{
    struct traffic threads[TRAFFIC];
    shmem_team_t team;
    shmem_space_t space = make(SHMEM_TEAM_WORLD, &team);
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    long added = 0, *total = shmem_space_calloc(space, 2, sizeof(long));

    job.counter = shmem_space_calloc(space, 1, sizeof(long));
    job.n = 0;
    job.stop = false;
    publish((char *)shmem_space_malloc(space, SIZE / 2) + SIZE / 4);
    for (int i = 0; i < TRAFFIC; i++) {
        threads[i] = (struct traffic){.id = i};
        pthread_create(&threads[i].thread, NULL, run_traffic, &threads[i]);
    }
    for (int i = 0; i < GROWTHS; i++) {
        size_t had;
        char *block;

        PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
        had = info.nbytes;
        block = shmem_space_malloc(space, had);
        PE_REQUIRE(block != NULL, "shmem_space_malloc returned NULL: the space did not grow");
        PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
        PE_CHECK(info.nbytes > had,
                 "the space has %zu bytes after a growth, expected more than the %zu before",
                 info.nbytes, had);
        publish((char *)info.base + had);
    }
    __atomic_store_n(&job.stop, true, __ATOMIC_RELEASE);
    for (int i = 0; i < TRAFFIC; i++) {
        pthread_join(threads[i].thread, NULL);
        added += threads[i].added;
    }
    shmem_long_p(&total[0], added, pe_right());
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_g(job.counter, pe_me), shmem_long_g(total, pe_me));
    pe_space_end(space, team);
}

static void run_all(void)
{
    shmem_team_t other;
    pthread_t thread;

    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, NULL, 0, &other);
    pthread_create(&thread, NULL, run_other, &other);
    for (int i = 0; i < ROUNDS; i++)
        run_round();
    pthread_join(thread, NULL);
    shmem_team_destroy(other);
}

int main(void)
{
    int provided;

    PE_REQUIRE(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0,
               "shmem_init_thread failed");
    pe_test_attach();
    run_all();
    return pe_test_end();
}
