/* Cubins: just enough ELF to name the kernels of a module that holds machine code only. */
#include "fatbin/fatbin.h"

#include <elf.h>
#include <string.h>

bool fatbin_is_elf(const void *p, size_t size)
{
    const unsigned char *id = p;
    return p && size >= sizeof(Elf64_Ehdr) && !memcmp(id, ELFMAG, SELFMAG) && id[EI_CLASS] == ELFCLASS64 &&
           id[EI_DATA] == ELFDATA2LSB;
}

size_t fatbin_elf_size(const void *elf, size_t room)
{
    Elf64_Ehdr eh;
    if (!fatbin_is_elf(elf, room))
        return 0;
    memcpy(&eh, elf, sizeof eh);
    size_t size = eh.e_ehsize;
    uint64_t sections = eh.e_shoff + (uint64_t)eh.e_shnum * eh.e_shentsize;
    uint64_t segments = eh.e_phoff + (uint64_t)eh.e_phnum * eh.e_phentsize;
    if (eh.e_shoff > FATBIN_MAX_IMAGE || eh.e_phoff > FATBIN_MAX_IMAGE || sections > FATBIN_MAX_IMAGE ||
        segments > FATBIN_MAX_IMAGE || sections > room || segments > room)
        return 0;
    if (sections > size)
        size = sections;
    if (segments > size)
        size = segments;
    for (unsigned i = 0; i < eh.e_shnum && eh.e_shentsize >= sizeof(Elf64_Shdr); i++) {
        Elf64_Shdr sh;
        memcpy(&sh, (const char *)elf + eh.e_shoff + (size_t)i * eh.e_shentsize, sizeof sh);
        if (sh.sh_type != SHT_NOBITS && sh.sh_offset <= FATBIN_MAX_IMAGE && sh.sh_size <= FATBIN_MAX_IMAGE &&
            sh.sh_offset + sh.sh_size > size)
            size = sh.sh_offset + sh.sh_size;
    }
    return size <= room ? size : 0;
}

static bool section(const char *elf, size_t size, const Elf64_Ehdr *eh, unsigned i, Elf64_Shdr *sh)
{
    if (eh->e_shentsize < sizeof *sh || i >= eh->e_shnum || eh->e_shoff > size ||
        (size - eh->e_shoff) / eh->e_shentsize <= i)
        return false;
    memcpy(sh, elf + eh->e_shoff + (size_t)i * eh->e_shentsize, sizeof *sh);
    return true;
}

/* Walks the sections that have a name: bytes of the i-th one's name are within the file and end with a NUL. */
struct named {
    Elf64_Ehdr eh;
    Elf64_Shdr names;
};

static bool open_names(struct named *n, const char *elf, size_t size)
{
    if (!fatbin_is_elf(elf, size))
        return false;
    memcpy(&n->eh, elf, sizeof n->eh);
    return section(elf, size, &n->eh, n->eh.e_shstrndx, &n->names) && n->names.sh_offset <= size &&
           n->names.sh_size <= size - n->names.sh_offset;
}

static const char *name_of(const struct named *n, const char *elf, const Elf64_Shdr *sh)
{
    if (sh->sh_name >= n->names.sh_size)
        return "";
    const char *name = elf + n->names.sh_offset + sh->sh_name;
    size_t room = n->names.sh_size - sh->sh_name;
    return strnlen(name, room) < room ? name : "";
}

/* The next section whose name begins with the prefix: what follows that in its name, or NULL. *s: where to begin, then
 * the number of the section that follows. */
static const char *next_section(const char *elf, size_t size, const char *prefix, unsigned *s, Elf64_Shdr *sh)
{
    struct named n;
    if (!open_names(&n, elf, size))
        return NULL;
    const size_t len = strlen(prefix); /* names are long: that one ends is looked at where it begins right */
    while (section(elf, size, &n.eh, (*s)++, sh))
        if (sh->sh_name < n.names.sh_size && n.names.sh_size - sh->sh_name > len &&
            !memcmp(elf + n.names.sh_offset + sh->sh_name, prefix, len) && *name_of(&n, elf, sh))
            return name_of(&n, elf, sh) + len;
    return NULL;
}

