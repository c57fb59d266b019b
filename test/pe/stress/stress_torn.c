/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that values of 1, 2, 4 and 8 bytes are never torn (rules R112, R115, R117 and R136 of
 * docs/reference/conformance.md): all PEs write at every natural offset of a few cache lines of one
 * PE, by p, atomics and signals, and loads of the owner and atomic reads of others must see whole
 * values. Also checks that writers of neighbouring values do not undo each other. The options are
 * those of pe_stress.h.
 */
#include "pe_stress.h"

enum {
    LINE = 64,
    LINES = 2,
    AREA = LINE * LINES,
    ROUNDS = 60,
    FEW_ROUNDS = 10,
    WRITES = 24000,
    TAG_BITS = 4,
    NOISE = 40000
};

enum how { BY_P, BY_SET, BY_SWAP, BY_SIGNAL, BY_PUT_SIGNAL, BY_ADD, BY_SIGNAL_ADD, N_HOW };
enum look { LOOK_LOAD, LOOK_TEST, LOOK_FETCH, LOOK_AND_WRITE, N_LOOK };

static const char *const how_name[N_HOW] = {"p",          "atomic_set", "atomic_swap", "signal_set",
                                            "put_signal", "atomic_add", "signal_add"};
static const char *const look_name[N_LOOK] = {"loads", "shmem_test", "atomic_fetch",
                                              "loads and own writes"};
static const unsigned char twist[8] = {0x00, 0x5a, 0xc3, 0x17, 0x88, 0xe1, 0x3c, 0x9d};

static unsigned char global_area[AREA] __attribute__((aligned(LINE)));
static unsigned char *heap_area;
static uint64_t done;        /* writers that have finished with this PE */
static char dump[64];        /* data that comes with put_signal */
static char noise[2][NOISE]; /* blocks that travel between the values: from, to */
static bool noisy;
static unsigned char *area; /* of the round */
static enum how how;
static size_t size;
static size_t first, n_hot; /* cells that are written: few are looked at all the time */
static int target;

/* The value of `size` bytes that stands for a token. */
static uint64_t value_of(unsigned token)
{
    uint64_t value = 0;

    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)((unsigned char)token ^ twist[i]) << (8 * i);
    return value;
}

static bool is_adding(void)
{
    return how == BY_ADD || how == BY_SIGNAL_ADD;
}

/* Is it one that somebody wrote? Sums have equal lanes of 16 bits. */
static bool is_whole(uint64_t value)
{
    uint64_t lanes = size == 8 ? 0x0001000100010001ull : 0x00010001ull;

    if (is_adding()) return value == (value & 0xffff) * lanes;
    return value == value_of((unsigned)(value & 0xff));
}

static uint64_t load(const void *at)
{
    switch (size) {
    case 1:
        return *(const volatile uint8_t *)at;
    case 2:
        return *(const volatile uint16_t *)at;
    case 4:
        return *(const volatile uint32_t *)at;
    default:
        return *(const volatile uint64_t *)at;
    }
}

static void write_p(void *at, uint64_t value)
{
    switch (size) {
    case 1:
        shmem_uint8_p(at, (uint8_t)value, target);
        break;
    case 2:
        shmem_uint16_p(at, (uint16_t)value, target);
        break;
    case 4:
        shmem_uint32_p(at, (uint32_t)value, target);
        break;
    default:
        shmem_uint64_p(at, value, target);
        break;
    }
}

static void write_atomic(void *at, uint64_t value)
{
    uint64_t old = value;

    if (size == 4 && how == BY_SET)
        shmem_uint32_atomic_set(at, (uint32_t)value, target);
    else if (size == 4 && how == BY_ADD)
        shmem_uint32_atomic_add(at, 0x00010001u, target);
    else if (size == 4)
        old = shmem_uint32_atomic_swap(at, (uint32_t)value, target);
    else if (how == BY_SET)
        shmem_uint64_atomic_set(at, value, target);
    else if (how == BY_ADD)
        shmem_uint64_atomic_add(at, 0x0001000100010001ull, target);
    else
        old = shmem_uint64_atomic_swap(at, value, target);
    PE_CHECK(how != BY_SWAP || is_whole(old),
             "torn value: atomic_swap of %zu bytes returned 0x%lx, which no PE wrote", size, old);
}

