/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fake CUDA driver, memory by handles: addresses, memory, mappings, access; and host memory
 * that is registered by ranges.
 */
#include "fakecuda.h"

#include <sys/mman.h>

#define MIB2 ((size_t)2 << 20)

static CUmemAllocationProp prop = {
    .type = CU_MEM_ALLOCATION_TYPE_PINNED,
    .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
    .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
};

static CUdeviceptr reserve(size_t nbytes)
{
    CUdeviceptr address;

    ck_cuda(cu.mem_address_reserve(&address, nbytes, 0, 0, 0));
    return address;
}

static CUmemGenericAllocationHandle create(size_t nbytes)
{
    CUmemGenericAllocationHandle handle;

    ck_cuda(cu.mem_create(&handle, nbytes, &prop, 0));
    return handle;
}

static void give_access(CUdeviceptr address, size_t nbytes, int flags)
{
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, flags};

    ck_cuda(cu.mem_set_access(address, nbytes, &access, 1));
}

START_TEST(memory_is_made_and_mapped)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;
    unsigned char byte = 0;
    size_t free_bytes[2];
    size_t total;
    int capable = 1;

    start();
    ck_cuda(cu.mem_get_info(&free_bytes[0], &total));
    address = reserve(2 * MIB2);
    ck_assert_uint_eq(address % MIB2, 0);
    handle = create(MIB2);
    ck_cuda(cu.mem_map(address + MIB2, MIB2, 0, handle, 0));
    give_access(address + MIB2, MIB2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ck_cuda(cu.mem_release(handle)); /* the mapping keeps the memory */
    ck_assert_int_eq(live("physical") + live("mapped") + live("reservation"), 3);
    ck_cuda(cu.memset_d8(address + 2 * MIB2 - 1, 5, 1));
    ck_cuda(cu.memcpy_dtoh(&byte, address + 2 * MIB2 - 1, 1));
    ck_assert_int_eq(byte, 5);
    ck_refused(cu.memset_d8(address, 5, 1), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.pointer_get_attribute(&capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
                                     address + MIB2));
    ck_assert_int_eq(capable, 0);
    ck_refused(cu.ipc_get_mem_handle(&(CUipcMemHandle){0}, address + MIB2),
               CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_free(address + MIB2), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.mem_unmap(address + MIB2, MIB2));
    ck_cuda(cu.mem_address_free(address, 2 * MIB2));
    ck_assert_int_eq(live("physical") + live("mapped") + live("reservation"), 0);
    ck_cuda(cu.mem_get_info(&free_bytes[1], &total));
    ck_assert_uint_eq(free_bytes[0], free_bytes[1]);
}
END_TEST

