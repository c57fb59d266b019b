/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges the PE infos at start. The PEs of a node exchange them through the node's area. Between
 * nodes, the leader of each node publishes one block of bytes (a blob) through the launcher. The
 * leaders compare the values that must be equal on all PEs. If a value differs, one leader reports
 * the mismatch. Design: docs/design/launch.md.
 */
#include "boot_internal.h"

#include "core/team_and_space_handles.h"
#include "pmi/pmi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ADDR_MASK (STP_FABRIC_ADDR_MAX / 8)

#define KIND_NAMES(NAME, name) "SHMEM_ENABLE_" #NAME, "SHMEM_" #NAME "_SYMMETRIC_SIZE",

/*
 * Names of the environment variables whose values are in stp_settings.variables, in the same order.
 * SHMEM_SYMMETRIC_SIZE occurs twice, because it has two values: the size of the heap and its limit.
 */
static const char *const exchange_variables[STP_SETTINGS_VARIABLES] = {
    "SHMEM_SYMMETRIC_SIZE", "SHMEM_SYMMETRIC_SIZE", "SHMEM_CHECK", "SHMEM_DEFAULT_SPACE",
    STP_KINDS(KIND_NAMES) "SHMEM_PIN_HEAP"};

/*
 * All PEs of the job, sorted by node and then by number. A leader fills in these arrays during the
 * exchange.
 */
static struct {
    int *pes;
    int *start; /* index in pes of the first PE of each node; has n_nodes + 1 entries */
} exchange_world;

/*
 * Summary of a node. In a blob, the fabric addresses and the region descriptors of the node's PEs
 * follow the summary.
 */
struct exchange_node {
    struct stp_settings settings; /* settings of the leader */
    uint64_t window_base;   /* window address of the node's PEs, or 0 if it differs between them */
    int odd_pe;             /* PE whose settings differ from the leader's, or -1 */
    int poor_pe;            /* PE without memory for the default space, or -1 */
    int registered;         /* whether all PEs of the node registered the default space */
    struct stp_cores cores; /* cores on which the PEs of the node may run */
    char host[STP_HOST_MAX];
};

/* ---- bytes of a blob ------------------------------------------------------- */

/*
 * Buffer for a blob. The field `offset` is the offset of the next byte. When a leader reads a blob,
 * the field `nbytes` is the size of the data. When a leader writes a blob, `nbytes` is the size of
 * the buffer.
 */
struct exchange_blob {
    unsigned char *data;
    size_t offset;
    size_t nbytes;
    /*
     * Direction of all copies. If true, blob_move() copies from the blob to an object. Otherwise it
     * copies from an object to the blob.
     */
    bool reads;
    /* Whether a copy failed because the buffer was full or the data ended too early. */
    bool failed;
};

static void blob_move(struct exchange_blob *blob, void *object, size_t nbytes)
{
    unsigned char *bytes = blob->data + blob->offset;

    if (nbytes > blob->nbytes - blob->offset) {
        blob->failed = true;
        return;
    }
    memcpy(blob->reads ? object : bytes, blob->reads ? bytes : object, nbytes);
    blob->offset += nbytes;
}

static void blob_move_text(struct exchange_blob *blob, char *text, size_t size)
{
    unsigned char len = (unsigned char)strnlen(text, size - 1);

    blob_move(blob, &len, 1);
    if (len >= size) {
        blob->failed = true;
        return;
    }
    blob_move(blob, text, len);
    text[len] = '\0';
}

/* Returns whether a host of this job has several nodes that share its cores (SHMEM_NODE=off). */
static bool exchange_shares_host(void)
{
    return stp_boot.n_hosts < stp_rt.n_nodes;
}

/*
 * Copies the summary of a node to or from the blob. Numbers are copied as they are in memory. A
 * text is stored as its length and its characters.
 */
static void blob_move_node(struct exchange_blob *blob, struct exchange_node *node)
{
    blob_move(blob, &node->settings, offsetof(struct stp_settings, provider));
    blob_move(blob, &node->window_base, sizeof(node->window_base));
    blob_move(blob, &node->odd_pe, sizeof(node->odd_pe));
    blob_move(blob, &node->poor_pe, sizeof(node->poor_pe));
    blob_move(blob, &node->registered, sizeof(node->registered));
    if (exchange_shares_host()) blob_move(blob, &node->cores, sizeof(node->cores));
    blob_move_text(blob, node->settings.provider, sizeof(node->settings.provider));
    blob_move_text(blob, node->settings.program, sizeof(node->settings.program));
    blob_move_text(blob, node->host, sizeof(node->host));
}

