/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For unit tests of kinds of spaces: the window of a node, and forked processes that play the PEs
 * of this node.
 */
#ifndef STP_TEST_NODE_H
#define STP_TEST_NODE_H

#include "spaces/space_registry.h"
#include "unit.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define NODE_PES 4 /* parts of the window */

/* The library's own shares the data of programs that link it; here forks must not share theirs. */
struct stp_data_segment stp_data_segment = {.fd = -1};

/* What forked processes share: a barrier, and the shares of PEs. */
struct meeting {
    atomic_int arrived, generation, count;
    struct stp_part_export shares[NODE_PES];
};

static struct stp_window_layout layout;
static int window_fd;
static struct meeting *meeting;

/* For child processes, whose failures Check does not see: they print the condition and exit. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: process %d: this condition does not hold: %s\n", __FILE__,     \
                    __LINE__, getpid(), #condition);                                               \
            _exit(9);                                                                              \
        }                                                                                          \
    } while (0)

/* Be the PE with local index local. */
static inline void window_up(int local)
{
    if (stp_win.view != NULL) stp_window_close();
    MUST(stp_window_reserve(&layout, window_fd, local) == 0);
}

static inline void node_up(void)
{
    MUST(stp_window_choose(NODE_PES, 64 * MIB, (size_t)1 << 30, &layout) == 0);
    layout.area_bytes = 0;
    window_fd = stp_window_create_file(&layout);
    meeting =
        mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(window_fd >= 0 && meeting != MAP_FAILED);
    window_up(0);
}

static inline void node_down(void)
{
    stp_window_close();
    close(window_fd);
    munmap(meeting, sizeof(*meeting));
}

/* A barrier of n processes. Each gives up after 30 s, so that none hangs when another one fails. */
static inline void meet(int n)
{
    int generation = atomic_load(&meeting->generation);
    uint64_t end = stp_now_ns() + 30000000000u;

    if (atomic_fetch_add(&meeting->arrived, 1) == n - 1) {
        atomic_store(&meeting->arrived, 0);
        atomic_store(&meeting->generation, generation + 1);
        return;
    }
    while (atomic_load(&meeting->generation) == generation) {
        MUST(stp_now_ns() < end);
        stp_yield_and_watch_peers(0);
    }
}

/* Run body as PE 0..n-1 at its place of the node. Returns how many of them failed. */
static inline int run_pes(int n, void (*body)(int pe, int n))
{
    pid_t pids[NODE_PES];
    int failed = 0;

    for (int pe = 0; pe < n; pe++) {
        pids[pe] = fork();
        if (pids[pe] != 0) continue;
        window_up(pe);
        body(pe, n);
        _exit(0);
    }
    for (int pe = 0; pe < n; pe++) {
        int status;
        failed += waitpid(pids[pe], &status, 0) != pids[pe] || status != 0;
    }
    return failed;
}

#endif /* STP_TEST_NODE_H */
