/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Declares the functions that write reports about the library and the machine. Each function writes
 * one section. The functions need neither init nor a launcher. Users call them through
 * shmemx_info_print() and oshinfo.
 */
#ifndef STP_INFO_H
#define STP_INFO_H

#include "report.h"

void stp_info_conduits(struct stp_report *report);  /* fabric_report.c */
void stp_info_providers(struct stp_report *report); /* fabric_report.c; loads libfabric */
void stp_info_launcher(struct stp_report *report);  /* launcher.c; loads libpmix */
void stp_info_topology(struct stp_report *report);  /* cpu_topology.c; loads hwloc */

/* Writes the list of the kinds of memory, each with its state and devices (spaces.c). */
void stp_info_kinds(struct stp_report *report);

/*
 * Writes the spaces of each kind of memory (spaces.c). In a job that has called init, all PEs must
 * call this function. The PEs then create a space of each kind, and PE 0 prints. Before init, this
 * function reports only the kinds that this process can use.
 */
void stp_info_spaces(struct stp_report *report);

/*
 * The doctor finds everything that may prevent a job from running, and gives advice
 * (doctor/doctor.c; design: docs/man/oshinfo.1). stp_doctor_examine() performs the checks. It
 * returns true if this PE must print. Before init, only the first PE of each host prints. After
 * init, each PE that calls the function prints. If a launcher has started this process and init has
 * not been called, all PEs of the job must call stp_doctor_examine().
 */
struct stp_doctor;
bool stp_doctor_examine(struct stp_doctor **doctor);
/* Prints the warnings and problems that the doctor found, or all checks if `verbose` is true. */
void stp_doctor_print(struct stp_report *report, const struct stp_doctor *doctor, bool verbose);
/* Frees the checks. Returns true if one of them is a problem, which will make jobs fail. */
bool stp_doctor_close_has_problem(struct stp_doctor *doctor);

#endif /* STP_INFO_H */