/*
 * Writes the fabric addresses of this node's PEs in a short form. The form begins with a bit mask
 * of the byte positions at which the addresses differ. The complete address of the first PE
 * follows. For each other PE, only the bytes at these positions follow.
 */
static void blob_put_addrs(struct exchange_blob *blob, size_t addr_len)
{
    struct stp_pe_info *pe_infos = stp_boot.area->pes;
    unsigned char mask[ADDR_MASK] = {0};

    for (int i = 1; i < stp_boot.n_local; i++)
        for (size_t k = 0; k < addr_len; k++)
            if (pe_infos[i].addr[k] != pe_infos[0].addr[k])
                mask[k / 8] |= (unsigned char)(1u << k % 8);
    blob_move(blob, mask, (addr_len + 7) / 8);
    blob_move(blob, pe_infos[0].addr, addr_len);
    for (int i = 1; i < stp_boot.n_local; i++)
        for (size_t k = 0; k < addr_len; k++)
            if (mask[k / 8] >> k % 8 & 1) blob_move(blob, &pe_infos[i].addr[k], 1);
}

/*
 * Reads the fabric addresses of a node's PEs from the blob. Stores them in the array of the
 * addresses of all PEs.
 */
static void blob_get_addrs(struct exchange_blob *blob, size_t addr_len, int node)
{
    unsigned char mask[ADDR_MASK] = {0}, addr[STP_FABRIC_ADDR_MAX];
    bool first = true;

    blob_move(blob, mask, (addr_len + 7) / 8);
    blob_move(blob, addr, addr_len);
    for (int i = exchange_world.start[node]; i < exchange_world.start[node + 1]; i++) {
        size_t pe = (size_t)exchange_world.pes[i];
        for (size_t k = 0; k < addr_len && !first; k++)
            if (mask[k / 8] >> k % 8 & 1) blob_move(blob, &addr[k], 1);
        memcpy(stp_boot_world() + pe * addr_len, addr, addr_len);
        first = false;
    }
}

static void blob_put_regions(struct exchange_blob *blob)
{
    for (int i = 0; i < stp_boot.n_local; i++)
        blob_move(blob, stp_boot.area->pes[i].regions, sizeof(stp_boot.area->pes[i].regions));
}

static void blob_get_regions(struct exchange_blob *blob, int node)
{
    for (int i = exchange_world.start[node]; i < exchange_world.start[node + 1]; i++) {
        struct stp_fabric_region regions[STP_PE_INFO_REGIONS] = {{0}};
        int pe = exchange_world.pes[i];

        blob_move(blob, regions, sizeof(regions));
        for (unsigned k = 0; k < STP_PE_INFO_REGIONS; k++)
            stp_boot_world_regions(k)[pe] = regions[k];
    }
}

/* Copies the bcast data of PE 0 to or from the blob. Only the blob of PE 0's node has this data. */
static void blob_move_bcast(struct exchange_blob *blob, int leader)
{
    struct stp_node_shm_header *area = stp_boot.area;

    if (leader != 0) return;
    blob_move(blob, &area->bcast_bytes, sizeof(area->bcast_bytes));
    if (area->bcast_bytes > STP_BOOT_BCAST_MAX)
        blob->failed = true;
    else
        blob_move(blob, area->bcast, area->bcast_bytes);
}

/* ---- comparing ------------------------------------------------------------- */

/* Writes this PE's values of the environment variables, in the order of exchange_variables[]. */
static void settings_fill(int64_t *value)
{
    *value++ = (int64_t)stp_env.symmetric.size;
    *value++ = (int64_t)stp_env.symmetric.max;
    *value++ = stp_env.check;
    *value++ = stp_env.default_space;
    for (int type = 0; type < STP_N_DEVICE_TYPES; type++) {
        *value++ = stp_env.kind_enabled[type];
        *value++ = (int64_t)stp_env.kind_size[type];
    }
    *value = stp_env.pin_heap;
}

