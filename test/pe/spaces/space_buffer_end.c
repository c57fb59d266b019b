/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes one mistake with memory of the program that is a space (shmemx_buffer_register).
 * run_space_buffer_end.sh checks the messages.
 *
 * usage: space_buffer_end OPERATION descriptor|private
 *        space_buffer_end MISTAKE
 *   OPERATION reaches past the end of a space that another space follows in memory, which must
 *   end the job. MISTAKE is a wrong argument of register, persist or free.
 */
#include "pe_test.h"

#include <shmemx.h>

#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, LONGS = 40000, FIRST = 16000, PAST = FIRST - 80, SECOND = 320000 };

static long *heap;

static const char *const operations[] = {
    "put",       "put_nbi",  "get", "get_nbi", "iput",     "iget",    "put_signal", "p",       "g",
    "broadcast", "fcollect", "sum", "source",  "alltoall", "own_sum", "own_cast",   "own_scan"};
static shmem_team_t own; /* of the last PE alone */

/* With 80 bytes in the first space, or 4 for those of one element. */
static void reach_past(const char *name, char *base)
{
    long *at = (long *)(void *)(base + PAST);
    long *one = (long *)(void *)(base + FIRST - 4);
    static uint64_t signal;
    static long values[400];

    if (strcmp(name, "put") == 0) shmem_long_put(at, heap, 20, 0);
    if (strcmp(name, "put_nbi") == 0) shmem_long_put_nbi(at, heap, 20, 0);
    if (strcmp(name, "get") == 0) shmem_long_get(heap, at, 20, 0);
    if (strcmp(name, "get_nbi") == 0) shmem_long_get_nbi(heap, at, 20, 0);
    if (strcmp(name, "iput") == 0) shmem_long_iput(at, heap, 2, 1, 10, 0);
    if (strcmp(name, "iget") == 0) shmem_long_iget(heap, at, 1, 2, 10, 0);
    if (strcmp(name, "put_signal") == 0)
        shmem_long_put_signal(at, heap, 20, &signal, 1, SHMEM_SIGNAL_SET, 0);
    if (strcmp(name, "p") == 0) shmem_long_p(one, 7, 0);
    if (strcmp(name, "g") == 0) heap[0] = shmem_long_g(one, 0);
    if (strcmp(name, "broadcast") == 0) shmem_long_broadcast(SHMEM_TEAM_WORLD, at, heap, 20, 0);
    if (strcmp(name, "fcollect") == 0) shmem_long_fcollect(SHMEM_TEAM_WORLD, at, heap, 10);
    if (strcmp(name, "sum") == 0) shmem_long_sum_reduce(SHMEM_TEAM_WORLD, at, heap, 20);
    if (strcmp(name, "source") == 0) shmem_long_broadcast(SHMEM_TEAM_WORLD, values, at, 20, 0);
    if (strcmp(name, "alltoall") == 0) shmem_long_alltoall(SHMEM_TEAM_WORLD, at, heap, 10);
    if (strcmp(name, "own_sum") == 0) shmem_long_sum_reduce(own, at, heap, 20);
    if (strcmp(name, "own_cast") == 0) shmem_long_broadcast(own, at, heap, 20, 0);
    if (strcmp(name, "own_scan") == 0) shmem_long_sum_inscan(own, at, heap, 20);
}

static bool is_collective(const char *name)
{
    return strcmp(name, "broadcast") == 0 || strcmp(name, "fcollect") == 0 ||
           strcmp(name, "sum") == 0 || strcmp(name, "source") == 0 || strcmp(name, "alltoall") == 0;
}

static shmem_space_t space_of(char *addr, size_t nbytes, int fd, size_t offset)
{
    shmem_space_t space;

    PE_REQUIRE(shmemx_buffer_register(SHMEM_TEAM_WORLD, addr, nbytes, 0, fd, offset, &space) == 0,
               "shmemx_buffer_register of %zu bytes at %p failed", nbytes, (void *)addr);
    return space;
}

