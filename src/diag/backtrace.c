/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frames of a thread that a signal has hit, for the last lines of a process. The unwinder is
 * linked into the library (libgcc_eh), so that nothing is loaded and nothing allocated in the
 * handler, as backtrace() of libc does. Design: docs/design/launch.md.
 */
#include "backtrace_and_symbol_names.h"

#include "base/oshrun_inspect.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#define FRAMES 32 /* the innermost, which is where the reason is */

/* Where oshrun wants to have the frames too; empty: nowhere. */
static struct {
    int pe;
    char path[64];
    char target[64]; /* of the link that path is, on the host that it is meant for */
} copies;

/* The object that an address lies in. */
struct object {
    uintptr_t addr;
    uintptr_t base; /* what its file's addresses are moved by */
    const char *name;
    bool found;
};

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct object *object = arg;

    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

        if (ph->p_type != PT_LOAD || object->addr - info->dlpi_addr - ph->p_vaddr >= ph->p_memsz)
            continue;
        object->base = info->dlpi_addr;
        object->name = info->dlpi_name;
        object->found = true;
        return 1;
    }
    return 0;
}

struct walk {
    uintptr_t hit; /* where the signal came; frames inside of it are those of the handler */
    bool seen;
    int n;
    const char *program; /* the loader has no name for it */
    int copy;            /* a descriptor, or -1 */
};

/* A path of another host leads to no such file. */
static int copy_open(void)
{
    char target[sizeof(copies.target)];
    ssize_t len = copies.path[0] != '\0' ? readlink(copies.path, target, sizeof(target)) : -1;

    if (len < 0 || (size_t)len != strlen(copies.target) ||
        memcmp(target, copies.target, (size_t)len) != 0)
        return -1;
    return open(copies.path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

static void copy_write(const struct walk *walk, const char *name, unsigned long addr)
{
    static char line[PATH_MAX + 48];
    int len = snprintf(line, sizeof(line), "%d %lx %s\n", copies.pe, addr, name);

    if (walk->copy >= 0 && len > 0 && (size_t)len < sizeof(line) &&
        write(walk->copy, line, (size_t)len) < 0)
        return; /* it was said anyway */
}

static void walk_say(struct walk *walk, uintptr_t addr)
{
    struct object object = {.addr = addr};
    const char *name;
    Dl_info info;

    dl_iterate_phdr(find_object, &object);
    if (!object.found) {
        stp_error("  #%d %#lx, no code of this process", walk->n++, (unsigned long)addr);
        return;
    }
    name = object.name[0] != '\0' ? object.name : walk->program;
    if (dladdr((const void *)addr, &info) != 0 && info.dli_sname != NULL)
        stp_error("  #%d %s+%#lx, %s %#lx", walk->n++, info.dli_sname,
                  (unsigned long)(addr - (uintptr_t)info.dli_saddr), name,
                  (unsigned long)(addr - object.base));
    else
        stp_error("  #%d %s %#lx", walk->n++, name, (unsigned long)(addr - object.base));
    copy_write(walk, name, (unsigned long)(addr - object.base));
}

static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *arg)
{
    struct walk *walk = arg;
    int before = 0; /* a frame that was interrupted, not one that has called */
    uintptr_t at = _Unwind_GetIPInfo(context, &before);

    if (!walk->seen && at != walk->hit) return _URC_NO_REASON;
    walk->seen = true;
    if (at == 0 && walk->n > 0) return _URC_END_OF_STACK; /* below main */
    walk_say(walk, before ? at : at - 1);
    return walk->n < FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void stp_backtrace_enable_oshrun_copy(int pe)
{
    const char *value = getenv(STP_FRAMES_VARIABLE);
    size_t len = value != NULL ? strcspn(value, ":") : 0;

    copies.path[0] = '\0';
    copies.pe = pe;
    if (len == 0 || len >= sizeof(copies.path) || value[len] != ':') return;
    if ((size_t)snprintf(copies.target, sizeof(copies.target), "/memfd:%s (deleted)",
                         value + len + 1) >= sizeof(copies.target))
        return;
    memcpy(copies.path, value, len);
    copies.path[len] = '\0';
}

void stp_backtrace(const void *hit, const void *caller)
{
    static char program[PATH_MAX]; /* one thread comes here; its stack may be small */
    struct walk walk = {.hit = (uintptr_t)hit, .program = program, .copy = copy_open()};
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

    program[len > 0 ? len : 0] = '\0';
    _Unwind_Backtrace(walk_frame, &walk);
    /* A call of what is no code has no frame that could be unwound, but left its return behind. */
    if (walk.n <= 1 && caller != NULL) walk_say(&walk, (uintptr_t)caller - 1);
    if (walk.copy >= 0) close(walk.copy);
}