/* Formats a value of the environment variable `name` as a user would write it. */
static void format_value(const char *name, int64_t value, char *text, size_t len)
{
    const struct stp_env_row *row = stp_env_table;

    while (strcmp(row->name, name) != 0)
        row++;
    if (row->kind == STP_ENV_BOOL)
        snprintf(text, len, "%s", value ? "on" : "off");
    else if (row->kind == STP_ENV_CHOICE)
        snprintf(text, len, "%s", row->words[value & 3]);
    else
        stp_env_format_size((size_t)value, text, len);
}

#define VALUE_MAX 80

/*
 * Returns the name of the setting if the PEs have different providers, or versions of libfabric
 * that cannot work together. Otherwise returns NULL. Different versions can work together if their
 * providers use the same formats, unless the module asks for one version (one_libfabric).
 */
static const char *libfabric_differs(const struct stp_settings *a, const struct stp_settings *b)
{
    bool same_formats = a->addr_len == b->addr_len && a->peer_table == b->peer_table &&
                        a->dialect == b->dialect && !stp_rt.fabric.one_libfabric;

    if (strcmp(a->provider, b->provider) != 0) return "fabric provider (SHMEM_OFI_PROVIDER)";
    return a->libfabric == b->libfabric || same_formats ? NULL : "version of libfabric";
}

static void format_libfabric(const struct stp_settings *settings, char *text)
{
    snprintf(text, VALUE_MAX, "%s of libfabric %u.%u", settings->provider,
             settings->libfabric >> 16, settings->libfabric & 0xffff);
}

/*
 * Returns the name of the first setting that differs between `a` and `b`, or NULL if all settings
 * are equal. Writes the value of this setting in `a` as text to `text_a`, and the value in `b` to
 * `text_b`. The texts are empty if users would not understand the values.
 */
static const char *settings_differ(const struct stp_settings *a, const struct stp_settings *b,
                                   char *text_a, char *text_b)
{
    const char *fabric = libfabric_differs(a, b);

    text_a[0] = text_b[0] = '\0';
    for (size_t i = 0; i < STP_SETTINGS_VARIABLES; i++) {
        if (a->variables[i] == b->variables[i]) continue;
        format_value(exchange_variables[i], a->variables[i], text_a, VALUE_MAX);
        format_value(exchange_variables[i], b->variables[i], text_b, VALUE_MAX);
        return exchange_variables[i];
    }
    if (a->window_bytes != b->window_bytes) {
        stp_env_format_size(a->window_bytes, text_a, VALUE_MAX);
        stp_env_format_size(b->window_bytes, text_b, VALUE_MAX);
        return "window size (SHMEM_WINDOW_SIZE)";
    }
    if (a->abi != b->abi) {
        snprintf(text_a, VALUE_MAX, "%u", a->abi);
        snprintf(text_b, VALUE_MAX, "%u", b->abi);
        return "version of the fabric module";
    }
    if (fabric != NULL) {
        format_libfabric(a, text_a);
        format_libfabric(b, text_b);
        return fabric;
    }
    if (a->addr_len != b->addr_len) {
        snprintf(text_a, VALUE_MAX, "%u bytes", a->addr_len);
        snprintf(text_b, VALUE_MAX, "%u bytes", b->addr_len);
        return "length of fabric addresses (IPv4 or IPv6; see SHMEM_OFI_INTERFACE)";
    }
    if (a->peer_table != b->peer_table || a->dialect != b->dialect)
        return "use of the fabric provider for atomics or memory registration";
    if (a->layout == b->layout) {
        if (a->globals == b->globals) return NULL;
        snprintf(text_a, VALUE_MAX, "%u ranges", a->n_globals);
        snprintf(text_b, VALUE_MAX, "%u ranges", b->n_globals);
        return "set of symmetric globals and statics";
    }
    if (strcmp(a->program, b->program) != 0) {
        snprintf(text_a, VALUE_MAX, "%s", a->program);
        snprintf(text_b, VALUE_MAX, "%s", b->program);
    }
    return "executable";
}

/*
 * Ends the job if the settings of PE pe (`settings`) differ from those of PE first_pe
 * (`first_settings`). If `print_now` is true, this PE prints the mismatch at once. Otherwise this
 * PE waits first, so that another PE can print it (stp_boot_abort_mismatch()).
 */
