/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Provider shim: reads PROVSHIM, expands the words for real providers, and prints the message that
 * ends a process.
 */
#include "shim.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define TEXT_MAX 512
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

pthread_mutex_t shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct shim_counts shim_counts;

void shim_die(const char *fmt, ...)
{
    const char *rank = getenv("PMI_RANK");
    char text[TEXT_MAX];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (rank != NULL)
        fprintf(stderr, "provshim: pe %s: %s\n", rank, text);
    else
        fprintf(stderr, "provshim: %s\n", text);
    signal(SIGABRT, SIG_DFL); /* libraries below libfabric make an exit of it */
    abort();
}

uint64_t shim_random(void)
{
    static uint64_t state;

    while (state == 0)
        if (getrandom(&state, sizeof(state), 0) != sizeof(state)) state = 1;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* ---- words ---------------------------------------------------------------------- */

static struct shim_modes modes = {.base = "tcp;ofi_rxm"};

static const struct {
    const char *word;
    bool *flag;
} flags[] = {
    {"mr_local", &modes.mr_local},
    {"prov_key", &modes.prov_key},
    {"virt_addr", &modes.virt_addr},
    {"allocated", &modes.allocated},
    {"endpoint", &modes.endpoint},
    {"key32", &modes.key32},
    {"context", &modes.context},
    {"context2", &modes.context2},
    {"no_fetch", &modes.no_fetch},
    {"no_atomics", &modes.no_atomics},
    {"no_order", &modes.no_order},
    {"reorder", &modes.reorder},
    {"late", &modes.late},
    {"manual", &modes.manual},
    {"no_fd", &modes.no_fd},
    {"deaf_fd", &modes.deaf_fd},
    {"auto", &modes.automatic},
    {"false_auto", &modes.false_auto},
    {"host_only", &modes.host_only},
    {"small_inject", &modes.small_inject},
    {"opaque", &modes.opaque},
    {"hmem", &modes.hmem},
    {"hmem_no_endpoint", &modes.hmem_no_endpoint},
    {"one_name", &modes.one_name},
};

static const struct {
    const char *word;
    size_t *number;
    size_t unless_given; /* 0: must be given */
} numbers[] = {
    {"small_inject", &modes.inject_size, 16},
    {"max_msg", &modes.max_msg, 0},
    {"eagain", &modes.eagain, 7},
    {"cqsize", &modes.cqsize, 64},
    {"delay", &modes.delay, 1000},
    {"lag", &modes.lag, 1000},
    {"storm", &modes.storm, 10000},
    {"pause", &modes.pause, 10000},
};

/* What several words say at once: classes of real providers, as their manuals describe them. */
static const struct {
    const char *word, *means;
} classes[] = {
    {"verbs", "mr_local,virt_addr,allocated,prov_key,key32,endpoint,context,small_inject=64,"
              "no_order"},
    {"efa", "mr_local,virt_addr,allocated,prov_key,context,small_inject=32,max_msg=8192,no_order,"
            "late,no_fd,eagain=61"},
    {"cxi", "endpoint,allocated,context2,key32,small_inject=192,no_order,eagain=97,cqsize=256"},
    {"psm3", "name=psm3,fabric=TCP-,context,small_inject=64,deaf_fd"},
};

static const struct {
    const char *word, *provider;
} bases[] = {{"rxm", "tcp;ofi_rxm"}, {"net", "net"}, {"shm", "shm"}};

/* ---- reading them ------------------------------------------------------------------ */

static void read_list(const char *list);

static bool read_number(const char *word, const char *value)
{
    bool known = false;

    for (size_t i = 0; i < COUNT(numbers); i++) {
        char *end = NULL;
        size_t number = numbers[i].unless_given;

        if (strcmp(numbers[i].word, word) != 0) continue;
        if (value != NULL) number = strtoul(value, &end, 10);
        if ((value != NULL && (end == value || *end != '\0')) || number == 0)
            shim_die("PROVSHIM: %s wants a number above 0: %s=N", word, word);
        *numbers[i].number = number;
        known = true;
    }
    return known;
}

static bool read_text(const char *word, const char *value)
{
    bool is_name = strcmp(word, "name") == 0;
    unsigned major, minor;

    if (strcmp(word, "version") == 0) {
        if (value == NULL || sscanf(value, "%u.%u", &major, &minor) != 2)
            shim_die("PROVSHIM: version=MAJOR.MINOR");
        modes.version = major << 16 | minor;
        return true;
    }
    if (is_name || strcmp(word, "fabric") == 0) {
        if (value == NULL || *value == '\0') shim_die("PROVSHIM: %s=TEXT", word);
        *(is_name ? &modes.name : &modes.fabric) = strdup(value);
        return true;
    }
    if (strcmp(word, "base") != 0) return false;
    for (size_t i = 0; i < COUNT(bases); i++) {
        if (value == NULL || strcmp(bases[i].word, value) != 0) continue;
        modes.base = bases[i].provider;
        return true;
    }
    shim_die("PROVSHIM: base is rxm, net or shm");
}

static bool read_flag(const char *word, const char *value)
{
    for (size_t i = 0; i < COUNT(flags); i++) {
        if (strcmp(flags[i].word, word) != 0) continue;
        if (value != NULL && flags[i].flag != &modes.small_inject)
            shim_die("PROVSHIM: %s takes no value", word);
        *flags[i].flag = true;
        return true;
    }
    return false;
}

static void read_word(char *word)
{
    char *value = strchr(word, '=');
    bool known;

    if (value != NULL) *value++ = '\0';
    for (size_t i = 0; i < COUNT(classes); i++) {
        if (strcmp(classes[i].word, word) != 0) continue;
        read_list(classes[i].means);
        return;
    }
    known = read_flag(word, value);
    known = read_number(word, value) || known;
    if (!known && !read_text(word, value)) shim_die("PROVSHIM: what is %s?", word);
}

static void read_list(const char *list)
{
    char text[TEXT_MAX], *rest = text, *word;

    if (strlen(list) >= sizeof(text)) shim_die("PROVSHIM is too long");
    strcpy(text, list);
    while ((word = strsep(&rest, ",")) != NULL)
        if (*word != '\0') read_word(word);
}

static void read_environment(void)
{
    const char *list = getenv("PROVSHIM");

    if (list != NULL) read_list(list);
    if (modes.no_order) modes.reorder = true;
    if (modes.delay > 0) modes.manual = true; /* nothing leaves but by reading */
    if (modes.hmem && modes.virt_addr) shim_die("PROVSHIM: hmem and virt_addr exclude another");
    if (modes.context && modes.context2) shim_die("PROVSHIM: context and context2 exclude another");
}

const struct shim_modes *shim_modes(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_environment);
    return &modes;
}

