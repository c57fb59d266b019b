/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests the GPU kind of spaces on the fake CUDA driver: how the kind finds and describes devices,
 * which device each PE gets, and which sizes and buffers the kind accepts. CTest runs the program
 * as unit.cuda, with the fake driver in LD_LIBRARY_PATH. Spaces are tested in test_cuda_space.c and
 * copies in test_cuda_copy.c. A pass says nothing about a GPU.
 */
#include "cuda_test.h"

#include <sched.h>
#include <sys/stat.h>

CUDA_TESTS

static char why[512];

static int probe(int device)
{
    struct stp_space_params params = params_of(MIB, device);

    return gpu->probe(&params, why, sizeof(why));
}

#define ck_probe(device, rc, words)                                                                \
    do {                                                                                           \
        ck_assert_int_eq(probe(device), rc);                                                       \
        ck_assert_msg(strstr(why, words) != NULL, "the text \"%s\" is not in the reason: %s",      \
                      words, why);                                                                 \
    } while (0)

/* ---- finding devices -------------------------------------------------------------------- */

TEST(off_asks_nobody)
{
    stp_env.gpu = false;
    start_with("2");
    ck_probe(-1, -ENODEV, "SHMEM_GPU is off");
    ck_assert(!stp_win.devices);
    ck_assert_int_eq(fake.calls("cuInit"), 0);
    ck_assert(!gpu->describe(0, why, sizeof(why)));
    ck_assert(!gpu->device->owns(private_memory));
    gpu->stop();
}

TEST(a_machine_without_devices)
{
    start_with("0");
    ck_probe(-1, -ENODEV, "the CUDA driver reports: ");
    ck_probe(-1, -ENODEV, "(100)");
    ck_assert(!stp_win.devices);
    gpu->device->flush_remote();
    gpu->stop();
}

TEST_LOOP(refusals_at_start_are_reasons, 0, 3)
{
    static const char *const rules[][2] = {
        {"cuInit:803", "(803)"},
        {"cuDeviceGetCount:999", "(999)"},
        {"cuDeviceTotalMem_v2:46", "gpu 0 cannot be used: CUDA_ERROR_DEVICE_UNAVAILABLE (46)"},
    };

    setenv("FAKECUDA_FAIL", rules[_i][0], 1);
    start_with("1");
    ck_probe(-1, -ENODEV, rules[_i][1]);
    ck_assert(!stp_win.devices);
}

