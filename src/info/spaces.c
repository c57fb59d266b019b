/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports the kinds of memory of which spaces can be created. Outside a job, a process reports only
 * the kinds that it can use itself. In a job, the PEs create a small space of each kind. The report
 * then has the members of this space, the locations of its parts, its capabilities and attributes,
 * and the data path from each PE to each other PE. A kind is reported as usable only if the PEs
 * could create a space of it.
 */
#include "info.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/device_info_query.h"
#include "kind_supported_attributes.h"
#include "coll/coll.h"
#include "pshmem.h"

#define SPACES_BYTES ((size_t)1 << 20) /* size of the space that is created for each kind */
#define SPACES_TEXT 256
/* Maximum number of PEs in a job whose data paths are printed. Longer lists are not readable. */
#define SPACES_PATHS_PES 1024
#define SPACES_GATHER 384 /* maximum number of bytes per PE in one gather */

/* ---- view of one process --------------------------------------------------------------- */

static void info_cpu_memory(struct stp_report *report)
{
    long page = sysconf(_SC_PAGESIZE);

    stp_report_bytes(report, "installed", (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)page);
    stp_report_bytes(report, "available", (size_t)sysconf(_SC_AVPHYS_PAGES) * (size_t)page);
    stp_report_bytes(report, "page", (size_t)page);
    stp_report_bytes(report, "default_heap", stp_env.symmetric.size);
    stp_report_bytes(report, "default_heap_max", stp_env.symmetric.max);
}

/* Writes the properties of a device, except properties that are unknown. */
static void info_device(struct stp_report *report, const shmemx_device_info_t *info)
{
    if (info->nbytes != SHMEMX_BYTES_UNKNOWN) stp_report_bytes(report, "memory", info->nbytes);
    if (info->free != SHMEMX_BYTES_UNKNOWN) stp_report_bytes(report, "free", info->free);
    if (info->numa_node >= 0) stp_report_number(report, "numa_node", info->numa_node);
    if (info->bus_id[0] != '\0') stp_report_text(report, "bus", info->bus_id);
    if (info->distance >= 0) stp_report_number(report, "distance", info->distance);
    if (info->nic_distance >= 0) stp_report_number(report, "nic_distance", info->nic_distance);
    stp_report_list(report, "page_sizes");
    for (int i = 0; i < info->n_page_sizes; i++)
        stp_report_bytes(report, "", info->page_sizes[i]);
    stp_report_end_group(report);
}

static void info_devices(struct stp_report *report, const struct stp_kind *kind)
{
    shmemx_device_info_t info;
    char text[SPACES_TEXT];

    stp_report_list(report, "devices");
    for (int i = 0; stp_device_query(kind, i, &info) == 0; i++) {
        if (kind->host || !kind->describe(i, text, sizeof(text)))
            snprintf(text, sizeof(text), "%s", info.name);
        stp_report_item(report, "device", text);
        info_device(report, &info);
        stp_report_end_group(report);
    }
    stp_report_end_group(report);
}

/*
 * Returns whether this PE has memory of the kind. Writes a description of the memory to `text`, or
 * the reason why the PE has no such memory.
 */
static bool info_probe(const struct stp_kind *kind, char *text, size_t len)
{
    const struct stp_space_params params = {
        .nbytes = SPACES_BYTES, .device = -1, .numa_node = -1, .n_pes = 1};

    return kind->probe(&params, text, len) == 0;
}

static void info_kind(struct stp_report *report, const struct stp_kind *kind)
{
    char text[SPACES_TEXT];
    bool usable = info_probe(kind, text, sizeof(text));
    struct stp_info_attributes attributes;

    stp_report_item(report, "kind", kind->name);
    stp_report_flag(report, "usable", usable);
    stp_report_text(report, "state", text);
    if (usable) {
        stp_info_attributes_query(kind, &attributes);
        stp_info_attributes_print(report, &attributes, -1);
        info_devices(report, kind);
    }
    if (usable && kind == stp_kind_find(SHMEM_DEVICE_CPU)) info_cpu_memory(report);
    stp_report_end_group(report);
}

void stp_info_kinds(struct stp_report *report)
{
    /* True if init, which finds the devices, has not been called. */
    bool before_init = stp_references() == 0;

    if (before_init) stp_kinds_find_devices();
    stp_report_list(report, "kinds");
    for (int i = 0; i < stp_n_kinds; i++)
        info_kind(report, stp_kinds[i]);
    stp_report_end_group(report);
    if (before_init) stp_kinds_stop();
}

