/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of the job, which every part of the library reads. In all headers argument names are
 * those of the standard, fn is the public routine's name for messages, and pe is a world number
 * that the caller has checked.
 */
#ifndef STP_JOB_STATE_H
#define STP_JOB_STATE_H

#include "base/base.h"
#include "pshmem.h"
#include "shmem.h"
#include "shmemx.h"
#include "spaces/space_registry.h"
#include "transport/transport.h"

/* Every public name X is defined as pX; X is its weak alias, for profilers to replace. */
#define STP_PROFILED(name)                                                                         \
    extern __typeof__(p##name) name __attribute__((weak, alias("p" #name), visibility("default")))

/* Written in init and finalize only. */
struct stp_runtime {
    int pe;
    int n_pes;
    bool has_fabric;  /* fabric below is open */
    bool check;       /* SHMEM_CHECK=1 */
    bool ident_addr;  /* all windows of the job have the same base */
    int references;   /* stp_references(); changed by init and finalize alone */
    int thread_level; /* stp_thread_level(); likewise */
    bool stopping;    /* in the last finalize; other threads may look */
    int epoch;        /* how often the library was started in this process */
    int host_pes;     /* PEs on this host, whatever SHMEM_NODE says of how they talk */
    int host_cores;   /* cores that they may use together; 0: not known yet */
    int n_nodes;      /* groups of PEs that reach each other by load and store */
    uint64_t job_key, job_token;
    bool remote_flush; /* adapters of peers write to device memory of this PE */
    struct stp_fabric fabric;
    pthread_mutex_t lock; /* lists of teams, contexts and spaces */
};

extern struct stp_runtime stp_rt;

/* Inits not yet finalized; other threads may be at either. */
static inline int stp_references(void)
{
    /* Pairs with the stores in init, finalize and exit (src/runtime.c). */
    return __atomic_load_n(&stp_rt.references, __ATOMIC_SEQ_CST);
}

/* SHMEM_THREAD_..., which a later init may raise. */
static inline int stp_thread_level(void)
{
    /* Pairs with the store in shmem_init_thread(). */
    return __atomic_load_n(&stp_rt.thread_level, __ATOMIC_SEQ_CST);
}

/* Fatal unless the library is initialised. */
void stp_check_live(const char *fn);

#endif /* STP_JOB_STATE_H */
