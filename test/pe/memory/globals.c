/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that globals and statics of the executable are symmetric (OpenSHMEM 1.6, section 3; rules
 * R37-R39, R41, R126, R134 and R157 of docs/reference/conformance.md): their initial values survive
 * init, and RMA, atomics, waits, signals and collectives work on them. Built as a
 * position-independent executable and as one with fixed addresses.
 */
#include "pe_data.h"

enum { BIG = 1024 * 1024 + 100 };

struct record {
    char tag[12];
    long values[5];
    const char *text;
};

/* Initialised data with relocations, with holes, in all the usual forms. */
long initialised = 0x123456789abcdef;
struct record record = {"a record", {1, 2, 3, 4, 5}, "pointing at a constant"};
static short odd_array[7] = {1, 2, 3, 4, 5, 6, 7};
static long *pointer_to_global = &initialised;
int zeroed;
static uint64_t signal_word;
static char big_bss[BIG];
static char big_data[BIG] = {42}; /* whole pages of initialised data */
static long counter;
static int flag;
static long reduce_source[8], reduce_dest[8];
static char page_crossers[3][5000];

/* What the program was linked with is there when main starts and after init. */
static void check_initial(const char *when)
{
    PE_CHECK(initialised == 0x123456789abcdef,
             "%s: the initialised long is 0x%lx, expected 0x123456789abcdef", when, initialised);
    PE_CHECK(strcmp(record.tag, "a record") == 0 && record.values[4] == 5 &&
                 strcmp(record.text, "pointing at a constant") == 0,
             "%s: the initialised struct does not have its initial values", when);
    for (int i = 0; i < 7; i++)
        PE_CHECK(odd_array[i] == i + 1, "%s: odd_array[%d] is %d, expected its index plus 1", when,
                 i, odd_array[i]);
    PE_CHECK(pointer_to_global == &initialised,
             "%s: the pointer to a global does not have its initial value", when);
    PE_CHECK(zeroed == 0 && counter == 0 && flag == 0, "%s: a zero-initialised global is not 0",
             when);
    PE_CHECK(big_data[0] == 42 && big_data[1] == 0,
             "%s: the large initialised array does not have its initial values", when);
    PE_CHECK_SAME(big_bss, BIG, 0, when);
}

/* Put, get, p and g between all pairs, on every object form. */
static void check_rma(void)
{
    static long per_pe[64], function_static = -1;
    struct record theirs;

    for (int pe = 0; pe < pe_n; pe++)
        shmem_long_p(&per_pe[pe_me], 100 * pe + pe_me, pe);
    shmem_short_put(&odd_array[1], (const short[]){70, 71, 72}, 3, pe_right());
    shmem_long_put(&record.values[1], (const long[]){-2, -3}, 2, pe_right());
    shmem_long_p(&function_static, pe_me, pe_right());
    shmem_long_p(pointer_to_global, 55 + pe_me, pe_right());
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK_EQ(per_pe[pe], 100 * pe_me + pe);
    PE_CHECK(odd_array[0] == 1 && odd_array[1] == 70 && odd_array[3] == 72 && odd_array[4] == 5,
             "put of shorts into the middle of a global array: wrong elements");
    PE_CHECK(record.values[0] == 1 && record.values[1] == -2 && record.values[2] == -3 &&
                 record.values[3] == 4,
             "put of longs into the middle of a global struct: wrong elements");
    PE_CHECK_EQ(function_static, pe_left());
    PE_CHECK_EQ(initialised, 55 + pe_left());
    PE_CHECK_EQ(shmem_long_g(&initialised, pe_right()), 55 + pe_me);
    shmem_getmem(&theirs, &record, sizeof(theirs), pe_right());
    PE_CHECK(memcmp(theirs.tag, record.tag, sizeof(record.tag)) == 0 && theirs.values[1] == -2,
             "getmem of a global struct of the right PE: wrong contents");
    shmem_sync_all();
}

static void check_big(void)
{
    char *heap = pe_malloc(BIG);

    pe_fill(heap, BIG, (unsigned)pe_me);
    shmem_sync_all();
    shmem_putmem(big_bss, heap, BIG, pe_right()); /* R41: heap to global */
    shmem_barrier_all();
    PE_CHECK_BYTES(big_bss, BIG, (unsigned)pe_left(),
                   "put from the heap into a large zero-initialised global");
    shmem_getmem(big_data + 1, big_bss, BIG - 1, pe_right());
    PE_CHECK_BYTES(big_data + 1, BIG - 1, (unsigned)pe_me, "get from a global into a global");
    for (int i = 0; i < 3; i++)
        shmem_putmem(page_crossers[i] + 1, heap, 4998, pe_right());
    shmem_barrier_all();
    for (int i = 0; i < 3; i++) {
        PE_CHECK_BYTES(page_crossers[i] + 1, 4998, (unsigned)pe_left(),
                       "put into a global that crosses pages");
        PE_CHECK(page_crossers[i][0] == 0 && page_crossers[i][4999] == 0,
                 "putmem into a global array changed the bytes beside its dest");
    }
    shmem_free(heap);
}

/* R126: atomics of all PEs on one global; a wait and a signal on globals. */
static void check_sync(void)
{
    enum { ROUNDS = 100 };
    char *heap = pe_calloc(1, 100);
    long expected = 0;

    for (int i = 0; i < ROUNDS; i++)
        shmem_long_atomic_fetch_add(&counter, 1, i % pe_n);
    shmem_barrier_all();
    shmem_int_atomic_set(&flag, 1 + pe_me, pe_right());
    shmem_int_wait_until(&flag, SHMEM_CMP_NE, 0);
    PE_CHECK_EQ(flag, 1 + pe_left());
    shmem_putmem_signal(heap, record.tag, 9, &signal_word, 77, SHMEM_SIGNAL_SET, pe_right());
    PE_CHECK_EQ(shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 77), 77);
    PE_CHECK(strcmp(heap, "a record") == 0,
             "putmem_signal from a global: the data are \"%s\", expected \"a record\"", heap);
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++)
        expected += i % pe_n == pe_me ? pe_n : 0;
    PE_CHECK_EQ(counter, expected);
    shmem_free(heap);
}

/* R157: collectives with globals as source and dest. */
static void check_collectives(void)
{
    static int sources[16], gathered[64];

    for (int i = 0; i < 8; i++)
        reduce_source[i] = i + pe_me;
    sources[0] = 10 + pe_me;
    PE_CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, reduce_dest, reduce_source, 8), 0);
    PE_CHECK_EQ(shmem_int_fcollect(SHMEM_TEAM_WORLD, gathered, sources, 1), 0);
    for (int i = 0; i < 8; i++)
        PE_CHECK_EQ(reduce_dest[i], (long)i * pe_n + (long)pe_n * (pe_n - 1) / 2);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK_EQ(gathered[pe], 10 + pe);
    PE_CHECK_EQ(shmem_int_broadcast(SHMEM_TEAM_WORLD, &zeroed, sources, 1, pe_n - 1), 0);
    PE_CHECK_EQ(zeroed, 10 + pe_n - 1);
}

int main(void)
{
    check_initial("before init");
    pe_test_begin();
    check_initial("after init");
    shmem_barrier_all();
    check_rma();
    check_big();
    check_sync();
    check_collectives();
    return pe_test_end();
}