/* ---- counts --------------------------------------------------------------------- */

long provshim_count(const char *what)
{
    const struct {
        const char *word;
        long *count;
    } counts[] = {
        {"posts", &shim_counts.posts},
        {"held", &shim_counts.held},
        {"overtaken", &shim_counts.overtaken},
        {"refused", &shim_counts.refused},
        {"early", &shim_counts.early},
        {"buffers", &shim_counts.buffers},
        {"contexts", &shim_counts.contexts},
        {"regions", &shim_counts.regions},
        {"opened", &shim_counts.opened},
        {"auto", &shim_counts.automatic},
        {"delayed", &shim_counts.delayed},
        {"stopped", &shim_counts.stopped},
        {"rma", &shim_counts.rma},
        {"reads", &shim_counts.reads},
        {"device_regions", &shim_counts.device_regions},
        {"device_made", &shim_counts.device_made},
        {"device_buffers", &shim_counts.device_buffers},
        {"device_refused", &shim_counts.device_refused},
    };
    long n = -1;

    pthread_mutex_lock(&shim_lock);
    for (size_t i = 0; i < COUNT(counts); i++)
        if (strcmp(counts[i].word, what) == 0) n = *counts[i].count;
    pthread_mutex_unlock(&shim_lock);
    return n;
}
