/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the part of the PMIx C interface that Steppe uses. Because this header is written by
 * hand and libpmix is loaded at run time, the build needs no part of PMIx. The declarations are
 * binary compatible with libpmix.so.2, the library of OpenPMIx 2 to 5. The names differ from those
 * of PMIx, so that a test can include both headers and compare them. Steppe passes arrays of only
 * one struct stp_pmix_info, so that it does not rely on the size of this struct.
 */
#ifndef STP_PMIX_API_H
#define STP_PMIX_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STP_PMIX_LIBRARY "libpmix.so.2"

#define STP_PMIX_NSPACE_MAX 255 /* most characters in a namespace, without the zero byte */
#define STP_PMIX_KEY_MAX 511

#define STP_PMIX_SUCCESS 0
#define STP_PMIX_ERR_NOT_FOUND (-46)

#define STP_PMIX_GLOBAL 3 /* scope of a put: ranks on all nodes can get the data */
#define STP_PMIX_RANK_WILDCARD (UINT32_MAX - 1)

/* Types of values. */
#define STP_PMIX_BOOL 1
#define STP_PMIX_STRING 3
#define STP_PMIX_INT 6
#define STP_PMIX_UINT32 14

/* Keys and attributes. */
#define STP_PMIX_JOB_SIZE "pmix.job.size"
#define STP_PMIX_LOCAL_PEERS "pmix.lpeers"
#define STP_PMIX_HOSTNAME "pmix.hname"
#define STP_PMIX_ANL_MAP "pmix.anlmap"
#define STP_PMIX_COLLECT_DATA "pmix.collect"
#define STP_PMIX_IMMEDIATE "pmix.immediate"
#define STP_PMIX_OPTIONAL "pmix.optional"

struct stp_pmix_proc {
    char nspace[STP_PMIX_NSPACE_MAX + 1];
    uint32_t rank;
};

struct stp_pmix_value {
    uint16_t type;
    union {
        bool flag;
        char *string;
        uint32_t uint32;
        int integer;
        void *pointer;
        void *largest[3];
    } data;
};

struct stp_pmix_info {
    char key[STP_PMIX_KEY_MAX + 1];
    uint32_t flags;
    struct stp_pmix_value value;
};

/*
 * List of the PMIx functions that Steppe needs. Each row has the name of the member in struct
 * stp_pmix_api, the symbol in libpmix, the type of the result, and the parameters.
 */
#define STP_PMIX_FUNCTIONS(F)                                                                      \
    F(init, PMIx_Init, int, (struct stp_pmix_proc * self, struct stp_pmix_info * info, size_t n))  \
    F(finalize, PMIx_Finalize, int, (const struct stp_pmix_info *info, size_t n))                  \
    F(abort, PMIx_Abort, int,                                                                      \
      (int status, const char *message, struct stp_pmix_proc *procs, size_t n))                    \
    F(put, PMIx_Put, int, (uint8_t scope, const char *key, struct stp_pmix_value *value))          \
    F(commit, PMIx_Commit, int, (void))                                                            \
    F(fence, PMIx_Fence, int,                                                                      \
      (const struct stp_pmix_proc *procs, size_t n_procs, const struct stp_pmix_info *info,        \
       size_t n))                                                                                  \
    F(get, PMIx_Get, int,                                                                          \
      (const struct stp_pmix_proc *proc, const char *key, const struct stp_pmix_info *info,        \
       size_t n, struct stp_pmix_value **value))

/* List of the PMIx functions that Steppe calls only if libpmix has them. */
#define STP_PMIX_OPTIONAL_FUNCTIONS(F)                                                             \
    F(error_string, PMIx_Error_string, const char *, (int status))                                 \
    F(value_free, PMIx_Value_free, void, (struct stp_pmix_value * values, size_t n))               \
    F(value_destruct, PMIx_Value_destruct, void, (struct stp_pmix_value * value))

#define STP_PMIX_MEMBER(name, symbol, result, parameters) result(*name) parameters;

struct stp_pmix_api {
    STP_PMIX_FUNCTIONS(STP_PMIX_MEMBER)
    STP_PMIX_OPTIONAL_FUNCTIONS(STP_PMIX_MEMBER)
};

#endif /* STP_PMIX_API_H */
