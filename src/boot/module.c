/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the fabric module beside the library and loads it. Shared by init, which uses the
 * module, and by the report of oshinfo, which asks it what it would use.
 */
#include "module.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MODULE_NAME "steppe/ofi.so"

int stp_module_path(char *path, size_t path_len, char *why, size_t why_len)
{
    Dl_info self;
    const char *slash;
    int n;

    if (dladdr((void *)(uintptr_t)&stp_module_path, &self) == 0 || self.dli_fname == NULL) {
        snprintf(why, why_len, "cannot tell where the library was loaded from");
        return -ENOENT;
    }
    slash = strrchr(self.dli_fname, '/');
    n = snprintf(path, path_len, "%.*s" MODULE_NAME,
                 slash != NULL ? (int)(slash + 1 - self.dli_fname) : 0, self.dli_fname);
    if (n < 0 || (size_t)n >= path_len) {
        snprintf(why, why_len, "the path of the library is too long");
        return -ENOENT;
    }
    if (access(path, F_OK) != 0) {
        snprintf(why, why_len, "no fabric module at %s", path);
        return -ENOENT;
    }
    return 0;
}

int stp_module_open(stp_ofi_open_fn *open_fn, char *why, size_t len)
{
    char path[PATH_MAX];
    void *handle, *entry;
    int rc = stp_module_path(path, sizeof(path), why, len);

    if (rc != 0) return rc;
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    entry = handle != NULL ? dlsym(handle, "stp_ofi_open") : NULL;
    if (entry == NULL) {
        const char *text = dlerror();

        snprintf(why, len, "%s", text != NULL ? text : path);
        if (handle != NULL) dlclose(handle);
        return -ENOEXEC;
    }
    *open_fn = (stp_ofi_open_fn)(uintptr_t)entry;
    return 0;
}
