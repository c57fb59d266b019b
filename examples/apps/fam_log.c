/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A log that outlives its jobs, in a named space of fabric-attached memory.
 *
 * A record gets its number by an atomic on the log's head, which lies with PE 0; record i lies in
 * the part of PE i modulo the number of PEs. All PEs append at once, and so may two jobs on one
 * machine, since both map the same memory. A record shows when its text is complete. The log has
 * the shape of the job that made it: one with another number of PEs is refused.
 *
 *     export SHMEM_FAM_PATH=/mnt/pmem          (a directory, a file or a DAX device)
 *     oshcc fam_log.c -o fam_log
 *     oshrun -n 3 ./fam_log append it works && oshrun -n 3 ./fam_log show
 */
#include <shmem.h>
#include <shmemx.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NAME "fam_log"
#define N_RECORDS 4096 /* on each PE; the log keeps the newest of its records */
#define TEXT_BYTES 96

/* At the same place in every part; that of PE 0 counts. A new space is all zero, and so is this. */
struct head {
    uint64_t next;  /* number of the next record */
    uint64_t first; /* those before were cleared */
};

struct record {
    uint64_t number; /* of the record, plus 1, once it is complete; 0 while it is written */
    int64_t seconds; /* since 1970 */
    int32_t pid, pe, n_pes;
    char text[TEXT_BYTES];
};

struct log {
    shmem_space_t space;
    shmem_team_t team;
    struct head *head;
    struct record *records;
    int me, n_pes;
};

static int failed, failed_anywhere; /* globals, so that the reduction may use them */

static int close_log(struct log *log)
{
    shmem_space_free(log->space, log->records);
    shmem_space_free(log->space, log->head);
    shmem_team_destroy(log->team);
    return shmem_space_destroy(log->space);
}

/* Collective. keep: the log stays when its last user has gone. 0; nonzero on all PEs. */
static int open_log(struct log *log, int keep)
{
    shmem_space_config_t config = {
        .device_type = SHMEM_DEVICE_FAM,
        .size = 2 * N_RECORDS * sizeof(struct record),
    };
    shmemx_space_attr_t attr = SHMEMX_SPACE_ATTR_INITIALIZER;
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;

    attr.name = NAME;
    attr.flags = keep ? SHMEMX_SPACE_KEEP : 0;
    if (shmemx_space_create_attr(&config, &attr, &log->space, &log->team) != 0) {
        if (log->me == 0)
            fprintf(stderr, "fam_log: the log cannot be opened: see the message above. It needs "
                            "SHMEM_FAM_PATH, and as many PEs as the job had that made it\n");
        return 1;
    }
    if (!shmem_team_is_valid(log->team) || shmem_team_n_pes(log->team) != log->n_pes) {
        fprintf(stderr, "fam_log: PE %d: not all PEs have SHMEM_FAM_PATH\n", log->me);
        shmem_global_exit(1);
    }
    /* malloc, which leaves what is there; the same calls in every job give the same places */
    log->head = shmem_space_malloc(log->space, sizeof(*log->head));
    log->records = shmem_space_malloc(log->space, N_RECORDS * sizeof(*log->records));
    if (shmemx_space_query(log->space, &info) != 0 || info.n_parts != log->n_pes) {
        if (log->me == 0)
            fprintf(stderr, "fam_log: the log was made by %d PEs: run as many\n", info.n_parts);
        close_log(log);
        return 1;
    }
    if (log->head != NULL && log->records != NULL) return 0;
    fprintf(stderr, "fam_log: PE %d: no room in the space\n", log->me);
    shmem_global_exit(1);
    return 1;
}

/* ---- append ------------------------------------------------------------------------------ */

static void fill(struct record *record, const struct log *log, const char *text)
{
    memset(record, 0, sizeof(*record));
    record->seconds = (int64_t)time(NULL);
    record->pid = (int32_t)getpid();
    record->pe = log->me;
    record->n_pes = log->n_pes;
    snprintf(record->text, sizeof(record->text), "%s", text);
}

/* The number is stored last: who sees it sees the rest. */
static uint64_t append(struct log *log, const char *text)
{
    uint64_t number = shmem_uint64_atomic_fetch_inc(&log->head->next, 0);
    int pe = (int)(number % (uint64_t)log->n_pes);
    struct record *slot = &log->records[number / (uint64_t)log->n_pes % N_RECORDS];
    struct record record;

    fill(&record, log, text);
    shmem_uint64_atomic_set(&slot->number, 0, pe);
    shmem_quiet();
    shmem_putmem((char *)slot + sizeof(slot->number), (char *)&record + sizeof(record.number),
                 sizeof(record) - sizeof(record.number), pe);
    shmem_quiet();
    shmem_uint64_atomic_set(&slot->number, number + 1, pe);
    shmem_quiet();
    return number;
}

