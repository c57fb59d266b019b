/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks private device memory as a buffer of fabric operations: an allocation is registered once
 * and found again, memory that was freed and allocated anew at the same address is registered
 * again, the number of registrations is limited, and none is left after finalize. Needs the
 * provider shim of test/provider and the fake driver, which count registrations and calls.
 *
 * usage: space_buffers [refused]
 *   refused: the shim refuses each registration, and must be asked only once
 */
#include "pe_gpu.h"

#include <pthread.h>
#include <string.h>

enum { N = 3000, NBYTES = N * (int)sizeof(long), ROOM = 64, MANY = 70, THREADS = 4, ROUNDS = 30 };

static long (*calls)(const char *symbol);
static long (*shim)(const char *what);
static int (*attribute)(void *data, int attribute, unsigned long long address);
static long *mine; /* private memory of the device */
static long *there;
static void *context;

static long *allocate(void)
{
    unsigned long long address = 0;

    PE_REQUIRE(pe_cuda.alloc(&address, NBYTES) == 0,
               "cuMemAlloc of the test's device memory failed");
    return (long *)(uintptr_t)address;
}

static void release(long *memory)
{
    PE_CHECK_EQ(pe_cuda.free((uintptr_t)memory), 0);
}

/* Done on return, whether or not the driver's copies are synchronous. */
static void fill(long *memory, long base)
{
    static __thread long values[N];

    for (int i = 0; i < N; i++)
        values[i] = base + i;
    PE_CHECK_EQ(pe_cuda.to_device((uintptr_t)memory, values, sizeof(values)), 0);
    PE_CHECK_EQ(pe_cuda.finish(), 0);
}

static void expect(const long *memory, long base, const char *what)
{
    static __thread long values[N];
    int wrong = 0;

    PE_CHECK_EQ(pe_cuda.to_host(values, (uintptr_t)memory, sizeof(values)), 0);
    for (int i = 0; i < N; i++)
        wrong += values[i] != base + i;
    PE_CHECK(wrong == 0, "%s: %d of %d elements are wrong", what, wrong, (int)N);
}

/* From memory to block on the next PE and back, by either sort of operation. */
static void use(long *memory, long *block, long base, bool nbi, const char *what)
{
    fill(memory, base);
    if (nbi)
        shmem_long_put_nbi(block, memory, N, pe_right());
    else
        shmem_long_put(block, memory, N, pe_right());
    shmem_quiet();
    fill(memory, -1);
    if (nbi)
        shmem_long_get_nbi(memory, block, N, pe_right());
    else
        shmem_long_get(memory, block, N, pe_right());
    shmem_quiet();
    expect(memory, base, what);
}

static long n_queries(void)
{
    return calls("cuPointerGetAttribute") + calls("cuPointerGetAttributes");
}

/* One registration, whatever is done with it, and one question to the driver an operation. */
static void check_reuse(bool registers)
{
    long made = shim("device_made"), refused = shim("device_refused"), queries, passed;

    use(mine, there, 100, false, "first put and get of private device memory");
    PE_CHECK_EQ(shim("device_made") - made, registers ? 1 : 0);
    PE_CHECK_EQ(shim("device_refused") - refused, registers ? 0 : 1);
    queries = n_queries();
    passed = shim("device_buffers");
    for (int round = 0; round < ROUNDS; round++)
        use(mine, there, 1000L * round + pe_me, round % 2 != 0,
            "repeated put and get of private device memory");
    PE_CHECK(
        n_queries() - queries <= 2 * ROUNDS,
        "the library queried the driver %ld times in %d operations, expected at most one query in "
        "each",
        n_queries() - queries, 2 * (int)ROUNDS);
    shmem_long_put(there, mine + N / 2, 1, pe_right()); /* its middle, and rows of it */
    shmem_long_iput(there, mine, 3, 2, 10, pe_right());
    shmem_quiet();
    PE_CHECK_EQ(shim("device_made") - made, registers ? 1 : 0);
    PE_CHECK_EQ(shim("device_refused") - refused, registers ? 0 : 1);
    PE_CHECK((shim("device_buffers") - passed >= 2 * ROUNDS) == registers,
             "%ld operations used registered device memory, which does not match the expected mode",
             shim("device_buffers") - passed);
}