static void exchange_check_settings(bool print_now, int pe, const char *host,
                                    const struct stp_settings *settings, int first_pe,
                                    const char *first_host,
                                    const struct stp_settings *first_settings)
{
    char value[VALUE_MAX], first_value[VALUE_MAX];
    const char *setting = settings_differ(settings, first_settings, value, first_value);

    if (setting == NULL) return;
    if (value[0] == '\0')
        stp_boot_abort_mismatch(print_now,
                                "PE %d has another %s than PE %d (hosts %s and %s); it must be "
                                "the same for all PEs",
                                pe, setting, first_pe, host, first_host);
    stp_boot_abort_mismatch(print_now,
                            "PE %d has another %s than PE %d: %s (host %s) and %s (host %s); it "
                            "must be the same for all PEs",
                            pe, setting, first_pe, value, host, first_value, first_host);
}

/*
 * Ends the job if the leader of a node has other settings than PE 0. Also ends the job if a PE of
 * the node has other settings than the leader, or has no memory for the default space. If this PE
 * belongs to the node, it prints the message at once. `summary` is the summary of the node, and
 * `pe0_summary` is the summary of PE 0's node.
 */
static void exchange_judge(int node, int leader, const struct exchange_node *summary,
                           const struct exchange_node *pe0_summary)
{
    bool is_my_node = node == stp_boot.node;

    exchange_check_settings(is_my_node, leader, summary->host, &summary->settings, 0,
                            pe0_summary->host, &pe0_summary->settings);
    if (summary->odd_pe >= 0 && is_my_node)
        exchange_check_settings(true, summary->odd_pe, summary->host,
                                &stp_boot_local_pe_info(summary->odd_pe)->settings, leader,
                                summary->host, &summary->settings);
    if (summary->odd_pe >= 0)
        stp_boot_abort_mismatch(false,
                                "PE %d has other settings than PE %d of its node (host %s); the "
                                "output of the PEs of that host gives the setting",
                                summary->odd_pe, leader, summary->host);
    if (summary->poor_pe >= 0)
        stp_boot_abort_mismatch(
            is_my_node,
            "SHMEM_DEFAULT_SPACE=%s: PE %d cannot create its symmetric heap in memory of this "
            "kind%s%s%s",
            stp_space_type_name(stp_env.default_space), summary->poor_pe,
            is_my_node ? ": " : " on host ",
            is_my_node ? stp_boot_local_pe_info(summary->poor_pe)->no_heap : summary->host,
            is_my_node ? "" : "; the output of the PEs of that host gives the reason");
}

/* ---- the exchange ---------------------------------------------------------- */

/* Fills in the summary of this node from the PE infos of its PEs. */
static void exchange_summarize_node(struct exchange_node *node)
{
    const struct stp_pe_info *pe_infos = stp_boot.area->pes;
    char text_a[VALUE_MAX], text_b[VALUE_MAX];

    *node = (struct exchange_node){.settings = pe_infos[0].settings,
                                   .window_base = pe_infos[0].window_base,
                                   .odd_pe = -1,
                                   .poor_pe = -1,
                                   .registered = 1};
    snprintf(node->host, sizeof(node->host), "%s", stp_hostname());
    for (int i = stp_boot.n_local - 1; i >= 0; i--) {
        const struct stp_pe_info *pe_info = &pe_infos[i];

        if (settings_differ(&pe_info->settings, &pe_infos[0].settings, text_a, text_b) != NULL)
            node->odd_pe = pe_info->pe;
        if (pe_info->no_heap[0] != '\0') node->poor_pe = pe_info->pe;
        if (pe_info->window_base != pe_infos[0].window_base) node->window_base = 0;
        if (!pe_info->heap_registered) node->registered = 0;
        stp_cores_add(&node->cores, &pe_info->cores);
    }
}

/*
 * Returns the maximum size of a blob in this job. The node with the most PEs publishes the largest
 * blob.
 */
static size_t exchange_capacity(void)
{
    size_t pe_bytes = STP_FABRIC_ADDR_MAX + STP_PE_INFO_REGIONS * sizeof(struct stp_fabric_region);

    return sizeof(struct exchange_node) + STP_BOOT_BCAST_MAX + ADDR_MASK +
           (size_t)stp_boot.max_local * pe_bytes;
}

