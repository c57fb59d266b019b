/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PMIx client. It loads libpmix, the library of the launcher, at run time. With PMIx each rank
 * has its own key-value space. A rank puts data into its own space. A fence collects the spaces of
 * all ranks. A get names the rank whose data it reads. This file checks all data that libpmix
 * returns. Design: docs/design/launch.md.
 */
#include "pmi/client.h"
#include "pmi/pmix_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ABORT_S 3 /* seconds that libpmix may take to send an abort to the launcher */

static struct {
    bool tried;
    char missing[256]; /* reason why libpmix cannot be used, or "" */
    struct stp_pmix_api api;
    struct stp_pmix_proc self;
} pmix;

static volatile sig_atomic_t abort_status;

/* ---- the library --------------------------------------------------------- */

static void pmix_load_from(void *library)
{
    struct stp_pmix_api *api = &pmix.api;

#define LOAD(name, symbol, result, parameters) *(void **)&api->name = dlsym(library, #symbol);
#define LOAD_NEEDED(name, symbol, result, parameters)                                              \
    LOAD(name, symbol, result, parameters)                                                         \
    if (!api->name)                                                                                \
        snprintf(pmix.missing, sizeof(pmix.missing), "%s has no function %s", STP_PMIX_LIBRARY,    \
                 #symbol);
    STP_PMIX_FUNCTIONS(LOAD_NEEDED)
    STP_PMIX_OPTIONAL_FUNCTIONS(LOAD)
#undef LOAD_NEEDED
#undef LOAD
}

/* Loads libpmix. It is never unloaded, because it has threads of its own. */
int stp_pmix_load(void)
{
    void *library;

    if (!pmix.tried) {
        pmix.tried = true;
        library = dlopen(STP_PMIX_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
        if (library)
            pmix_load_from(library);
        else
            snprintf(pmix.missing, sizeof(pmix.missing), "%s", dlerror());
    }
    return pmix.missing[0] ? -ENOENT : 0;
}

const char *stp_pmix_missing(void)
{
    return pmix.missing;
}

/*
 * Logs that a PMIx function has failed with the error rc. Returns -EIO.
 * call: name of the function.
 * key: key of the request, or "" if the function has no key.
 */
static int pmix_complain(const char *call, const char *key, int rc)
{
    const char *text = pmix.api.error_string ? pmix.api.error_string(rc) : NULL;

    stp_error("pmi: %s%s%s%s failed: %s (%d): the launcher has died, is ending the job, or "
              "refuses the request",
              call, key[0] ? "(" : "", key, key[0] ? ")" : "", text ? text : "no text", rc);
    return -EIO;
}

/* Logs what is wrong in the value of key that libpmix has returned. Returns -EPROTO. */
static int pmix_malformed(const char *key, const char *fault)
{
    stp_error("pmi: cannot use the value of %s from PMIx: %s", key, fault);
    return -EPROTO;
}

/* ---- values -------------------------------------------------------------- */

static void pmix_set_true(struct stp_pmix_info *info, const char *attribute)
{
    memset(info, 0, sizeof(*info));
    strcpy(info->key, attribute);
    info->value.type = STP_PMIX_BOOL;
    info->value.data.flag = true;
}

/*
 * Frees a value that libpmix has returned. Uses a function of libpmix if libpmix has one. A value
 * can have a type that this file does not know, and only libpmix knows the memory that such a value
 * owns.
 */
static void pmix_free(struct stp_pmix_value *value)
{
    if (pmix.api.value_free) {
        pmix.api.value_free(value, 1);
        return;
    }
    if (pmix.api.value_destruct)
        pmix.api.value_destruct(value);
    else if (value->type == STP_PMIX_STRING)
        free(value->data.string);
    free(value);
}

/*
 * Gets the value that rank has put under key, or that the launcher provides for rank. Never waits
 * for an absent key. A wait is not needed. The launcher's values are available after init, and the
 * PMIx server has the values of all ranks after the fence. Returns 0, -ENOENT without logging if
 * there is no value, or another -errno after logging the reason.
 */
static int pmix_ask(uint32_t rank, const char *key, struct stp_pmix_value **value)
{
    struct stp_pmix_proc proc = pmix.self;
    struct stp_pmix_info no_wait;
    int rc;

    proc.rank = rank;
    pmix_set_true(&no_wait, strncmp(key, "pmix.", 5) == 0 ? STP_PMIX_OPTIONAL : STP_PMIX_IMMEDIATE);
    *value = NULL;
    rc = pmix.api.get(&proc, key, &no_wait, 1, value);
    if (rc == STP_PMIX_ERR_NOT_FOUND) return -ENOENT;
    if (rc != STP_PMIX_SUCCESS) return pmix_complain("PMIx_Get", key, rc);
    return *value ? 0 : pmix_malformed(key, "PMIx_Get succeeded but returned no value");
}

static int pmix_ask_text(uint32_t rank, const char *key, char *text, size_t capacity)
{
    struct stp_pmix_value *value;
    size_t len;
    int rc = pmix_ask(rank, key, &value);

    if (rc != 0) return rc;
    if (value->type != STP_PMIX_STRING || !value->data.string) {
        rc = pmix_malformed(key, "it is not a string");
    } else if ((len = strnlen(value->data.string, capacity)) == capacity) {
        rc = pmix_malformed(key, "it is too long");
    } else {
        memcpy(text, value->data.string, len + 1);
    }
    pmix_free(value);
    return rc;
}

static int pmix_ask_size(int *size)
{
    struct stp_pmix_value *value;
    int rc = pmix_ask(STP_PMIX_RANK_WILDCARD, STP_PMIX_JOB_SIZE, &value);

    if (rc == -ENOENT) return pmix_malformed(STP_PMIX_JOB_SIZE, "the launcher does not provide it");
    if (rc != 0) return rc;
    if (value->type != STP_PMIX_UINT32 && value->type != STP_PMIX_INT)
        rc = pmix_malformed(STP_PMIX_JOB_SIZE, "it is not an integer");
    else if (value->data.uint32 < 1 || value->data.uint32 > INT_MAX)
        rc = pmix_malformed(STP_PMIX_JOB_SIZE, "it is not between 1 and 2147483647");
    else
        *size = (int)value->data.uint32;
    pmix_free(value);
    return rc;
}

/* ---- the session --------------------------------------------------------- */

/*
 * Compares the namespace and the rank that libpmix reports with the environment. If libpmix finds
 * no server, it may treat this process as a job of its own.
 */
static int pmix_check_self(void)
{
    const char *nspace = getenv("PMIX_NAMESPACE");
    int rank;

    if (strnlen(pmix.self.nspace, sizeof(pmix.self.nspace)) == sizeof(pmix.self.nspace))
        return pmix_malformed("the namespace", "it has no terminating zero byte");
    if (nspace && strcmp(pmix.self.nspace, nspace) != 0) {
        stp_error("pmi: PMIX_NAMESPACE=%s, but PMIx reports the namespace %s: unset the variable "
                  "if it is left over from another job",
                  nspace, pmix.self.nspace);
        return -EPROTO;
    }
    if (pmix.self.rank > INT_MAX)
        return pmix_malformed("the rank", "it is greater than 2147483647");
    if (stp_pmi_env_int("PMIX_RANK", 0, &rank) == 0 && rank != (int)pmix.self.rank) {
        stp_error("pmi: PMIX_RANK=%d, but PMIx reports rank %u: unset the variable if it is left "
                  "over from another job",
                  rank, pmix.self.rank);
        return -EPROTO;
    }
    return 0;
}

static int pmix_open(struct stp_pmi_session *session)
{
    int rc = pmix.api.init(&pmix.self, NULL, 0);

    if (rc != STP_PMIX_SUCCESS) {
        (void)pmix_complain("PMIx_Init", "", rc);
        stp_error("pmi: the launcher of PMIX_NAMESPACE cannot be reached: unset the variable if "
                  "it is left over from another job, or set SHMEM_PMI=single for a job of one PE");
        return -EIO;
    }
    rc = pmix_check_self();
    if (rc == 0) rc = pmix_ask_size(&session->size);
    if (rc != 0) {
        (void)pmix.api.finalize(NULL, 0);
        return rc;
    }
    session->rank = (int)pmix.self.rank;
    session->value_max = STP_PMI_VALUE_MAX;
    return 0;
}

static int pmix_put(struct stp_pmi_session *session, const char *key, const char *value)
{
    struct stp_pmix_value text = {.type = STP_PMIX_STRING, .data.string = (char *)(uintptr_t)value};
    int rc = pmix.api.put(STP_PMIX_GLOBAL, key, &text);

    (void)session;
    return rc == STP_PMIX_SUCCESS ? 0 : pmix_complain("PMIx_Put", key, rc);
}

static int pmix_fence(struct stp_pmi_session *session)
{
    struct stp_pmix_info collect;
    int rc = pmix.api.commit();

    (void)session;
    if (rc != STP_PMIX_SUCCESS) return pmix_complain("PMIx_Commit", "", rc);
    pmix_set_true(&collect, STP_PMIX_COLLECT_DATA);
    rc = pmix.api.fence(NULL, 0, &collect, 1); /* NULL means all processes. */
    return rc == STP_PMIX_SUCCESS ? 0 : pmix_complain("PMIx_Fence", "", rc);
}

static int pmix_get(struct stp_pmi_session *session, int rank, const char *key, char *value,
                    size_t capacity)
{
    (void)session;
    return pmix_ask_text((uint32_t)rank, key, value, capacity);
}

/* ---- nodes --------------------------------------------------------------- */

static size_t pmix_count_peers(const char *list)
{
    size_t n = list[0] != '\0';

    for (; *list; list++)
        n += *list == ',';
    return n;
}

/*
 * Writes a mapping vector to text. If all ranks are on this node, the vector contains one node.
 * Otherwise the function asks for the vector of PMI-2, which Slurm also provides through PMIx. This
 * client does not use the node numbers of PMIx, because Open MPI 4 gives a process only the number
 * of its own node. Open MPI 4 does provide the host names of all ranks; see pmix_host().
 */
static int pmix_mapping(struct stp_pmi_session *session, char *text, size_t capacity)
{
    int rc = pmix_ask_text(STP_PMIX_RANK_WILDCARD, STP_PMIX_LOCAL_PEERS, text, capacity);

    if (rc != 0 && rc != -ENOENT) return rc;
    if (rc || pmix_count_peers(text) != (size_t)session->size)
        return pmix_ask_text(STP_PMIX_RANK_WILDCARD, STP_PMIX_ANL_MAP, text, capacity);
    snprintf(text, capacity, "(vector,(0,1,%d))", session->size);
    return 0;
}

static int pmix_host(struct stp_pmi_session *session, int rank, char *name, size_t capacity)
{
    (void)session;
    return pmix_ask_text((uint32_t)rank, STP_PMIX_HOSTNAME, name, capacity);
}

/* ---- the end ------------------------------------------------------------- */

static void pmix_finalize(struct stp_pmi_session *session)
{
    (void)session;
    (void)pmix.api.finalize(NULL, 0);
}

static void pmix_abort_now(void)
{
    _exit(abort_status);
}

/*
 * Asks libpmix to abort the job. libpmix takes locks and allocates memory. This process may abort
 * in a signal handler that has interrupted code with such a lock. In this case libpmix waits
 * forever. Therefore the process ends after ABORT_S seconds in any case. The launcher then treats
 * the end of the process as a failure of the job.
 */
static void pmix_abort(struct stp_pmi_session *session, int status, const char *message)
{
    (void)session;
    abort_status = status;
    stp_deadline(ABORT_S, pmix_abort_now);
    (void)pmix.api.abort(status, message ? message : "", NULL, 0);
}

const struct stp_pmi_client stp_pmix_client = {
    .name = "pmix",
    .open = pmix_open,
    .put = pmix_put,
    .fence = pmix_fence,
    .get = pmix_get,
    .mapping = pmix_mapping,
    .host = pmix_host,
    .finalize = pmix_finalize,
    .abort = pmix_abort,
};
