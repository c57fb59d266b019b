/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shmemx_info_print() prints the report of the tool oshinfo. This file also implements the short
 * sections of the report. The routine works before init, and in a process without a launcher.
 */
#include "info/info.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "core/job_state.h"
#include "pshmem.h"

#ifdef __clang__
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static void info_version(struct stp_report *report)
{
    stp_report_text(report, "name", "Steppe");
    stp_report_text(report, "version", STP_VERSION);
    stp_report_textf(report, "specification", "OpenSHMEM %d.%d", SHMEM_MAJOR_VERSION,
                     SHMEM_MINOR_VERSION);
    stp_report_text(report, "vendor", SHMEM_VENDOR_STRING);
    stp_report_text(report, "compiler", COMPILER);
    stp_report_text(report, "flags", STP_BUILD_FLAGS);
}

/* ---- memory -------------------------------------------------------------- */

static void info_memory(struct stp_report *report)
{
    size_t nbytes = 0;

    for (unsigned i = 0; i < stp_data_segment.n_parts; i++)
        nbytes += stp_data_segment.parts[i].nbytes;
    stp_info_kinds(report);
    stp_report_group(report, "globals");
    stp_report_bytes(report, "size", nbytes);
    stp_report_number(report, "ranges", stp_data_segment.n_parts);
    stp_report_flag(report, "shared", stp_data_segment.fd >= 0);
    if (stp_data_segment.fd < 0)
        stp_report_text(report, "why_not", stp_data_segment.private_reason);
    stp_report_end_group(report);
}

static void info_collectives(struct stp_report *report)
{
    const char *operation;
    char names[96];

    for (int i = 0; (operation = stp_coll_operation_name(i)) != NULL; i++)
        stp_report_text(report, operation, stp_coll_algorithm_names(i, names, sizeof(names)));
}

/* ---- environment --------------------------------------------------------- */

static void info_environment(struct stp_report *report)
{
    char value[512];

    stp_report_list(report, "variables");
    for (size_t i = 0; i < stp_env_n_rows; i++) {
        const struct stp_env_row *row = &stp_env_table[i];

        stp_report_item(report, "name", row->name);
        stp_report_text(report, "value", stp_env_format(row, value, sizeof(value)));
        stp_report_flag(report, "set", stp_env_is_set(row));
        stp_report_text(report, "default", row->fallback);
        if (row->alias != NULL) stp_report_text(report, "alias", row->alias);
        stp_report_text(report, "help", row->help);
        stp_report_end_group(report);
    }
    stp_report_end_group(report);
}

/* ---- doctor -------------------------------------------------------------- */

/*
 * Results of the doctor, which checks the job. The doctor runs before the sections are printed,
 * because it selects the PEs that print.
 */
static struct stp_doctor *info_diagnosis;

static void info_doctor(struct stp_report *report)
{
    stp_doctor_print(report, info_diagnosis, false);
}

static void info_doctor_verbose(struct stp_report *report)
{
    stp_doctor_print(report, info_diagnosis, true);
}

/* ---- sections by name ---------------------------------------------------- */

static const struct {
    const char *name;
    void (*print)(struct stp_report *report);
} info_sections[] = {
    {"version", info_version},
    {"conduits", stp_info_conduits},
    {"providers", stp_info_providers},
    {"launcher", stp_info_launcher},
    {"topology", stp_info_topology},
    {"memory", info_memory},
    {"spaces", stp_info_spaces},
    {"environment", info_environment},
    {"collectives", info_collectives},
    {"doctor", info_doctor},
    {"doctor-verbose", info_doctor_verbose},
};

/* Returns whether a section is slow or collective. Such a section is printed only on request. */
static bool info_is_costly(const char *name)
{
    return strcmp(name, "spaces") == 0 || strncmp(name, "doctor", 6) == 0;
}

/*
 * Returns whether list contains the name of the section. If list is NULL, returns true for each
 * section that is not costly.
 */
static bool info_is_requested(const char *list, const char *name)
{
    return list != NULL ? stp_words_have(list, name) : !info_is_costly(name);
}

/* Returns whether all names in the comma-separated list are known. Logs an unknown name. */
static bool info_names_known(const char *list)
{
    for (const char *start = list, *end; start != NULL; start = *end == ',' ? end + 1 : NULL) {
        bool known = false;

        start += strspn(start, " ");
        end = start + strcspn(start, ",");
        for (size_t i = 0; i < STP_COUNT(info_sections) && !known; i++)
            known = strlen(info_sections[i].name) == (size_t)(end - start) &&
                    strncmp(info_sections[i].name, start, (size_t)(end - start)) == 0;
        if (known) continue;
        stp_error(
            "shmemx_info_print: section contains \"%.*s\", but no section has this name (oshinfo "
            "--help lists all sections)",
            (int)(end - start), start);
        return false;
    }
    return true;
}

/* Prints the requested sections to fd. Returns 0, or -errno. */
static int info_print(int fd, const char *section, bool json)
{
    struct stp_report report;
    int rc = stp_report_open(&report, fd, json);

    if (rc != 0) return rc;
    for (size_t i = 0; i < STP_COUNT(info_sections); i++) {
        if (!info_is_requested(section, info_sections[i].name)) continue;
        if (info_sections[i].print == stp_info_spaces && stp_references() > 0 && stp_rt.pe != 0) {
            stp_info_spaces(&report); /* this section is collective, but only PE 0 prints it */
            continue;
        }
        stp_report_group(&report, info_sections[i].name);
        info_sections[i].print(&report);
        stp_report_end_group(&report);
    }
    return stp_report_close(&report);
}

/*
 * Runs the doctor. Then calls info_print() if the doctor has selected this PE. Returns 0, or
 * -errno. A selected PE returns -ENODEV if the doctor has found a problem.
 */
static int info_print_doctor(int fd, const char *section, bool json)
{
    bool prints = stp_doctor_examine(&info_diagnosis);
    int rc = prints ? info_print(fd, section, json) : 0;
    bool has_problem = stp_doctor_close_has_problem(info_diagnosis);

    info_diagnosis = NULL;
    return rc == 0 && has_problem && prints ? -ENODEV : rc;
}

int pshmemx_info_print(int fd, const char *section, int json)
{
    if (stp_references() == 0) stp_env_load();
    if (!info_names_known(section)) return EINVAL;
    if (info_is_requested(section, "doctor") || info_is_requested(section, "doctor-verbose"))
        return -info_print_doctor(fd, section, json != 0);
    return -info_print(fd, section, json != 0);
}
STP_PROFILED(shmemx_info_print);
