/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs that begin without a symmetric heap: SHMEM_SYMMETRIC_SIZE=0, where malloc never gives
 * anything and the default space is a page of host memory, and 0:200m, where the heap begins with a
 * page and grows (argument: grows). Globals and spaces of the program's own do all that they do
 * elsewhere. run_space_env.sh checks the messages.
 */
#include "pe_kinds.h"

#include <shmemx_device.h>

enum { N = 1000 };

static int tally[2]; /* the usual one is of the heap */
static long words[N], source[N], result[N];
static uint64_t signal_word;
static long locked, counter;

static shmemx_space_info_t info_of(shmem_space_t space)
{
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    PE_CHECK_EQ(shmemx_space_query(space, &info), 0);
    return info;
}

/* The kind of the default space, which is host memory where there is no heap. */
static shmem_device_type_t kind_of_default(bool grows)
{
    const char *name = grows ? getenv("SHMEM_DEFAULT_SPACE") : NULL;

    for (int k = 0; name != NULL && k < PE_N_KINDS; k++)
        if (strcmp(name, pe_kinds[k].name) == 0) return pe_kinds[k].type;
    return SHMEM_DEVICE_CPU;
}

/* All that can be asked of a default space that has a page; max: what it may grow to, or 0. */
static void check_facts(size_t max)
{
    shmemx_space_info_t info = info_of(SHMEM_SPACE_DEFAULT);
    shmem_device_type_t kind = kind_of_default(max != 0), type = (shmem_device_type_t)-1;
    shmem_team_t team = SHMEM_TEAM_INVALID;
    shmem_space_cap_t caps = 0;
    FILE *nowhere = fopen("/dev/null", "w");

    PE_CHECK_EQ(info.nbytes, 4096);
    PE_CHECK_EQ(info.max_size, max != 0 ? max : 4096);
    PE_CHECK_EQ(info.used, 0);
    PE_CHECK_EQ(info.largest, max != 0 ? 4096 : 0);
    PE_CHECK_EQ(info.n_blocks, 0);
    PE_CHECK_EQ(info.device_type, kind);
    PE_CHECK_EQ(info.n_pes, pe_n);
    PE_CHECK_EQ(shmem_space_get_device_type(SHMEM_SPACE_DEFAULT, &type), 0);
    PE_CHECK_EQ(type, kind);
    PE_CHECK(shmem_space_get_team(SHMEM_SPACE_DEFAULT, &team) == 0 && team == SHMEM_TEAM_WORLD,
             "its team");
    PE_CHECK(shmem_space_get_caps(SHMEM_SPACE_DEFAULT, &caps) == 0 &&
                 (caps & SHMEM_SPACE_CAP_WORLD_ACCESS) != 0,
             "capabilities %#llx", (unsigned long long)caps);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK_EQ(shmemx_space_path(SHMEM_SPACE_DEFAULT, pe) == SHMEMX_PATH_LOAD_STORE,
                    shmem_ptr(info.base, pe) != NULL);
    PE_CHECK(shmem_space_destroy(SHMEM_SPACE_DEFAULT) != 0, "it was destroyed");
    PE_CHECK(shmemx_space_persist(SHMEM_SPACE_DEFAULT, words, 8) != 0, "it is durable");
    PE_CHECK(shmemx_space_device_ptr(SHMEM_SPACE_DEFAULT, words, pe_me) == NULL, "device pointer");
    if (nowhere != NULL) PE_CHECK_EQ(shmemx_space_print(fileno(nowhere)), 0);
    if (nowhere != NULL) fclose(nowhere);
}

/* What the kind would take: a context of a GPU, a file. */
static void check_taken(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    long (*live)(const char *what) = NULL; /* of the stand-in alone */
    const char *path = getenv("SHMEM_FAM_PATH");
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];

    if (driver != NULL) *(void **)&live = dlsym(driver, "fakecuda_live");
    if (live != NULL) PE_CHECK_EQ(live("ctx"), 0);
    while (path != NULL && maps != NULL && fgets(line, sizeof(line), maps) != NULL)
        PE_CHECK(strstr(line, path) == NULL, "it has memory: %s", line);
    if (maps != NULL) fclose(maps);
}

