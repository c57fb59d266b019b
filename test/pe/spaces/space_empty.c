/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks jobs that start without a symmetric heap. With SHMEM_SYMMETRIC_SIZE=0 every allocation
 * returns NULL and the default space is one page of host memory. With 0:200m (argument "grows")
 * the heap starts with one page and grows. Globals and other spaces must work as usual.
 * run_space_env.sh checks the messages.
 *
 * usage: space_empty [grows]
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
             "shmem_space_get_team of the default space is not SHMEM_TEAM_WORLD");
    PE_CHECK(shmem_space_get_caps(SHMEM_SPACE_DEFAULT, &caps) == 0 &&
                 (caps & SHMEM_SPACE_CAP_WORLD_ACCESS) != 0,
             "capabilities of the default space are %#llx, without WORLD_ACCESS",
             (unsigned long long)caps);
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK_EQ(shmemx_space_path(SHMEM_SPACE_DEFAULT, pe) == SHMEMX_PATH_LOAD_STORE,
                    shmem_ptr(info.base, pe) != NULL);
    PE_CHECK(shmem_space_destroy(SHMEM_SPACE_DEFAULT) != 0,
             "shmem_space_destroy of the default space returned 0, expected an error");
    PE_CHECK(shmemx_space_persist(SHMEM_SPACE_DEFAULT, words, 8) != 0,
             "shmemx_space_persist of a global returned 0, expected an error");
    PE_CHECK(shmemx_space_device_ptr(SHMEM_SPACE_DEFAULT, words, pe_me) == NULL,
             "shmemx_space_device_ptr of a global is not NULL");
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
        PE_CHECK(strstr(line, path) == NULL,
                 "the process maps a file of SHMEM_FAM_PATH although there is no heap: %s", line);
    if (maps != NULL) fclose(maps);
}

/* Each of the routines, with its barrier, and NULL on all PEs. */
static void check_null(size_t nbytes)
{
    PE_CHECK(shmem_malloc(nbytes) == NULL,
             "shmem_malloc returned memory that the heap does not have, expected NULL");
    PE_CHECK(shmem_calloc(1, nbytes) == NULL,
             "shmem_calloc returned memory that the heap does not have, expected NULL");
    PE_CHECK(shmem_align(64, nbytes) == NULL,
             "shmem_align returned memory that the heap does not have, expected NULL");
    PE_CHECK(shmem_align((size_t)1 << 40, nbytes) == NULL,
             "shmem_align to 2^40 returned memory, expected NULL");
    PE_CHECK(shmem_realloc(NULL, nbytes) == NULL,
             "shmem_realloc of NULL returned memory that the heap does not have, expected NULL");
    PE_CHECK(shmem_malloc_with_hints(nbytes, SHMEM_MALLOC_ATOMICS_REMOTE) == NULL,
             "shmem_malloc_with_hints returned memory that the heap does not have, expected NULL");
    PE_CHECK(shmem_space_malloc(SHMEM_SPACE_DEFAULT, nbytes) == NULL,
             "shmem_space_malloc in the default space returned memory that the heap does not have, "
             "expected NULL");
}

static void check_nothing(void)
{
    PE_CHECK(shmem_malloc(0) == NULL, "shmem_malloc(0) returned memory, expected NULL");
    PE_CHECK(shmem_calloc(0, 8) == NULL, "shmem_calloc(0, 8) returned memory, expected NULL");
    PE_CHECK(shmem_align(64, 0) == NULL, "shmem_align(64, 0) returned memory, expected NULL");
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
    PE_CHECK(shmem_get_space(words, &space) == 0 && space == SHMEM_SPACE_DEFAULT,
             "shmem_get_space of a global is not SHMEM_SPACE_DEFAULT");
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

    PE_REQUIRE(shmemx_device_handle_create(SHMEM_TEAM_WORLD, NULL, &handle) == 0,
               "shmemx_device_handle_create for the world failed");
    word = shmem_malloc(3 * N * sizeof(*word));
    PE_REQUIRE(word != NULL, "shmem_malloc from the heap that may grow returned NULL");
    for (uint32_t i = 0; i < handle.n_spaces; i++) {
        const uint64_t *parts = (const uint64_t *)(uintptr_t)handle.spaces[i].parts;
        if (handle.spaces[i].base != base) continue;
        has = true;
        for (int pe = 0; pe < pe_n; pe++)
            PE_CHECK((parts[pe] != 0) == (shmem_ptr(word, pe) != NULL),
                     "the handle and shmem_ptr disagree about whether the heap of PE %d is mapped",
                     pe);
    }
    PE_CHECK(has, "the handle for kernels has no row for the default space");
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
    PE_CHECK(info.nbytes > 0 && info.nbytes <= max,
             "the heap has %zu bytes after its growth, expected more than 0 and at most the limit",
             info.nbytes);
    use(first, first + N, first + 2 * N);
    second = shmem_calloc(1, info.nbytes);
    PE_REQUIRE(second != NULL, "a second growth of the heap failed: shmem_calloc returned NULL");
    PE_CHECK(info_of(SHMEM_SPACE_DEFAULT).nbytes > info.nbytes,
             "the heap gave more memory and its size did not increase");
    use(second + info.nbytes / sizeof(long) - N, first, first + N);
    PE_CHECK(shmem_malloc(max) == NULL,
             "shmem_malloc of the heap's limit returned memory beside live blocks, expected NULL");
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
