/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When libfabric's first question is kept from the kernel's symbols (transport/ofi/kallsyms.c): not
 * where somebody else in the process could want the answer, nor where the word cannot be written;
 * and the word is as it was after it. The test says what files the host has.
 */
#include "base/base.h"

#include <check.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *files[2];
static bool may_write;

static int host_access(const char *path, int mode)
{
    ck_assert_int_eq(mode, F_OK);
    for (size_t i = 0; i < STP_COUNT(files); i++)
        if (files[i] != NULL && strcmp(path, files[i]) == 0) return 0;
    errno = ENOENT;
    return -1;
}

static int host_mprotect(void *page, size_t nbytes, int prot)
{
    if (may_write) return mprotect(page, nbytes, prot);
    errno = ENOMEM;
    return -1;
}

#define access host_access
#define mprotect host_mprotect
#include "transport/ofi/kallsyms.c"
#undef access
#undef mprotect

struct stp_ofi stp_ofi;

/* The word of fopen, by whichever name; NULL: none is led elsewhere. */
static void **hidden(void)
{
    for (size_t i = 0; i < STP_COUNT(words); i++)
        if (words[i].at != NULL && *words[i].at == (void *)(uintptr_t)open_other)
            return words[i].at;
    return NULL;
}

/* Is the file hidden on such a host? Afterwards nothing is, in any case. */
static bool hides(bool devices, const char *first, const char *second)
{
    struct stp_core core = {.devices = devices};
    void **word;

    files[0] = first;
    files[1] = second;
    stp_ofi_kallsyms_hide(&core);
    word = hidden();
    stp_ofi_kallsyms_show();
    ck_assert_ptr_null(hidden());
    return word != NULL;
}

static void need_libfabric(void)
{
    void *library = dlopen("libfabric.so.1", RTLD_NOW);

    if (library == NULL) ck_abort_msg("%s", dlerror());
    may_write = true;
}

START_TEST(hidden_where_nobody_asks)
{
    need_libfabric();
    if (!hides(false, NULL, NULL)) { /* built another way: then the file is read */
        puts("no word of libfabric leads to fopen");
        return;
    }
    ck_assert(hides(false, "/sys/class/infiniband", NULL));
    ck_assert(hides(false, "/sys/module/nvidia", NULL));
}
END_TEST

START_TEST(seen_where_somebody_may_ask)
{
    need_libfabric();
    ck_assert(!hides(true, NULL, NULL));
    ck_assert(!hides(false, "/sys/class/infiniband", "/sys/module/nvidia"));
    ck_assert(!hides(false, "/sys/class/infiniband", "/sys/module/amdgpu"));
}
END_TEST

START_TEST(word_that_cannot_be_written)
{
    struct stp_core core = {.devices = false};
    void **word;

    need_libfabric();
    files[0] = files[1] = NULL;
    stp_ofi_kallsyms_hide(&core);
    word = hidden();
    stp_ofi_kallsyms_show();
    if (word == NULL) return;
    may_write = false;
    stp_ofi_kallsyms_hide(&core);
    ck_assert(words[0].read_only == (hidden() == NULL));
    may_write = true;
    stp_ofi_kallsyms_show();
    ck_assert_ptr_null(hidden());
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ofi_kallsyms");
    TCase *tests = tcase_create("ofi_kallsyms");
    SRunner *runner = srunner_create(suite);
    int n_failed;

    tcase_add_test(tests, hidden_where_nobody_asks);
    tcase_add_test(tests, seen_where_somebody_may_ask);
    tcase_add_test(tests, word_that_cannot_be_written);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    n_failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return n_failed == 0 ? 0 : 2;
}
