/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a bare process to a PE that knows its node: launcher, node file, window, and the
 * exchange of cards. A one-node job exchanges one key through the launcher; a job of several
 * nodes one blob a node. Design: docs/design/launch.md.
 */
#include "steppe.h"

#include "pmi/pmi.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#define AREA_MAGIC 0x7374657070653031u

/* What the leader of a node publishes so that the others find its file. */
struct boot_node_key {
    pid_t pid;
    int fd;
    uint64_t nonce;
    struct stp_window_layout layout;
};

/* At the start of the node's area; cards of the node's PEs follow, then those of the world. */
struct boot_area {
    uint64_t magic;
    uint64_t nonce;
    uint64_t job_key;
    int n_local;
    atomic_int arrived STP_ALIGNED_LINE;
    atomic_int generation STP_ALIGNED_LINE;
    struct stp_card cards[] STP_ALIGNED_LINE; /* n_local, by place */
};

static struct {
    int n_local;
    int local;            /* my place; 0 leads the node */
    int node;             /* mine */
    int first_pe;
    int *local_pes;       /* world numbers by place, ascending */
    bool contiguous;
    struct stp_window_layout layout;
    struct boot_area *area;
    struct stp_card *world; /* behind the node's cards; only used when there are several nodes */
} boot;

int stp_node_of(int pe)
{
    return stp_env.node ? stp_pmi_node_of(pe) : pe;
}

int stp_local_of(int pe)
{
    int low = 0, high = boot.n_local - 1;

    if (boot.contiguous) {
        unsigned local = (unsigned)(pe - boot.first_pe);
        return local < (unsigned)boot.n_local ? (int)local : -1;
    }
    while (low <= high) {
        int mid = (low + high) / 2;
        if (boot.local_pes[mid] == pe) return mid;
        if (boot.local_pes[mid] < pe) low = mid + 1;
        else high = mid - 1;
    }
    return -1;
}

int stp_local_pe(int local)
{
    return boot.local_pes[local];
}

static void boot_find_local(void)
{
    int n = 0;

    boot.node = stp_node_of(stp_rt.pe);
    boot.local_pes = malloc((size_t)stp_rt.n_pes * sizeof *boot.local_pes);
    if (boot.local_pes == NULL) stp_fatal("shmem_init", "no memory for the list of local PEs");
    for (int pe = 0; pe < stp_rt.n_pes; pe++) {
        if (stp_node_of(pe) != boot.node) continue;
        if (pe == stp_rt.pe) boot.local = n;
        boot.local_pes[n++] = pe;
    }
    boot.n_local = n;
    boot.first_pe = boot.local_pes[0];
    boot.contiguous = boot.local_pes[n - 1] - boot.first_pe == n - 1;
}

static void boot_key_name(char *name, size_t len, const char *what, int node)
{
    snprintf(name, len, "stp%d.%s.%d", stp_rt.epoch, what, node);
}

static void boot_publish(const char *what, int node, const void *data, size_t nbytes)
{
    char key[48];

    boot_key_name(key, sizeof key, what, node);
    if (stp_pmi_put(key, data, nbytes) != 0)
        stp_fatal("shmem_init", "cannot publish %s through the launcher", key);
}

static size_t boot_learn(const char *what, int node, void *data, size_t capacity)
{
    char key[48];
    size_t nbytes = 0;
    int rc;

    boot_key_name(key, sizeof key, what, node);
    rc = stp_pmi_get(key, data, capacity, &nbytes);
    if (rc != 0)
        stp_fatal("shmem_init", "the launcher does not know %s: %s", key, strerror(-rc));
    return nbytes;
}

static void boot_fence(void)
{
    if (stp_pmi_fence() != 0) stp_fatal("shmem_init", "the launcher's fence failed");
}

static uint64_t boot_random(void)
{
    uint64_t value;

    if (getrandom(&value, sizeof value, 0) != sizeof value)
        stp_fatal("shmem_init", "getrandom: %s", strerror(errno));
    return value;
}

/* ---- the node -------------------------------------------------------------- */

static size_t boot_area_bytes(void)
{
    size_t n_cards = (size_t)boot.n_local + (stp_rt.n_nodes > 1 ? (size_t)stp_rt.n_pes : 0);
    size_t nbytes = sizeof(struct boot_area) + n_cards * sizeof(struct stp_card);

    return (nbytes + 0xffff) & ~(size_t)0xffff;
}

