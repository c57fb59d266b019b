/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the doctor, which checks whether jobs can run on this machine. Performs the checks in order
 * and prints the report with a verdict. The doctor needs neither init nor a working job, because
 * users call it when jobs do not start.
 */
#include "doctor.h"

#include "core/job_state.h"
#include "info/info.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const severity_names[] = {
    [STP_CHECK_OK] = "ok",
    [STP_CHECK_NOTE] = "note",
    [STP_CHECK_WARNING] = "warning",
    [STP_CHECK_PROBLEM] = "problem",
};

/* ---- checks -------------------------------------------------------------- */

void stp_doctor_add_check(struct stp_doctor *doctor, enum stp_check_severity severity,
                          const char *name, const char *reason, const char *todo, const char *fmt,
                          ...)
{
    struct stp_check *checks = realloc(doctor->checks, (doctor->n_checks + 1) * sizeof(*checks));
    struct stp_check *check;
    va_list args;

    if (checks == NULL) {
        doctor->incomplete = true;
        return;
    }
    doctor->checks = checks;
    check = &checks[doctor->n_checks++];
    check->severity = severity;
    snprintf(check->name, sizeof(check->name), "%s", name);
    snprintf(check->reason, sizeof(check->reason), "%s", reason);
    snprintf(check->todo, sizeof(check->todo), "%s", todo != NULL ? todo : "");
    va_start(args, fmt);
    vsnprintf(check->found, sizeof(check->found), fmt, args);
    va_end(args);
}

bool stp_doctor_job_needs_fabric(const struct stp_doctor *doctor)
{
    return doctor->n_hosts > 1 || (doctor->n_pes > 1 && !stp_env.node);
}

/* ---- the report ---------------------------------------------------------- */

static size_t doctor_count(const struct stp_doctor *doctor, enum stp_check_severity severity)
{
    size_t n = 0;

    for (size_t i = 0; i < doctor->n_checks; i++)
        n += doctor->checks[i].severity == severity;
    return n;
}

static void doctor_check(struct stp_report *report, const struct stp_check *check)
{
    char title[128];

    snprintf(title, sizeof(title), "%s%s%s", report->json ? "" : severity_names[check->severity],
             report->json ? "" : ": ", check->name);
    stp_report_item(report, "check", title);
    if (report->json) stp_report_text(report, "status", severity_names[check->severity]);
    stp_report_prose(report, "found", check->found);
    stp_report_prose(report, "why", check->reason);
    if (check->todo[0] != '\0' || report->json)
        stp_report_prose(report, "do", check->todo[0] != '\0' ? check->todo : NULL);
    stp_report_end_group(report);
}

static void doctor_verdict(struct stp_report *report, const struct stp_doctor *doctor)
{
    size_t problems = doctor_count(doctor, STP_CHECK_PROBLEM);
    size_t warnings = doctor_count(doctor, STP_CHECK_WARNING);
    char text[128];

    if (problems > 0)
        snprintf(text, sizeof(text), "%zu problem%s will make %s fail; warnings: %zu", problems,
                 problems > 1 ? "s" : "", doctor->has_job ? "this job" : "some jobs", warnings);
    else
        snprintf(text, sizeof(text), "no problem was found that makes %s fail; warnings: %zu",
                 doctor->has_job ? "this job" : "jobs", warnings);
    stp_report_text(report, "verdict", text);
}

void stp_doctor_print(struct stp_report *report, const struct stp_doctor *doctor, bool verbose)
{
    size_t notes;

    if (doctor == NULL) {
        stp_report_text(report, "why_not", "memory ran out");
        return;
    }
    notes = doctor_count(doctor, STP_CHECK_NOTE);
    verbose = verbose || report->json; /* in JSON, programs select the checks that they need */
    stp_report_text(report, "host", stp_hostname());
    stp_report_number(report, "pes", doctor->n_pes);
    stp_report_number(report, "hosts", doctor->n_hosts);
    stp_report_list(report, "checks");
    for (size_t i = 0; i < doctor->n_checks; i++)
        if (verbose || doctor->checks[i].severity >= STP_CHECK_WARNING)
            doctor_check(report, &doctor->checks[i]);
    stp_report_end_group(report);
    if (!verbose)
        stp_report_textf(report, "not_shown",
                         "%zu ok, %zu note%s (oshinfo --doctor --verbose shows them)",
                         doctor_count(doctor, STP_CHECK_OK), notes, notes == 1 ? "" : "s");
    if (doctor->incomplete)
        stp_report_text(report, "missing", "some checks, because memory ran out");
    stp_report_number(report, "warnings", (long long)doctor_count(doctor, STP_CHECK_WARNING));
    stp_report_number(report, "problems", (long long)doctor_count(doctor, STP_CHECK_PROBLEM));
    doctor_verdict(report, doctor);
}

/* ---- the examination ----------------------------------------------------- */

bool stp_doctor_examine(struct stp_doctor **result)
{
    struct stp_doctor *doctor = calloc(1, sizeof(*doctor));
    struct sigaction ignore = {.sa_handler = SIG_IGN}, old_action;

    *result = doctor;
    if (doctor == NULL) return true;
    /*
     * Ignore SIGXFSZ. Otherwise the signal would end this process if a check creates a file above
     * the size limit. With the signal ignored, only the check fails.
     */
    sigaction(SIGXFSZ, &ignore, &old_action);
    doctor->offers.fds_open = doctor->offers.fds_peer = -1;
    doctor->in_job = stp_references() > 0;
    stp_doctor_join_job(doctor);
    stp_doctor_node_sharing(doctor);
    if (doctor->leads) {
        stp_doctor_fabric(doctor);
        stp_doctor_interfaces(doctor);
        stp_doctor_host_limits(doctor);
        stp_doctor_heap_sizes(doctor);
    }
    sigaction(SIGXFSZ, &old_action, NULL);
    return doctor->leads;
}

bool stp_doctor_close_has_problem(struct stp_doctor *doctor)
{
    bool has_problem = doctor == NULL || doctor_count(doctor, STP_CHECK_PROBLEM) > 0;

    if (doctor == NULL) return has_problem;
    free(doctor->offers.rows);
    free(doctor->checks);
    free(doctor);
    return has_problem;
}