/* Another process, for which the loader finds something that is no driver. */
TEST(a_library_that_is_none)
{
    char path[] = "/tmp/steppe-test-cuda-XXXXXX", file[64];
    int status;
    pid_t pid;

    ck_assert_ptr_nonnull(mkdtemp(path));
    snprintf(file, sizeof(file), "%s/" STP_CUDA_LIBRARY, path);
    ck_assert_ptr_nonnull(fopen(file, "w"));
    pid = fork();
    if (pid == 0) {
        setenv("LD_LIBRARY_PATH", path, 1);
        execl("/proc/self/exe", "test_cuda", "--broken", (char *)NULL);
        _exit(8);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    unlink(file);
    rmdir(path);
    ck_assert_int_eq(status, 0);
}

static int main_broken(void)
{
    stp_env_load();
    gpu->device->start();
    return probe(-1) == -ENODEV && strstr(why, "cannot be loaded: ") != NULL ? 0 : 1;
}

TEST(devices_are_found_without_contexts)
{
    for (int i = 0; i < 3; i++) { /* init, finalize, init */
        start_with("3");
        ck_assert(stp_win.devices);
        ck_probe(1, 0, "gpu 1: fakecuda test double 1, 256 MiB");
        ck_assert(gpu->describe(2, why, sizeof(why)));
        ck_assert_msg(strstr(why, "gpu 2: fakecuda test double 2, 256 MiB, pci 0000:19:00.0, "
                                  "numa -1, uuid 66616b65-6375-6461-0000-000000000003"),
                      "device 2 is described as: %s", why);
        ck_assert(!gpu->describe(3, why, sizeof(why)));
        ck_assert(!gpu->describe(-1, why, sizeof(why)));
        gpu->stop();
        ck_assert(!stp_win.devices);
        ck_assert(!gpu->describe(0, why, sizeof(why)));
    }
    ck_assert_int_eq(fake.calls("cuDevicePrimaryCtxRetain"), 0);
    ck_assert_int_eq(fake.live("ctx"), 0);
}

/* What is free: by NVML, by a context that is up, or unknown; and never by a new context. */
TEST(devices_are_described_without_contexts)
{
    struct stp_device device = STP_DEVICE_UNKNOWN;
    struct stp_space space;

    start_with("2");
    ck_assert_int_eq(gpu->devices(-1, NULL), 2);
    ck_assert_int_eq(gpu->devices(2, &device), 2);
    ck_assert_str_eq(device.name, ""); /* there is none: nothing is set */
    gpu->devices(1, &device);
    ck_assert_str_eq(device.name, "fakecuda test double 1");
    ck_assert_str_eq(device.bus, "0000:18:00.0");
    ck_assert_uint_eq(device.nbytes, 256 * MIB);
    ck_assert_uint_eq(device.free, SIZE_MAX);

    setenv("FAKECUDA_NVML", "0x18", 1);
    setenv("FAKECUDA_NVML_TOTAL", "0x10800000", 1); /* a bit more than the driver tells */
    device = STP_DEVICE_UNKNOWN;
    gpu->devices(1, &device);
    ck_assert_uint_eq(device.free, 66 * MIB);
    device = STP_DEVICE_UNKNOWN;
    gpu->devices(0, &device); /* a bus that NVML does not know */
    ck_assert_uint_eq(device.free, SIZE_MAX);
    setenv("FAKECUDA_NVML_TOTAL", "0x80000000", 1); /* of the GPU that this is an instance of */
    device = STP_DEVICE_UNKNOWN;
    gpu->devices(1, &device);
    ck_assert_uint_eq(device.free, SIZE_MAX);
    ck_assert_int_eq(fake.calls("cuDevicePrimaryCtxRetain"), 0);
    ck_assert_int_eq(fake.live("ctx"), 0);

    setenv("FAKECUDA_NVML_TOTAL", "0x10000000", 1);
    space_up(&space, 100 * MIB, 1);
    device = STP_DEVICE_UNKNOWN;
    gpu->devices(1, &device); /* the context knows better: of 256 MiB */
    ck_assert_uint_eq(device.free, 154 * MIB);
    space_down(&space);
    ck_nothing_left();
    gpu->stop();
    ck_assert_int_eq(gpu->devices(0, &device), 0);
}

/* ---- choosing --------------------------------------------------------------------------- */

TEST(who_asks_gets)
{
    struct stp_space_params params = params_of(MIB, 4);

    stp_env.gpu_device = 1;
    start_with("4");
    ck_probe(-1, 0, "gpu 1: ");
    ck_probe(3, 0, "gpu 3: ");
    CAPTURE(ck_assert_int_eq(gpu->admit(&params), -EINVAL));
    ck_said("device is 4, but the valid numbers of GPUs on this PE are 0..3");
    /* It has GPUs: the parameters are wrong. */
    ck_probe(4, 0, "numbers of GPUs on this PE are 0..3");

    stp_env.gpu_device = 7;
    capture_begin(&said);
    gpu->stop();
    gpu->device->start();
    capture_end(&said);
    ck_said("SHMEM_GPU_DEVICE is 7, but the valid numbers of GPUs on this PE are 0..3");
    ck_probe(-1, -ENODEV,
             "SHMEM_GPU_DEVICE is 7, but the valid numbers of GPUs on this PE are 0..3");
    ck_probe(2, 0, "gpu 2: ");
}

static char tree[64]; /* stands for /sys */

static void tree_put(const char *path, const char *text)
{
    char whole[256];
    FILE *file;

    snprintf(whole, sizeof(whole), "%s/%s", tree, path);
    for (char *slash = whole + strlen(tree) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    file = fopen(whole, "w");
    if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) abort();
}

static void tree_remove(void)
{
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s", tree);
    if (system(command) != 0) abort();
}

/* Device i of the fake driver hangs on a node with these CPUs. */
static void tree_device(int i, int node, const char *cpus)
{
    char path[96], text[16];

    snprintf(path, sizeof(path), "bus/pci/devices/0000:%02x:00.0/local_cpulist", 0x17 + i);
    tree_put(path, cpus);
    snprintf(path, sizeof(path), "bus/pci/devices/0000:%02x:00.0/numa_node", 0x17 + i);
    snprintf(text, sizeof(text), "%d\n", node);
    tree_put(path, text);
}

/* "0-2,<cpu>,8191\n": a list with a CPU of ours. */
static const char *with_own_cpu(void)
{
    static char text[64];
    cpu_set_t set;
    int cpu = 0;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(set), &set), 0);
    while (!CPU_ISSET(cpu, &set))
        cpu++;
    snprintf(text, sizeof(text), "%d-%d,8191\n", cpu, cpu);
    return text;
}

static void tree_make(void)
{
    strcpy(tree, "/tmp/steppe-test-sysfs-XXXXXX");
    if (mkdtemp(tree) == NULL) abort();
    stp_sysfs = tree;
}