static void exchange_publish(struct exchange_node *node, struct exchange_blob *blob)
{
    blob_move_node(blob, node);
    blob_move_bcast(blob, stp_boot.first_pe);
    blob_put_addrs(blob, node->settings.addr_len);
    if (node->settings.peer_table) blob_put_regions(blob);
    stp_boot_publish("pe_info", stp_rt.pe, blob->data, blob->offset);
}

/*
 * Reads the blob of a node, checks the settings of the node's leader, and stores the data in the
 * area. The blob of PE 0's node must be read first. The settings are checked before the addresses
 * are read, because the size of an address is one of the settings.
 */
static void exchange_learn(int node, int leader, struct exchange_blob *blob,
                           const struct exchange_node *my_summary,
                           struct exchange_node *pe0_summary)
{
    struct stp_node_shm_header *area = stp_boot.area;
    struct exchange_node summary;

    memset(&summary, 0, sizeof(summary));
    blob_move_node(blob, &summary);
    if (leader == 0) *pe0_summary = summary;
    if (leader == 0 && !blob->failed)
        exchange_judge(stp_boot.node, stp_boot.first_pe, my_summary, pe0_summary);
    if (!blob->failed) exchange_judge(node, leader, &summary, pe0_summary);
    memcpy(stp_boot_host(node), summary.host, sizeof(summary.host));
    if (!blob->failed) blob_move_bcast(blob, leader);
    if (!blob->failed) blob_get_addrs(blob, area->addr_len, node);
    if (!blob->failed && area->peer_table) blob_get_regions(blob, node);
    if (blob->failed)
        stp_fatal("shmem_init",
                  "the start-up data that PE %d published for its node is incomplete (oshinfo "
                  "--doctor shows the launcher's limits)",
                  leader);
    if (exchange_shares_host() && stp_pmi_node_of(leader) == stp_pmi_node_of(stp_rt.pe))
        stp_cores_add(&area->cores, &summary.cores);
    area->registered = area->registered && summary.registered;
    area->ident_addr = area->ident_addr && summary.window_base == area->pes[0].window_base;
}

/* Sorts the PEs of the job by node with a counting sort. Stores the result in exchange_world. */
static void exchange_sort(void)
{
    size_t n_nodes = (size_t)stp_rt.n_nodes;
    int *start = calloc(n_nodes + 2, sizeof(*start));
    int *pes = malloc((size_t)stp_rt.n_pes * sizeof(*pes));

    if (start == NULL || pes == NULL)
        stp_fatal("shmem_init", "out of memory: cannot allocate the list of PEs");
    for (int pe = 0; pe < stp_rt.n_pes; pe++)
        start[stp_node_of(pe) + 2]++;
    for (size_t node = 2; node < n_nodes + 2; node++)
        start[node] += start[node - 1];
    for (int pe = 0; pe < stp_rt.n_pes; pe++)
        pes[start[stp_node_of(pe) + 1]++] = pe;
    exchange_world.pes = pes;
    /*
     * Before the last loop, start[node + 1] was the index of the first PE of the node. The loop has
     * advanced it to the index after the last PE of the node. Therefore start[node] is now the
     * index of the first PE of the node.
     */
    exchange_world.start = start;
}

static void exchange_forget(void)
{
    free(exchange_world.pes);
    free(exchange_world.start);
    memset(&exchange_world, 0, sizeof(exchange_world));
}

/*
 * Publishes the blob of this node and reads the blobs of all nodes. The blob of PE 0's node is read
 * first, because all nodes are compared with it. Only leaders call this function.
 */
static void exchange_nodes(const struct exchange_node *my_summary)
{
    size_t capacity = exchange_capacity();
    unsigned char *data = malloc(2 * capacity);
    int first_node = stp_node_of(0);
    struct exchange_node pe0_summary = *my_summary;
    struct exchange_blob my_blob = {.data = data, .nbytes = capacity};

    if (data == NULL)
        stp_fatal("shmem_init",
                  "out of memory: cannot allocate the start-up data of all PEs "
                  "(number of PEs: %d)",
                  stp_rt.n_pes);
    exchange_publish(&pe0_summary, &my_blob);
    stp_boot_fence();
    for (int i = 0; i < stp_rt.n_nodes; i++) {
        int node = (first_node + i) % stp_rt.n_nodes;
        int leader = exchange_world.pes[exchange_world.start[node]];
        struct exchange_blob blob = {.data = data, .nbytes = my_blob.offset, .reads = true};

        if (node != stp_boot.node) {
            blob.data = data + capacity;
            blob.nbytes = stp_boot_kvs_get("pe_info", leader, blob.data, capacity);
        }
        exchange_learn(node, leader, &blob, my_summary, &pe0_summary);
    }
    free(data);
}