/* ---- queries to all PEs ---------------------------------------------------------------- */

/* Reply of one PE about one kind of memory. It must fit into one gather, see SPACES_GATHER. */
struct spaces_reply {
    bool usable;     /* whether the PE has memory of the kind */
    bool member;     /* whether the PE was a member of the space */
    uint64_t caps;   /* capabilities of the space */
    int32_t atomics; /* SHMEMX_ATOMICS_ constant of the PE's part */
    struct stp_info_attributes attributes;
    char text[SPACES_TEXT]; /* location of the PE's part, or reason why the PE has no part */
};

_Static_assert(sizeof(struct spaces_reply) <= SPACES_GATHER, "goes into one gather");

struct spaces_kind {
    const struct stp_kind *kind;
    int n_members;
    uint64_t caps;
    int32_t atomics;                       /* atomics of the first member */
    struct stp_info_attributes attributes; /* attributes that all members have */
    int first_lacking_pe;                  /* PE that reported attributes.unsupported */
    struct spaces_reply *replies;          /* replies of the PEs, by PE number */
    unsigned char *paths;                  /* data path from each PE to every PE, or NULL */
};

/*
 * Gathers from each PE its data paths to all PEs. A PE that is not a member of the space passes
 * SHMEM_SPACE_INVALID as the space.
 */
static void spaces_query_paths(struct spaces_kind *kind, shmem_space_t space)
{
    size_t n = (size_t)stp_rt.n_pes;
    unsigned char *my_paths, *piece;

    if (n > SPACES_PATHS_PES) return;
    my_paths = malloc(n);
    piece = malloc(n * SPACES_GATHER);
    kind->paths = malloc(n * n);
    if (my_paths == NULL || piece == NULL || kind->paths == NULL)
        stp_fatal("shmemx_info_print",
                  "out of memory: cannot allocate the table of paths for a job of size %zu", n);
    for (size_t pe = 0; pe < n; pe++)
        my_paths[pe] = space == SHMEM_SPACE_INVALID
                           ? SHMEMX_PATH_NONE
                           : (unsigned char)pshmemx_space_path(space, (int)pe);
    for (size_t start = 0; start < n; start += SPACES_GATHER) {
        size_t width = n - start < SPACES_GATHER ? n - start : SPACES_GATHER;
        stp_coll_gather(stp_team_world, piece, my_paths + start, width);
        for (size_t pe = 0; pe < n; pe++)
            memcpy(kind->paths + pe * n + start, piece + pe * width, width);
    }
    free(piece);
    free(my_paths);
}

/*
 * Creates a space of the kind, queries it and destroys it. Collective over all PEs. Errors are
 * printed on standard error.
 */
static void spaces_try(struct spaces_kind *kind, struct spaces_reply *my_reply)
{
    shmem_space_config_t config = {(shmem_device_type_t)kind->kind->device_type, SPACES_BYTES,
                                   SHMEM_SPACE_FLAG_DEFAULT};
    shmemx_space_info_t info = SHMEMX_SPACE_INFO_INITIALIZER;
    shmem_space_t space;
    shmem_team_t team;

    if (pshmem_space_create(&config, &space, &team) != 0) {
        if (my_reply->usable)
            snprintf(my_reply->text, sizeof(my_reply->text),
                     "this PE has such memory, but a space of 1 MiB could not be created; "
                     "standard error gives the reason");
        return;
    }
    if (space != SHMEM_SPACE_INVALID && pshmemx_space_query(space, &info) == 0) {
        my_reply->member = true;
        my_reply->caps = info.caps;
        my_reply->atomics = info.atomics;
        stp_info_attributes_query(kind->kind, &my_reply->attributes);
        if (!kind->kind->describe(info.device > 0 ? info.device : 0, my_reply->text,
                                  sizeof(my_reply->text)))
            my_reply->text[0] = '\0';
    }
    spaces_query_paths(kind, space);
    if (!my_reply->member) return;
    pshmem_team_destroy(team);
    pshmem_space_destroy(space);
}

/*
 * Gathers the replies of all PEs. Finds the attributes that all members of the space have, and the
 * first member that lacks an attribute of the kind. Returns the number of PEs that have memory of
 * the kind.
 */
