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
    STP_CHECK_NOTE,    /* a useful fact, a possible improvement, or a check that was not possible */
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
    bool leads;   /* whether this PE is the first one of its host, so that it checks and prints */
    int pe;
    int n_pes;
    int n_hosts;
    int n_local;                                   /* number of PEs on this host */
    int most_local;                                /* number of PEs on the fullest host */
    struct stp_network networks[STP_NETWORKS_MAX]; /* networks of this host, with verdicts */
    int n_networks;                                /* number of networks; 0 if one host */
    struct stp_info_offers offers;
};

/*
 * Adds a check to the list. why is the reason why the finding matters. todo is advice, or NULL if
 * nothing has to be done. fmt is the printf format of the finding.
 */
void stp_doctor_add_check(struct stp_doctor *doctor, enum stp_check_severity health,
                          const char *name, const char *why, const char *todo, const char *fmt, ...)
    STP_PRINTF(6, 7);

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

/* The two functions check the providers and the network interfaces (doctor_fabric.c). */
void stp_doctor_fabric(struct stp_doctor *doctor);
void stp_doctor_interfaces(struct stp_doctor *doctor);

/* Checks of the limits and memory of this host (doctor_limits_devshm_gpus.c, doctor_heap_fit.c). */
void stp_doctor_host_limits(struct stp_doctor *doctor);
void stp_doctor_heap_sizes(struct stp_doctor *doctor);

#endif /* STP_INFO_DOCTOR_H */
