/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks one put, put_nbi, put_signal, get and get_nbi of more than 4 GiB each, for sizes that do
 * not fit in 32 bits (OpenSHMEM 1.6, sections 9.6 and 9.8; rules R103-R105 and R129 of
 * docs/reference/conformance.md). Needs two PEs, SHMEM_SYMMETRIC_SIZE=4200m and 10 GiB of free
 * memory, else the test is skipped. The options are those of pe_stress.h.
 */
#include "pe_stress.h"

static const size_t words = ((size_t)4 << 27) + 12345; /* of 8 bytes: 4 GiB and something */
static uint64_t *block;                                /* symmetric */
static uint64_t arrived;

/* Bytes that this machine could still give, 0: unknown. */
static size_t available(void)
{
    size_t kib = 0;
    char line[160];
    FILE *file = fopen("/proc/meminfo", "r");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL)
        if (sscanf(line, "MemAvailable: %zu", &kib) == 1) break;
    if (file != NULL) fclose(file);
    return kib << 10;
}

static void check_block(const uint64_t *at, uint64_t stamp, const char *what)
{
    PE_CHECK_EACH(size_t, i, words, at[i] == (i ^ stamp), "%s: word %zu is 0x%lx, expected 0x%lx",
                  what, i, at[i], i ^ stamp);
}

static void fill(uint64_t *at, uint64_t stamp)
{
    for (size_t i = 0; i < words; i++)
        at[i] = i ^ stamp;
}

/* PE 0 writes to the last PE in three ways. */
static void write_all(uint64_t *own, int there)
{
    for (uint64_t turn = 1; turn <= 3; turn++) {
        stress_stage("writing, way %lu", turn);
        if (pe_me == 0) {
            fill(own, turn << 40);
            if (turn == 1)
                shmem_uint64_put(block, own, words, there);
            else if (turn == 2)
                shmem_uint64_put_nbi(block, own, words, there);
            else
                shmem_uint64_put_signal(block, own, words, &arrived, turn, SHMEM_SIGNAL_SET, there);
            shmem_quiet();
        }
        if (pe_me == there && turn == 3) shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, turn);
        shmem_sync_all();
        if (pe_me == there) check_block(block, turn << 40, "more than 4 GiB written");
        shmem_sync_all();
    }
}

static void read_all(uint64_t *own, int there)
{
    stress_stage("reading");
    if (pe_me == there) fill(block, (uint64_t)9 << 40);
    shmem_barrier_all();
    for (int way = 0; pe_me == 0 && way < 2; way++) {
        memset(own, 0, words * sizeof(*own));
        if (way == 0)
            shmem_uint64_get(own, block, words, there);
        else
            shmem_uint64_get_nbi(own, block, words, there);
        shmem_quiet();
        check_block(own, (uint64_t)9 << 40, "more than 4 GiB read");
    }
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    size_t need = words * sizeof(*block) * 2 + ((size_t)1 << 30);
    uint64_t *own = NULL;

    stress_stall = 300;
    stress_begin(argc, argv);
    if (available() < need)
        pe_test_skip("less than 10 GiB of memory available");
    else if ((block = shmem_malloc(words * sizeof(*block))) == NULL)
        pe_test_skip("no symmetric memory: set SHMEM_SYMMETRIC_SIZE=4200m");
    if (pe_n < 2) pe_test_skip("needs two PEs");
    if (block == NULL || pe_n < 2) return stress_end("flow_huge");
    if (pe_me == 0) own = malloc(words * sizeof(*own));
    PE_REQUIRE(pe_me != 0 || own != NULL, "malloc of %zu bytes failed", words * sizeof(*own));
    write_all(own, pe_n - 1);
    read_all(own, pe_n - 1);
    free(own);
    return stress_end("flow_huge");
}