static int run_append(struct log *log, const char *text, long times)
{
    uint64_t number = 0;

    for (long i = 0; i < times; i++)
        number = append(log, text);
    shmem_barrier_all();
    if (log->me == 0)
        printf("fam_log: %d PEs appended %ld records each; the last of PE 0 is number %" PRIu64
               "\n",
               log->n_pes, times, number);
    return 0;
}

/* ---- show, clear ---------------------------------------------------------------------------- */

static void print_record(const struct record *record, uint64_t number)
{
    time_t seconds = (time_t)record->seconds;
    struct tm parts;
    char when[32] = "?";

    if (gmtime_r(&seconds, &parts) != NULL)
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &parts);
    printf("%6" PRIu64 "  %s  PE %d of %d, process %d: %.*s\n", number, when, (int)record->pe,
           (int)record->n_pes, (int)record->pid, TEXT_BYTES, record->text);
}

/* PE 0 reads them all, the newest last. Others may go on to append. */
static int run_show(struct log *log)
{
    uint64_t room = (uint64_t)N_RECORDS * (uint64_t)log->n_pes, missing = 0;
    uint64_t next = shmem_uint64_atomic_fetch(&log->head->next, 0);
    uint64_t first = shmem_uint64_atomic_fetch(&log->head->first, 0);

    if (log->me != 0) return 0;
    if (next > first + room) first = next - room;
    for (uint64_t number = first; number < next; number++) {
        const struct record *slot = &log->records[number / (uint64_t)log->n_pes % N_RECORDS];
        int pe = (int)(number % (uint64_t)log->n_pes);
        struct record record;
        uint64_t before = shmem_uint64_atomic_fetch(&slot->number, pe);

        shmem_getmem(&record, slot, sizeof(record), pe);
        if (before == number + 1 && shmem_uint64_atomic_fetch(&slot->number, pe) == before)
            print_record(&record, number);
        else
            missing++; /* being written, or already overwritten by a newer one */
    }
    printf("fam_log: %" PRIu64 " records", next - first - missing);
    if (missing > 0) printf(", %" PRIu64 " more that are not complete", missing);
    printf("\n");
    return 0;
}

/* Records of before do not show again; the space itself goes when nobody else has it open. */
static int run_clear(struct log *log)
{
    if (log->me == 0) {
        shmem_uint64_atomic_set(&log->head->first, shmem_uint64_atomic_fetch(&log->head->next, 0),
                                0);
        shmem_quiet();
        printf("fam_log: cleared\n");
    }
    shmem_barrier_all();
    return 0;
}

/* ---- the command line --------------------------------------------------------------------- */

static const char usage[] =
    "usage: fam_log append [-n TIMES] TEXT...   every PE adds a record (TIMES of them)\n"
    "       fam_log show                        PE 0 prints the records\n"
    "       fam_log clear                       removes them\n"
    "       fam_log --help\n"
    "The log is the space \"" NAME "\" in what SHMEM_FAM_PATH names.\n";

enum command { APPEND, SHOW, CLEAR, HELP, WRONG };

static enum command parse(int argc, char **argv, long *times, char *text, size_t len)
{
    const char *verb = argc > 1 ? argv[1] : "";
    char *end = "";
    int at = 2;

    if (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0) return HELP;
    if (strcmp(verb, "show") == 0 && argc == 2) return SHOW;
    if (strcmp(verb, "clear") == 0 && argc == 2) return CLEAR;
    if (strcmp(verb, "append") != 0) return WRONG;
    *times = 1;
    if (argc > 3 && strcmp(argv[2], "-n") == 0) {
        *times = strtol(argv[3], &end, 10);
        at = 4;
    }
    if (*end != '\0' || *times < 1 || *times > N_RECORDS || at >= argc) return WRONG;
    for (size_t used = 0; at < argc && used < len; at++)
        used += (size_t)snprintf(text + used, len - used, "%s%s", used > 0 ? " " : "", argv[at]);
    return APPEND;
}

static int run(struct log *log, enum command command, const char *text, long times)
{
    if (open_log(log, command != CLEAR) != 0) return 1;
    if (shmemx_space_path(log->space, 0) != SHMEMX_PATH_LOAD_STORE && log->me == 0)
        fprintf(stderr, "fam_log: PE 0 is reached by the fabric, whose atomics other jobs do not "
                        "share: run one job at a time\n");
    failed = command == APPEND ? run_append(log, text, times)
             : command == SHOW ? run_show(log)
                               : run_clear(log);
    if (close_log(log) != 0) failed = 1;
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &failed_anywhere, &failed, 1);
    return failed_anywhere;
}

int main(int argc, char **argv)
{
    struct log log = {0};
    char text[TEXT_BYTES] = "";
    long times = 1;
    enum command command = parse(argc, argv, &times, text, sizeof(text));
    int rc = 0;

    shmem_init();
    log.me = shmem_my_pe();
    log.n_pes = shmem_n_pes();
    if (command < HELP)
        rc = run(&log, command, text, times);
    else if (log.me == 0)
        fputs(usage, command == HELP ? stdout : stderr);
    shmem_finalize();
    return command == WRONG ? 2 : rc;
}
