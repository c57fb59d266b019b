/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names for people out of what the linker has left: the public routine that a thread is in, and the
 * global that an address lies in. No lock is taken, nor anything allocated: not by dladdr(), which
 * takes the loader's lock. Design: docs/design/hang.md.
 */
#include "base/base.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>
#include <unwind.h>

#define FRAMES 32
#define SYMBOLS_A_READ 32
#define NAME_MOST 64

/* ---- routines -------------------------------------------------------------------- */

/* Of the object that this is linked into, the library or a program; NULL where there is none. */
extern const ElfW(Dyn) dynamic[] __asm__("_DYNAMIC") __attribute__((weak, visibility("hidden")));
extern const char object[] __asm__("__ehdr_start") __attribute__((weak, visibility("hidden")));

struct frames {
    uintptr_t at[FRAMES];
    int n;
};

static _Unwind_Reason_Code frame_add(struct _Unwind_Context *context, void *arg)
{
    struct frames *frames = arg;
    uintptr_t at = _Unwind_GetIP(context);

    if (at == 0) return _URC_END_OF_STACK;
    frames->at[frames->n++] = at - 1;
    return frames->n < FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

struct exports {
    const ElfW(Sym) * symbols;
    const char *names;
    const uint32_t *hash; /* DT_GNU_HASH, which alone tells how many there are */
};

/* The loader has put addresses in place of offsets, on most systems. */
static const void *dynamic_at(uintptr_t value)
{
    uintptr_t base = (uintptr_t)object;

    return (const void *)(value < base ? value + base : value);
}

static bool exports_find(struct exports *exports)
{
    *exports = (struct exports){0};
    if (dynamic == NULL || object == NULL) return false;
    for (const ElfW(Dyn) *entry = dynamic; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB) exports->symbols = dynamic_at(entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB) exports->names = dynamic_at(entry->d_un.d_ptr);
        if (entry->d_tag == DT_GNU_HASH) exports->hash = dynamic_at(entry->d_un.d_ptr);
    }
    return exports->symbols != NULL && exports->names != NULL && exports->hash != NULL;
}

static bool is_routine(const char *name)
{
    return strncmp(name, "shmem", 5) == 0 || strncmp(name, "pshmem", 6) == 0 ||
           strcmp(name, "start_pes") == 0 || strcmp(name, "pstart_pes") == 0;
}

/* If the symbol is a routine that some frame is in, further out than *frame: its name. */
static const char *symbol_frame(const struct exports *exports, const ElfW(Sym) * symbol,
                                const struct frames *frames, int *frame)
{
    uintptr_t start = (uintptr_t)object + symbol->st_value;
    const char *name = exports->names + symbol->st_name;

    if (symbol->st_shndx == SHN_UNDEF || (symbol->st_info & 0xf) != STT_FUNC) return NULL;
    for (int i = frames->n - 1; i > *frame; i--) {
        if (frames->at[i] - start >= symbol->st_size || !is_routine(name)) continue;
        *frame = i;
        return name;
    }
    return NULL;
}

const char *stp_symbol_routine(void)
{
    struct frames frames = {.n = 0};
    struct exports exports;
    const char *found = NULL;
    int frame = -1;

    if (!exports_find(&exports)) return NULL;
    _Unwind_Backtrace(frame_add, &frames);
    uint32_t n_buckets = exports.hash[0], first = exports.hash[1];
    const uint32_t *buckets = exports.hash + 4 + exports.hash[2] * (sizeof(ElfW(Addr)) / 4);
    const uint32_t *chain = buckets + n_buckets;

    for (uint32_t i = 0; i < n_buckets; i++) {
        for (uint32_t k = buckets[i]; k >= first && k != 0; k++) {
            const char *name = symbol_frame(&exports, &exports.symbols[k], &frames, &frame);

            if (name != NULL) found = name;
            if (chain[k - first] & 1) break;
        }
    }
    return found != NULL ? stp_public_name(found) : NULL;
}

struct search {
    uintptr_t function;
    bool found;
};

static _Unwind_Reason_Code frame_compare(struct _Unwind_Context *context, void *arg)
{
    struct search *search = arg;

    search->found = _Unwind_GetRegionStart(context) == search->function;
    return search->found ? _URC_END_OF_STACK : _URC_NO_REASON;
}

bool stp_symbol_inside(uintptr_t function)
{
    struct search search = {.function = function};

    _Unwind_Backtrace(frame_compare, &search);
    return search.found;
}

/* ---- globals --------------------------------------------------------------------- */

/* What the program was moved by when it was loaded. */
static uintptr_t program_bias(void)
{
    const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
    size_t n = getauxval(AT_PHNUM);

    for (size_t i = 0; headers != NULL && i < n; i++)
        if (headers[i].p_type == PT_PHDR) return (uintptr_t)headers - headers[i].p_vaddr;
    return 0;
}

/* The section of symbols, and that of their names. Files that change under us read short. */
static bool sections_find(int fd, ElfW(Shdr) * symbols, ElfW(Shdr) * names)
{
    ElfW(Ehdr) header;

    if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(*symbols))
        return false;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        off_t at = (off_t)(header.e_shoff + i * sizeof(*symbols));

        if (pread(fd, symbols, sizeof(*symbols), at) != sizeof(*symbols)) return false;
        if (symbols->sh_type != SHT_SYMTAB) continue;
        at = (off_t)(header.e_shoff + symbols->sh_link * sizeof(*names));
        return pread(fd, names, sizeof(*names), at) == sizeof(*names);
    }
    return false;
}

static bool symbol_find(int fd, uintptr_t addr, ElfW(Sym) * found, ElfW(Shdr) * names)
{
    ElfW(Sym) some[SYMBOLS_A_READ];
    ElfW(Shdr) symbols;

    if (!sections_find(fd, &symbols, names)) return false;
    for (size_t done = 0; done < symbols.sh_size; done += sizeof(some)) {
        ssize_t got = pread(fd, some, sizeof(some), (off_t)(symbols.sh_offset + done));

        for (size_t i = 0; got > 0 && i < (size_t)got / sizeof(*some); i++) {
            if (done + i * sizeof(*some) >= symbols.sh_size) break;
            if ((some[i].st_info & 0xf) != STT_OBJECT || addr - some[i].st_value >= some[i].st_size)
                continue;
            *found = some[i];
            return true;
        }
        if (got < (ssize_t)sizeof(some)) break;
    }
    return false;
}

bool stp_symbol_global(const void *addr, char *text, size_t len)
{
    uintptr_t at = (uintptr_t)addr - program_bias();
    char name[NAME_MOST] = "";
    ElfW(Shdr) names;
    ElfW(Sym) symbol;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    bool found;

    if (fd < 0) return false;
    found = symbol_find(fd, at, &symbol, &names) &&
            pread(fd, name, sizeof(name) - 1, (off_t)(names.sh_offset + symbol.st_name)) > 0;
    close(fd);
    if (!found) return false;
    if (at == symbol.st_value)
        snprintf(text, len, "%s", name);
    else
        snprintf(text, len, "%s+%zu", name, (size_t)(at - symbol.st_value));
    return true;
}
