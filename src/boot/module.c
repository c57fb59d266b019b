/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds a module of the library beside it and loads it: the fabric module for init, which uses it,
 * and for the reports, which ask it what it would use; and the module of reports.
 */
#include "module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *what, *file, *entry;
} modules[] = {
    [STP_MODULE_FABRIC] = {"fabric module", "steppe/ofi.so", "stp_ofi_open"},
    [STP_MODULE_INFO] = {"module of reports", "steppe/info.so", "stp_info_print"},
};

int stp_module_path(enum stp_module module, char *path, size_t path_len, char *why, size_t why_len)
{
    Dl_info self;
    const char *slash;
    int n;

    if (dladdr((void *)(uintptr_t)&stp_module_path, &self) == 0 || self.dli_fname == NULL) {
        snprintf(why, why_len, "cannot tell where the library was loaded from");
        return -ENOENT;
    }
    slash = strrchr(self.dli_fname, '/');
    n = snprintf(path, path_len, "%.*s%s", slash != NULL ? (int)(slash + 1 - self.dli_fname) : 0,
                 self.dli_fname, modules[module].file);
    if (n < 0 || (size_t)n >= path_len) {
        snprintf(why, why_len, "the path of the library is too long");
        return -ENOENT;
    }
    if (access(path, F_OK) != 0) {
        snprintf(why, why_len, "no %s at %s", modules[module].what, path);
        return -ENOENT;
    }
    return 0;
}

int stp_module_open(enum stp_module module, stp_module_entry_fn *entry, char *why, size_t len)
{
    char path[PATH_MAX];
    void *handle, *found;
    int rc = stp_module_path(module, path, sizeof(path), why, len);

    if (rc != 0) return rc;
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    found = handle != NULL ? dlsym(handle, modules[module].entry) : NULL;
    if (found == NULL) {
        const char *text = dlerror();

        snprintf(why, len, "%s", text != NULL ? text : path);
        if (handle != NULL) dlclose(handle);
        return -ENOEXEC;
    }
    *entry = (stp_module_entry_fn)(uintptr_t)found;
    return 0;
}