static void write_value(void *at, unsigned token)
{
    uint64_t value = value_of(token);

    stress_ops++;
    switch (how) {
    case BY_P:
        write_p(at, value);
        break;
    case BY_SIGNAL:
        shmem_signal_set(at, value, target);
        break;
    case BY_PUT_SIGNAL:
        shmem_putmem_signal(dump, &value, sizeof(value), at, value, SHMEM_SIGNAL_SET, target);
        break;
    case BY_SIGNAL_ADD:
        shmem_signal_add(at, 0x0001000100010001ull, target);
        break;
    default:
        write_atomic(at, value);
        break;
    }
}

/* What another PE reads with an atomic is whole, too. */
static void look_from_afar(const void *at)
{
    uint64_t value;

    if (size < 4 || how == BY_P) return;
    value =
        size == 4 ? shmem_uint32_atomic_fetch(at, target) : shmem_uint64_atomic_fetch(at, target);
    PE_CHECK(
        is_whole(value),
        "seed %lu: torn value: atomic_fetch of %zu bytes returned 0x%lx, which no PE wrote (writes "
        "by %s)",
        stress_seed, size, value, how_name[how]);
}

static void hammer(int writes)
{
    if (how == BY_SWAP) writes /= 8; /* a round trip each */
    for (int i = 0; i < writes; i++) {
        void *at = area + (first + stress_pick(n_hot)) * size;

        write_value(at, (unsigned)stress_pick(256));
        if (i % 64 == 63) look_from_afar(at);
        if (noisy && i % 8 == 0) shmem_putmem_nbi(noise[1], noise[0], stress_pick(NOISE), target);
    }
    shmem_quiet();
    shmem_uint64_atomic_inc(&done, target);
}

static uint64_t look_at(enum look look, void *at)
{
    uint64_t value = load(at);

    if (look == LOOK_FETCH && size == 8) return shmem_uint64_atomic_fetch(at, pe_me);
    if (look == LOOK_FETCH && size == 4) return shmem_uint32_atomic_fetch(at, pe_me);
    if (look == LOOK_TEST && size == 8 && shmem_uint64_test(at, SHMEM_CMP_NE, value))
        value = load(at);
    if (look == LOOK_TEST && size == 4 && shmem_uint32_test(at, SHMEM_CMP_NE, (uint32_t)value))
        value = load(at);
    if (look == LOOK_AND_WRITE && !is_adding()) write_value(at, (unsigned)stress_pick(256));
    return value;
}

/* The target reads its memory until all writers have finished. */
static void watch(enum look look)
{
    unsigned looks = 0;

    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < (uint64_t)pe_n - 1) {
        for (size_t i = first; i < first + n_hot; i++) {
            uint64_t value = look_at(look, area + i * size);

            if (!PE_CHECK(
                    is_whole(value),
                    "seed %lu: torn value written by %s: %zu bytes at %zu are 0x%lx, which no PE "
                    "wrote (read by %s)",
                    stress_seed, how_name[how], size, i * size, value, look_name[look]))
                return;
        }
        stress_breathe(&looks);
    }
}

/* Cell i belongs to one writer, whose number is in its tokens, with a count. */
static int owner_of(size_t cell)
{
    return (int)(cell % (size_t)pe_n);
}

static unsigned token_of(int writer, unsigned count)
{
    return (unsigned)(writer & ((1 << TAG_BITS) - 1)) | count << TAG_BITS;
}

