/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that destroyed spaces leave nothing: after cycles of creation, use and destruction, the
 * process holds no more than after the first cycles, and the last space has the number and, for
 * host memory in the window, the address of the first one. Proposal text and rules S5 and S7 of
 * docs/reference/conformance-spaces.md.
 *
 * usage: space_leaks [KIND | grow [number of cycles, default 100]]
 *   grow: host memory that grows. PE_SHOW in the environment prints the counts.
 */
#include "pe_leaks.h"

enum { SIZE = 64 * PE_MIB, N = 32 * 1024, WARM_UP = 10 };

static bool grows;

/* What a cycle found out about its space. */
struct identity {
    char numbers[32];
    void *base;
};

/* Each cycle opens the neighbour's memory, sends through it, and asks for the rest. */
static void use(const struct pe_space *s, long cycle)
{
    shmem_team_t part = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    long *block = pe_kind_malloc(s, N), *far = pe_kind_malloc(s, 4 * PE_MIB);
    long *sum = shmem_space_calloc(s->space, 1, sizeof(*sum));
    int next = (s->rank + 1) % s->n;

    pe_kind_ring(s, block, N, cycle);
    shmem_long_p(far + 4 * PE_MIB - 1, cycle + s->rank, pe_member(s, next));
    shmem_long_atomic_add(sum, cycle, pe_member(s, next));
    pe_team_barrier(s->team);
    PE_CHECK_EQ(shmem_long_g(far + 4 * PE_MIB - 1, pe_member(s, next)), cycle + s->rank);
    PE_CHECK_EQ(shmem_long_atomic_fetch(sum, pe_me), cycle);
    PE_CHECK_EQ(shmem_team_split_strided(s->team, 0, 1, s->n, NULL, 0, &part), 0);
    shmemx_ctx_config_t config = {part, s->space};
    PE_CHECK_EQ(shmemx_ctx_create(0, &config, &ctx), 0);
    shmem_ctx_long_put_nbi(ctx, block, block + N / 2, 100, next);
    shmem_ctx_destroy(ctx);
    shmem_team_sync(part);
    PE_CHECK_EQ(shmem_long_max_reduce(part, sum, sum, 1), 0);
    shmem_team_destroy(part);
    shmem_space_free(s->space, sum);
    shmem_space_free(s->space, block);
    shmem_space_free(s->space, far);
}

/* Grown twice by the blocks of use(), and to its end by one that is given back. */
static bool create_growing(struct pe_space *s)
{
    shmem_space_config_t config = pe_kind_config(SHMEM_DEVICE_CPU, PE_MIB);
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    void *block;

    attr.max_size = 4 * (size_t)SIZE;
    *s = (struct pe_space){.kind = &pe_kinds[PE_CPU], .rank = -1};
    if (shmemx_space_create_attr(&config, &attr, &s->space, &s->team) != 0) return false;
    s->rank = shmem_team_my_pe(s->team);
    s->n = shmem_team_n_pes(s->team);
    block = shmem_space_malloc(s->space, 2 * PE_MIB);
    shmem_space_free(s->space, block);
    block = shmem_space_malloc(s->space, 2 * (size_t)SIZE);
    PE_CHECK(block != NULL, "shmem_space_malloc returned NULL: the space did not grow");
    PE_CHECK(shmem_space_malloc(s->space, 4 * (size_t)SIZE) == NULL,
             "shmem_space_malloc past max_size returned memory, expected NULL");
    shmem_space_free(s->space, block);
    return true;
}

static bool cycle(int kind, long i, struct identity *id)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    struct pe_space s;

    if (!(grows ? create_growing(&s) : pe_kind_create(kind, SIZE, &s)))
        return PE_CHECK(false, "cycle %ld: creating the space failed", i);
    pe_space_numbers(id->numbers, sizeof(id->numbers));
    if (s.rank >= 0) {
        PE_CHECK_EQ(shmemx_space_query(s.space, &info), 0);
        use(&s, i);
    }
    id->base = info.base;
    pe_kind_destroy(&s);
    return true;
}

static void run(int kind, long cycles)
{
    bool node = pe_rounds(8) == 8; /* else a provider's pools fill, 20 MiB of them */
    bool gpu = kind == PE_GPU;
    const struct pe_slack slack = {.maps = 4,
                                   .heap_kib = 64 + (gpu ? 2 * cycles : 0),
                                   .file_kib = 256,
                                   .virtual_kib = gpu ? PE_ARENAS + cycles : 256,
                                   .rss_kib = node ? (gpu ? 1024 + cycles : 256) : 24 * 1024};
    struct pe_holdings before, after;
    struct identity first, last;

    for (long i = 0; i < WARM_UP; i++)
        if (!cycle(kind, i, i == 0 ? &first : &last)) return;
    pe_open_peers();
    shmem_barrier_all();
    before = pe_holdings();
    for (long i = 0; i < cycles; i++)
        if (!cycle(kind, i, &last)) return;
    shmem_barrier_all();
    after = pe_holdings();
    pe_check_holdings(&before, &after, &slack, pe_kinds[kind].name);
    PE_CHECK(
        strcmp(first.numbers, last.numbers) == 0,
        "%s: the space had number %s in the first cycle and %s in the last, expected one number",
        pe_kinds[kind].name, first.numbers, last.numbers);
    /* a driver gives addresses as it likes, and so does the kernel outside the window */
    if (pe_kinds[kind].host && getenv("SHMEM_WINDOW_SIZE") == NULL)
        PE_CHECK(first.base == last.base,
                 "%s: the space was at %p in the first cycle and at %p in the last, expected one "
                 "address",
                 pe_kinds[kind].name, first.base, last.base);
    if (getenv("PE_SHOW") != NULL) /* for people */
        fprintf(stderr,
                "pe %d: %s: fds %ld %ld, maps %ld %ld, KiB of memfds %ld %ld, of malloc %ld %ld, "
                "mapped %ld %ld, resident %ld %ld\n",
                pe_me, pe_kinds[kind].name, before.fds, after.fds, before.maps, after.maps,
                before.file_kib, after.file_kib, before.heap_kib, after.heap_kib,
                before.virtual_kib, after.virtual_kib, before.rss_kib, after.rss_kib);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "cpu";
    int kind = -1;

    pe_test_begin();
    grows = strcmp(name, "grow") == 0;
    if (grows) kind = PE_CPU;
    for (int k = 0; k < PE_N_KINDS; k++)
        if (strcmp(pe_kinds[k].name, name) == 0) kind = k;
    PE_REQUIRE(kind >= 0, "the argument %s is not the name of a kind of memory", name);
    if (pe_kind_exists(kind))
        run(kind, argc > 2 ? atol(argv[2]) : 100);
    else
        pe_test_skip("no PE has such memory");
    return pe_test_end();
}
