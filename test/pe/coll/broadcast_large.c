/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks broadcasts of sizes around the limit above which the leaders of nodes share the data:
 * from all roots, back to back and in place on the world team, and over active sets with two
 * alternating pSync arrays. In an active-set call, dest must not be written before its owner has
 * called. Values that an owner stored in dest before its call must not be in the result.
 */
#include "pe_test.h"

#include <stdint.h>
#include <unistd.h>

enum { MOST = (2 << 20) / 8 + 3 };

static uint64_t source[MOST], dest[MOST];
static long psync[2][SHMEM_BCAST_SYNC_SIZE];

static uint64_t value_of(int root, size_t n, size_t i)
{
    return (uint64_t)i * 64 + (uint64_t)root + (uint64_t)n * 0x100000000u;
}

static void check(const uint64_t *data, int root, size_t n, const char *what)
{
    PE_CHECK_EACH(
        size_t, i, n, data[i] == value_of(root, n, i),
        "%s: broadcast from root %d of %zu words: word %zu is 0x%llx, which is not the root's "
        "value",
        what, root, n, i, (unsigned long long)data[i]);
}

static void fill(uint64_t *data, int root, size_t n)
{
    for (size_t i = 0; i < n; i++)
        data[i] = root == pe_me ? value_of(root, n, i) : UINT64_MAX;
}

static void on_team(size_t n, int root)
{
    fill(source, root, n);
    memset(dest, 0x11, sizeof(dest));
    shmem_sync_all();
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, dest, source, n, root);
    memset(source, 0x22, n * sizeof(*source)); /* the root's may be used anew */
    check(dest, root, n, "team");
    PE_CHECK(n == MOST || dest[n] == 0x1111111111111111u,
             "broadcast wrote after the %zu words of dest", n);
    fill(dest, root, n);
    shmem_sync_all();
    shmem_uint64_broadcast(SHMEM_TEAM_WORLD, dest, dest, n, root);
    check(dest, root, n, "in place");
}

/* Who is late finds what it stored until it calls. */
static void on_set(size_t n, int root, int turn)
{
    fill(source, root, n);
    memset(dest, 0x33, n * sizeof(*dest));
    if ((root + 1 + turn) % pe_n == pe_me) usleep(2000);
    PE_CHECK_EACH(size_t, i, n, dest[i] == 0x3333333333333333u,
                  "dest was written before its owner called the active-set broadcast");
    shmem_broadcast64(dest, source, n, root, 0, 0, pe_n, psync[turn & 1]);
    if (pe_me != root) check(dest, root, n, "active set");
}

int main(void)
{
    static const size_t sizes[] = {1000, 8192, 49152, 65536, 65539, 131073, MOST};
    int turn = 0;

    pe_test_begin();
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++)
        psync[0][i] = psync[1][i] = SHMEM_SYNC_VALUE;
    shmem_sync_all();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (int root = 0; root < pe_n; root += sizes[i] == MOST ? 2 : 1) {
            on_team(sizes[i], root);
            on_set(sizes[i], root, turn++);
            on_set(sizes[i], (root + 1) % pe_n, turn++);
        }
    return pe_test_end();
}
