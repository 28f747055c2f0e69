/* Reads the symbol tables of ELF files on disk, with every offset checked: they are strangers' files. */
#include "audit/audit.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int audit_elf_open(struct audit_elf *e, const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    *e = (struct audit_elf){0};
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
        void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED)
            *e = (struct audit_elf){p, (size_t)st.st_size};
    }
    close(fd);
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)e->data;
    if (h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 &&
        h->e_machine == EM_X86_64)
        return 0;
    audit_elf_close(e);
    return -1;
}

void audit_elf_close(struct audit_elf *e)
{
    if (e->data)
        munmap((void *)(uintptr_t)e->data, e->size);
    *e = (struct audit_elf){0};
}

static const void *part(const struct audit_elf *e, uint64_t offset, uint64_t size)
{
    return offset <= e->size && size <= e->size - offset ? e->data + offset : NULL;
}

int audit_elf_functions(const struct audit_elf *e, uint32_t type, audit_symbol *each, void *ctx)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)e->data;
    const Elf64_Shdr *section = part(e, h->e_shoff, (uint64_t)h->e_shnum * sizeof *section);
    if (!section || h->e_shoff % 8 || h->e_shentsize != sizeof *section)
        return 0;
    for (unsigned i = 0; i < h->e_shnum; i++) {
        const Elf64_Shdr *s = &section[i];
        if (s->sh_type != type || s->sh_link >= h->e_shnum || s->sh_offset % 8)
            continue;
        const Elf64_Shdr *t = &section[s->sh_link];
        const Elf64_Sym *symbol = part(e, s->sh_offset, s->sh_size);
        const char *text = part(e, t->sh_offset, t->sh_size);
        if (!symbol || !text || t->sh_size == 0 || text[t->sh_size - 1])
            continue;
        for (uint64_t k = 0; k < s->sh_size / sizeof *symbol; k++)
            if (ELF64_ST_TYPE(symbol[k].st_info) == STT_FUNC && symbol[k].st_shndx != SHN_UNDEF &&
                symbol[k].st_name < t->sh_size &&
                each(ctx, text + symbol[k].st_name, symbol[k].st_value, symbol[k].st_size))
                return 1;
    }
    return 0;
}
