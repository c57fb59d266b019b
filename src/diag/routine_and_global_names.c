/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds names in the symbol tables of the program: the public routine that a thread executes, and
 * the global variable that contains an address. This file allocates no memory.
 * Design: docs/design/hang.md.
 */
#include "backtrace_and_symbol_names.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <unwind.h>

#define FRAMES 32
#define SYMBOLS_PER_READ 32
#define NAME_BYTES 64

/* ---- routines -------------------------------------------------------------------- */

struct search {
    const char *found; /* outermost public routine found so far, or NULL */
    int n_frames;
};

static bool is_routine(const char *name)
{
    return strncmp(name, "shmem", 5) == 0 || strncmp(name, "pshmem", 6) == 0 ||
           strcmp(name, "start_pes") == 0 || strcmp(name, "pstart_pes") == 0;
}

/*
 * Returns the function that the call instruction before a return address has called. If the
 * instruction calls an entry of the procedure linkage table, returns the function to which this
 * entry jumps. Returns NULL for a call through a register, and on architectures other than x86-64.
 */
static const void *called_function(const unsigned char *return_address)
{
#if defined(__x86_64__)
    const unsigned char *target;
    int32_t distance;
    Dl_info info;

    memcpy(&distance, return_address - sizeof(distance), sizeof(distance));
    target = return_address + distance;
    if (return_address[-6] == 0xff && return_address[-5] == 0x15) /* call *slot(%rip) */
        return *(const void *const *)target;
    if (return_address[-5] != 0xe8 || dladdr(target, &info) == 0) return NULL;
    if (memcmp(target, "\xf3\x0f\x1e\xfa", 4) == 0) target += 4; /* endbr64 */
    if (target[0] == 0xf2) target++;                             /* bnd */
    if (target[0] != 0xff || target[1] != 0x25) return target;   /* jmp *slot(%rip) */
    memcpy(&distance, target + 2, sizeof(distance));
    return *(const void *const *)(target + 6 + distance);
#else
    (void)return_address;
    return NULL;
#endif
}

const char *stp_symbol_called_routine(const void *return_address)
{
    const void *function;
    Dl_info info;

    if (dladdr(return_address, &info) == 0) return NULL; /* the bytes may not be readable */
    function = called_function(return_address);
    if (function == NULL || dladdr(function, &info) == 0 || info.dli_saddr != function ||
        info.dli_sname == NULL || !is_routine(info.dli_sname))
        return NULL;
    return stp_public_name(info.dli_sname);
}

/*
 * A frame belongs to a routine if its code is in the routine, or if it has called the routine. The
 * second rule also finds a routine that has no frame, because its last step was a jump to memcpy().
 */
static _Unwind_Reason_Code find_routine(struct _Unwind_Context *context, void *arg)
{
    int is_interrupted = 0; /* whether a signal interrupted the frame, which then calls nothing */
    uintptr_t pc = _Unwind_GetIPInfo(context, &is_interrupted);
    const char *called = NULL;
    struct search *search = arg;
    Dl_info info;

    if (pc == 0 || search->n_frames++ == FRAMES) return _URC_END_OF_STACK;
    if (dladdr((const void *)(pc - 1), &info) != 0 && info.dli_sname != NULL &&
        is_routine(info.dli_sname))
        search->found = stp_public_name(info.dli_sname);
    if (!is_interrupted) called = stp_symbol_called_routine((const void *)pc);
    if (called != NULL) search->found = called;
    return _URC_NO_REASON;
}

const char *stp_symbol_routine(void)
{
    struct search search = {0};

    _Unwind_Backtrace(find_routine, &search);
    return search.found;
}

/* ---- globals --------------------------------------------------------------------- */

/*
 * Returns the difference between addresses of the program in memory and in its file. The difference
 * is 0 if the loader has not moved the program.
 */
static uintptr_t program_bias(void)
{
    const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
    size_t n = getauxval(AT_PHNUM);

    for (size_t i = 0; headers != NULL && i < n; i++)
        if (headers[i].p_type == PT_PHDR) return (uintptr_t)headers - headers[i].p_vaddr;
    return 0;
}

/*
 * Finds the ELF sections that contain the symbols and their names. Returns false if the file has no
 * symbols. Also returns false if the file is too short, which is possible if it has been replaced
 * since the program started.
 */
static bool sections_find(int fd, ElfW(Shdr) * symbols, ElfW(Shdr) * names)
{
    ElfW(Ehdr) header;

    if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(*symbols))
        return false;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        off_t offset = (off_t)(header.e_shoff + i * sizeof(*symbols));

        if (pread(fd, symbols, sizeof(*symbols), offset) != sizeof(*symbols)) return false;
        if (symbols->sh_type != SHT_SYMTAB) continue;
        offset = (off_t)(header.e_shoff + symbols->sh_link * sizeof(*names));
        return pread(fd, names, sizeof(*names), offset) == sizeof(*names);
    }
    return false;
}

static bool symbol_find(int fd, uintptr_t addr, ElfW(Sym) * found, ElfW(Shdr) * names)
{
    ElfW(Sym) batch[SYMBOLS_PER_READ];
    ElfW(Shdr) symbols;

    if (!sections_find(fd, &symbols, names)) return false;
    for (size_t pos = 0; pos < symbols.sh_size; pos += sizeof(batch)) {
        ssize_t nbytes = pread(fd, batch, sizeof(batch), (off_t)(symbols.sh_offset + pos));

        for (size_t i = 0; nbytes > 0 && i < (size_t)nbytes / sizeof(*batch); i++) {
            if (pos + i * sizeof(*batch) >= symbols.sh_size) break;
            if ((batch[i].st_info & 0xf) != STT_OBJECT ||
                addr - batch[i].st_value >= batch[i].st_size)
                continue;
            *found = batch[i];
            return true;
        }
        if (nbytes < (ssize_t)sizeof(batch)) break;
    }
    return false;
}

bool stp_symbol_global(const void *addr, char *text, size_t len)
{
    uintptr_t offset = (uintptr_t)addr - program_bias();
    char name[NAME_BYTES] = "";
    ElfW(Shdr) names;
    ElfW(Sym) symbol;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool found;

    if (fd < 0) return false;
    found = symbol_find(fd, offset, &symbol, &names) &&
            pread(fd, name, sizeof(name) - 1, (off_t)(names.sh_offset + symbol.st_name)) > 0;
    close(fd);
    if (!found) return false;
    if (offset == symbol.st_value)
        snprintf(text, len, "%s", name);
    else
        snprintf(text, len, "%s+%zu", name, (size_t)(offset - symbol.st_value));
    return true;
}