static void boot_use_area(int fd)
{
    boot.area = stp_window_map_area(&boot.layout, fd);
    if (boot.area == NULL) stp_fatal("shmem_init", "cannot share memory with this node's PEs");
    boot.world = boot.area->cards + boot.n_local;
}

static int boot_lead_node(struct boot_node_key *key)
{
    int fd;

    if (stp_window_choose(boot.n_local, stp_env.symmetric_size, stp_env.window_size,
                          &boot.layout) != 0)
        stp_fatal("shmem_init", "cannot reserve symmetric memory");
    boot.layout.area_bytes = boot_area_bytes();
    fd = stp_window_create_file(&boot.layout);
    if (fd < 0) stp_fatal("shmem_init", "cannot create this node's memory file");
    boot_use_area(fd);
    *key = (struct boot_node_key){getpid(), fd, boot_random(), boot.layout};
    boot.area->magic = AREA_MAGIC;
    boot.area->nonce = key->nonce;
    boot.area->n_local = boot.n_local;
    return fd;
}

/* Attaching proves that the leader really is on this node: another host has another nonce. */
static int boot_join_node(const struct boot_node_key *key)
{
    char path[64];
    int fd;

    boot.layout = key->layout;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)key->pid, key->fd);
    fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        stp_fatal("shmem_init",
                  "cannot share memory with PE %d, which the launcher puts on this node: %s: %s "
                  "(SHMEM_NODE=off uses the fabric instead)",
                  boot.first_pe, path, strerror(errno));
    boot_use_area(fd);
    if (boot.area->magic != AREA_MAGIC || boot.area->nonce != key->nonce)
        stp_fatal("shmem_init", "%s is not the memory of PE %d: is it on another host?", path,
                  boot.first_pe);
    return fd;
}

void stp_boot_node_barrier(void)
{
    int generation = atomic_load_explicit(&boot.area->generation, memory_order_relaxed);
    struct stp_wait wait = {0};

    if (atomic_fetch_add_explicit(&boot.area->arrived, 1, memory_order_acq_rel) ==
        boot.n_local - 1) {
        atomic_store_explicit(&boot.area->arrived, 0, memory_order_relaxed);
        /* pairs with the acquire below: whatever was written before is visible after */
        atomic_store_explicit(&boot.area->generation, generation + 1, memory_order_release);
        syscall(SYS_futex, &boot.area->generation, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        return;
    }
    while (atomic_load_explicit(&boot.area->generation, memory_order_acquire) == generation) {
        if (wait.polls < stp_wait_spin) stp_wait_step(&wait);
        else syscall(SYS_futex, &boot.area->generation, FUTEX_WAIT, generation, NULL, NULL, 0);
    }
}

static int boot_host_pes(void)
{
    int n = 0;

    for (int pe = 0; pe < stp_rt.n_pes; pe++)
        n += stp_pmi_node_of(pe) == stp_pmi_node_of(stp_rt.pe);
    return n;
}

/* Jobs with more PEs than cores must not burn the time of the PE they wait for. */
static void boot_choose_spin(void)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    if (stp_env.spin >= 0) stp_wait_spin = stp_env.spin;
    else stp_wait_spin = stp_rt.host_pes > cores ? 20 : 4000;
}

void stp_boot_attach(void)
{
    struct stp_pmi_info info;
    struct boot_node_key key;
    int fd = -1;

    if (stp_pmi_open(&info) != 0) stp_fatal("shmem_init", "no usable launcher");
    stp_rt.pe = info.rank;
    stp_rt.n_pes = info.size;
    stp_log_identify(info.rank, stp_env.debug ? STP_LOG_DEBUG : STP_LOG_WARN);
    stp_rt.n_nodes = stp_env.node ? info.n_nodes : info.size;
    boot_find_local();
    stp_rt.host_pes = boot_host_pes();
    boot_choose_spin();

    if (boot.local == 0) fd = boot_lead_node(&key);
    if (stp_rt.n_pes > 1) {
        uint64_t job_key = boot_random();
        if (boot.local == 0 && (boot.n_local > 1 || stp_rt.n_nodes > 1))
            boot_publish("node", boot.node, &key, sizeof key);
        if (stp_rt.pe == 0 && stp_rt.n_nodes > 1) boot_publish("job", 0, &job_key, sizeof job_key);
        boot_fence();
        if (boot.local != 0) {
            boot_learn("node", boot.node, &key, sizeof key);
            fd = boot_join_node(&key);
        } else if (stp_rt.n_nodes > 1) {
            boot_learn("job", 0, &boot.area->job_key, sizeof boot.area->job_key);
        }
    }
    stp_boot_node_barrier();
    stp_rt.job_key = boot.area->job_key;
    if (stp_window_open(&boot.layout, fd, boot.local) != 0)
        stp_fatal("shmem_init", "cannot map symmetric memory");
    /* the others have it open by now: the barrier above */
    close(fd);
    if (!stp_rt.check && boot.contiguous) {
        stp_win.first_pe = boot.first_pe;
        stp_win.n_local = boot.n_local;
    }
}

