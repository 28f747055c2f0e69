/* Cubins that carry PTX: what our ptxas writes in the place of machine code. An ELF file of CUDA's machine whose
 * section .cumu.ptx holds the text; a symbol a function spans its part of it, as it would span machine code. */
#include "fatbin/fatbin.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum {
    OSABI_CUDA = 0x33,
    ABI_VERSION = 7,
    FLAGS_64 = 0x500, /* of addresses and of the file */
    STO_ENTRY = 0x10, /* st_other of a kernel */
    NAMES = 1,
    STRINGS,
    SYMBOLS,
    TEXT,
    OPTIONS,
    SECTIONS
};

static const char names[] = "\0.shstrtab\0.strtab\0.symtab\0" FATBIN_CARRIED "\0" FATBIN_CARRIED_OPTIONS;

static uint32_t name_of(const char *section)
{
    uint32_t at = 1;
    while (strcmp(names + at, section) != 0)
        at += (uint32_t)strlen(names + at) + 1;
    return at;
}

/* The next section: its bytes follow those of the last one, at a multiple of `align`. */
static Elf64_Shdr *place(Elf64_Shdr *table, unsigned i, const char *name, uint32_t type, size_t size, size_t align)
{
    const Elf64_Shdr *last = &table[i - 1];
    Elf64_Shdr *s = &table[i];
    s->sh_name = name_of(name);
    s->sh_type = type;
    s->sh_offset = (last->sh_offset + last->sh_size + align - 1) & ~(uint64_t)(align - 1);
    s->sh_size = size;
    s->sh_addralign = align;
    return s;
}

static void write_header(Elf64_Ehdr *eh, const struct fatbin_carrier *c, uint64_t sections)
{
    memcpy(eh->e_ident, ELFMAG, SELFMAG);
    eh->e_ident[EI_CLASS] = ELFCLASS64;
    eh->e_ident[EI_DATA] = ELFDATA2LSB;
    eh->e_ident[EI_VERSION] = EV_CURRENT;
    eh->e_ident[EI_OSABI] = OSABI_CUDA;
    eh->e_ident[EI_ABIVERSION] = ABI_VERSION;
    eh->e_type = c->relocatable ? ET_REL : ET_EXEC;
    eh->e_machine = EM_CUDA;
    eh->e_version = EV_CURRENT;
    eh->e_flags = c->arch << 16 | FLAGS_64 | c->arch;
    eh->e_ehsize = sizeof *eh;
    eh->e_phentsize = sizeof(Elf64_Phdr);
    eh->e_shentsize = sizeof(Elf64_Shdr);
    eh->e_shnum = SECTIONS;
    eh->e_shstrndx = NAMES;
    eh->e_shoff = sections;
}

char *fatbin_carrier_make(const struct fatbin_carrier *c, size_t *size)
{
    Elf64_Shdr table[SECTIONS] = {{.sh_offset = sizeof(Elf64_Ehdr)}};
    size_t strings = 1;
    for (unsigned i = 0; i < c->nfunc; i++)
        strings += strlen(c->func[i].name) + 1;
    place(table, NAMES, ".shstrtab", SHT_STRTAB, sizeof names, 1);
    place(table, STRINGS, ".strtab", SHT_STRTAB, strings, 1);
    Elf64_Shdr *s = place(table, SYMBOLS, ".symtab", SHT_SYMTAB, (c->nfunc + 1) * sizeof(Elf64_Sym), 8);
    s->sh_link = STRINGS;
    s->sh_info = 1;
    s->sh_entsize = sizeof(Elf64_Sym);
    /* The text ends with a NUL, so that it may be read where it lies. */
    place(table, TEXT, FATBIN_CARRIED, SHT_PROGBITS, c->ptx_len + 1, 16);
    place(table, OPTIONS, FATBIN_CARRIED_OPTIONS, SHT_PROGBITS, strlen(c->options) + 1, 1);
    uint64_t end = (table[OPTIONS].sh_offset + table[OPTIONS].sh_size + 7) & ~(uint64_t)7;
    *size = end + sizeof table;
    char *elf = calloc(1, *size);
    if (!elf)
        return NULL;
    table[0] = (Elf64_Shdr){0};
    write_header((Elf64_Ehdr *)(void *)elf, c, end);
    memcpy(elf + end, table, sizeof table);
    memcpy(elf + table[NAMES].sh_offset, names, sizeof names);
    memcpy(elf + table[TEXT].sh_offset, c->ptx, c->ptx_len);
    memcpy(elf + table[OPTIONS].sh_offset, c->options, strlen(c->options));
    Elf64_Sym *symbol = (Elf64_Sym *)(void *)(elf + table[SYMBOLS].sh_offset);
    char *string = elf + table[STRINGS].sh_offset;
    for (size_t i = 0, at = 1; i < c->nfunc; at += strlen(c->func[i++].name) + 1) {
        const struct fatbin_carried *f = &c->func[i];
        strcpy(string + at, f->name);
        symbol[i + 1] = (Elf64_Sym){.st_name = (uint32_t)at,
                                    .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                    .st_other = f->entry ? STO_ENTRY : 0,
                                    .st_shndx = TEXT,
                                    .st_value = f->offset,
                                    .st_size = f->size};
    }
    return elf;
}

const char *fatbin_carried(const void *elf, size_t size, size_t *len)
{
    const char *text = fatbin_cubin_section(elf, size, FATBIN_CARRIED, len);
    if (!text || !*len || text[*len - 1])
        return NULL;
    --*len;
    return text;
}
