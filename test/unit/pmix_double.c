/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The test double that pmix_double.h declares. As with a real server, gets see puts only after
 * commit and fence. A call that the PMIx standard does not allow is stored as a complaint, which
 * the test reads.
 */
#include "pmix_double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static struct double_pmix *block;
static size_t n_pending; /* answers at the end that no fence has made visible yet */

EXPORT void double_use(struct double_pmix *memory);

EXPORT void double_use(struct double_pmix *memory)
{
    block = memory;
}

static void complain(const char *what)
{
    if (!block->complaint[0]) snprintf(block->complaint, sizeof(block->complaint), "%s", what);
}

static int result(enum double_call call)
{
    if (block->n_finalize > 0 && call != DOUBLE_FINALIZE) complain("a call after PMIx_Finalize");
    return block->fails == call ? block->rc : STP_PMIX_SUCCESS;
}

static bool is_true(const struct stp_pmix_info *info, size_t n, const char *attribute)
{
    return n == 1 && strcmp(info->key, attribute) == 0 && info->flags == 0 &&
           info->value.type == STP_PMIX_BOOL && info->value.data.flag;
}

EXPORT int PMIx_Init(struct stp_pmix_proc *self, struct stp_pmix_info *info, size_t n)
{
    block->n_init++;
    if (info || n) complain("PMIx_Init with attributes");
    *self = block->self;
    return result(DOUBLE_INIT);
}

EXPORT int PMIx_Finalize(const struct stp_pmix_info *info, size_t n)
{
    int rc = result(DOUBLE_FINALIZE);

    if (info || n) complain("PMIx_Finalize with attributes");
    block->n_finalize++;
    return rc;
}

EXPORT int PMIx_Abort(int status, const char *message, struct stp_pmix_proc *procs, size_t n)
{
    int rc = result(DOUBLE_ABORT);

    if (!message || procs || n) complain("PMIx_Abort of some, or without a message");
    block->abort_status = status;
    snprintf(block->abort_text, sizeof(block->abort_text), "%s", message);
    while (block->hangs)
        pause();
    return rc;
}

EXPORT int PMIx_Put(uint8_t scope, const char *key, struct stp_pmix_value *value)
{
    struct double_answer *answer = &block->answers[block->n_answers];
    int rc = result(DOUBLE_PUT);

    block->n_put++;
    if (scope != STP_PMIX_GLOBAL) complain("PMIx_Put not for all");
    if (value->type != STP_PMIX_STRING) complain("PMIx_Put of no text");
    if (strncmp(key, "pmix", 4) == 0) complain("PMIx_Put of a reserved key");
    if (rc != 0) return rc;
    answer->rank = block->self.rank;
    answer->type = STP_PMIX_STRING;
    snprintf(answer->key, sizeof(answer->key), "%s", key);
    snprintf(answer->text, sizeof(answer->text), "%s", value->data.string);
    block->n_answers++;
    n_pending++;
    return rc;
}

EXPORT int PMIx_Commit(void)
{
    block->n_commit++;
    return result(DOUBLE_COMMIT);
}

EXPORT int PMIx_Fence(const struct stp_pmix_proc *procs, size_t n_procs,
                      const struct stp_pmix_info *info, size_t n)
{
    int rc = result(DOUBLE_FENCE);

    block->n_fence++;
    if (procs || n_procs) complain("PMIx_Fence of some");
    if (!is_true(info, n, STP_PMIX_COLLECT_DATA)) complain("PMIx_Fence that does not collect");
    if (block->n_commit < block->n_fence) complain("PMIx_Fence without PMIx_Commit");
    n_pending = 0;
    return rc;
}

static struct stp_pmix_value *value_of(const struct double_answer *answer)
{
    struct stp_pmix_value *value = calloc(1, sizeof(*value));

    value->type = answer->type;
    if (answer->type != STP_PMIX_STRING)
        value->data.uint32 = answer->number;
    else if (!answer->null)
        value->data.string = strdup(answer->text);
    return value;
}

EXPORT int PMIx_Get(const struct stp_pmix_proc *proc, const char *key,
                    const struct stp_pmix_info *info, size_t n, struct stp_pmix_value **value)
{
    int rc = result(DOUBLE_GET);

    block->n_get++;
    if (strcmp(proc->nspace, block->self.nspace) != 0) complain("PMIx_Get from another job");
    if (!is_true(info, n, strncmp(key, "pmix.", 5) ? STP_PMIX_IMMEDIATE : STP_PMIX_OPTIONAL))
        complain("PMIx_Get that may wait for ever");
    if (rc != 0) return rc;
    for (size_t i = 0; i < block->n_answers - n_pending; i++) {
        const struct double_answer *answer = &block->answers[i];

        if (answer->rank != proc->rank || strcmp(answer->key, key) != 0) continue;
        if (answer->type == 0) break;
        if (!answer->null || answer->type == STP_PMIX_STRING) *value = value_of(answer);
        return STP_PMIX_SUCCESS;
    }
    return STP_PMIX_ERR_NOT_FOUND;
}

EXPORT const char *PMIx_Error_string(int status)
{
    return status == STP_PMIX_ERR_NOT_FOUND ? "NOT-FOUND" : NULL;
}

EXPORT void PMIx_Value_free(struct stp_pmix_value *values, size_t n)
{
    block->n_free++;
    if (n != 1) complain("PMIx_Value_free of several");
    if (values->type == STP_PMIX_STRING) free(values->data.string);
    free(values);
}
