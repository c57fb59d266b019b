/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks remote memory access rule by rule (OpenSHMEM 1.6, sections 3, 4 and 9.6; rules R40, R41,
 * R43, R48, R49, R103-R106 of docs/reference/conformance.md): alignment, kinds of local memory,
 * when a buffer may be reused, and progress of an operation without another call of its PE. If an
 * operation does not make progress, the test hangs until its time limit.
 */
#include "pe_table.h"

#include <sched.h>
#include <sys/mman.h>

enum { N = 40, BIG = 300 * 1024, GUARD = 32, PAGE = 4096 };

static char *dest, *source; /* symmetric, BIG + 2 * GUARD */
static long *words;         /* symmetric, 16 */
static char in_bss[BIG];    /* symmetric, another segment than the heap */

/* ---- alignment: the local side of sized calls may lie anywhere ------------------------- */

#define SIZED(bits, bytes)                                                                         \
    static void put_##bits(const char *from)                                                       \
    {                                                                                              \
        shmem_put##bits(dest, from, N, pe_right());                                                \
        shmem_put##bits##_nbi(dest + N * bytes, from, N, pe_right());                              \
        shmem_iput##bits(dest + 2 * N * bytes, from, 1, 1, N, pe_right());                         \
        shmem_ibput##bits(dest + 3 * N * bytes, from, 5, 5, 5, N / 5, pe_right());                 \
        shmem_put##bits##_signal(dest + 4 * N * bytes, from, N, (uint64_t *)&words[0], 1,          \
                                 SHMEM_SIGNAL_SET, pe_right());                                    \
    }                                                                                              \
    static void get_##bits(char *to)                                                               \
    {                                                                                              \
        shmem_get##bits(to, source, N, pe_right());                                                \
        shmem_get##bits##_nbi(to + N * bytes, source, N, pe_right());                              \
        shmem_iget##bits(to + 2 * N * bytes, source, 1, 1, N, pe_right());                         \
        shmem_ibget##bits(to + 3 * N * bytes, source, 5, 5, 5, N / 5, pe_right());                 \
        shmem_quiet();                                                                             \
    }
SIZED(8, 1)
SIZED(16, 2)
SIZED(32, 4)
SIZED(64, 8)
SIZED(128, 16)

static const struct {
    int bytes;
    void (*put)(const char *from);
    void (*get)(char *to);
} sized[] = {{1, put_8, get_8},
             {2, put_16, get_16},
             {4, put_32, get_32},
             {8, put_64, get_64},
             {16, put_128, get_128}};

static void check_unaligned_local(void)
{
    _Alignas(16) char local[5 * N * 16 + 16];

    for (int i = 0; i < 5; i++)
        for (int off = 0; off < sized[i].bytes; off += off ? 6 : 1) {
            size_t nbytes = (size_t)(N * sized[i].bytes);

            memset(dest, 0, 5 * nbytes);
            pe_fill(source, nbytes, (unsigned)(i * 16 + pe_me));
            pe_fill(local + off, nbytes, (unsigned)(i * 16 + pe_me));
            shmem_barrier_all();
            sized[i].put(local + off);
            shmem_barrier_all();
            for (int k = 0; k < 5; k++)
                PE_CHECK_BYTES(dest + (size_t)k * nbytes, nbytes, (unsigned)(i * 16 + pe_left()),
                               "sized put from an odd address");
            memset(local, 0, sizeof(local));
            sized[i].get(local + off);
            for (int k = 0; k < 4; k++)
                PE_CHECK_BYTES(local + off + (size_t)k * nbytes, nbytes,
                               (unsigned)(i * 16 + pe_right()), "sized get to an odd address");
            shmem_barrier_all();
        }
}

