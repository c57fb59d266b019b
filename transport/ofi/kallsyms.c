/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libfabric's first question makes its provider for verbs read all of /proc/kallsyms, twice in
 * 1.17, whatever provider is wanted: 90 ms of a core in each PE, of 1 ms that all else takes. What
 * it looks for there is whether the kernel lets adapters reach device memory. Where this PE sees no
 * device, and nobody else in its process could reach one with an adapter, the answer serves nobody,
 * so the file cannot be opened while that question is asked: the word through which libfabric calls
 * fopen leads here. Nothing else of the process is touched.
 * Where the word is not found (libfabric linked in, or renamed) the file is read.
 * Design: docs/design/providers.md.
 */
#include "ofi.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The word that leads to a function: where it lies, what was in it, how its page is protected. */
struct word {
    void **at;
    void *was;
    bool read_only;
};

static struct word words[2]; /* fopen and fopen64: which one depends on how libfabric was built */
static const char *const names[] = {"fopen", "fopen64"};

static FILE *open_other(const char *path, const char *mode)
{
    if (strcmp(path, "/proc/kallsyms") == 0) {
        errno = ENOENT;
        return NULL;
    }
    return fopen(path, mode);
}

static ElfW(Addr) page_of(const void *at)
{
    return (ElfW(Addr))at & ~((ElfW(Addr))sysconf(_SC_PAGESIZE) - 1);
}

/* ---- the words ------------------------------------------------------------ */

/* What finding them needs of an object's dynamic section. */
struct dynamic {
    const ElfW(Sym) * symbols;
    const char *strings;
    const char *relocations; /* of calls */
    size_t nbytes;
    size_t each;
};

/* Some linkers have added the object's base to an address there, and some have not. */
static const void *address(const struct dl_phdr_info *info, ElfW(Addr) value)
{
    return (const void *)(value < info->dlpi_addr ? info->dlpi_addr + value : value);
}

static void read_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * entry,
                         struct dynamic *dynamic)
{
    *dynamic = (struct dynamic){.each = sizeof(ElfW(Rela))};
    for (; entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == DT_SYMTAB) dynamic->symbols = address(info, entry->d_un.d_ptr);
        if (entry->d_tag == DT_STRTAB) dynamic->strings = address(info, entry->d_un.d_ptr);
        if (entry->d_tag == DT_JMPREL) dynamic->relocations = address(info, entry->d_un.d_ptr);
        if (entry->d_tag == DT_PLTRELSZ) dynamic->nbytes = entry->d_un.d_val;
        if (entry->d_tag == DT_PLTREL && entry->d_un.d_val == DT_REL)
            dynamic->each = sizeof(ElfW(Rel));
    }
}

/* The dynamic linker protects whole pages: the last one only when the segment fills it. */
static bool is_read_only(const struct dl_phdr_info *info, const void *at)
{
    ElfW(Addr) page = page_of(at);

    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        ElfW(Addr) start = info->dlpi_addr + header->p_vaddr;

        if (header->p_type == PT_GNU_RELRO && page >= page_of((void *)start) &&
            page < page_of((void *)(start + header->p_memsz)))
            return true;
    }
    return false;
}

static void find_words(const struct dl_phdr_info *info, const ElfW(Dyn) * entry)
{
    struct dynamic dynamic;

    read_dynamic(info, entry, &dynamic);
    if (dynamic.symbols == NULL || dynamic.strings == NULL || dynamic.relocations == NULL) return;
    for (size_t at = 0; at + dynamic.each <= dynamic.nbytes; at += dynamic.each) {
        /* What both kinds of a relocation begin with. */
        const ElfW(Rel) *rel = (const void *)(dynamic.relocations + at);
        size_t number = sizeof(void *) == 8 ? ELF64_R_SYM(rel->r_info) : ELF32_R_SYM(rel->r_info);
        const char *name = dynamic.strings + dynamic.symbols[number].st_name;

        for (size_t i = 0; i < STP_COUNT(names); i++) {
            if (strcmp(name, names[i]) != 0) continue;
            words[i].at = (void **)(info->dlpi_addr + rel->r_offset);
            words[i].read_only = is_read_only(info, words[i].at);
        }
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *unused)
{
    const char *slash = strrchr(info->dlpi_name, '/');
    const char *name = slash != NULL ? slash + 1 : info->dlpi_name;

    (void)size;
    (void)unused;
    if (strncmp(name, "libfabric.so", 12) != 0) return 0;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            find_words(info, (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr));
    return 1;
}

/* False, and nothing is changed, where the page cannot be written. */
static bool set_word(const struct word *word, void *value)
{
    size_t nbytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = (void *)page_of(word->at);

    if (word->read_only && mprotect(page, nbytes, PROT_READ | PROT_WRITE) != 0) return false;
    __atomic_store_n(word->at, value, __ATOMIC_RELAXED);
    if (word->read_only) mprotect(page, nbytes, PROT_READ);
    return true;
}

/*
 * libfabric asks once in a process. MPI beside us may use devices that this library knows nothing
 * of, or was told to leave alone; so may this PE after the next init.
 */
static bool may_be_wanted(void)
{
    static const char *const drivers[] = {"/sys/module/nvidia", "/sys/module/amdgpu",
                                          "/sys/module/habanalabs", "/sys/module/xe",
                                          "/sys/module/i915"};
    bool some = false;

    for (size_t i = 0; i < STP_COUNT(drivers); i++)
        some |= access(drivers[i], F_OK) == 0;
    return some && access("/sys/class/infiniband", F_OK) == 0;
}

void stp_ofi_kallsyms_hide(const struct stp_core *core)
{
    memset(words, 0, sizeof(words));
    if (core->devices || may_be_wanted()) return;
    dl_iterate_phdr(visit, NULL);
    for (size_t i = 0; i < STP_COUNT(words); i++) {
        if (words[i].at == NULL) continue;
        words[i].was = __atomic_load_n(words[i].at, __ATOMIC_RELAXED);
        if (!set_word(&words[i], (void *)(uintptr_t)open_other)) words[i].at = NULL;
    }
}

void stp_ofi_kallsyms_show(void)
{
    for (size_t i = 0; i < STP_COUNT(words); i++)
        if (words[i].at != NULL) set_word(&words[i], words[i].was);
}