/* Ends the job, the last PE's or that of all, or says that it was survived. */
static void go_past(const char *name, const char *memory)
{
    bool mapped = strcmp(memory, "descriptor") == 0;
    int fd = mapped ? memfd_create("two", MFD_CLOEXEC) : -1;
    char *all = NULL;

    if (mapped) {
        PE_REQUIRE(ftruncate(fd, FIRST + SECOND) == 0, "memfd_create or ftruncate failed");
        all = mmap(NULL, FIRST + SECOND, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    } else {
        all = aligned_alloc(PAGE, (FIRST + SECOND + PAGE - 1) / PAGE * PAGE);
    }
    space_of(all, FIRST, fd, 0);
    space_of(all + FIRST, SECOND, fd, mapped ? FIRST : 0);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, pe_n - 1, 1, 1, NULL, 0, &own);
    if (pe_me == pe_n - 1 || is_collective(name))
        reach_past(name, all);
    else
        shmem_long_wait_until(heap, SHMEM_CMP_EQ, 7);
    printf("survived\n");
    for (int pe = 0; pe < pe_n; pe++)
        shmem_long_p(heap, 7, pe);
}

static bool is_operation(const char *name)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
        if (strcmp(operations[i], name) == 0) return true;
    return false;
}

/* What register is called with; the last PE's may be wrong. */
static struct call {
    shmem_team_t team;
    char *addr;
    size_t nbytes;
    int flags, fd;
    size_t offset;
} call = {.nbytes = FIRST, .fd = -1};

static void refused(const char *name)
{
    shmem_space_t space = SHMEM_SPACE_DEFAULT;

    PE_CHECK(shmemx_buffer_register(call.team, call.addr, call.nbytes, call.flags, call.fd,
                                    call.offset, &space) != 0,
             "shmemx_buffer_register with a wrong %s returned 0, expected an error", name);
    PE_CHECK(space == SHMEM_SPACE_INVALID,
             "%s: a failed register did not set the space to SHMEM_SPACE_INVALID", name);
}

/* One mistake, of the last PE alone. */
static void mistake(const char *name)
{
    bool here = pe_me == pe_n - 1;
    int fd = memfd_create("one", MFD_CLOEXEC);
    shmem_space_t space;

    call.team = SHMEM_TEAM_WORLD;
    call.addr = aligned_alloc(PAGE, 4 * PAGE);
    if (strcmp(name, "persist") == 0 || strcmp(name, "free") == 0) {
        space = space_of(call.addr, FIRST, -1, 0);
        if (name[0] == 'f') shmem_space_free(space, call.addr);
        PE_CHECK(shmemx_space_persist(space, call.addr, 100) != 0,
                 "shmemx_space_persist in a registered buffer returned 0, expected an error");
        PE_CHECK_EQ(shmem_space_destroy(space), 0);
    } else {
        if (here && strcmp(name, "size") == 0) call.nbytes -= 8;
        if (here && strcmp(name, "nothing") == 0) call.nbytes = 0;
        if (here && strcmp(name, "unknown flags") == 0) call.flags = 6;
        if (here && strcmp(name, "flags") == 0) call.flags = SHMEMX_ADOPT_HEAP;
        if (here && strcmp(name, "negative fd") == 0) call.fd = -2;
        if (here && strcmp(name, "fd") == 0) call.fd = fd;
        if (here && strcmp(name, "offset") == 0) call.offset = PAGE;
        if (here && strcmp(name, "taken") == 0) call.addr = (char *)heap;
        if (strcmp(name, "team") == 0) call.team = SHMEM_TEAM_INVALID;
        refused(name);
    }
    close(fd);
}

int main(int argc, char **argv)
{
    pe_test_begin();
    PE_REQUIRE(argc > 1,
               "usage: space_buffer_end OPERATION descriptor|private, or space_buffer_end MISTAKE");
    heap = shmem_calloc(LONGS, sizeof(*heap));
    if (is_operation(argv[1]))
        go_past(argv[1], argv[2]);
    else
        mistake(argv[1]);
    return pe_test_end();
}
