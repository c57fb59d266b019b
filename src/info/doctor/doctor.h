/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of the doctor share: a list of checks, each with what was found, why it matters
 * and what to do, and what is known of the job that it is asked about.
 */
#ifndef STP_INFO_DOCTOR_H
#define STP_INFO_DOCTOR_H

#include "base/base.h"
#include "info/provider_verdicts.h"
#include "transport/transport.h"

/* By what a job suffers, mildest first. */
enum stp_check_severity {
    STP_CHECK_OK,
    STP_CHECK_NOTE,    /* good to know; something could be better or could not be looked at */
    STP_CHECK_WARNING, /* some jobs will fail, or this one under load */
    STP_CHECK_PROBLEM, /* will make the job fail */
};

struct stp_check {
    enum stp_check_severity health;
    char name[96];
    char found[1536];
    char why[512];  /* it matters */
    char todo[512]; /* empty: nothing */
};

struct stp_doctor {
    struct stp_check *checks;
    size_t n_checks;
    bool incomplete; /* for lack of memory */

    bool live;    /* inside a job, between init and finalize */
    bool has_job; /* a launcher was spoken with */
    bool leads;   /* the first PE of its host, which looks at the host and prints */
    int pe;
    int n_pes;
    int n_hosts;
    int n_local;                                   /* PEs on this host */
    int most_local;                                /* on the fullest */
    struct stp_network networks[STP_NETWORKS_MAX]; /* of this host, judged; see struct stp_core */
    int n_networks;                                /* 0: the job has one host */
    struct stp_info_offers offers;
};

/* Adds a check. todo: NULL when there is nothing to do. found: by printf. */
void stp_doctor_add_check(struct stp_doctor *doctor, enum stp_check_severity health,
                          const char *name, const char *why, const char *todo, const char *fmt, ...)
    STP_PRINTF(6, 7);

/* Returns true when PEs of the job that is looked at must go through the fabric. */
bool stp_doctor_job_needs_fabric(const struct stp_doctor *doctor);

/* Launcher and fellow PEs (doctor_launcher_and_node.c). */
void stp_doctor_join_job(struct stp_doctor *doctor); /* who are we; collective */
void stp_doctor_node_sharing(
    struct stp_doctor *doctor); /* do the PEs of a host share memory? collective */

/* Providers and interfaces (doctor_fabric.c). */
void stp_doctor_fabric(struct stp_doctor *doctor);
void stp_doctor_interfaces(struct stp_doctor *doctor);

/* This host (doctor_limits_devshm_gpus.c, doctor_heap_fit.c). */
void stp_doctor_host_limits(struct stp_doctor *doctor);
void stp_doctor_heap_sizes(struct stp_doctor *doctor);

#endif /* STP_INFO_DOCTOR_H */
