/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the state of the job, which every part of the library reads. In all headers, arguments
 * have the names that the standard uses. The argument fn is the name of the public routine for
 * messages. The argument pe is a world number that the caller has checked.
 */
#ifndef STP_JOB_STATE_H
#define STP_JOB_STATE_H

#include "base/base.h"
#include "pshmem.h"
#include "shmem.h"
#include "shmemx.h"
#include "spaces/space_registry.h"
#include "transport/transport.h"

/* Defines the public name X as a weak alias of pX, so that profilers can replace X. */
#define STP_PROFILED(name)                                                                         \
    extern __typeof__(p##name) name __attribute__((weak, alias("p" #name), visibility("default")))

/*
 * State of the job. Only init, finalize and the fork handler write the fields of this structure,
 * with one exception. Other functions may set the field remote_flush.
 */
struct stp_runtime {
    int pe;
    int n_pes;
    bool has_fabric;  /* whether the fabric (the field fabric) is open */
    bool check;       /* whether SHMEM_CHECK is 1 */
    bool ident_addr;  /* whether the windows of all PEs have the same base address */
    int references;   /* value of stp_references() */
    int thread_level; /* value of stp_thread_level() */
    bool stopping;    /* whether the last finalize is running; read by all threads */
    int epoch;        /* number of times that this process has started the library */
    int host_pes;     /* number of PEs on this host, independent of SHMEM_NODE */
    int host_cores;   /* number of cores that the PEs of this host share; 0 if unknown */
    int n_nodes;      /* number of nodes; the PEs of a node reach each other by load and store */
    uint64_t job_key, job_token;
    bool remote_flush; /* whether other PEs write to this PE's device memory by RDMA */
    bool forked;       /* whether this process is a forked child of the PE */
    struct stp_fabric fabric;
    pthread_mutex_t lock; /* lock of the lists of teams, contexts and spaces */
};

extern struct stp_runtime stp_rt;

/*
 * Returns the number of inits minus the number of finalizes. Another thread may change this number
 * at the same time.
 */
static inline int stp_references(void)
{
    /* Pairs with the stores in init, finalize and exit (src/runtime.c). */
    return __atomic_load_n(&stp_rt.references, __ATOMIC_SEQ_CST);
}

/* Returns the thread level, an SHMEM_THREAD_ constant. A later init may raise the level. */
static inline int stp_thread_level(void)
{
    /* Pairs with the store in shmem_init_thread(). */
    return __atomic_load_n(&stp_rt.thread_level, __ATOMIC_SEQ_CST);
}

/* Ends this process, with a message, if it is a forked child of the PE. */
void stp_check_not_forked(const char *fn);

/*
 * Does what stp_check_not_forked() does, and also ends the job unless the library is initialized.
 */
void stp_check_live(const char *fn);

#endif /* STP_JOB_STATE_H */
