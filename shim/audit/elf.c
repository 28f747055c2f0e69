/* Reads ELF files on disk, with every offset checked: they are strangers' files. */
#include "audit/audit.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_X86_64 };
#endif

static const ElfW(Ehdr) * header(const struct audit_elf *e) { return (const ElfW(Ehdr) *)(const void *)e->data; }

int audit_elf_open(struct audit_elf *e, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    *e = (struct audit_elf){0};
    if (fd < 0)
        return -1;
    off_t size = lseek(fd, 0, SEEK_END);
    if (size >= (off_t)sizeof(ElfW(Ehdr))) {
        void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p != MAP_FAILED)
            *e = (struct audit_elf){p, (size_t)size};
    }
    close(fd);
    const ElfW(Ehdr) *h = header(e);
    if (h && memcmp(h->e_ident, ELFMAG, SELFMAG) == 0 && h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_machine == MACHINE)
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

/* The section headers; NULL and *n = 0 when there are none to be had. */
static const ElfW(Shdr) * sections(const struct audit_elf *e, unsigned *n)
{
    const ElfW(Ehdr) *h = header(e);
    const ElfW(Shdr) *s = part(e, h->e_shoff, (uint64_t)h->e_shnum * sizeof *s);
    if (h->e_shoff % 8 || h->e_shentsize != sizeof *s)
        s = NULL;
    *n = s ? h->e_shnum : 0;
    return s;
}

int audit_elf_functions(const struct audit_elf *e, uint32_t type, bool defined, audit_symbol *each, void *ctx)
{
    unsigned n;
    const ElfW(Shdr) *section = sections(e, &n);
    for (unsigned i = 0; i < n; i++) {
        const ElfW(Shdr) *s = &section[i];
        if (s->sh_type != type || s->sh_link >= n || s->sh_offset % 8)
            continue;
        const ElfW(Shdr) *t = &section[s->sh_link];
        const ElfW(Sym) *symbol = part(e, s->sh_offset, s->sh_size);
        const char *text = part(e, t->sh_offset, t->sh_size);
        if (!symbol || !text || t->sh_size == 0 || text[t->sh_size - 1])
            continue;
        for (uint64_t k = 0; k < s->sh_size / sizeof *symbol; k++)
            if ((ELF64_ST_TYPE(symbol[k].st_info) == STT_FUNC || !defined) && /* imports may have no type */
                (symbol[k].st_shndx != SHN_UNDEF) == defined && symbol[k].st_name < t->sh_size &&
                each(ctx, text + symbol[k].st_name, symbol[k].st_value, symbol[k].st_size))
                return 1;
    }
    return 0;
}

bool audit_elf_section(const struct audit_elf *e, const char *name)
{
    unsigned n, names = header(e)->e_shstrndx;
    const ElfW(Shdr) *section = sections(e, &n);
    const char *text = names < n ? part(e, section[names].sh_offset, section[names].sh_size) : NULL;
    uint64_t size = text ? section[names].sh_size : 0;
    for (unsigned i = 0; i < n && size && !text[size - 1]; i++)
        if (section[i].sh_name < size && strcmp(text + section[i].sh_name, name) == 0)
            return true;
    return false;
}

const ElfW(Phdr) * audit_elf_segment(const struct audit_elf *e, unsigned i)
{
    const ElfW(Ehdr) *h = header(e);
    const ElfW(Phdr) *p = part(e, h->e_phoff, (uint64_t)h->e_phnum * sizeof *p);
    return p && h->e_phoff % 8 == 0 && h->e_phentsize == sizeof *p && i < h->e_phnum ? &p[i] : NULL;
}

const void *audit_elf_at(const struct audit_elf *e, uint64_t address, uint64_t size)
{
    const ElfW(Phdr) * p;
    for (unsigned i = 0; (p = audit_elf_segment(e, i)); i++)
        if (p->p_type == PT_LOAD && address >= p->p_vaddr && address - p->p_vaddr < p->p_filesz &&
            size <= p->p_filesz - (address - p->p_vaddr) && p->p_offset <= UINT64_MAX - p->p_filesz)
            return part(e, p->p_offset + (address - p->p_vaddr), size);
    return NULL;
}

const uint8_t *audit_elf_bytes(const struct audit_elf *e, const ElfW(Phdr) * segment)
{
    return part(e, segment->p_offset, segment->p_filesz);
}
