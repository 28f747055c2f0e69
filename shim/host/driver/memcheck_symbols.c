/* CUMU_CHECK=memory: names of a program's own functions, which the dynamic linker does not know: read from the symbol
 * table of its file, if that has one. */
#include "host/driver/memcheck.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool within(uint64_t offset, uint64_t size, uint64_t all) { return offset <= all && size <= all - offset; }

/* The function of the table that holds the address; its name lies in `strings`. */
static const char *find_name(const Elf64_Sym *s, uint64_t count, const char *strings, uint64_t size, uint64_t address)
{
    for (uint64_t k = 0; k < count; k++)
        if (ELF64_ST_TYPE(s[k].st_info) == STT_FUNC && s[k].st_shndx != SHN_UNDEF && address >= s[k].st_value &&
            address - s[k].st_value < s[k].st_size && s[k].st_name < size &&
            memchr(strings + s[k].st_name, 0, size - s[k].st_name))
            return strings + s[k].st_name;
    return NULL;
}

static const char *search(const char *file, uint64_t size, uint64_t address)
{
    const Elf64_Ehdr *e = (const void *)file;
    if (size < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64 ||
        e->e_shentsize != sizeof(Elf64_Shdr) || e->e_shoff % 8 ||
        !within(e->e_shoff, (uint64_t)e->e_shnum * sizeof(Elf64_Shdr), size))
        return NULL;
    const Elf64_Shdr *s = (const void *)(file + e->e_shoff);
    for (unsigned k = 0; k < e->e_shnum; k++) {
        if (s[k].sh_type != SHT_SYMTAB || s[k].sh_link >= e->e_shnum || s[k].sh_offset % 8 ||
            !within(s[k].sh_offset, s[k].sh_size, size))
            continue;
        const Elf64_Shdr *names = &s[s[k].sh_link];
        if (within(names->sh_offset, names->sh_size, size))
            return find_name((const void *)(file + s[k].sh_offset), s[k].sh_size / sizeof(Elf64_Sym),
                             file + names->sh_offset, names->sh_size, address);
    }
    return NULL;
}

bool host_memcheck_symbol(const char *path, uint64_t address, char *name, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    bool found = false;
    if (fd < 0)
        return false;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0) {
        const size_t size = (size_t)st.st_size;
        char *file = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file != MAP_FAILED) {
            const char *s = search(file, size, address);
            found = s != NULL;
            for (size_t n = 0; s && n < room; n++)
                if (n + 1 == room || !(name[n] = s[n])) {
                    name[n] = 0;
                    break;
                }
            munmap(file, size);
        }
    }
    close(fd);
    return found;
}
