/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests which NUMA nodes the library takes for memory with high bandwidth, and which of these nodes
 * each PE uses. hwloc reads the hosts from the files of test/topology or from synthetic
 * descriptions, so that no such memory is needed, and none is allocated. CTest runs the program as
 * unit.hbm.
 */
#include "spaces/hbm.h"
#include "capture.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct stp_hbm hbm;

/* The host of a file of test/topology, or of hwloc's words for one. */
static void look_at(const char *name, const char *synthetic)
{
    char path[512];

    snprintf(path, sizeof(path), "%s/%s.xml", TOPOLOGIES, name != NULL ? name : "");
    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_SYNTHETIC");
    if (name != NULL)
        setenv("HWLOC_XMLFILE", path, 1);
    else
        setenv("HWLOC_SYNTHETIC", synthetic, 1);
    setenv("HWLOC_THISSYSTEM", "1", 0);
    stp_hbm_read(&hbm);
}

/* That of a file in which each from became to. */
static void look_at_changed(const char *name, const char *from, const char *to)
{
    char path[512], line[1024], *at;
    FILE *file, *copy;

    snprintf(path, sizeof(path), "%s/%s.xml", TOPOLOGIES, name);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    strcpy(path, "/tmp/steppe-test-topology-XXXXXX");
    copy = fdopen(mkstemp(path), "w");
    ck_assert_ptr_nonnull(copy);
    while (fgets(line, sizeof(line), file) != NULL) {
        at = strstr(line, from);
        if (at == NULL)
            fputs(line, copy);
        else
            fprintf(copy, "%.*s%s%s", (int)(at - line), line, to, at + strlen(from));
    }
    fclose(file);
    fclose(copy);
    setenv("HWLOC_XMLFILE", path, 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    stp_hbm_read(&hbm);
    unlink(path);
}

/* The number of the node that a PE takes which may run on these CPUs. */
static int taken(const char *cpus, int turn)
{
    struct stp_numbers set = {{0}};
    int i;

    for (; *cpus != '\0'; cpus++)
        stp_numbers_add(&set, *cpus - '0');
    i = stp_hbm_choose_index(&hbm, &set, turn);
    return i >= 0 ? hbm.nodes[i].number : -1;
}

static void ck_says(const char *words)
{
    ck_assert_msg(strstr(hbm.unusable_reason, words) != NULL,
                  "the text \"%s\" is not in the reason: %s", words, hbm.unusable_reason);
}

static const struct {
    const char *host, *what;
    size_t nbytes;
} hosts[] = {
    {"knl", "MCDRAM", (size_t)8 << 30}, /* by its name */
    {"spr", "HBM", (size_t)64 << 30},   /* by its bandwidth */
};

TEST_LOOP(nodes_of_hosts, 0, 2)
{
    look_at(hosts[_i].host, NULL);
    ck_assert_str_eq(hbm.unusable_reason, "");
    ck_assert_int_eq(hbm.n, 2);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(hbm.nodes[i].number, 2 + i);
        ck_assert_str_eq(hbm.nodes[i].memory_type, hosts[_i].what);
        ck_assert_uint_eq(hbm.nodes[i].nbytes, hosts[_i].nbytes);
    }
}

TEST(a_little_faster_is_not_enough)
{
    look_at_changed("spr", "\"800000\"", "\"599999\"");
    ck_assert_int_eq(hbm.n, 0);
    ck_says("no NUMA node has high bandwidth (nodes: 4)");
    look_at_changed("spr", "\"800000\"", "\"600000\"");
    ck_assert_int_eq(hbm.n, 2);
}

/* Memory that is slower than the usual one, and no high bandwidth anywhere. */
TEST(the_usual_memory_beside_slow_one)
{
    look_at_changed("spr", "\"800000\"", "\"100000\"");
    ck_assert_int_eq(hbm.n, 0);
}

TEST(other_names)
{
    static const char *const names[] = {"GPUMemory", "NVM", "DRAM"};

    for (size_t i = 0; i < STP_COUNT(names); i++) {
        look_at_changed("knl", "MCDRAM", names[i]);
        ck_assert_int_eq(hbm.n, 0);
        ck_says("no NUMA node has high bandwidth (nodes: 4)");
    }
    look_at_changed("knl", "MCDRAM", "hbm");
    ck_assert_int_eq(hbm.n, 2);
}

TEST(ordinary_hosts)
{
    look_at(NULL, "node:2 pu:2");
    ck_assert_int_eq(hbm.n, 0);
    ck_says("no NUMA node has high bandwidth (nodes: 2)");
    ck_assert_int_eq(taken("0", 0), -1);
}

