/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Loads the raw libfabric module, and exchanges the cards (addresses) of all PEs.
 */
#include "raw_ofi_dlopen_and_addresses.h"

#include "raw_cuda_driver.h"
#include "portable/raw_ofi.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <shmem.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE "steppe-bench-raw-ofi.so"
/*
 * Directory of the module in the build tree, relative to the program's directory. Installed
 * programs use BENCH_MODULE_DIR.
 */
#define BUILD_DIR "../lib/steppe"

static struct raw_ofi loaded;
static void *handle;

static void __attribute__((noreturn)) fatal(const char *text)
{
    fprintf(stderr, "steppe-bench: pe %d: raw libfabric: %s\n", shmem_my_pe(), text);
    shmem_global_exit(1);
    abort();
}

/* Opens the module from the installation, the build tree or the program's directory. */
static void *open_module(char *reason, size_t len)
{
    static const char *const places[] = {BENCH_MODULE_DIR "/", BUILD_DIR "/", ""};
    char program[PATH_MAX], path[PATH_MAX + 64];
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    char *slash;

    snprintf(path, sizeof(path), "%s", MODULE);
    program[n > 0 ? n : 0] = '\0';
    slash = strrchr(program, '/');
    for (size_t i = 0; slash != NULL && i < 3; i++) {
        snprintf(path, sizeof(path), "%.*s/%s%s", (int)(slash - program), program, places[i],
                 MODULE);
        if (access(path, R_OK) == 0) break;
    }
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) snprintf(reason, len, "%s", dlerror());
    return handle;
}

static int open_raw(const struct bench_run *run, const struct bench_machine *machine, char *reason,
                    size_t len)
{
    struct raw_ofi_request request = {
        .abi = RAW_OFI_ABI,
        .me = run->me,
        .n_pes = run->n_pes,
        .nbytes = 2 * run->region + sizeof(struct bench_flags),
        .provider = machine->provider,
        .fabric = machine->fabric,
        .domain = machine->domain,
        .yields = run->crowded,
        .fatal = fatal,
    };
    raw_ofi_open_fn entry;

    if (open_module(reason, len) == NULL) return -ENOENT;
    *(void **)&entry = dlsym(handle, RAW_OFI_ENTRY);
    if (entry == NULL) {
        snprintf(reason, len,
                 "the raw module has no function %s: install the module of this steppe-bench",
                 RAW_OFI_ENTRY);
        return -EINVAL;
    }
    return entry(&request, &loaded, reason, len);
}

/* Exchanges the addresses and keys of all PEs, and connects the PEs. Returns 0 or -errno. */
static int exchange_cards(const struct bench_run *run)
{
    struct raw_ofi_card *cards = calloc((size_t)run->n_pes, sizeof(*cards));
    int status;

    if (cards == NULL) return -ENOMEM;
    bench_gather(cards, &loaded.card, sizeof(loaded.card));
    status = loaded.connect(cards);
    free(cards);
    return status;
}

int bench_raw_ofi_load(struct bench_run *run, struct bench_machine *machine)
{
    char *reason = machine->raw_note;
    size_t len = sizeof(machine->raw_note);
    int status = open_raw(run, machine, reason, len);
    int worst = bench_worst(-status);

    if (worst == 0) {
        status = exchange_cards(run);
        worst = bench_worst(-status);
        if (status != 0) snprintf(reason, len, "cannot connect the PEs: %s", strerror(-status));
    }
    if (worst == 0) {
        run->fabric = &loaded;
        return 0;
    }
    if (status == 0)
        snprintf(reason, len, "the set-up has failed on another PE: %s", strerror(worst));
    if (loaded.close != NULL) loaded.close();
    memset(&loaded, 0, sizeof(loaded));
    return -worst;
}

void bench_raw_ofi_unload(struct bench_run *run)
{
    raw_cuda_close();
    run->cuda = NULL;
    if (run->fabric == NULL) return;
    run->fabric = NULL;
    loaded.close();
    memset(&loaded, 0, sizeof(loaded));
    /* The module stays loaded, because unloading libfabric is not safe. */
}

int bench_raw_ofi_floor(const char *provider)
{
    uint64_t start = bench_now_ns(), loaded_at;
    char reason[512] = "it has no function " RAW_OFI_ASK;
    raw_ofi_ask_fn ask = NULL;

    if (open_module(reason, sizeof(reason)) != NULL) *(void **)&ask = dlsym(handle, RAW_OFI_ASK);
    if (ask == NULL) {
        fprintf(stderr, "steppe-bench: the raw module cannot be used: %s\n", reason);
        return 1;
    }
    loaded_at = bench_now_ns();
    if (ask(provider) != 0) {
        fprintf(stderr, "steppe-bench: libfabric lists no provider %s\n", provider);
        return 1;
    }
    printf("{\"load_ns\": %llu, \"ask_ns\": %llu}\n", (unsigned long long)(loaded_at - start),
           (unsigned long long)(bench_now_ns() - loaded_at));
    return 0;
}