START_TEST(one_memory_has_two_places)
{
    CUmemGenericAllocationHandle handle;
    CUdeviceptr address;

    start();
    address = reserve(2 * MIB2);
    handle = create(MIB2);
    ck_cuda(cu.mem_map(address, MIB2, 0, handle, 0));
    ck_cuda(cu.mem_map(address + MIB2, MIB2, 0, handle, 0));
    give_access(address, 2 * MIB2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ck_cuda(cu.memset_d8(address + 100, 1, 1));
    ck_cuda(cu.ctx_synchronize());
    ck_assert_int_eq(*(unsigned char *)alias(address + MIB2 + 100), 1);
}
END_TEST

START_TEST(work_goes_over_borders)
{
    CUdeviceptr address;
    unsigned char bytes[4] = {0};

    start();
    address = reserve(4 * MIB2);
    for (int i = 0; i < 2; i++)
        ck_cuda(cu.mem_map(address + MIB2 * (size_t)i, MIB2, 0, create(MIB2), 0));
    ck_cuda(cu.mem_map(address + 3 * MIB2, MIB2, 0, create(MIB2), 0));
    give_access(address, 2 * MIB2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ck_cuda(cu.memset_d8(address, 7, 2 * MIB2));
    ck_cuda(cu.memcpy_dtoh(bytes, address + MIB2 - 2, 4));
    ck_assert(bytes[0] == 7 && bytes[3] == 7);
    ck_refused(cu.memset_d8(address, 7, 2 * MIB2 + 1), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.memset_d8(address + 2 * MIB2, 7, 1), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(arguments_are_checked)
{
    CUmemGenericAllocationHandle handle;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, 3};
    CUdeviceptr address;

    start();
    ck_refused(cu.mem_create(&handle, MIB2 + 1, &prop, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_create(&handle, (size_t)1 << 40, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    ck_refused(cu.mem_address_reserve(&address, 4096, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
    address = reserve(MIB2);
    handle = create(2 * MIB2);
    ck_refused(cu.mem_map(address, 2 * MIB2, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_map(address + 4096, MIB2, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.mem_map(address, MIB2, 0, handle, 0));
    ck_refused(cu.mem_map(address, MIB2, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_unmap(address, MIB2 / 2), CUDA_ERROR_INVALID_VALUE);
    ck_refused(cu.mem_set_access(address + MIB2, MIB2, &access, 1), CUDA_ERROR_INVALID_VALUE);
    prop.requestedHandleTypes = 8;
    ck_refused(cu.mem_create(&handle, MIB2, &prop, 0), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/* ---- misuse -------------------------------------------------------------------- */

static CUdeviceptr mapped;

static CUmemGenericAllocationHandle map(int flags)
{
    CUmemGenericAllocationHandle handle;

    start();
    mapped = reserve(MIB2);
    handle = create(MIB2);
    ck_cuda(cu.mem_map(mapped, MIB2, 0, handle, 0));
    if (flags != 0) give_access(mapped, MIB2, flags);
    return handle;
}

static void use_without_access(void)
{
    map(0);
    cu.memset_d8(mapped, 0, 1);
}

static void write_to_read_only(void)
{
    char byte;

    map(CU_MEM_ACCESS_FLAGS_PROT_READ);
    ck_cuda(cu.memcpy_dtoh(&byte, mapped, 1));
    cu.memset_d8_async(mapped, 0, 1, NULL);
}

static void release_twice(void)
{
    CUmemGenericAllocationHandle handle = map(0);

    ck_cuda(cu.mem_release(handle));
    cu.mem_release(handle);
}

static void free_mapped_addresses(void)
{
    map(0);
    cu.mem_address_free(mapped, MIB2);
}

static void unmap_under_work(void)
{
    setenv("FAKECUDA_DELAY_US", "200000", 1);
    map(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ck_cuda(cu.memset_d8_async(mapped, 0, 1, NULL));
    cu.mem_unmap(mapped, MIB2);
}

/* Two mappings, of which the work begins in the first. */
static void map_two(int second_flags)
{
    start();
    mapped = reserve(2 * MIB2);
    for (size_t i = 0; i < 2; i++)
        ck_cuda(cu.mem_map(mapped + i * MIB2, MIB2, 0, create(MIB2), 0));
    give_access(mapped, MIB2, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (second_flags != 0) give_access(mapped + MIB2, MIB2, second_flags);
}

static void unmap_second_under_work(void)
{
    setenv("FAKECUDA_DELAY_US", "200000", 1);
    map_two(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ck_cuda(cu.memset_d8_async(mapped, 0, 2 * MIB2, NULL));
    cu.mem_unmap(mapped + MIB2, MIB2);
}

static void use_second_without_access(void)
{
    map_two(0);
    cu.memset_d8(mapped, 0, 2 * MIB2);
}

static void use_unmapped(void)
{
    map(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    ck_cuda(cu.mem_unmap(mapped, MIB2));
    cu.memset_d8(mapped, 0, 1);
}

static void touch_from_host(void)
{
    map(CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    *(volatile char *)host(mapped) = 1;
}

START_TEST(misuse_is_loud)
{
    expect_signal(use_without_access, SIGABRT, "was not given access to write");
    expect_signal(write_to_read_only, SIGABRT, "was not given access to write");
    expect_signal(release_twice, SIGABRT, "was released");
    expect_signal(free_mapped_addresses, SIGABRT, "while memory is mapped there");
    expect_signal(unmap_under_work, SIGABRT, "1 operations on it are under way");
    expect_signal(unmap_second_under_work, SIGABRT, "1 operations on it are under way");
    expect_signal(use_second_without_access, SIGABRT, "was not given access to write");
    expect_signal(use_unmapped, SIGABRT, "was unmapped");
    expect_signal(touch_from_host, SIGSEGV, "");
}
END_TEST

/* ---- host memory ---------------------------------------------------------------- */

START_TEST(host_memory_is_registered_by_ranges)
{
    size_t nbytes = 1 << 16;
    char *memory = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long long ids[2];
    CUdeviceptr address;
    CUdeviceptr gpu;
    CUstream stream;

    start();
    gpu = allocate(nbytes);
    ck_cuda(cu.stream_create(&stream, 0));
    ck_refused(cu.mem_host_get_device_pointer(&address, memory, 0), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.mem_host_register(memory, 8192, CU_MEMHOSTREGISTER_DEVICEMAP));
    ck_cuda(cu.mem_host_register(memory + 8192, 4096, CU_MEMHOSTREGISTER_PORTABLE));
    ck_refused(cu.mem_host_register(memory + 4096, 8192, 0),
               CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
    ck_cuda(cu.mem_host_get_device_pointer(&address, memory + 100, 0));
    ck_assert_uint_eq(address, device(memory + 100));
    ck_refused(cu.mem_host_get_device_pointer(&address, memory + 12288, 0),
               CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2; i++)
        ck_cuda(cu.pointer_get_attribute(&ids[i], CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                         device(memory + 8191 + i)));
    ck_assert_uint_ne(ids[0], ids[1]);
    /* A copy lies in one range, or in none. */
    ck_cuda(cu.memcpy_htod_async(gpu, memory, 8192, stream));
    ck_refused(cu.memcpy_htod_async(gpu, memory, 8193, stream), CUDA_ERROR_INVALID_VALUE);
    ck_cuda(cu.stream_synchronize(stream));
    ck_cuda(cu.mem_host_unregister(memory));
    ck_refused(cu.mem_host_unregister(memory + 100), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
    /* The same range again is another buffer. */
    ck_cuda(cu.mem_host_register(memory, 8192, 0));
    ck_cuda(cu.pointer_get_attribute(&ids[1], CU_POINTER_ATTRIBUTE_BUFFER_ID, device(memory)));
    ck_assert_uint_ne(ids[0], ids[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fakecuda_virtual");
    TCase *tcase = tcase_create("fakecuda_virtual");
    SRunner *runner = srunner_create(suite);
    int failed;

    load();
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, memory_is_made_and_mapped);
    tcase_add_test(tcase, one_memory_has_two_places);
    tcase_add_test(tcase, work_goes_over_borders);
    tcase_add_test(tcase, arguments_are_checked);
    tcase_add_test(tcase, misuse_is_loud);
    tcase_add_test(tcase, host_memory_is_registered_by_ranges);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