static int chosen_at(int local)
{
    window_up(local);
    gpu->stop();
    gpu->device->start();
    ck_assert_int_eq(probe(-1), 0);
    return atoi(why + strlen("gpu "));
}

TEST(near_devices_take_turns)
{
    static const int expected[NODE_PES] = {1, 3, 1, 3};

    tree_make();
    for (int i = 0; i < 4; i++)
        tree_device(i, i % 2, i % 2 ? with_own_cpu() : "8100-8150,8190\n");
    start_with("4");
    for (int local = 0; local < NODE_PES; local++)
        ck_assert_int_eq(chosen_at(local), expected[local]);
    ck_assert(gpu->describe(1, why, sizeof(why)));
    ck_assert_msg(strstr(why, "numa 1, ") != NULL, "the description lacks \"numa 1, \": %s", why);
    tree_remove();
}

static int distance_of(int ordinal)
{
    struct stp_device device = STP_DEVICE_UNKNOWN;

    gpu->devices(ordinal, &device);
    return device.distance;
}

/* Nodes 0, 2 and 5 are online; our CPUs are on 5, to which 2 is nearer than 0. */
TEST(distance_counts_where_none_is_local)
{
    tree_make();
    tree_put("devices/system/node/online", "0,2,5\n");
    tree_put("devices/system/node/node0/distance", "10 20 31\n");
    tree_put("devices/system/node/node2/distance", "20 10 21\n");
    tree_put("devices/system/node/node0/cpulist", "8000-8003\n");
    tree_put("devices/system/node/node2/cpulist", "8004\n");
    tree_put("devices/system/node/node5/cpulist", with_own_cpu());
    tree_device(0, 0, "8000-8003\n");
    tree_device(1, 2, "8004\n");
    tree_device(2, -1, "\n");
    start_with("3");
    ck_assert_int_eq(chosen_at(0), 1);
    ck_assert_int_eq(chosen_at(1), 1);
    ck_assert_int_eq(distance_of(0), 31);
    ck_assert_int_eq(distance_of(1), 21);
    ck_assert_int_eq(distance_of(2), -1);
    ck_assert_int_eq(stp_numa_between(0, 2), 20);
    ck_assert_int_eq(stp_numa_between(2, 5), 21);
    ck_assert_int_eq(stp_numa_between(2, 1), -1);
    ck_assert_int_eq(stp_numa_between(-1, 2), -1);
    tree_remove();
}

