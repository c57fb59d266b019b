/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the library can say about itself and the machine, one function a section. They need
 * neither init nor a launcher. Users reach them through shmemx_info_print() and oshinfo.
 */
#ifndef STP_INFO_H
#define STP_INFO_H

#include "report.h"

void stp_info_conduits(struct stp_report *report);  /* info_fabric.c */
void stp_info_providers(struct stp_report *report); /* info_fabric.c; loads libfabric */
void stp_info_launcher(struct stp_report *report);  /* info_launcher.c; loads libpmix */
void stp_info_topology(struct stp_report *report);  /* cpu_topology.c; loads hwloc */

/* The list of the kinds of memory, each with its state and devices (spaces.c). */
void stp_info_kinds(struct stp_report *report);

/*
 * Spaces of each kind (spaces.c). In a live job it makes them: collective over all PEs, PE 0
 * alone prints. Before init only what this process can tell.
 */
void stp_info_spaces(struct stp_report *report);

/*
 * Everything that may stand in the way of a job, and what to do about it (doctor/doctor.c; design:
 * docs/man/oshinfo.1). Before init, under a launcher, it is collective over the PEs of the job.
 *
 * examine: looks; true when this process is to print, as the first PE of its host. print: what was
 * found. close: true when something will make jobs fail.
 */
struct stp_doctor;
bool stp_doctor_examine(struct stp_doctor **doctor);
void stp_doctor_print(struct stp_report *report, const struct stp_doctor *doctor, bool all);
bool stp_doctor_close_has_problem(struct stp_doctor *doctor);

#endif /* STP_INFO_H */
