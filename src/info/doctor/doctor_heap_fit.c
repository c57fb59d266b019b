/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks memory. Compares the total size of the symmetric heaps on this host with the host's memory
 * and with the limit of the control group. Tries to reserve the address space that a PE needs.
 */
#include "doctor.h"

#include "core/job_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* ---- the heaps ---------------------------------------------------------------- */

static void memory_heaps(struct stp_doctor *doctor)
{
    size_t heap_bytes = stp_env.symmetric.size, total = stp_meminfo("MemTotal:"), heaps_bytes;
    size_t available = stp_meminfo("MemAvailable:"), cgroup_limit = stp_cgroup_memory();
    size_t limit = cgroup_limit < total ? cgroup_limit : total;
    char s[5][STP_SIZE_TEXT], todo[200];
    enum stp_check_severity severity;

    if (__builtin_mul_overflow(heap_bytes, (size_t)doctor->n_local, &heaps_bytes))
        heaps_bytes = SIZE_MAX;
    severity = heap_bytes > limit                               ? STP_CHECK_PROBLEM
               : heaps_bytes > limit || heaps_bytes > available ? STP_CHECK_WARNING
                                                                : STP_CHECK_OK;
    snprintf(todo, sizeof(todo),
             "set SHMEM_SYMMETRIC_SIZE=%zum, start fewer PEs on each host, or give the container "
             "or batch job more memory",
             (limit < available ? limit : available) / (size_t)doctor->n_local / 2 >> 20);
    stp_doctor_add_check(
        doctor, severity, "memory",
        "a heap takes memory when the program touches it; if the heaps exceed the memory of the "
        "host or the limit of the control group, the kernel kills a PE; shmem_init fails if a "
        "single heap exceeds one of these two limits",
        severity == STP_CHECK_OK ? NULL : todo,
        "%d heap%s of %s on this host: %s in total; memory of the host: %s, of which available: "
        "%s; limit of the control group: %s",
        doctor->n_local, doctor->n_local > 1 ? "s" : "", stp_size_text(heap_bytes, s[0]),
        stp_size_text(heaps_bytes, s[1]), stp_size_text(total, s[2]),
        stp_size_text(available, s[3]),
        cgroup_limit == SIZE_MAX ? "none found" : stp_size_text(cgroup_limit, s[4]));
}

/* ---- address space ------------------------------------------------------------- */

/* Tries to reserve a window as init does. Returns 0, or -errno without logging an error. */
static int try_window(const struct stp_doctor *doctor, struct stp_window_layout *layout)
{
    int level = stp_log_level, rc;

    stp_log_level = -1;
    rc = stp_window_choose(doctor->most_local, stp_env.symmetric.max, stp_env.window_size, layout);
    stp_log_level = level;
    return rc;
}

static void memory_window(struct stp_doctor *doctor)
{
    static const char reason[] = "every PE reserves addresses for its own symmetric memory (its "
                                 "window) and for the windows of all PEs of its host (its view); "
                                 "addresses take no memory until the program uses them";
    size_t space = stp_limit(RLIMIT_AS, NULL), view;
    size_t file = stp_limit(RLIMIT_FSIZE, NULL);
    struct stp_window_layout layout = {0};
    char s[4][STP_SIZE_TEXT], todo[160];

    stp_size_text(space, s[0]);
    stp_size_text(file, s[1]);
    if (try_window(doctor, &layout) != 0) {
        snprintf(todo, sizeof(todo),
                 "run ulimit -v unlimited before the job, or make the heap smaller: "
                 "SHMEM_SYMMETRIC_SIZE=%zum",
                 stp_env.symmetric.max / 4 >> 20);
        stp_doctor_add_check(
            doctor, STP_CHECK_PROBLEM, "address space", reason, todo,
            "addresses for the heaps of one host cannot be reserved; number of heaps: %d; size of "
            "a heap: %s; ulimit -v: %s",
            doctor->most_local, stp_size_text(stp_env.symmetric.max, s[2]), s[0]);
        return;
    }
    view = stp_window_view_bytes(&layout);
    stp_doctor_add_check(
        doctor, view > file ? STP_CHECK_PROBLEM : STP_CHECK_OK, "address space", reason,
        view > file ? "run ulimit -f unlimited before the job, or set a smaller SHMEM_WINDOW_SIZE"
                    : NULL,
        "a window of %s and a view of %s can be reserved; the view is a sparse file of that "
        "length; ulimit -v: %s, ulimit -f: %s",
        stp_size_text(layout.nbytes, s[2]), stp_size_text(view, s[3]), s[0], s[1]);
}

void stp_doctor_heap_sizes(struct stp_doctor *doctor)
{
    memory_heaps(doctor);
    if (!doctor->in_job) memory_window(doctor);
}