/* The old registration is of memory that has gone: its bytes would be those of before. */
static void check_anew(void)
{
    long made = shim("device_made"), regions = shim("device_regions");
    long *before = mine;

    for (int round = 0; round < 3; round++) {
        release(mine);
        mine = allocate();
        PE_REQUIRE(
            mine == before,
            "the fake driver did not return the freed address again, so reuse was not tested");
        use(mine, there, 7000L * round + pe_me, round % 2 != 0,
            "put and get of memory that was freed and allocated anew");
        PE_CHECK_EQ(shim("device_made") - made, round + 1);
        PE_CHECK_EQ(shim("device_regions"), regions);
    }
}

/* Copies of the program are synchronous while adapters read the memory, and only then. */
static bool is_synchronous(const long *memory)
{
    unsigned on = 2;

    PE_CHECK_EQ(attribute(&on, 6, (uintptr_t)memory), 0); /* SYNC_MEMOPS */
    return on != 0;
}

/* More than there is room for: the one unused for longest makes room. */
static void check_many(void)
{
    long regions = shim("device_regions") - 1, made; /* without mine */
    long *many[MANY];

    for (int i = 0; i < MANY; i++)
        many[i] = allocate();
    PE_CHECK(!is_synchronous(many[0]),
             "device memory that was never used in an operation has SYNC_MEMOPS set");
    for (int i = 0; i < MANY; i++) {
        use(many[i], there, 10L * i + pe_me, i % 2 != 0, "put and get of one of many allocations");
        if (i == 0)
            PE_CHECK(is_synchronous(many[0]),
                     "device memory that is registered does not have SYNC_MEMOPS set");
        PE_CHECK(shim("device_regions") <= regions + ROOM,
                 "%ld device regions are registered, more than the limit", shim("device_regions"));
    }
    PE_CHECK(!is_synchronous(many[0]),
             "the least recently used region still has SYNC_MEMOPS set: it was not deregistered");
    made = shim("device_made");
    use(many[MANY - 1], there, 1, true, "put and get of the last of many allocations");
    use(many[MANY - ROOM], there, 2, true, "put and get of the oldest registered allocation");
    PE_CHECK_EQ(shim("device_made"), made);
    use(many[0], there, 3, true, "put and get of a deregistered allocation");
    use(many[MANY - ROOM], there, 4, true, "put and get of an allocation that was used recently");
    PE_CHECK_EQ(shim("device_made"), made + 1);
    for (int i = 0; i < MANY; i++)
        release(many[i]);
    use(mine, there, 5, false, "put and get after many allocations");
}

/* Each with memory of its own that comes and goes, and with some that all use. */
static void *run(void *arg)
{
    int id = (int)(intptr_t)arg;
    long *block = there + (size_t)id * N;

    PE_CHECK_EQ(pe_cuda.set_current(context), 0);
    for (int round = 0; round < ROUNDS; round++) {
        long *memory = allocate();

        use(memory, block, 100L * round + id, round % 2 != 0,
            "put and get of a thread's own allocation");
        shmem_long_put_nbi(block, mine, N, pe_right());
        shmem_quiet();
        shmem_long_get(memory, block, N, pe_right());
        expect(memory, 77, "data that all threads put");
        release(memory);
    }
    return NULL;
}

static void check_threads(void)
{
    pthread_t threads[THREADS];

    fill(mine, 77);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

int main(int argc, char **argv)
{
    bool registers = argc < 2 || strcmp(argv[1], "refused") != 0;
    void *memory = NULL, *driver;
    int provided;

    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    pe_test_attach();
    *(void **)&shim = dlsym(RTLD_DEFAULT, "provshim_count");
    calls = pe_gpu_counted(NBYTES, &memory);
    PE_REQUIRE(shim != NULL && calls != NULL, "the provider shim or the fake driver is not loaded");
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    *(void **)&attribute = pe_gpu_symbol(driver, "cuPointerGetAttribute");
    PE_CHECK_EQ(pe_cuda.get_current(&context), 0);
    mine = memory;
    there = shmem_malloc((size_t)THREADS * NBYTES);
    PE_REQUIRE(there != NULL, "shmem_malloc of the remote blocks returned NULL");
    check_reuse(registers);
    if (registers) {
        check_anew();
        check_many();
        check_threads();
        PE_CHECK(is_synchronous(mine),
                 "device memory that is registered does not have SYNC_MEMOPS set");
    }
    shmem_barrier_all();
    shmem_free(there);
    provided = pe_test_end(); /* finalizes */
    if (shim("device_regions") != 0 || is_synchronous(mine)) {
        fprintf(
            stderr,
            "space_buffers: %ld device regions are registered after finalize, or SYNC_MEMOPS is "
            "still set\n",
            shim("device_regions"));
        return 1;
    }
    pe_gpu_counted_end(mine);
    return provided;
}