static int spaces_gather(struct spaces_kind *kind, const struct spaces_reply *my_reply)
{
    int n_usable = 0;

    stp_coll_gather(stp_team_world, kind->replies, my_reply, sizeof(*my_reply));
    for (int pe = 0; pe < stp_rt.n_pes; pe++) {
        const struct spaces_reply *reply = &kind->replies[pe];
        bool is_first = kind->n_members == 0;
        unsigned supported = is_first ? ~0u : kind->attributes.supported;

        n_usable += reply->usable;
        if (!reply->member) continue;
        kind->n_members++;
        kind->caps = reply->caps;
        if (is_first) kind->atomics = reply->atomics;
        if (is_first || (kind->attributes.unsupported == 0 && reply->attributes.unsupported != 0)) {
            kind->attributes = reply->attributes;
            kind->first_lacking_pe = pe;
        }
        kind->attributes.supported = supported & reply->attributes.supported;
    }
    return n_usable;
}

static void spaces_query(struct spaces_kind *kind)
{
    struct spaces_reply my_reply = {0};

    kind->replies = calloc((size_t)stp_rt.n_pes, sizeof(*kind->replies));
    if (kind->replies == NULL)
        stp_fatal("shmemx_info_print",
                  "out of memory: cannot allocate the replies for a job of size %d", stp_rt.n_pes);
    my_reply.usable = info_probe(kind->kind, my_reply.text, sizeof(my_reply.text));
    if (spaces_gather(kind, &my_reply) == 0) return; /* no PE has such memory */
    spaces_try(kind, &my_reply);
    spaces_gather(kind, &my_reply);
}

/* ---- printing on PE 0 -------------------------------------------------------------------- */

/* Writes the numbers of the PEs for which selected[pe] is true, for example "0-3, 7". */
static void spaces_ranges(struct stp_pe_list *list, const bool *selected)
{
    *list = (struct stp_pe_list){.first = -1};
    for (int pe = 0; pe < stp_rt.n_pes; pe++)
        if (selected[pe]) stp_pe_list_append(list, pe);
    stp_pe_list_end(list);
}

/*
 * Prints the texts in the replies of some PEs. If `member` is true, prints the texts of the PEs
 * that are members of the space. Otherwise prints the texts of the other PEs. PEs with the same
 * text share one item.
 */
static void spaces_print_texts(struct stp_report *report, const struct spaces_kind *kind,
                               bool member, const char *list, const char *key)
{
    size_t n = (size_t)stp_rt.n_pes;
    bool *printed = calloc(2 * n, sizeof(*printed)), *matches = printed + n;
    struct stp_pe_list pes;
    char title[sizeof(pes.text) + 8];

    if (printed == NULL) return;
    stp_report_list(report, list);
    for (size_t pe = 0; pe < n; pe++) {
        if (printed[pe] || kind->replies[pe].member != member) continue;
        for (size_t i = 0; i < n; i++) {
            matches[i] = kind->replies[i].member == member &&
                         strcmp(kind->replies[i].text, kind->replies[pe].text) == 0;
            printed[i] = printed[i] || matches[i];
        }
        spaces_ranges(&pes, matches);
        snprintf(title, sizeof(title), "%s%s", report->json ? "" : "PE ", pes.text);
        stp_report_item(report, "pes", title);
        stp_report_prose(report, key, kind->replies[pe].text);
        stp_report_end_group(report);
    }
    stp_report_end_group(report);
    free(printed);
}

static void spaces_print_caps(struct stp_report *report, uint64_t caps)
{
    static const char *const names[] = {
        [__builtin_ctz(SHMEM_SPACE_CAP_RMA)] = "rma",
        [__builtin_ctz(SHMEM_SPACE_CAP_COLLECTIVES)] = "collectives",
        [__builtin_ctz(SHMEM_SPACE_CAP_ATOMICS)] = "atomics",
        [__builtin_ctz(SHMEM_SPACE_CAP_DIRECT_ACCESS)] = "direct_access",
        [__builtin_ctz(SHMEM_SPACE_CAP_WORLD_ACCESS)] = "world_access",
        [__builtin_ctz(SHMEM_SPACE_CAP_IDENT_ADDR)] = "ident_addr",
    };

    stp_report_words(report, "capabilities", names, STP_COUNT(names), (unsigned)caps);
}

/* ---- paths ------------------------------------------------------------------------------ */

