/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the list of checks, each with a finding, its importance and advice, and the data of the
 * job that the doctor examines. Only the files of the doctor use this header.
 */
#ifndef STP_INFO_DOCTOR_H
#define STP_INFO_DOCTOR_H

#include "base/base.h"
#include "info/provider_verdicts.h"
#include "transport/transport.h"

/* Effect of a finding on jobs, mildest first. */
enum stp_check_severity {
    STP_CHECK_OK,
    STP_CHECK_NOTE,    /* useful fact, possible improvement, or check that could not be made */
    STP_CHECK_WARNING, /* failure of some jobs, or of this job under load */
    STP_CHECK_PROBLEM, /* certain failure of the job */
};

struct stp_check {
    enum stp_check_severity health;
    char name[96];
    char found[1536];
    char why[512];  /* reason why the finding matters */
    char todo[512]; /* advice, or "" if nothing has to be done */
};

struct stp_doctor {
    struct stp_check *checks;
    size_t n_checks;
    bool incomplete; /* whether checks are missing for lack of memory */

    bool live;    /* whether the doctor runs inside a job, between init and finalize */
    bool has_job; /* whether a launcher was contacted */
    bool leads;   /* whether this is the first PE of its host, which checks and prints */
    int pe;
    int n_pes;
    int n_hosts;
    int n_local;                                   /* number of PEs on this host */
    int most_local;                                /* number of PEs on the fullest host */
    struct stp_network networks[STP_NETWORKS_MAX]; /* judged networks of this host */
    int n_networks;                                /* number of networks; 0 in a job on one host */
    struct stp_info_offers offers;
};

/* Adds a check. todo: NULL if nothing has to be done. fmt: printf format of the finding. */
void stp_doctor_add_check(struct stp_doctor *doctor, enum stp_check_severity health,
                          const char *name, const char *why, const char *todo, const char *fmt, ...)
    STP_PRINTF(6, 7);

/* Returns true if PEs of the examined job must communicate through the fabric. */
bool stp_doctor_job_needs_fabric(const struct stp_doctor *doctor);

/*
 * Checks of the launcher and of shared memory (doctor_launcher_and_node.c). Both are collective.
 * The first also finds the number of this PE and the size of the job.
 */
void stp_doctor_join_job(struct stp_doctor *doctor);
void stp_doctor_node_sharing(struct stp_doctor *doctor);

/* Checks of providers and interfaces (doctor_fabric.c). */
void stp_doctor_fabric(struct stp_doctor *doctor);
void stp_doctor_interfaces(struct stp_doctor *doctor);

/* Checks of this host (doctor_limits_devshm_gpus.c, doctor_heap_fit.c). */
void stp_doctor_host_limits(struct stp_doctor *doctor);
void stp_doctor_heap_sizes(struct stp_doctor *doctor);

#endif /* STP_INFO_DOCTOR_H */