/* Write own cells among those of others; each must keep what was written last. */
static void write_among_others(int rounds)
{
    size_t cells = AREA / size;

    for (int r = 0; r < rounds; r++) {
        for (size_t i = (size_t)pe_me; i < cells; i += (size_t)pe_n)
            write_value(area + i * size, token_of(pe_me, (unsigned)r));
        if (r % 8 != 7) {
            shmem_fence();
            continue;
        }
        shmem_quiet();
        for (size_t i = (size_t)pe_me; i < cells; i += (size_t)pe_n) {
            uint64_t got = 0, want = value_of(token_of(pe_me, (unsigned)r));

            shmem_getmem(&got, area + i * size, size, target);
            if (!PE_CHECK(
                    got == want,
                    "seed %lu: a neighbour undid a write: %zu bytes at %zu, written by %s, are "
                    "0x%lx, expected 0x%lx",
                    stress_seed, size, i * size, how_name[how], got, want))
                return;
        }
    }
    shmem_quiet();
    shmem_uint64_atomic_inc(&done, target);
}

static void watch_neighbours(void)
{
    size_t cells = AREA / size;
    unsigned looks = 0;

    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < (uint64_t)pe_n - 1) {
        for (size_t i = 0; i < cells; i++) {
            uint64_t value = load(area + i * size);
            unsigned tag = (unsigned)value & ((1 << TAG_BITS) - 1);

            if (owner_of(i) == pe_me) continue;
            if (!PE_CHECK(
                    is_whole(value) && tag == token_of(owner_of(i), 0),
                    "seed %lu: %zu bytes at %zu, written by %s, are 0x%lx, which PE %d, their only "
                    "writer, never wrote",
                    stress_seed, size, i * size, how_name[how], value, owner_of(i)))
                return;
        }
        stress_breathe(&looks);
    }
}

/* Draw the round alike on all PEs and set the area to values that could have been written. */
static void prepare(bool neighbours)
{
    bool heap = stress_draw(2) == 0;

    target = (int)stress_draw((size_t)pe_n);
    how = (enum how)(neighbours ? stress_draw(BY_ADD) : stress_draw(N_HOW));
    if (stress_draw(3) == 0) how = BY_P;
    size = (size_t)1 << stress_draw(4);
    if (how == BY_SIGNAL || how == BY_PUT_SIGNAL || how == BY_SIGNAL_ADD)
        size = 8;
    else if (how != BY_P && size < 4)
        size = 4;
    area = heap ? heap_area : global_area;
    n_hot = stress_draw(3) == 0 ? AREA / size : 1 + stress_draw(3);
    first = stress_draw(AREA / size - n_hot + 1);
    for (size_t i = 0; i < AREA; i += size) {
        uint64_t value = value_of(token_of(owner_of(i / size), 0));

        if (is_adding()) value = 0;
        memcpy(area + i, &value, size);
    }
    noisy = stress_draw(2) == 0;
    done = 0;
    stress_stage("%s of %zu bytes to PE %d", how_name[how], size, target);
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    stress_begin(argc, argv);
    heap_area = shmem_align(LINE, AREA);
    PE_REQUIRE(heap_area != NULL, "shmem_align of the area returned NULL");
    while (stress_more(stress_all_shared() ? ROUNDS : FEW_ROUNDS)) {
        bool neighbours = stress_draw(4) == 0;
        enum look look = (enum look)stress_draw(N_LOOK);
        int writes = pe_rounds(WRITES), most = 65000 / pe_n;

        prepare(neighbours);
        if (is_adding() && writes > most) writes = most; /* lanes do not overflow */
        if (neighbours && pe_me == target)
            watch_neighbours();
        else if (neighbours)
            write_among_others(writes * pe_n / (int)(AREA / size) / 2);
        else if (pe_me == target)
            watch(look);
        else
            hammer(writes);
        shmem_barrier_all();
    }
    return stress_end("stress_torn");
}