/*
 * Prints the data paths from PE `source`. For each kind of path, prints the target PEs that this
 * path reaches. `pes` lists all PEs that have the same paths as PE `source`. `selected` is a work
 * array with one element per PE.
 */
static void spaces_print_row(struct stp_report *report, const struct spaces_kind *kind,
                             size_t source, const char *pes, bool *selected)
{
    size_t n = (size_t)stp_rt.n_pes;
    const unsigned char *row = kind->paths + source * n;
    struct stp_pe_list targets;
    char title[sizeof(targets.text) + 8];

    snprintf(title, sizeof(title), "%s%s", report->json ? "" : "from PE ", pes);
    stp_report_item(report, "from", title);
    for (int path = 0; path <= SHMEMX_PATH_PROCESS; path++) {
        if (memchr(row, path, n) == NULL) continue;
        for (size_t i = 0; i < n; i++)
            selected[i] = row[i] == path;
        spaces_ranges(&targets, selected);
        stp_report_prose(report, pshmemx_space_path_name((shmemx_space_path_t)path), targets.text);
    }
    stp_report_end_group(report);
}

/*
 * Prints the data paths of all PEs. PEs that have the same path to every target PE share an item.
 */
static void spaces_print_paths(struct stp_report *report, const struct spaces_kind *kind)
{
    size_t n = (size_t)stp_rt.n_pes;
    bool *printed = calloc(2 * n, sizeof(*printed)), *selected = printed + n;
    struct stp_pe_list pes;

    stp_report_list(report, "paths");
    for (size_t source = 0; source < n && printed != NULL && kind->paths != NULL; source++) {
        if (printed[source]) continue;
        for (size_t i = 0; i < n; i++) {
            selected[i] = memcmp(kind->paths + i * n, kind->paths + source * n, n) == 0;
            printed[i] = printed[i] || selected[i];
        }
        spaces_ranges(&pes, selected);
        spaces_print_row(report, kind, source, pes.text, selected);
    }
    stp_report_end_group(report);
    free(printed);
}

/* Prints the reason why the fabric does not access this PE's device memory directly. */
static void spaces_print_fabric(struct stp_report *report, const struct stp_kind *kind)
{
    char text[SPACES_TEXT];

    if (kind->host || !stp_rt.has_fabric || stp_rt.fabric.no_devices_reason == NULL) return;
    snprintf(text, sizeof(text), "%s %s: staged", stp_rt.fabric.provider,
             stp_rt.fabric.no_devices_reason);
    stp_report_prose(report, "fabric", text);
}

/* ---- the section -------------------------------------------------------------------------- */

static void spaces_print_kind(struct stp_report *report, const struct spaces_kind *kind)
{
    stp_report_item(report, "kind", kind->kind->name);
    stp_report_flag(report, "usable", kind->n_members > 0);
    stp_report_number(report, "members", kind->n_members);
    if (kind->n_members < stp_rt.n_pes) spaces_print_texts(report, kind, false, "without", "why");
    if (kind->n_members > 0) {
        spaces_print_texts(report, kind, true, "parts", "where");
        if (kind->kind == stp_kind_find(SHMEM_DEVICE_CPU)) info_cpu_memory(report);
        if (kind->replies[0].member) info_devices(report, kind->kind);
        spaces_print_fabric(report, kind->kind);
        spaces_print_caps(report, kind->caps);
        stp_report_text(report, "atomics",
                        stp_info_atomics_name((shmemx_space_atomics_t)kind->atomics));
        stp_info_attributes_print(report, &kind->attributes, kind->first_lacking_pe);
        spaces_print_paths(report, kind);
    }
    stp_report_end_group(report);
}

void stp_info_spaces(struct stp_report *report)
{
    if (stp_references() == 0) {
        stp_report_text(report, "state", "not in a job: the kinds that this process alone can use");
        stp_info_kinds(report);
        return;
    }
    if (stp_rt.pe == 0) {
        stp_report_number(report, "pes", stp_rt.n_pes);
        stp_report_number(report, "nodes", stp_rt.n_nodes);
        stp_report_list(report, "kinds");
    }
    for (int i = 0; i < stp_n_kinds; i++) {
        struct spaces_kind kind = {.kind = stp_kinds[i]};

        spaces_query(&kind);
        if (stp_rt.pe == 0) spaces_print_kind(report, &kind);
        free(kind.paths);
        free(kind.replies);
    }
    if (stp_rt.pe == 0) stp_report_end_group(report);
}