const char *fatbin_cubin_kernel(const void *elf, size_t size, unsigned *next)
{
    /* Every kernel has a parameter bank of its own; device functions do not. */
    Elf64_Shdr sh;
    return next_section(elf, size, ".nv.constant0.", next, &sh);
}

const char *fatbin_cubin_section(const void *elf, size_t size, const char *name, size_t *len)
{
    struct named n;
    Elf64_Shdr sh;
    if (size == FATBIN_UNBOUNDED)
        size = fatbin_elf_size(elf, size);
    if (!open_names(&n, elf, size))
        return NULL;
    for (unsigned s = 0; section(elf, size, &n.eh, s, &sh); s++)
        if (strcmp(name_of(&n, elf, &sh), name) == 0 && sh.sh_type != SHT_NOBITS && sh.sh_offset <= size &&
            sh.sh_size <= size - sh.sh_offset) {
            *len = sh.sh_size;
            return (const char *)elf + sh.sh_offset;
        }
    return NULL;
}

const char *fatbin_cubin_variable(const void *elf, size_t size, unsigned i, uint64_t *bytes)
{
    Elf64_Ehdr eh;
    Elf64_Shdr table, names;
    if (!fatbin_is_elf(elf, size))
        return NULL;
    memcpy(&eh, elf, sizeof eh);
    for (unsigned s = 0; section(elf, size, &eh, s, &table); s++) {
        if (table.sh_type != SHT_SYMTAB || table.sh_offset > size || table.sh_size > size - table.sh_offset ||
            !section(elf, size, &eh, table.sh_link, &names) || names.sh_offset > size ||
            names.sh_size > size - names.sh_offset)
            continue;
        for (size_t k = 0; k < table.sh_size / sizeof(Elf64_Sym); k++) {
            Elf64_Sym sym;
            memcpy(&sym, (const char *)elf + table.sh_offset + k * sizeof sym, sizeof sym);
            const char *name = (const char *)elf + names.sh_offset + sym.st_name;
            if (ELF64_ST_TYPE(sym.st_info) == STT_OBJECT && sym.st_name < names.sh_size &&
                strnlen(name, names.sh_size - sym.st_name) < names.sh_size - sym.st_name && i-- == 0) {
                *bytes = sym.st_size;
                return name;
            }
        }
    }
    return NULL;
}

/* Attributes of .nv.info (mapping/facts/cuda.md F10): a byte for the format, one for the attribute, and two that are
 * the value, or with format 4 the size of the value that follows. */
int fatbin_cubin_params(const void *elf, size_t size, const char *kernel, struct fatbin_param *param, unsigned room)
{
    enum { SIZED = 4, PARAM_INFO = 0x17, BANK_SIZE = 0x19 };
    Elf64_Shdr sh;
    unsigned s = 0, count = 0;
    const char *name;
    uint32_t bank = 0;
    do
        name = next_section(elf, size, ".nv.info.", &s, &sh);
    while (name && strcmp(name, kernel) != 0);
    if (!name || sh.sh_offset > size || sh.sh_size > size - sh.sh_offset)
        return -1;
    const unsigned char *p = (const unsigned char *)elf + sh.sh_offset, *end = p + sh.sh_size;
    while (end - p >= 4) {
        unsigned format = p[0], attribute = p[1], value = p[2] | (unsigned)p[3] << 8;
        const unsigned char *payload = p + 4;
        p = payload + (format == SIZED ? value : 0);
        if (p > end)
            return -1;
        if (format != SIZED && attribute == BANK_SIZE)
            bank = value;
        if (format != SIZED || attribute != PARAM_INFO || value < 12)
            continue;
        unsigned ordinal = payload[4] | (unsigned)payload[5] << 8;
        uint32_t flags;
        memcpy(&flags, payload + 8, sizeof flags);
        if (ordinal < room) {
            param[ordinal].offset = payload[6] | (unsigned)payload[7] << 8;
            param[ordinal].size = flags >> 18;
        }
        count++;
    }
    return count || !bank ? (int)count : -1;
}
