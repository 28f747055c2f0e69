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

size_t fatbin_elf_size(const void *elf)
{
    Elf64_Ehdr eh;
    if (!fatbin_is_elf(elf, FATBIN_UNBOUNDED))
        return 0;
    memcpy(&eh, elf, sizeof eh);
    size_t size = eh.e_ehsize;
    uint64_t sections = eh.e_shoff + (uint64_t)eh.e_shnum * eh.e_shentsize;
    uint64_t segments = eh.e_phoff + (uint64_t)eh.e_phnum * eh.e_phentsize;
    if (sections > FATBIN_MAX_IMAGE || segments > FATBIN_MAX_IMAGE)
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
    return size;
}

static bool section(const char *elf, size_t size, const Elf64_Ehdr *eh, unsigned i, Elf64_Shdr *sh)
{
    if (eh->e_shentsize < sizeof *sh || i >= eh->e_shnum || eh->e_shoff > size ||
        (size - eh->e_shoff) / eh->e_shentsize <= i)
        return false;
    memcpy(sh, elf + eh->e_shoff + (size_t)i * eh->e_shentsize, sizeof *sh);
    return true;
}

const char *fatbin_cubin_kernel(const void *elf, size_t size, unsigned i)
{
    /* Every kernel has a parameter bank of its own; device functions do not. */
    static const char prefix[] = ".nv.constant0.";
    Elf64_Ehdr eh;
    Elf64_Shdr names, sh;
    if (!fatbin_is_elf(elf, size))
        return NULL;
    memcpy(&eh, elf, sizeof eh);
    if (!section(elf, size, &eh, eh.e_shstrndx, &names) || names.sh_offset > size ||
        names.sh_size > size - names.sh_offset)
        return NULL;
    for (unsigned s = 0; section(elf, size, &eh, s, &sh); s++) {
        if (sh.sh_name >= names.sh_size)
            continue;
        const char *name = (const char *)elf + names.sh_offset + sh.sh_name;
        size_t room = names.sh_size - sh.sh_name;
        if (strnlen(name, room) == room || strncmp(name, prefix, sizeof prefix - 1))
            continue;
        if (i-- == 0)
            return name + sizeof prefix - 1;
    }
    return NULL;
}