static void exchange_lead(void)
{
    struct stp_node_shm_header *area = stp_boot.area;
    struct exchange_node my_summary;

    exchange_summarize_node(&my_summary);
    area->addr_len = my_summary.settings.addr_len;
    area->peer_table = my_summary.settings.peer_table != 0;
    area->registered = my_summary.registered;
    area->ident_addr = my_summary.window_base != 0;
    area->cores = my_summary.cores;
    if (stp_rt.n_nodes > 1) {
        exchange_sort();
        exchange_nodes(&my_summary);
        exchange_forget();
    } else {
        exchange_judge(stp_boot.node, stp_boot.first_pe, &my_summary, &my_summary);
    }
}

/*
 * Sets host_cores to the number of cores on which the PEs of this host may run. If the CPU quota of
 * the control group is lower, sets host_cores to the quota.
 */
static void exchange_count_cores(void)
{
    int cores = stp_cores_count(&stp_boot.area->cores);
    size_t quota = stp_cgroup_cores();

    stp_rt.host_cores = quota < (size_t)cores ? (int)quota : cores;
    stp_debug("start: PEs of this host: %d, cores: %d", stp_rt.host_pes, stp_rt.host_cores);
}

void stp_boot_exchange(const struct stp_pe_info *pe_info, const void *bcast, size_t nbytes)
{
    stp_boot.area->pes[stp_boot.local] = *pe_info;
    settings_fill(stp_boot.area->pes[stp_boot.local].settings.variables);
    if (stp_rt.pe == 0) {
        stp_boot.area->bcast_bytes = (uint32_t)nbytes;
        memcpy(stp_boot.area->bcast, bcast, nbytes);
    }
    stp_boot_node_barrier();
    if (stp_boot.local == 0)
        exchange_lead();
    else if (stp_rt.n_nodes > 1)
        stp_boot_fence();
    stp_boot_node_barrier();
    stp_rt.ident_addr = stp_boot.area->ident_addr;
    exchange_count_cores();
}

const void *stp_boot_bcast_data(size_t *nbytes)
{
    *nbytes = stp_boot.area->bcast_bytes;
    return stp_boot.area->bcast;
}

const struct stp_pe_info *stp_boot_local_pe_info(int pe)
{
    return &stp_boot.area->pes[stp_local_of(pe)];
}

void stp_boot_set_closing(enum stp_pe_exit pe_exit, uint64_t syncs, uint64_t cells)
{
    struct stp_closing *closing = &stp_boot.area->pes[stp_boot.local].closing;

    closing->syncs = syncs;
    closing->cells = cells;
    /* Pairs with the acquire load in find_closer_locked() of another PE. */
    __atomic_store_n(&closing->pe_exit, (int)pe_exit, __ATOMIC_RELEASE);
}

const void *stp_boot_addrs(void)
{
    return stp_boot_world();
}

const struct stp_fabric_region *stp_boot_regions(unsigned number)
{
    return stp_boot.area->peer_table ? stp_boot_world_regions(number) : NULL;
}

bool stp_boot_heap_registered(void)
{
    return stp_boot.area->registered;
}

/*
 * Frees the region tables. Keeps the array of fabric addresses, which comes before the tables,
 * because the fabric still reads the addresses.
 */
void stp_boot_free_region_tables(void)
{
    size_t addrs = (size_t)stp_rt.n_pes * stp_boot.area->addr_len;
    uintptr_t start = ((uintptr_t)stp_boot_world() + addrs + 0xffff) & ~(uintptr_t)0xffff;
    uintptr_t end = ((uintptr_t)stp_boot.area + stp_boot_wait_pages_offset()) & ~(uintptr_t)0xffff;

    stp_boot_node_barrier();
    if (stp_rt.n_nodes > 1 && stp_boot.local == 0 && start < end)
        madvise((void *)start, end - start, MADV_REMOVE);
}
