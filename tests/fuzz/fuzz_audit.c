/* Fuzz target of the audit module: its reader of ELF files, what it makes of a CUDA runtime in one,
 * and the patches that it writes into functions which the file says there are. */
#include "audit/audit.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int note(void *ctx, const char *name, uint64_t value, uint64_t size)
{
    size_t *sum = ctx;
    *sum += strlen(name) + value + size;
    return 0;
}

/* ---- patches --------------------------------------------------------------------------------- */

enum {
    MOST_SPAN = 1 << 20,
    MOST_PATCHED = 2000 /* what a patch leaves stays for the life of the process */
};

static int walk(void *what, audit_symbol *each, void *ctx)
{
    return audit_elf_functions(what, SHT_DYNSYM, true, each, ctx);
}
static void *no_library(const char *path)
{
    (void)path;
    return NULL;
}
static void *no_symbol(void *handle, const char *name)
{
    (void)handle, (void)name;
    return NULL;
}

/* Patches a copy of the file where the loader would have mapped it; the file is its own facade. */
static void patch(const struct audit_elf *e, const char *path)
{
    static unsigned patched;
    const struct audit_target target = {path, no_library, no_symbol};
    const ElfW(Phdr) * p;
    const char *why;
    uint64_t span = 0;
    for (unsigned i = 0; (p = audit_elf_segment(e, i)); i++)
        if (p->p_type == PT_LOAD) {
            if (p->p_vaddr > MOST_SPAN || p->p_filesz > MOST_SPAN)
                return;
            span = p->p_vaddr + p->p_filesz > span ? p->p_vaddr + p->p_filesz : span;
        }
    if (!span || patched == MOST_PATCHED)
        return;
    uint8_t *base = mmap(NULL, span, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return;
    patched += audit_patch(e, (uintptr_t)base, walk, (void *)(uintptr_t)e, &target, &why) > 0;
    (void)munmap(base, span);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    size_t sum = 0;
    struct audit_elf e = {0};
    int fd = memfd_create("audit", MFD_CLOEXEC);
    if (fd >= 0 && write(fd, data, size) == (ssize_t)size) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        if (!audit_elf_open(&e, path)) {
            (void)audit_elf_functions(&e, SHT_DYNSYM, true, note, &sum);
            (void)audit_elf_functions(&e, SHT_SYMTAB, false, note, &sum);
            (void)audit_elf_section(&e, ".nv_fatbin");
            for (unsigned i = 0; audit_elf_segment(&e, i); i++) {
                const ElfW(Phdr) *p = audit_elf_segment(&e, i);
                const uint8_t *bytes = audit_elf_bytes(&e, p);
                for (uint64_t k = 0; bytes && k < p->p_filesz; k += 64)
                    sum += bytes[k];
                (void)audit_elf_at(&e, p->p_vaddr + p->p_filesz / 2, 8);
            }
            struct audit_runtime r = audit_runtime_find(&e);
            if (r.version)
                (void)audit_runtime_functions(&e, &r, note, &sum);
            (void)audit_runtime_expected(&e);
            patch(&e, path);
            audit_elf_close(&e);
        }
    }
    if (fd >= 0)
        (void)close(fd);
    return 0;
}
