/* Records the CUDA functions that a program asks for: what its objects import, what it gets by name from
 * cuGetProcAddress, and what it calls (so that of dlsym only what is called is seen). */
#include "core/record.h"
#include "core/append.h"
#include "core/config.h"
#include "core/symbols.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static void write_line(const char *soname, const char *name)
{
    char line[512];
    int n = snprintf(line, sizeof line, "%s %s\n", soname, name);
    if (n > 0 && n < (int)sizeof line)
        cumu_append(cumu_opt_text(CUMU_OPT_RECORD_SYMBOLS), line, (size_t)n);
}

struct dynamic {
    uintptr_t symbols, text, rela[2];
    size_t size[2]; /* of rela, in bytes */
};

/* Entries are addresses in most objects and offsets in some. */
static uintptr_t address(const struct dl_phdr_info *info, ElfW(Addr) p)
{
    return p < info->dlpi_addr ? p + info->dlpi_addr : p;
}

static struct dynamic read_dynamic(const struct dl_phdr_info *info, const ElfW(Dyn) * d)
{
    struct dynamic r = {0};
    for (; d->d_tag != DT_NULL; d++)
        switch (d->d_tag) {
        case DT_SYMTAB: r.symbols = address(info, d->d_un.d_ptr); break;
        case DT_STRTAB: r.text = address(info, d->d_un.d_ptr); break;
        case DT_RELA:
        case DT_JMPREL: r.rela[d->d_tag == DT_JMPREL] = address(info, d->d_un.d_ptr); break;
        case DT_RELASZ:
        case DT_PLTRELSZ: r.size[d->d_tag == DT_PLTRELSZ] = d->d_un.d_val; break;
        default: break;
        }
    return r;
}

/* What the object's relocations take from one library of ours that it names. */
static void imports(const struct dynamic *d, const struct cumu_table *t)
{
    for (unsigned k = 0; k < 2; k++) {
        const ElfW(Rela) *r = (const ElfW(Rela) *)d->rela[k];
        for (size_t i = 0; i < d->size[k] / sizeof *r; i++) {
            const ElfW(Sym) *s = (const ElfW(Sym) *)d->symbols + ELF64_R_SYM(r[i].r_info);
            const char *name = (const char *)d->text + s->st_name;
            if (ELF64_R_SYM(r[i].r_info) && s->st_shndx == SHN_UNDEF && cumu_table_find(t, name))
                write_line(t->soname, name);
        }
    }
}

static int visit(struct dl_phdr_info *info, size_t size, void *ctx)
{
    const ElfW(Dyn) *dynamic = NULL;
    (void)size, (void)ctx;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    if (!dynamic)
        return 0;
    struct dynamic d = read_dynamic(info, dynamic);
    for (; d.symbols && d.text && dynamic->d_tag != DT_NULL; dynamic++)
        for (const struct cumu_table *const *t = cumu_tables; dynamic->d_tag == DT_NEEDED && *t; t++)
            if (strcmp((*t)->soname, (const char *)d.text + dynamic->d_un.d_val) == 0)
                imports(&d, *t);
    return 0;
}

static int count_loads(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    *(unsigned long long *)ctx = info->dlpi_adds;
    return 1;
}

void cumu_record_symbol(const char *soname, const char *name)
{
    static atomic_ullong seen;
    unsigned long long loads = 0;
    int saved = errno;
    if (!*cumu_opt_text(CUMU_OPT_RECORD_SYMBOLS))
        return;
    (void)dl_iterate_phdr(count_loads, &loads);
    if (atomic_exchange(&seen, loads) != loads)
        (void)dl_iterate_phdr(visit, NULL);
    write_line(soname, name);
    errno = saved;
}
