/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares pmi/pmix_api.h, which was written by hand, with the header of an installed PMIx:
 * layouts, values, names and prototypes at compile time, and the symbols of the library at run
 * time. CTest runs the program as unit.pmix_abi; it is skipped (77) when pmix.h is not installed.
 */
#include <stdio.h>

#if !__has_include(<pmix.h>)

int main(void)
{
    fputs("skipped: no pmix.h here (Debian: libpmix-dev) to compare with\n", stderr);
    return 77;
}

#else

#include "pmi/pmix_api.h"

#include <dlfcn.h>
#include <pmix.h>
#include <string.h>

#define SAME(ours, real) _Static_assert((ours) == (real), #ours " differs from " #real)
#define SAME_MEMBER(ours, real, member)                                                            \
    SAME(offsetof(struct ours, member), offsetof(real, member));                                   \
    SAME(sizeof(((struct ours *)0)->member), sizeof(((real *)0)->member))

SAME_MEMBER(stp_pmix_proc, pmix_proc_t, nspace);
SAME_MEMBER(stp_pmix_proc, pmix_proc_t, rank);
SAME(sizeof(struct stp_pmix_proc), sizeof(pmix_proc_t));
SAME_MEMBER(stp_pmix_value, pmix_value_t, type);
SAME_MEMBER(stp_pmix_value, pmix_value_t, data);
SAME_MEMBER(stp_pmix_value, pmix_value_t, data.flag);
SAME_MEMBER(stp_pmix_value, pmix_value_t, data.string);
SAME_MEMBER(stp_pmix_value, pmix_value_t, data.uint32);
SAME_MEMBER(stp_pmix_value, pmix_value_t, data.integer);
SAME(sizeof(struct stp_pmix_value), sizeof(pmix_value_t));
SAME_MEMBER(stp_pmix_info, pmix_info_t, key);
SAME_MEMBER(stp_pmix_info, pmix_info_t, flags);
SAME_MEMBER(stp_pmix_info, pmix_info_t, value);
SAME(sizeof(struct stp_pmix_info), sizeof(pmix_info_t));

SAME(STP_PMIX_NSPACE_MAX, PMIX_MAX_NSLEN);
SAME(STP_PMIX_KEY_MAX, PMIX_MAX_KEYLEN);
SAME(STP_PMIX_SUCCESS, PMIX_SUCCESS);
SAME(STP_PMIX_ERR_NOT_FOUND, PMIX_ERR_NOT_FOUND);
SAME(STP_PMIX_GLOBAL, PMIX_GLOBAL);
SAME(STP_PMIX_RANK_WILDCARD, PMIX_RANK_WILDCARD);
SAME(STP_PMIX_BOOL, PMIX_BOOL);
SAME(STP_PMIX_STRING, PMIX_STRING);
SAME(STP_PMIX_INT, PMIX_INT);
SAME(STP_PMIX_UINT32, PMIX_UINT32);
SAME(sizeof(uint8_t), sizeof(pmix_scope_t));
SAME(sizeof(int), sizeof(pmix_status_t));

/* The real functions, in the types that pmix_api.h gives them but for the names of structs. */
#define SAME_FUNCTION(function, ...)                                                               \
    _Static_assert(__builtin_types_compatible_p(__typeof__(function), __VA_ARGS__),                \
                   #function " differs from pmix_api.h")

SAME_FUNCTION(PMIx_Init, int(pmix_proc_t *, pmix_info_t *, size_t));
SAME_FUNCTION(PMIx_Finalize, int(const pmix_info_t *, size_t));
SAME_FUNCTION(PMIx_Abort, int(int, const char *, pmix_proc_t *, size_t));
SAME_FUNCTION(PMIx_Put, int(uint8_t, const char *, pmix_value_t *));
SAME_FUNCTION(PMIx_Commit, int(void));
SAME_FUNCTION(PMIx_Fence, int(const pmix_proc_t *, size_t, const pmix_info_t *, size_t));
SAME_FUNCTION(PMIx_Get,
              int(const pmix_proc_t *, const char *, const pmix_info_t *, size_t, pmix_value_t **));
SAME_FUNCTION(PMIx_Error_string, const char *(int));

static int n_failed;

static void same_text(const char *ours, const char *real)
{
    if (strcmp(ours, real) == 0) return;
    fprintf(stderr, "pmix_api.h has the key \"%s\", which is \"%s\" in pmix.h\n", ours, real);
    n_failed++;
}

static void has_symbol(void *library, const char *symbol)
{
    if (dlsym(library, symbol)) return;
    fprintf(stderr, "%s lacks the function %s, which pmix_api.h declares\n", STP_PMIX_LIBRARY,
            symbol);
    n_failed++;
}

int main(void)
{
    void *library = dlopen(STP_PMIX_LIBRARY, RTLD_NOW);

    if (!library) {
        fprintf(stderr, "pmix.h is installed, but %s cannot be loaded: %s\n", STP_PMIX_LIBRARY,
                dlerror());
        return 1;
    }
    same_text(STP_PMIX_JOB_SIZE, PMIX_JOB_SIZE);
    same_text(STP_PMIX_LOCAL_PEERS, PMIX_LOCAL_PEERS);
    same_text(STP_PMIX_HOSTNAME, PMIX_HOSTNAME);
    same_text(STP_PMIX_ANL_MAP, PMIX_ANL_MAP);
    same_text(STP_PMIX_OPTIONAL, PMIX_OPTIONAL);
    same_text(STP_PMIX_COLLECT_DATA, PMIX_COLLECT_DATA);
    same_text(STP_PMIX_IMMEDIATE, PMIX_IMMEDIATE);
#define CHECK_SYMBOL(name, symbol, result, parameters) has_symbol(library, #symbol);
    STP_PMIX_FUNCTIONS(CHECK_SYMBOL)
    if (!dlsym(library, "PMIx_Value_free")) has_symbol(library, "PMIx_Value_destruct");
    return n_failed == 0 ? 0 : 1;
}

#endif
