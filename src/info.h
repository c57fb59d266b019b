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
void stp_info_topology(struct stp_report *report);  /* info_topology.c; loads hwloc */

#endif /* STP_INFO_H */
