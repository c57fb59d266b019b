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

/* Defines the public name X as a weak alias of pX, so that profilers can replace X. */
#define STP_PROFILED(name)                                                                         \
    extern __typeof__(p##name) name __attribute__((weak, alias("p" #name), visibility("default")))

/* State of the job, written in init and finalize only, except remote_flush. */
struct stp_runtime {
    int pe;
    int n_pes;
    bool has_fabric;  /* whether fabric below is open */
    bool check;       /* whether SHMEM_CHECK is 1 */
    bool ident_addr;  /* whether all windows of the job have the same base */
    int references;   /* value of stp_references() */
    int thread_level; /* value of stp_thread_level() */
    bool stopping;    /* whether the last finalize runs; read by all threads */
    int epoch;        /* number of starts of the library in this process */
    int host_pes;     /* number of PEs on this host, whatever SHMEM_NODE is */
    int host_cores;   /* cores that the host's PEs may use together; 0 if unknown */
    int n_nodes;      /* groups of PEs that reach each other by load and store */
    uint64_t job_key, job_token;
    bool remote_flush; /* whether peers' adapters write to device memory here */
    struct stp_fabric fabric;
    pthread_mutex_t lock; /* guards the lists of teams, contexts and spaces */
};

extern struct stp_runtime stp_rt;

/* Returns the number of inits not yet finalized. Other threads may be in init or finalize. */
static inline int stp_references(void)
{
    /* Pairs with the stores in init, finalize and exit (src/runtime.c). */
    return __atomic_load_n(&stp_rt.references, __ATOMIC_SEQ_CST);
}

/* Returns the thread level, SHMEM_THREAD_..., which a later init may raise. */
static inline int stp_thread_level(void)
{
    /* Pairs with the store in shmem_init_thread(). */
    return __atomic_load_n(&stp_rt.thread_level, __ATOMIC_SEQ_CST);
}

/* Ends the job unless the library is initialized. */
void stp_check_live(const char *fn);

#endif /* STP_JOB_STATE_H */