/* The mem calls ask for nothing: every combination of odd addresses. */
static void check_mem_unaligned(void)
{
    char local[200];

    for (int there = 0; there < 9; there += 3)
        for (int here = 0; here < 9; here += 2) {
            memset(dest, 0, 200);
            pe_fill(local + here, 100, (unsigned)(there * 16 + pe_me));
            shmem_barrier_all();
            shmem_putmem(dest + there, local + here, 100, pe_right());
            shmem_barrier_all();
            PE_CHECK_BYTES(dest + there, 100, (unsigned)(there * 16 + pe_left()), "putmem");
            shmem_getmem(local + here, dest + there, 100, pe_right());
            PE_CHECK_BYTES(local + here, 100, (unsigned)(there * 16 + pe_me), "getmem");
            shmem_barrier_all();
        }
}

/* ---- local memory of every kind --------------------------------------------------------- */

/* Send from memory that may be read only, in all ways that read it. */
static void send_from(const void *from, size_t nbytes, const char *what)
{
    char *got = pe_private(nbytes);

    for (int way = 0; way < 4; way++) {
        memset(dest, 0, nbytes);
        words[0] = 0;
        shmem_barrier_all();
        switch (way) {
        case 0:
            shmem_putmem(dest, from, nbytes, pe_right());
            break;
        case 1:
            shmem_putmem_nbi(dest, from, nbytes, pe_right());
            break;
        case 2:
            shmem_iput8(dest, from, 1, 1, nbytes, pe_right());
            break;
        default:
            shmem_putmem_signal_nbi(dest, from, nbytes, (uint64_t *)&words[0], 1, SHMEM_SIGNAL_SET,
                                    pe_right());
        }
        shmem_quiet();
        shmem_getmem(got, dest, nbytes, pe_right());
        PE_CHECK(memcmp(got, from, nbytes) == 0,
                 "put from %s (way %d of 4): a get returned other data", what, way);
        shmem_barrier_all();
    }
    free(got);
}

static void receive_in(void *to, size_t nbytes, const char *what)
{
    pe_fill(source, nbytes, (unsigned)pe_me + 3);
    shmem_barrier_all();
    for (int nbi = 0; nbi < 2; nbi++) {
        memset(to, 0, nbytes);
        if (nbi)
            shmem_getmem_nbi(to, source, nbytes, pe_right());
        else
            shmem_getmem(to, source, nbytes, pe_right());
        shmem_quiet();
        PE_CHECK_BYTES(to, nbytes, (unsigned)pe_right() + 3, what);
    }
    shmem_barrier_all();
}

static const char constant[PAGE] = "what the program holds as a constant";
static __thread char of_thread[PAGE];

static void check_local_memory(void)
{
    char stack[PAGE], *private_heap = pe_private(BIG);
    char *map = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    PE_REQUIRE(map != MAP_FAILED, "mmap failed");
    pe_fill(stack, PAGE, 1);
    pe_fill(private_heap, BIG, 2);
    pe_fill(of_thread, PAGE, 4);
    pe_fill(in_bss, BIG, 6);
    send_from(constant, PAGE, "a constant");
    send_from((const char *)(uintptr_t)&check_local_memory, 256, "the program's code");
    send_from(stack, PAGE, "the stack");
    send_from(private_heap, BIG, "malloc");
    send_from(of_thread, PAGE, "a thread's variable");
    send_from(in_bss, BIG, "a static");
    pe_fill(map, BIG, 5);
    send_from(map, BIG, "a mapping");
    PE_REQUIRE(mprotect(map, BIG, PROT_READ) == 0, "mprotect() failed");
    send_from(map, BIG, "a mapping that is read only");
    PE_REQUIRE(mprotect(map, BIG, PROT_READ | PROT_WRITE) == 0, "mprotect() failed");
    receive_in(stack, PAGE, "into the stack");
    receive_in(private_heap, BIG, "into malloc");
    receive_in(of_thread, PAGE, "into a thread's variable");
    receive_in(map, BIG, "into a mapping");
    munmap(map, BIG);
    map = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PE_REQUIRE(map != MAP_FAILED, "mmap failed");
    receive_in(map, BIG, "into a mapping where another was");
    munmap(map, BIG);
    free(private_heap);
}

