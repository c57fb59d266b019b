/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a PE can ask: its number, the job's size, which PEs and addresses are accessible, and who
 * made the library. Rules R16-R20.
 */
#include "pe_data.h"

#include <limits.h>

long in_data = 7;
long in_bss[100];
static int in_static_data = 3;
static char in_static_bss[4096 * 3];

static void check_numbers(void)
{
    int *seen = shmem_calloc((size_t)pe_n, sizeof(*seen));

    PE_REQUIRE(seen != NULL, "calloc failed");
    PE_CHECK(pe_n >= 1, "n_pes is %d", pe_n);
    PE_CHECK(pe_me >= 0 && pe_me < pe_n, "my_pe is %d of %d", pe_me, pe_n);
    for (int pe = 0; pe < pe_n; pe++)
        shmem_int_atomic_inc(&seen[pe_me], pe);
    shmem_barrier_all();
    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK(seen[pe] == 1, "%d PEs say they are PE %d", seen[pe], pe);
    shmem_free(seen);
}

static void check_pe_accessible(void)
{
    static const int outside[] = {-1, INT_MIN, INT_MAX};

    for (int pe = 0; pe < pe_n; pe++)
        PE_CHECK_EQ(shmem_pe_accessible(pe), 1); /* R17 */
    PE_CHECK_EQ(shmem_pe_accessible(pe_n), 0);
    PE_CHECK_EQ(shmem_pe_accessible(pe_n + 1), 0);
    for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
        PE_CHECK_EQ(shmem_pe_accessible(outside[i]), 0);
}

/* R18: exactly 1 for the heap and for globals and statics, exactly 0 for private memory. */
static void check_addr_accessible(void)
{
    static int function_static;
    char *heap = shmem_malloc(10000);
    char *private_heap = malloc(100);
    int on_stack = 0;

    PE_REQUIRE(heap != NULL && private_heap != NULL, "no memory");
    for (int pe = 0; pe < pe_n; pe++) {
        PE_CHECK_EQ(shmem_addr_accessible(heap, pe), 1);
        PE_CHECK_EQ(shmem_addr_accessible(heap + 9999, pe), 1);
        PE_CHECK_EQ(shmem_addr_accessible(&in_data, pe), 1);
        PE_CHECK_EQ(shmem_addr_accessible(&in_bss[99], pe), 1);
        PE_CHECK_EQ(shmem_addr_accessible(&in_static_data, pe), 1);
        PE_CHECK_EQ(shmem_addr_accessible(&in_static_bss[sizeof(in_static_bss) - 1], pe), 1);
        PE_CHECK_EQ(shmem_addr_accessible(&function_static, pe), 1);
        PE_CHECK_EQ(shmem_addr_accessible(&on_stack, pe), 0);
        PE_CHECK_EQ(shmem_addr_accessible(private_heap, pe), 0);
        PE_CHECK_EQ(shmem_addr_accessible(NULL, pe), 0);
        PE_CHECK_EQ(shmem_addr_accessible(stdout, pe), 0); /* an object inside the C library */
    }
    shmem_barrier_all();
    shmem_free(heap);
    free(private_heap);
}

static void check_info(void)
{
    char name[SHMEM_MAX_NAME_LEN + 16];
    int major = -1, minor = -1;

    shmem_info_get_version(&major, &minor);
    PE_CHECK_EQ(major, SHMEM_MAJOR_VERSION); /* R19 */
    PE_CHECK_EQ(minor, SHMEM_MINOR_VERSION);
    PE_CHECK_EQ(major, 1);
    PE_CHECK_EQ(minor, 6);
    memset(name, '#', sizeof(name));
    shmem_info_get_name(name); /* R20 */
    PE_CHECK(memchr(name, '\0', SHMEM_MAX_NAME_LEN) != NULL, "the name is not terminated");
    PE_CHECK(strcmp(name, SHMEM_VENDOR_STRING) == 0, "name \"%s\" is not \"%s\"", name,
             SHMEM_VENDOR_STRING);
    PE_CHECK_SAME(name + SHMEM_MAX_NAME_LEN, 16, '#', "behind the name");
    PE_CHECK(strlen(SHMEM_VENDOR_STRING) < SHMEM_MAX_NAME_LEN, "vendor string too long");
}

int main(void)
{
    pe_test_begin();
    check_numbers();
    check_pe_accessible();
    check_addr_accessible();
    check_info();
    shmem_pcontrol(0); /* R239: variadic, returns at once */
    shmem_pcontrol(1, "anything", 2.0);
    return pe_test_end();
}