/* Host memory: nodes 2 and 5 have some, and our CPUs are on 5. */
TEST(nodes_with_memory_are_devices)
{
    struct stp_device device = STP_DEVICE_UNKNOWN;

    tree_make();
    ck_assert_int_eq(stp_numa_count_devices(0, &device), 1); /* a kernel without nodes */
    ck_assert_str_eq(device.name, "host memory");
    ck_assert_int_eq(device.numa, -1);
    tree_put("devices/system/node/has_memory", "2,5\n");
    tree_put("devices/system/node/online", "0,2,5\n");
    tree_put("devices/system/node/node2/distance", "20 10 21\n");
    tree_put("devices/system/node/node2/meminfo", "Node 2 MemTotal:  2048 kB\n"
                                                  "Node 2 MemFree:    512 kB\n"
                                                  "Node 2 Active(file): 8 kB\n");
    tree_put("devices/system/node/node5/cpulist", with_own_cpu());
    tree_put("kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n");
    tree_put("kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "0\n");
    device = STP_DEVICE_UNKNOWN;
    ck_assert_int_eq(stp_numa_count_devices(0, &device), 2);
    ck_assert_str_eq(device.name, "host memory, NUMA node 2");
    ck_assert_int_eq(device.numa, 2);
    ck_assert_int_eq(device.distance, 21);
    ck_assert_uint_eq(device.nbytes, 2 * MIB);
    ck_assert_uint_eq(device.free, 520 * KIB);
    ck_assert_int_eq(device.n_pages, 3);
    ck_assert_uint_eq(device.pages[1], 2 * MIB);
    ck_assert_uint_eq(device.pages[2], 1024 * MIB);
    device = STP_DEVICE_UNKNOWN;
    ck_assert_int_eq(stp_numa_count_devices(2, &device), 2);
    ck_assert_str_eq(device.name, "");
    tree_remove();
}

TEST(without_locality_all_take_turns)
{
    tree_make();
    start_with("3");
    for (int local = 0; local < NODE_PES; local++)
        ck_assert_int_eq(chosen_at(local), local % 3);
    tree_remove();
}

/* ---- admission ----------------------------------------------------------------------------- */

TEST(sizes_are_compared_with_the_device)
{
    struct stp_space_params params = params_of(300 * MIB, -1);
    struct stp_part_export share;
    struct stp_space space, second = {.kind = gpu, .nbytes = 100 * MIB, .max_bytes = 100 * MIB};

    start_with("1");
    capture_begin(&said);
    ck_assert_int_eq(gpu->admit(&params), -ENOMEM);
    ck_assert_int_eq(fake.calls("cuDevicePrimaryCtxRetain"), 0);
    capture_end(&said);
    ck_said("314572800 bytes (300 MiB) per PE does not fit gpu 0 (fakecuda test double 0), "
            "of which 256 MiB of 256 MiB are free");
    space_up(&space, 200 * MIB, -1);
    params.nbytes = 100 * MIB;
    CAPTURE(ck_assert_int_eq(gpu->admit(&params), -ENOMEM));
    ck_said("54 MiB of 256 MiB are free"); /* 2 MiB align the first one's base */
    CAPTURE(ck_assert_int_eq(gpu->create(&second, &params, &share), -ENOMEM));
    ck_said("54 MiB of 256 MiB are free");
    ck_assert_int_eq(fake.live("alloc"), 1);
    space_down(&space);
    ck_nothing_left();
}

static void ck_refused_buffer(struct stp_space_params params, void *buffer, int rc,
                              const char *words)
{

    params.buffer = buffer;
    CAPTURE(ck_assert_int_eq(gpu->admit(&params), rc));
    ck_said(words);
}

TEST(buffers_of_the_program)
{
    struct stp_space_params params = params_of(64 * KIB, -1);
    struct stp_queue *queue;
    struct stp_space space;
    char *buffer, host[64];

    start_with("2");
    buffer = private_memory(1, 100 * KIB);
    ck_refused_buffer(params, host, -EINVAL, "is not device memory");
    ck_refused_buffer(params, buffer + 40 * KIB, -EINVAL, "has only 61440 bytes up to the end");
    ck_refused_buffer(params, buffer + 4, -EINVAL, "is not a multiple of 64 bytes");
    params.device = 0;
    ck_refused_buffer(params, buffer, -EINVAL, "is memory of device 1");
    params.device = -1;
    params.buffer = buffer + 4 * KIB;
    ck_assert_int_eq(space_try(&space, &params), 0);
    ck_assert_ptr_eq(space.base, buffer + 4 * KIB);
    ck_assert_int_eq(space.device, 1);
    stp_space_lookup_insert(&space);
    ck_refused_buffer(params, buffer + 32 * KIB, -EBUSY, "overlaps space 3 (gpu, 65536 bytes");
    stp_space_lookup_remove(&space);
    ck_assert_int_eq(gpu->device->queue_create(&queue), 0);
    ck_assert_int_eq(gpu->device->zero(queue, &space, 64, 64), 0);
    gpu->device->queue_destroy(queue);
    space_down(&space);
    params.buffer = buffer;
    ck_assert_int_eq(space_try(&space, &params), 0);
    space_down(&space);
    ck_assert_int_eq(fake.live("alloc"), 1); /* not ours to free */
    ck_cuda(api.primary_ctx_release(1));
    ck_assert_int_eq(fake.live("ctx"), 0);
}

static unsigned copies_wait(const char *buffer)
{
    unsigned on = 7;

    ck_cuda(api.pointer_get_attribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address_of(buffer)));
    return on;
}

/* Whether copies to it are synchronous is of a whole allocation, and the program's again. */
TEST(buffers_are_given_back_as_they_were)
{
    struct stp_space_params params = params_of(32 * KIB, -1);
    struct stp_space first, second;
    unsigned on = 1;
    long calls;
    char *buffer;

    start_with("1");
    buffer = private_memory(0, 100 * KIB);
    ck_assert_uint_eq(copies_wait(buffer), 0);
    params.buffer = buffer;
    ck_assert_int_eq(space_try(&first, &params), 0);
    params.buffer = buffer + 64 * KIB;
    ck_assert_int_eq(space_try(&second, &params), 0);
    ck_assert_uint_eq(copies_wait(buffer), 1);
    calls = fake.calls("cuPointerSetAttribute");
    space_down(&first);
    ck_assert_uint_eq(copies_wait(buffer), 1);
    space_down(&second);
    ck_assert_uint_eq(copies_wait(buffer), 0);
    ck_assert_int_eq(fake.calls("cuPointerSetAttribute") - calls, 1);
    /* the program had it so */
    ck_cuda(api.pointer_set_attribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address_of(buffer)));
    ck_assert_int_eq(space_try(&second, &params), 0);
    space_down(&second);
    ck_assert_uint_eq(copies_wait(buffer), 1);
    ck_cuda(api.primary_ctx_release(0));
}

int main(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "--broken") == 0 ? main_broken() : unit_run();
}
