/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Prints the stack frames of a thread that has received a fatal signal, as the last output of the
 * process. The unwinder (libgcc_eh) is linked into the library. libc's backtrace() is not used,
 * because it would load the unwinder and allocate memory in the signal handler. Design:
 * docs/design/launch.md.
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

#define FRAMES 32 /* maximum number of frames that are printed, beginning with the innermost */

/*
 * File of oshrun to which this PE also writes frames. The field `path` is empty if oshrun has not
 * named a file.
 */
static struct {
    int pe;
    char path[64];
    /*
     * Target of the symbolic link `path` on the host of oshrun. On another host, the target
     * differs.
     */
    char target[64];
} copies;

/* Program or shared library that contains an address. */
struct object {
    uintptr_t addr;
    uintptr_t base; /* address in memory minus address in the file */
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
    /*
     * Address of the interrupted instruction. The walk starts in the frames of the signal handler.
     * Frames are printed only from this address on.
     */
    uintptr_t pc;
    bool started;
    int n;
    const char *program; /* path of the executable, for which the loader reports an empty name */
    int copy;            /* descriptor of the file for oshrun, or -1 */
};

/*
 * Opens the file for oshrun. Returns -1 if oshrun has not named a file. Also returns -1 if oshrun
 * runs on another host. On this host, the path then leads to another file or to none.
 */
static int copy_open(void)
{
    char target[sizeof(copies.target)];
    ssize_t len = copies.path[0] != '\0' ? readlink(copies.path, target, sizeof(target)) : -1;

    if (len < 0 || (size_t)len != strlen(copies.target) ||
        memcmp(target, copies.target, (size_t)len) != 0)
        return -1;
    return open(copies.path, O_WRONLY | O_APPEND | O_CLOEXEC);
}

static void copy_write(const struct walk *walk, const char *name, unsigned long addr,
                       const char *routine)
{
    static char line[PATH_MAX + 112];
    int len = snprintf(line, sizeof(line), "%d %lx %s %s\n", copies.pe, addr,
                       routine != NULL ? routine : "-", name);

    if (walk->copy >= 0 && len > 0 && (size_t)len < sizeof(line) &&
        write(walk->copy, line, (size_t)len) < 0)
        return; /* a failed write is ignored, because the frame has been printed */
}

/*
 * Prints the frame with the address addr. If the frame has called a public routine of the library,
 * routine is its name. Otherwise routine is NULL.
 */
static void walk_print(struct walk *walk, uintptr_t addr, const char *routine)
{
    struct object object = {.addr = addr};
    const char *name, *calls = routine != NULL ? ", calls " : "";
    Dl_info info;

    dl_iterate_phdr(find_object, &object);
    if (!object.found) {
        stp_error("  #%d %#lx: this address is not code of this process", walk->n++,
                  (unsigned long)addr);
        return;
    }
    name = object.name[0] != '\0' ? object.name : walk->program;
    if (dladdr((const void *)addr, &info) != 0 && info.dli_sname != NULL)
        stp_error("  #%d %s+%#lx, %s %#lx%s%s", walk->n++, info.dli_sname,
                  (unsigned long)(addr - (uintptr_t)info.dli_saddr), name,
                  (unsigned long)(addr - object.base), calls, routine != NULL ? routine : "");
    else
        stp_error("  #%d %s %#lx%s%s", walk->n++, name, (unsigned long)(addr - object.base), calls,
                  routine != NULL ? routine : "");
    copy_write(walk, name, (unsigned long)(addr - object.base), routine);
}

static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *arg)
{
    struct walk *walk = arg;
    /*
     * The unwinder sets this variable to 1 if a signal interrupted the frame, and to 0 if the
     * address is a return address.
     */
    int is_signal_frame = 0;
    uintptr_t pc = _Unwind_GetIPInfo(context, &is_signal_frame);

    if (!walk->started && pc != walk->pc) return _URC_NO_REASON;
    walk->started = true;
    if (pc == 0 && walk->n > 0) return _URC_END_OF_STACK; /* address 0 marks the end of the stack */
    if (is_signal_frame)
        walk_print(walk, pc, NULL);
    else
        walk_print(walk, pc - 1, stp_symbol_called_routine((const void *)pc));
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

void stp_backtrace(const void *pc, const void *caller)
{
    static char program[PATH_MAX]; /* static, because the stack may be small */
    struct walk walk = {.pc = (uintptr_t)pc, .program = program, .copy = copy_open()};
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);

    program[len > 0 ? len : 0] = '\0';
    _Unwind_Backtrace(walk_frame, &walk);
    /*
     * The unwinder cannot continue after a call to an address without code. The return address of
     * the call is known, so print the frame of the caller.
     */
    if (walk.n <= 1 && caller != NULL) walk_print(&walk, (uintptr_t)caller - 1, NULL);
    if (walk.copy >= 0) close(walk.copy);
}