/* Each of the routines, with its barrier, and NULL on all PEs. */
static void check_null(size_t nbytes)
{
    PE_CHECK(shmem_malloc(nbytes) == NULL, "malloc");
    PE_CHECK(shmem_calloc(1, nbytes) == NULL, "calloc");
    PE_CHECK(shmem_align(64, nbytes) == NULL, "align");
    PE_CHECK(shmem_align((size_t)1 << 40, nbytes) == NULL, "align, far");
    PE_CHECK(shmem_realloc(NULL, nbytes) == NULL, "realloc");
    PE_CHECK(shmem_malloc_with_hints(nbytes, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL, "hints");
    PE_CHECK(shmem_space_malloc(SHMEM_SPACE_DEFAULT, nbytes) == NULL, "space_malloc");
}

static void check_nothing(void)
{
    PE_CHECK(shmem_malloc(0) == NULL, "malloc of 0");
    PE_CHECK(shmem_calloc(0, 8) == NULL, "calloc of 0");
    PE_CHECK(shmem_align(64, 0) == NULL, "align of 0");
    shmem_free(NULL);
}

/* Put, get, atomics, signals, locks and collectives on symmetric words, N of each. */
static void use(long *dest, long *from, long *sum)
{
    int next = (pe_me + 1) % pe_n, before = (pe_me + pe_n - 1) % pe_n;
    long got = 0;

    for (long i = 0; i < N; i++)
        shmem_long_p(&from[i], 1000 * pe_me + i, pe_me);
    shmem_barrier_all();
    shmem_long_put(dest, from, N, next);
    shmem_barrier_all();
    shmem_long_get(&got, &dest[N - 1], 1, pe_me);
    PE_CHECK_EQ(got, 1000 * before + N - 1);
    PE_CHECK_EQ(shmem_long_g(&from[7], next), 1000 * next + 7);
    shmem_long_atomic_add(&dest[0], 5, next);
    shmem_barrier_all();
    PE_CHECK_EQ(shmem_long_atomic_fetch(&dest[0], pe_me), 1000 * before + 5);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sum, from, N);
    PE_CHECK_EQ(shmem_long_g(&sum[3], pe_me), 1000L * pe_n * (pe_n - 1) / 2 + 3 * pe_n);
    shmem_barrier_all();
    shmem_long_broadcast(SHMEM_TEAM_WORLD, sum, from, 10, pe_n - 1);
    PE_CHECK_EQ(shmem_long_g(&sum[9], pe_me), 1000L * (pe_n - 1) + 9);
    shmem_barrier_all();
}

static void check_globals(void)
{
    shmem_team_t part = SHMEM_TEAM_INVALID;
    shmem_ctx_t ctx = SHMEM_CTX_INVALID;
    shmem_space_t space = SHMEM_SPACE_INVALID;

    use(words, source, result);
    PE_CHECK(shmem_get_space(words, &space) == 0 && space == SHMEM_SPACE_DEFAULT, "of globals");
    shmem_long_put_signal(words, source, N, &signal_word, 1, SHMEM_SIGNAL_ADD, (pe_me + 1) % pe_n);
    shmem_signal_wait_until(&signal_word, SHMEM_CMP_GE, 1);
    PE_CHECK_EQ(words[1], 1000 * ((pe_me + pe_n - 1) % pe_n) + 1);
    for (int i = 0; i < 10; i++) {
        shmem_set_lock(&locked);
        shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
        shmem_quiet();
        shmem_clear_lock(&locked);
    }
    shmem_barrier_all();
    if (pe_me == 0) PE_CHECK_EQ(counter, 10 * pe_n);
    PE_CHECK_EQ(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, pe_n, NULL, 0, &part), 0);
    PE_CHECK_EQ(shmem_team_create_ctx(part, 0, &ctx), 0);
    shmem_ctx_long_p(ctx, &words[2], 77, pe_me);
    shmem_ctx_quiet(ctx);
    PE_CHECK_EQ(words[2], 77);
    shmem_ctx_destroy(ctx);
    shmem_team_destroy(part);
}

