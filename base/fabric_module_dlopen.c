/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds and loads the fabric module. The module is a shared object in a folder next to the library,
 * and contains the code for communication between nodes. oshinfo also loads the module, in order to
 * report which fabric the module would use.
 */
#include "fabric_module_dlopen.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define MODULE_FILE "steppe/ofi.so"
#define MODULE_ENTRY "stp_ofi_open"

/* CMake defines the version of libfabric with which the module is built, if a module is built. */
#ifndef STP_LIBFABRIC_VERSION
#define STP_LIBFABRIC_VERSION "1.17"
#endif

const char stp_fabric_module_advice[] =
    "install libfabric " STP_LIBFABRIC_VERSION " or newer (Debian: libfabric1), put its folder "
    "first in LD_LIBRARY_PATH, or build Steppe again with the libfabric that is installed";

/*
 * Writes a path to the buffer path. The path consists of the first len characters of prefix,
 * followed by the complete strings separator and MODULE_FILE. Returns true if a file with this path
 * exists.
 */
static bool module_in(const char *prefix, int len, const char *separator, char *path,
                      size_t path_len)
{
    int n = snprintf(path, path_len, "%.*s%s%s", len, prefix, separator, MODULE_FILE);

    return n >= 0 && (size_t)n < path_len && access(path, F_OK) == 0;
}

/*
 * Returns true if the library is linked into the program. In this case, self describes the
 * program's executable. AT_PHDR is the address of the executable's program headers.
 */
static bool module_in_program(const Dl_info *self)
{
    uintptr_t headers = (uintptr_t)getauxval(AT_PHDR), base = (uintptr_t)self->dli_fbase;

    return headers - base < 4096; /* the program headers follow the ELF header, which is at base */
}

/*
 * Searches for the module in the folders in which the dynamic loader finds the program's libraries.
 * Only a program that is linked with libsteppe.a needs this search. All other programs load the
 * file of the library, and the module is in a folder next to this file. The libc musl does not
 * report the loader's folders.
 */
#ifdef __GLIBC__
static bool module_in_run_path(char *path, size_t path_len)
{
    void *program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
    Dl_serinfo size, *found = NULL;
    bool exists = false;

    if (program == NULL) return false;
    if (dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0) found = malloc(size.dls_size);
    if (found != NULL && dlinfo(program, RTLD_DI_SERINFOSIZE, found) == 0 &&
        dlinfo(program, RTLD_DI_SERINFO, found) == 0) {
        for (unsigned i = 0; i < found->dls_cnt && !exists; i++) {
            const char *folder = found->dls_serpath[i].dls_name;

            exists = module_in(folder, (int)strlen(folder), "/", path, path_len);
        }
    }
    free(found);
    dlclose(program);
    return exists;
}
#else
static bool module_in_run_path(char *path, size_t path_len)
{
    (void)path;
    (void)path_len;
    return false;
}
#endif

int stp_fabric_module_path(char *path, size_t path_len, char *reason, size_t reason_len)
{
    Dl_info self;
    const char *slash;
    int len;

    if (dladdr((void *)(uintptr_t)&stp_fabric_module_path, &self) == 0 || self.dli_fname == NULL) {
        snprintf(reason, reason_len,
                 "dladdr does not report the file from which the library was loaded");
        return -ENOENT;
    }
    slash = strrchr(self.dli_fname, '/');
    len = slash != NULL ? (int)(slash + 1 - self.dli_fname) : 0;
    if (module_in(self.dli_fname, len, "", path, path_len)) return 0;
    if (module_in_program(&self) && module_in_run_path(path, path_len)) return 0;
    snprintf(reason, reason_len, "there is no fabric module at %.*s" MODULE_FILE, len,
             self.dli_fname);
    return -ENOENT;
}

bool stp_libfabric_is_loaded(void)
{
    void *libfabric = dlopen("libfabric.so.1", RTLD_LAZY | RTLD_NOLOAD);

    if (libfabric != NULL) dlclose(libfabric);
    return libfabric != NULL;
}

/*
 * Writes the reason why the module cannot be loaded. `text` is the loader's message. If the loader
 * found a libfabric that lacks a symbol version, its message begins with the path of this
 * libfabric, and the reason gives both versions. The loaded libfabric is kept, because some
 * libraries below libfabric cannot be unloaded.
 */
static void describe_failure(const char *text, char *reason, size_t len)
{
    const char *node = strstr(text, ": version `FABRIC_");
    char *path = node != NULL ? strndup(text, (size_t)(node - text)) : NULL;
    void *libfabric = path != NULL ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
    uint32_t (*version)(void) = NULL;

    if (libfabric != NULL) *(void **)&version = dlsym(libfabric, "fi_version");
    if (version == NULL)
        snprintf(reason, len, "%s", text);
    else
        snprintf(reason, len,
                 "libfabric %u.%u (%s) was found, but the module was built with "
                 "libfabric " STP_LIBFABRIC_VERSION " and needs its %.*s",
                 version() >> 16, version() & 0xffff, path, (int)strcspn(node + 11, "'"),
                 node + 11);
    free(path);
}

int stp_fabric_module_dlopen(stp_module_entry_fn *entry, char *reason, size_t len)
{
    char path[PATH_MAX];
    void *handle, *found;
    int rc = stp_fabric_module_path(path, sizeof(path), reason, len);

    if (rc != 0) return rc;
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    found = handle != NULL ? dlsym(handle, MODULE_ENTRY) : NULL;
    if (found == NULL) {
        const char *text = dlerror();

        describe_failure(text != NULL ? text : path, reason, len);
        if (handle != NULL) dlclose(handle);
        return -ENOEXEC;
    }
    *entry = (stp_module_entry_fn)(uintptr_t)found;
    return 0;
}