/* dest in the heap and source in the data segment, and so on; the signal's word in either. */
static void check_mixed_segments(void)
{
    static uint64_t sig;
    static long cell[4];

    sig = 0;
    words[1] = 0;
    pe_fill(in_bss, BIG, (unsigned)pe_me);
    shmem_barrier_all();
    shmem_putmem_signal(dest, in_bss, BIG, &sig, 1, SHMEM_SIGNAL_SET, pe_right());
    PE_CHECK_EQ(shmem_signal_wait_until(&sig, SHMEM_CMP_EQ, 1), 1);
    PE_CHECK_BYTES(dest, BIG, (unsigned)pe_left(), "a static into the heap");
    shmem_barrier_all();
    shmem_putmem_signal(in_bss, dest, BIG, (uint64_t *)&words[1], 2, SHMEM_SIGNAL_ADD, pe_right());
    PE_CHECK_EQ(shmem_signal_wait_until((uint64_t *)&words[1], SHMEM_CMP_EQ, 2), 2);
    PE_CHECK_BYTES(in_bss, BIG, (unsigned)(pe_left() + pe_n - 1) % (unsigned)pe_n,
                   "the heap into a static");
    words[2] = 30 + pe_me;
    PE_CHECK_EQ(shmem_long_sum_reduce(SHMEM_TEAM_WORLD, cell, &words[2], 1), 0);
    PE_CHECK_EQ(cell[0], 30L * pe_n + (long)pe_n * (pe_n - 1) / 2);
}

/* ---- when buffers are ours again ---------------------------------------------------------- */

/* Blocking calls: source may be overwritten on return, and dest is here on return. */
static void check_blocking(void)
{
    static const size_t sizes[] = {1, 8, 100, 4096, 20000, BIG};
    char *local = pe_private(BIG);

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = sizes[i], half = n / 2;

        for (int way = 0; way < 4; way++) {
            shmem_barrier_all();
            pe_fill(local, n, (unsigned)(way * 16 + pe_me));
            switch (way) {
            case 0:
                shmem_putmem(dest, local, n, pe_right());
                break;
            case 1:
                shmem_iput8(dest, local, 1, 1, n, pe_right());
                break;
            case 2:
                shmem_ibput8(dest, local, 1, 1, 1, n - half, pe_right());
                shmem_put8(dest + (n - half), local + (n - half), half, pe_right());
                break;
            default:
                shmem_putmem_signal(dest, local, n, (uint64_t *)&words[0], 1, SHMEM_SIGNAL_SET,
                                    pe_right());
            }
            memset(local, 0xee, n);
            shmem_barrier_all();
            PE_CHECK_BYTES(dest, n, (unsigned)(way * 16 + pe_left()), "blocking put");
            memset(local, 0, n);
            if (way % 2)
                shmem_getmem(local, dest, n, pe_right());
            else
                shmem_iget8(local, dest, 1, 1, n, pe_right());
            PE_CHECK_BYTES(local, n, (unsigned)(way * 16 + pe_me), "blocking get");
        }
    }
    free(local);
}

/* A put is complete at its target after quiet: then a get finds it. */
static void check_get_after_quiet(void)
{
    for (int round = 0; round < pe_rounds(100); round++) {
        size_t n = round % 2 ? 8 : 30000;

        pe_fill(source, n, (unsigned)(round * 16 + pe_me));
        if (round % 3)
            shmem_putmem_nbi(dest, source, n, pe_right());
        else
            shmem_putmem(dest, source, n, pe_right());
        shmem_quiet();
        shmem_getmem(in_bss, dest, n, pe_right());
        PE_CHECK_BYTES(in_bss, n, (unsigned)(round * 16 + pe_me), "get after put and quiet");
    }
}

/* While a buffer is read by puts it may be read by others: three puts and the program at once. */
static void check_source_shared(void)
{
    unsigned long sum = 0, want = 0;

    pe_fill(source, BIG, (unsigned)pe_me);
    for (size_t i = 0; i < BIG; i++)
        want += pe_byte((unsigned)pe_me, i);
    shmem_barrier_all();
    shmem_putmem_nbi(dest, source, BIG, pe_right());
    shmem_putmem_nbi(in_bss, source, BIG, pe_right());
    shmem_putmem_nbi(dest, source, BIG / 2, pe_right());
    for (size_t i = 0; i < BIG; i++)
        sum += (unsigned char)source[i];
    PE_CHECK(sum == want, "the source changed while puts read from it");
    shmem_barrier_all();
    PE_CHECK_BYTES(dest, BIG, (unsigned)pe_left(), "put of a shared source");
    PE_CHECK_BYTES(in_bss, BIG, (unsigned)pe_left(), "put of a shared source");
}