/* Spaces of the program's own, of each kind there is. */
static void check_spaces(void)
{
    for (int k = 0; k < PE_N_KINDS; k++) {
        struct pe_space s;
        long *block;

        if (k == PE_FAM && getenv("SHMEM_FAM_PATH") == NULL) continue;
        if (!pe_kind_create(k, PE_MIB, &s)) continue;
        if (s.rank >= 0) {
            block = pe_kind_malloc(&s, 3 * N);
            if (s.n == pe_n) use(block, block + N, block + 2 * N);
            shmem_free(block);
            pe_kind_destroy(&s);
        }
        shmem_barrier_all();
    }
}

/* A handle of kernels that is made before has the addresses of what will be there. */
static void check_handle(void)
{
    shmemx_device_handle_t handle;
    uint64_t base = (uint64_t)(uintptr_t)info_of(SHMEM_SPACE_DEFAULT).base;
    int next = (pe_me + 1) % pe_n;
    bool has = false;
    long *word;

    PE_REQUIRE(shmemx_device_handle_create(SHMEM_TEAM_WORLD, NULL, &handle) == 0, "no handle");
    word = shmem_malloc(3 * N * sizeof(*word));
    PE_REQUIRE(word != NULL, "it does not grow");
    for (uint32_t i = 0; i < handle.n_spaces; i++) {
        const uint64_t *parts = (const uint64_t *)(uintptr_t)handle.spaces[i].parts;
        if (handle.spaces[i].base != base) continue;
        has = true;
        for (int pe = 0; pe < pe_n; pe++)
            PE_CHECK((parts[pe] != 0) == (shmem_ptr(word, pe) != NULL), "its part of PE %d", pe);
    }
    PE_CHECK(has, "its row");
    shmemx_dev_long_p(&handle, word, 31 + pe_me, next);
    shmemx_dev_barrier(&handle);
    PE_CHECK_EQ(shmem_long_g(word, next), 31 + pe_me);
    shmem_barrier_all();
    PE_CHECK_EQ(shmemx_device_handle_destroy(&handle), 0);
}

/* The heap grows from its page again and again, to its end. */
static void check_growth(size_t max)
{
    shmemx_space_info_t info;
    long *first, *second;

    check_handle();
    info = info_of(SHMEM_SPACE_DEFAULT);
    first = info.base;
    PE_CHECK(info.nbytes > 0 && info.nbytes <= max, "it has %zu bytes", info.nbytes);
    use(first, first + N, first + 2 * N);
    second = shmem_calloc(1, info.nbytes);
    PE_REQUIRE(second != NULL, "it does not grow again");
    PE_CHECK(info_of(SHMEM_SPACE_DEFAULT).nbytes > info.nbytes, "without more memory");
    use(second + info.nbytes / sizeof(long) - N, first, first + N);
    PE_CHECK(shmem_malloc(max) == NULL, "more than it may have");
    shmem_free(second);
    use(first, first + N, first + 2 * N);
    shmem_free(first);
    PE_CHECK_EQ(info_of(SHMEM_SPACE_DEFAULT).used, 0);
}

static void begin(void)
{
    pe_me = shmem_my_pe();
    pe_n = shmem_n_pes();
    pe_tally = tally;
    signal_word = 0;
    counter = 0;
    shmem_barrier_all();
}

int main(int argc, char **argv)
{
    bool grows = argc > 1 && strcmp(argv[1], "grows") == 0;
    size_t max = grows ? 200 * PE_MIB : 0;
    int status = PE_PASS;

    for (int round = 0; round < 2 && status == PE_PASS; round++) { /* again after a finalize */
        shmem_init();
        begin();
        check_facts(max);
        if (!grows) check_taken();
        check_nothing();
        if (!grows) check_null(1);
        check_globals();
        check_spaces();
        if (grows) check_growth(max);
        if (grows) check_spaces();
        check_null(grows ? 2 * max : 4096);
        if (!grows) check_facts(max);
        status = pe_test_end();
    }
    return status;
}
