/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The harness's needs, met by OpenSHMEM 1.4 and later.
 */
#include <shmem.h>
#include "shmem_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char peer_program[] = "peer-bench";
const bool peer_has_paths = true;

struct peer_shmem peer_shmem;

const struct peer_bench *const peer_tables[] = {peer_rma, peer_amo, peer_sync, peer_coll, NULL};

static char *board; /* a piece of PEER_BOARD bytes from every PE */

void peer_begin(struct peer_run *run)
{
    shmem_init();
    run->me = shmem_my_pe();
    run->n_pes = shmem_n_pes();
    board = shmem_malloc(PEER_BOARD * (size_t)run->n_pes);
    if (board == NULL) peer_abort();
}

void peer_library_name(char *name, size_t len)
{
    char vendor[SHMEM_MAX_NAME_LEN + 1] = "";
    int major = 0, minor = 0;

    shmem_info_get_name(vendor);
    shmem_info_get_version(&major, &minor);
    snprintf(name, len, "%.180s (OpenSHMEM %d.%d, collectives over %s)", vendor, major, minor,
             PEER_ACTIVE_SETS ? "active sets" : "teams");
}

void peer_abort(void)
{
    fprintf(stderr, "%s: no memory: raise the symmetric heap's size or lower --sizes\n",
            peer_program);
    shmem_global_exit(3);
    exit(3);
}

void peer_barrier(void)
{
    shmem_barrier_all();
}

void peer_share(void *data, size_t nbytes)
{
    if (shmem_my_pe() == 0)
        for (int pe = 1; pe < shmem_n_pes(); pe++)
            shmem_putmem(board, data, nbytes, pe);
    shmem_barrier_all();
    if (shmem_my_pe() != 0) memcpy(data, board, nbytes);
    shmem_barrier_all();
}

void peer_gather(const void *mine, size_t nbytes, void *all)
{
    size_t me = (size_t)shmem_my_pe();

    for (int pe = 0; pe < shmem_n_pes(); pe++)
        shmem_putmem(board + me * nbytes, mine, nbytes, pe);
    shmem_barrier_all();
    memcpy(all, board, nbytes * (size_t)shmem_n_pes());
    shmem_barrier_all();
}

/* One more pSync array than PEs: with roots in turn, nobody is in a call that far back. */
static bool get_active_sets(const struct peer_run *run)
{
    size_t n_words, n_work;

    if (!PEER_ACTIVE_SETS) return true;
    peer_shmem.n_psync = (size_t)run->n_pes + 1;
    n_words = peer_shmem.n_psync * SHMEM_SYNC_SIZE;
    n_work = run->max_coll / sizeof(double) / 2 + 1;
    if (n_work < SHMEM_REDUCE_MIN_WRKDATA_SIZE) n_work = SHMEM_REDUCE_MIN_WRKDATA_SIZE;
    peer_shmem.psync = shmem_malloc(n_words * sizeof(*peer_shmem.psync));
    for (int i = 0; i < 2; i++)
        peer_shmem.pwrk[i] = shmem_malloc(n_work * sizeof(double));
    if (peer_shmem.psync == NULL || peer_shmem.pwrk[0] == NULL || peer_shmem.pwrk[1] == NULL)
        return false;
    for (size_t i = 0; i < n_words; i++)
        peer_shmem.psync[i] = SHMEM_SYNC_VALUE;
    return true;
}

/* What loads and stores can reach. */
static void find_paths(struct peer_run *run)
{
    char mine[2] = {1, 1}; /* pair, all */
    char *votes = malloc(sizeof(mine) * (size_t)run->n_pes);

    if (votes == NULL) peer_abort();
    for (int pe = 0; pe < run->n_pes; pe++) {
        peer_shmem.words_of[pe] = shmem_ptr(peer_shmem.words, pe);
        if (peer_shmem.words_of[pe] == NULL) mine[1] = 0;
    }
    if (run->other >= 0) {
        peer_shmem.words_there = peer_shmem.words_of[run->other];
        peer_shmem.dest_there = shmem_ptr(run->dest, run->other);
        mine[0] = peer_shmem.words_there != NULL && peer_shmem.dest_there != NULL;
    }
    peer_gather(mine, sizeof(mine), votes);
    run->raw_pair = run->raw_all = true;
    for (int pe = 0; pe < run->n_pes; pe++) {
        run->raw_pair = run->raw_pair && votes[2 * (size_t)pe] != 0;
        run->raw_all = run->raw_all && votes[2 * (size_t)pe + 1] != 0;
    }
    free(votes);
}

int peer_memory(struct peer_run *run)
{
    size_t need = run->max_nbytes > run->max_coll ? run->max_nbytes : run->max_coll;

    peer_shmem.words = shmem_align(4096, sizeof(*peer_shmem.words));
    peer_shmem.words_of = calloc((size_t)run->n_pes, sizeof(void *));
    run->source = shmem_align(4096, need);
    run->dest = shmem_align(4096, need);
    run->local = aligned_alloc(4096, (run->max_nbytes + 4095) & ~(size_t)4095);
    if (peer_shmem.words == NULL || peer_shmem.words_of == NULL || run->source == NULL ||
        run->dest == NULL || run->local == NULL || !get_active_sets(run))
        return -1;
    /* Every page is touched by its owner before anything is timed. Zeros are doubles as well. */
    memset(peer_shmem.words, 0, sizeof(*peer_shmem.words));
    memset(run->source, 0, need);
    memset(run->dest, 0, need);
    memset(run->local, 0, run->max_nbytes);
    shmem_barrier_all();
    find_paths(run);
    return 0;
}

void peer_finish(struct peer_run *run)
{
    shmem_barrier_all();
    free(run->local);
    free(peer_shmem.words_of);
    shmem_finalize();
}
