/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the data of the doctor: the list of its checks, and facts about the job that it
 * examines. Each check has a finding, a severity and advice. Only the files of the doctor use this
 * header.
 */
#ifndef STP_INFO_DOCTOR_H
#define STP_INFO_DOCTOR_H

#include "base/base.h"
#include "info/provider_verdicts.h"
#include "transport/transport.h"

/* Severity of a finding, from the mildest to the worst. */
enum stp_check_severity {
    STP_CHECK_OK,
    /* A useful fact, a possible improvement, or a check that could not be performed. */
    STP_CHECK_NOTE,
    /* Some jobs will fail, or this job will fail under load. */
    STP_CHECK_WARNING,
    /* The job will certainly fail. */
    STP_CHECK_PROBLEM,
};

struct stp_check {
    enum stp_check_severity severity;
    char name[96];
    char found[1536];
    char reason[512]; /* reason why the finding matters */
    char todo[512];   /* advice, or "" if nothing has to be done */
};

struct stp_doctor {
    struct stp_check *checks;
    size_t n_checks;
    bool incomplete; /* whether checks are missing for lack of memory */

    bool in_job;  /* whether the doctor runs inside a job, between init and finalize */
    bool has_job; /* whether a launcher was contacted */
    /*
     * Whether this PE checks the host and prints. Before init, this field is true on the first PE
     * of each host. After init, it is true on each PE that runs the doctor.
     */
    bool leads;
    int pe;
    int n_pes;
    int n_hosts;
    int n_local;                                   /* number of PEs on this host */
    int most_local;                                /* largest number of PEs on one host */
    struct stp_network networks[STP_NETWORKS_MAX]; /* networks of this host, with verdicts */
    /*
     * Number of entries in `networks`. It is 0 if all PEs are on one host, and also if oshinfo
     * itself runs as a PE.
     */
    int n_networks;
    struct stp_info_offers offers;
};

/*
 * Adds a check to the list. The text `reason` says why the finding matters. The text `todo` gives
 * advice, or is NULL if nothing has to be done. fmt is the printf format of the finding.
 */
void stp_doctor_add_check(struct stp_doctor *doctor, enum stp_check_severity severity,
                          const char *name, const char *reason, const char *todo, const char *fmt,
                          ...) STP_PRINTF(6, 7);

/* Returns true if some PEs of the examined job must communicate through the fabric. */
bool stp_doctor_job_needs_fabric(const struct stp_doctor *doctor);

/*
 * Checks the launcher, and finds the number of this PE and the size of the job. Collective over the
 * PEs of the job (doctor_launcher_and_node.c).
 */
void stp_doctor_join_job(struct stp_doctor *doctor);
/*
 * Checks whether the PEs of a host can share memory. Collective over the PEs of the job
 * (doctor_launcher_and_node.c).
 */
void stp_doctor_node_sharing(struct stp_doctor *doctor);

/* The next two functions check the providers and the network interfaces (doctor_fabric.c). */
void stp_doctor_fabric(struct stp_doctor *doctor);
void stp_doctor_interfaces(struct stp_doctor *doctor);

/*
 * The next two functions check the limits and the memory of this host. They are in
 * doctor_limits_devshm_gpus.c and doctor_heap_fit.c.
 */
void stp_doctor_host_limits(struct stp_doctor *doctor);
void stp_doctor_heap_sizes(struct stp_doctor *doctor);

#endif /* STP_INFO_DOCTOR_H */
