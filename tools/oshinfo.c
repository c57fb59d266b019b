/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * oshinfo prints a report of shmemx_info_print() on the library and this machine. It runs without a
 * launcher. For the section spaces it runs as a job of one or several PEs, in which PE 0 prints.
 * Manual page: docs/man/oshinfo.1.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <shmem.h>
#include <shmemx.h>

static const char *const usage_text =
    "usage: oshinfo [--json] [--spaces] [--doctor [--verbose]] [section...]\n"
    "       oshrun -n N oshinfo [--json] --spaces\n"
    "       oshrun -n N oshinfo [--json] --doctor\n"
    "Print facts about Steppe and about this machine. Without a section, print all sections\n"
    "except spaces and doctor:\n"
    "\n"
    "  version      the release of Steppe, the specification and the compiler\n"
    "  conduits     the data paths inside a node and between nodes\n"
    "  providers    the providers of libfabric, and why each is used or not (loads libfabric)\n"
    "  launcher     the interface to the launcher that is used, and the reason for this choice\n"
    "  topology     the packages, cores, NUMA nodes and caches\n"
    "  memory       the kinds of memory and their state\n"
    "  spaces       members, capabilities and paths between PEs of a space that is created for\n"
    "               each kind of memory\n"
    "  environment  every environment variable with its value, default and meaning\n"
    "  collectives  the algorithms between nodes that SHMEM_COLL_TABLE may name\n"
    "  doctor       the problems that can prevent jobs from running, and their remedies; the exit\n"
    "               status is 3 if a problem will make jobs fail\n"
    "  doctor-verbose  the same as doctor, with the checks that found no problem\n"
    "\n"
    "  --spaces     print the section spaces\n"
    "  --doctor     print the section doctor\n"
    "  --verbose    with --doctor, print the section doctor-verbose instead\n"
    "  --json       print one JSON object instead of text\n"
    "  --help       print this text\n"
    "  --version    print only the release of Steppe\n";

static char doctor_verbose[] = "doctor-verbose";

/* Returns the section names of the command line, joined by commas for shmemx_info_print(). */
static char *join(char **sections, int n)
{
    char *list = NULL;
    size_t len;
    FILE *out = open_memstream(&list, &len);

    for (int i = 0; i < n && out != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? "," : "", sections[i]);
    if (out == NULL || fclose(out) != 0) {
        perror("oshinfo");
        exit(1);
    }
    return list;
}

/* Reads the options, and moves the section names to the front of argv. Returns their number. */
static int parse(int argc, char **argv, int *json)
{
    bool verbose = false;
    int n = 0;

    for (int i = 1; i < argc; i++)
        verbose = verbose || strcmp(argv[i], "--verbose") == 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            *json = 1;
        } else if (strcmp(argv[i], "--spaces") == 0 || strcmp(argv[i], "--doctor") == 0) {
            argv[n++] = verbose && argv[i][2] == 'd' ? doctor_verbose : argv[i] + 2;
        } else if (strcmp(argv[i], "--verbose") == 0) {
            continue;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage_text, stdout);
            exit(0);
        } else if (strcmp(argv[i], "--version") == 0) {
            printf("oshinfo (Steppe) %s\n", shmemx_version());
            exit(0);
        } else if (argv[i][0] == '-') {
            fprintf(stderr, "oshinfo: unknown option %s\n%s", argv[i], usage_text);
            exit(2);
        } else {
            argv[n++] = argv[i];
        }
    }
    return n;
}

/*
 * Returns a descriptor of the standard output, and lets the number of the standard output refer to
 * the standard error. Some providers print their errors on the standard output (psm3 of libfabric
 * 2.6), where they would damage the JSON document.
 */
static int keep_stdout(void)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (fd < 0) return STDOUT_FILENO; /* no descriptor is free */
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return fd;
}

/* Prints as a job, because only PEs can create spaces. PEs other than PE 0 print to /dev/null. */
static int print_as_job(int fd, const char *list, int json, int *quiet)
{
    int rc;

    shmem_init();
    *quiet = shmem_my_pe() != 0;
    if (*quiet) fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (fd < 0) shmem_global_exit(1);
    rc = shmemx_info_print(fd, list, json);
    shmem_finalize();
    return rc;
}

int main(int argc, char **argv)
{
    int json = 0, job = 0, quiet = 0, rc;
    int n = parse(argc, argv, &json);
    char *list = n > 0 ? join(argv, n) : NULL;
    int fd = keep_stdout();

    for (int i = 0; i < n; i++)
        job = job || strcmp(argv[i], "spaces") == 0;
    rc = job ? print_as_job(fd, list, json, &quiet) : shmemx_info_print(fd, list, json);
    if (rc == EINVAL && !quiet)
        fputs(usage_text, stderr); /* the library has named the section */
    else if (rc != 0 && rc != ENODEV && !quiet)
        fprintf(stderr, "oshinfo: %s\n", strerror(rc));
    free(list);
    return rc == EINVAL ? 2 : rc == ENODEV ? 3 : rc != 0;
}