/* ---- nothing is parked --------------------------------------------------------------------- */

enum { KINDS = 9 };

/* One operation that ends in words[0] of pe being `value`, and what it is called. */
static const char *issue(int kind, long *value, char *bulk, int pe)
{
    static long fetched;

    switch (kind) {
    case 0:
        shmem_long_p(&words[0], *value, pe);
        return "p";
    case 1:
        shmem_long_put(&words[0], value, 1, pe);
        return "put";
    case 2:
        shmem_long_put_nbi(&words[0], value, 1, pe);
        return "put_nbi";
    case 3:
        shmem_long_iput(&words[0], value, 1, 1, 1, pe);
        return "iput";
    case 4:
        shmem_long_atomic_set(&words[0], *value, pe);
        return "atomic_set";
    case 5:
        shmem_long_atomic_swap_nbi(&fetched, &words[0], *value, pe);
        return "atomic_swap_nbi";
    case 6:
        shmem_signal_set((uint64_t *)&words[0], (uint64_t)*value, pe);
        return "signal_set";
    case 7:
        shmem_putmem_signal_nbi(dest, bulk, BIG, (uint64_t *)&words[0], (uint64_t)*value,
                                SHMEM_SIGNAL_SET, pe);
        return "put_signal_nbi";
    default:
        memcpy(bulk + BIG - sizeof(*value), value, sizeof(*value));
        shmem_putmem_nbi(dest, bulk, BIG, pe);
        return "a large put_nbi";
    }
}

/*
 * PE 0 starts one operation and then computes, looking at its memory only. The last PE waits
 * for it in its own memory and answers. Were the operation kept back until PE 0's next call, both
 * would stay for ever, and the watchdog of the test would say so.
 */
static void check_not_parked(void)
{
    static long value;
    char *bulk = calloc(1, BIG);
    int last = pe_n - 1;

    PE_REQUIRE(bulk != NULL, "calloc of the source of large puts failed");
    words[0] = words[8] = 0;
    memset(dest, 0, BIG);
    for (int kind = 0; kind < KINDS; kind++) {
        volatile long *seen = kind == KINDS - 1 ? (long *)(dest + BIG) - 1 : &words[0];

        value = 1000 + kind;
        shmem_barrier_all();
        if (pe_me == 0) {
            const char *what = issue(kind, &value, bulk, last);

            while (pe_n > 1 && *(volatile long *)&words[8] != value)
                sched_yield();
            PE_CHECK(pe_n == 1 || words[8] == value,
                     "%s: the word of the last PE did not arrive at PE 0", what);
        }
        if (pe_me == last) {
            while (*seen != value)
                sched_yield();
            shmem_long_atomic_set(&words[8], value, 0);
        }
        shmem_barrier_all();
    }
    free(bulk);
}

static const struct pe_rule rules[] = {
    {"R40 sized calls take any local address", check_unaligned_local},
    {"R40 mem calls take any address", check_mem_unaligned},
    {"R41 heap and data segment mix in one call", check_mixed_segments},
    {"R43 a source that is read may be read", check_source_shared},
    {"R48 R49 nothing waits for the next call", check_not_parked},
    {"R49 R103 R104 blocking calls give buffers back", check_blocking},
    {"R104 R105 quiet between put and get", check_get_after_quiet},
    {"R106 any memory is a local side", check_local_memory},
};

int main(void)
{
    pe_test_begin();
    dest = shmem_align(16, BIG + 2 * GUARD);
    source = shmem_align(16, BIG + 2 * GUARD);
    words = pe_calloc(16, sizeof(*words));
    PE_REQUIRE(dest != NULL && source != NULL, "shmem_align returned NULL");
    PE_RULES_RUN(rules);
    return pe_test_end();
}