TEST(another_host)
{
    setenv("HWLOC_THISSYSTEM", "0", 1);
    look_at("knl", NULL);
    ck_says("describes another host (HWLOC_XMLFILE");
    ck_says("node 2");
    ck_assert_int_eq(hbm.n, 2);
}

TEST(no_topology_at_all)
{
    setenv("HWLOC_COMPONENTS", "stop", 1); /* hwloc may ask nobody */
    stp_hbm_read(&hbm);
    ck_assert_int_eq(hbm.n, 0);
    ck_says("hwloc cannot read the topology of this host");
}

TEST_LOOP(pes_take_what_is_beside_them, 0, 2)
{
    look_at(hosts[_i].host, NULL);
    for (int turn = 0; turn < 3; turn++) {
        ck_assert_int_eq(taken("0", turn), 2);
        ck_assert_int_eq(taken("01", turn), 2);
        ck_assert_int_eq(taken("3", turn), 3);
        ck_assert_int_eq(taken("0123", turn), 2 + turn % 2); /* not bound: in turns */
    }
}

/* ---- of those that are not beside a PE -------------------------------------------------- */

static char tree[] = "/tmp/steppe-test-sysfs-XXXXXX";

static void tree_write(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", tree, name);
    for (char *at = path + strlen(tree) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

TEST(or_the_nearest)
{
    char command[64];

    ck_assert_ptr_nonnull(mkdtemp(tree));
    stp_sysfs = tree;
    tree_write("devices/system/node/online", "0-3\n");
    tree_write("devices/system/node/node0/cpulist", "0-1\n");
    tree_write("devices/system/node/node1/cpulist", "2-3,7\n"); /* hwloc knows nothing of 7 */
    tree_write("devices/system/node/node2/distance", "13 24 10 20\n");
    tree_write("devices/system/node/node3/distance", "24 13 20 10\n");
    look_at("knl", NULL);
    ck_assert_int_eq(taken("7", 0), 3);
    ck_assert_int_eq(taken("7", 1), 3);
    ck_assert_int_eq(taken("9", 0), 2); /* of a CPU that nobody knows: in turns */
    ck_assert_int_eq(taken("9", 1), 3);
    snprintf(command, sizeof(command), "rm -r %s", tree);
    ck_assert_int_eq(system(command), 0);
}

/* ---- parts of several PEs --------------------------------------------------------------- */

#define GIB ((size_t)1 << 30)

/* Of PEs 4, 5, ... on the nodes of a string, 8 GiB free on each but for what the last one saw. */
static int fits(const char *nodes, size_t nbytes, int me, int *n_numa_sharers)
{
    struct stp_capacity_request claims[16];
    int n = (int)strlen(nodes);

    for (int i = 0; i < n; i++)
        claims[i] = (struct stp_capacity_request){
            .pe = 4 + i, .place = nodes[i] - '0', .free_bytes = 8 * GIB};
    claims[n - 1].free_bytes -= 64 << 20;
    return stp_hbm_fits(nbytes, claims, n, &claims[me], n_numa_sharers);
}

TEST(parts_of_a_host_fit_together)
{
    int n;

    ck_assert_int_eq(fits("2222", 3 * GIB, 0, &n), -ENOMEM);
    ck_assert_int_eq(n, 4);
    ck_assert_int_eq(fits("2233", 3 * GIB, 0, &n), 0);
    ck_assert_int_eq(n, 2);
    ck_assert_int_eq(fits("2233", 3 * GIB, 3, &n), 0);
    ck_assert_int_eq(fits("2223", 3 * GIB, 3, &n), 0);
    ck_assert_int_eq(n, 1);
    ck_assert_int_eq(fits("22", 4 * GIB, 0, &n), -ENOMEM); /* the last one saw less */
    ck_assert_int_eq(fits("23", 8 * GIB, 0, &n), 0);
    ck_assert_int_eq(fits("23", 8 * GIB, 1, &n), -ENOMEM);
    ck_assert_int_eq(fits("22", SIZE_MAX / 2 + 1, 0, &n), -ENOMEM); /* twice that is 0 */
}

TEST(the_first_says_what_fits)
{
    int n;

    CAPTURE(ck_assert_int_eq(fits("3222", 3 * GIB, 1, &n), -ENOMEM));
    ck_said(
        "an hbm space of 3221225472 bytes per PE does not fit NUMA node 2, which has 8522825728 "
        "bytes free for the PEs of this host that use it (number: 3, first: PE 5, last: PE 7): "
        "request at most 2840940544 bytes per PE");
    for (int me = 2; me < 4; me++) {
        CAPTURE(ck_assert_int_eq(fits("3222", 3 * GIB, me, &n), -ENOMEM));
        ck_assert_str_eq(said.text, "");
    }
}