/* ---- cards ----------------------------------------------------------------- */

const struct stp_card *stp_boot_card(int pe)
{
    int local = stp_local_of(pe);

    return local >= 0 ? &boot.area->cards[local] : &boot.world[pe];
}

/* Leaders only: this node's cards out, everybody else's in. Blobs carry no unused address bytes. */
static void boot_exchange_nodes(void)
{
    size_t head = offsetof(struct stp_card, addr);
    size_t one = head + boot.area->cards[0].addr_len;
    unsigned char *blob = malloc((size_t)stp_rt.n_pes * sizeof(struct stp_card));

    if (blob == NULL) stp_fatal("shmem_init", "no memory for the cards of %d PEs", stp_rt.n_pes);
    for (int i = 0; i < boot.n_local; i++) memcpy(blob + (size_t)i * one, &boot.area->cards[i], one);
    boot_publish("cards", boot.node, blob, (size_t)boot.n_local * one);
    boot_fence();
    for (int node = 0; node < stp_rt.n_nodes; node++) {
        size_t nbytes;
        if (node == boot.node) continue;
        nbytes = boot_learn("cards", node, blob, (size_t)stp_rt.n_pes * sizeof(struct stp_card));
        for (size_t at = 0; at + one <= nbytes; at += one) {
            struct stp_card card;
            memcpy(&card, blob + at, one);
            if (card.pe < 0 || card.pe >= stp_rt.n_pes || card.addr_len + head != one)
                stp_fatal("shmem_init", "PE %d uses another fabric provider or library than PE %d",
                          card.pe, stp_rt.pe);
            memcpy(&boot.world[card.pe], &card, one);
        }
    }
    free(blob);
}

/* Compare everything that must be equal with PE 0 and name what differs. */
static void boot_compare(const struct stp_card *card, const struct stp_card *first)
{
    const char *what = NULL;

    if (card->version != first->version) what = "another version of Steppe";
    else if (card->window_bytes != first->window_bytes) what = "another window (SHMEM_WINDOW_SIZE)";
    else if (card->heap_bytes != first->heap_bytes) what = "another SHMEM_SYMMETRIC_SIZE";
    else if (card->check != first->check) what = "another SHMEM_CHECK";
    else if (stp_space_card_differs(card, first) != NULL)
        what = stp_space_card_differs(card, first);
    else if (strncmp(card->provider, first->provider, sizeof card->provider) != 0)
        what = "another fabric provider";
    else if (card->layout != first->layout) what = "another executable";
    if (what != NULL)
        stp_fatal("shmem_init", "PE %d has %s than PE %d", card->pe, what, first->pe);
    if (card->window_base != first->window_base) stp_rt.ident_addr = false;
}

void stp_boot_exchange(const struct stp_card *mine)
{
    boot.area->cards[boot.local] = *mine;
    stp_boot_node_barrier();
    if (stp_rt.n_nodes > 1) {
        if (boot.local == 0) boot_exchange_nodes();
        else boot_fence();
    }
    stp_boot_node_barrier();
    stp_rt.ident_addr = true;
    for (int pe = 0; pe < stp_rt.n_pes; pe++) boot_compare(stp_boot_card(pe), stp_boot_card(0));
}

void stp_boot_done(void)
{
    stp_boot_node_barrier();
    if (stp_rt.n_nodes > 1 && boot.local == 0) {
        char *from = (char *)(((uintptr_t)boot.world + 0xffff) & ~(uintptr_t)0xffff);
        char *end = (char *)boot.area + boot.layout.area_bytes;
        if (from < end) madvise(from, (size_t)(end - from), MADV_REMOVE);
    }
}

void stp_boot_detach(void)
{
    stp_boot_node_barrier();
    munmap(boot.area, boot.layout.area_bytes);
    free(boot.local_pes);
    memset(&boot, 0, sizeof boot);
}
