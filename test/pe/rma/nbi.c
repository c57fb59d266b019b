/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks many outstanding nonblocking puts and gets that one quiet or barrier completes (OpenSHMEM
 * 1.6, section 9.6; rules R49, R105, R165, R218 and R221 of docs/reference/conformance.md), small
 * ones to all PEs and small and large ones together.
 */
#include "pe_data.h"

enum { COUNT = 1000, CHUNK = 40, BIG = 512 * 1024 };

static char *inbox, *outbox; /* COUNT chunks a PE */

static unsigned seed_of(int from, int to, int i)
{
    return (unsigned)(from * 31 + to * 7 + i);
}

/* COUNT chunks to each PE, one barrier; chunk sizes from 1 to CHUNK bytes. */
static void check_puts(void)
{
    for (int pe = 0; pe < pe_n; pe++)
        for (int i = 0; i < COUNT; i++) {
            size_t slot = (size_t)(pe * COUNT + i) * CHUNK;

            pe_fill(outbox + slot, CHUNK, seed_of(pe_me, pe, i));
        }
    memset(inbox, 0xee, (size_t)pe_n * COUNT * CHUNK);
    shmem_sync_all();
    for (int i = 0; i < COUNT; i++)
        for (int pe = 0; pe < pe_n; pe++)
            shmem_putmem_nbi(inbox + (size_t)(pe_me * COUNT + i) * CHUNK,
                             outbox + (size_t)(pe * COUNT + i) * CHUNK, (size_t)(1 + i % CHUNK),
                             pe);
    shmem_barrier_all(); /* R165 */
    for (int pe = 0; pe < pe_n; pe++)
        for (int i = 0; i < COUNT; i++) {
            const char *at = inbox + (size_t)(pe * COUNT + i) * CHUNK;
            size_t n = (size_t)(1 + i % CHUNK);

            if (!PE_CHECK_BYTES(at, n, seed_of(pe, pe_me, i), "put_nbi") ||
                !PE_CHECK_SAME(at + n, CHUNK - n, 0xee, "bytes after dest of a put_nbi"))
                return;
        }
}

/* The other way: read what each PE has for me; complete at quiet (R105). */
static void check_gets(void)
{
    char *got = pe_private((size_t)pe_n * COUNT * CHUNK);

    memset(got, 0, (size_t)pe_n * COUNT * CHUNK);
    shmem_sync_all();
    for (int i = 0; i < COUNT; i++)
        for (int pe = 0; pe < pe_n; pe++)
            shmem_getmem_nbi(got + (size_t)(pe * COUNT + i) * CHUNK,
                             outbox + (size_t)(pe_me * COUNT + i) * CHUNK, CHUNK, pe);
    shmem_quiet();
    for (int pe = 0; pe < pe_n; pe++)
        for (int i = 0; i < COUNT; i++)
            if (!PE_CHECK_BYTES(got + (size_t)(pe * COUNT + i) * CHUNK, CHUNK,
                                seed_of(pe, pe_me, i), "get_nbi")) {
                i = COUNT;
                pe = pe_n;
            }
    shmem_sync_all();
    free(got);
}

/* Large and small ones in flight together, typed and sized forms. */
static void check_mixed(void)
{
    static double values[64];
    char *big = pe_malloc(BIG), *big_source = pe_private(BIG), *big_got = pe_private(BIG);
    double *cells = pe_calloc(64, sizeof(*cells));
    int right = pe_right();

    for (int round = 0; round < 4; round++) {
        pe_fill(big_source, BIG, (unsigned)(round * 16 + pe_me));
        for (int i = 0; i < 64; i++)
            values[i] = round + i + 0.5 * pe_me;
        shmem_sync_all();
        shmem_putmem_nbi(big, big_source, BIG, right);
        for (int i = 0; i < 32; i++)
            shmem_double_put_nbi(&cells[i], &values[i], 1, right);
        shmem_put64_nbi(&cells[32], &values[32], 32, right);
        shmem_quiet(); /* R221: done there, so a get sees it */
        shmem_getmem_nbi(big_got, big, BIG, right);
        shmem_quiet();
        PE_CHECK_BYTES(big_got, BIG, (unsigned)(round * 16 + pe_me),
                       "put_nbi, read back by get_nbi");
        shmem_sync_all();
        PE_CHECK_BYTES(big, BIG, (unsigned)(round * 16 + pe_left()), "large put_nbi");
        for (int i = 0; i < 64; i++)
            PE_CHECK(
                cells[i] == round + i + 0.5 * pe_left(),
                "double %d is %g after put_nbi and quiet, which is not the value of the left PE", i,
                cells[i]);
        shmem_sync_all();
    }
    free(big_source);
    free(big_got);
    shmem_free(cells);
    shmem_free(big);
}

int main(void)
{
    pe_test_begin();
    inbox = pe_malloc((size_t)pe_n * COUNT * CHUNK);
    outbox = pe_malloc((size_t)pe_n * COUNT * CHUNK);
    check_puts();
    check_gets();
    check_mixed();
    shmem_quiet(); /* nothing outstanding */
    shmem_fence();
    return pe_test_end();
}
