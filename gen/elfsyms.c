/* Reads symbol tables with libelf; see elfsyms.h. */
#include "gen/elfsyms.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool is_elf(const char *path)
{
    char magic[4] = "";
    FILE *f = fopen(path, "rb");
    bool elf = f && fread(magic, 1, 4, f) == 4 && !memcmp(magic, "\177ELF", 4);
    if (f)
        fclose(f);
    return elf;
}

static void read_symbols(struct arena *a, Elf *elf, Elf_Scn *section, const GElf_Shdr *header, bool exported,
                         struct elf_names *names)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 1; i < count && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        if (!gelf_getsym(data, (int)i, &symbol) || symbol.st_shndx == SHN_UNDEF)
            continue;
        unsigned type = GELF_ST_TYPE(symbol.st_info), bind = GELF_ST_BIND(symbol.st_info);
        const char *name = elf_strptr(elf, header->sh_link, symbol.st_name);
        if (!name || !*name || (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
            (exported && bind == STB_LOCAL))
            continue;
        *ARENA_PUSH(a, names) = arena_copy(a, name, strlen(name));
    }
}

static void read_soname(struct arena *a, Elf *elf, Elf_Scn *section, const GElf_Shdr *header, struct elf_names *names)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t count = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Dyn dyn;
        if (!gelf_getdyn(data, (int)i, &dyn) || dyn.d_tag != DT_SONAME)
            continue;
        const char *name = elf_strptr(elf, header->sh_link, dyn.d_un.d_val);
        if (name)
            names->soname = arena_copy(a, name, strlen(name));
    }
}

bool read_elf(struct arena *a, struct errors *e, const char *path, bool exported, struct elf_names *names)
{
    *names = (struct elf_names){0};
    if (elf_version(EV_CURRENT) == EV_NONE)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
    bool good = elf && elf_kind(elf) == ELF_K_ELF;
    if (!good)
        error_at(e, (struct place){path, 0}, "-", "%s; expected an ELF file",
                 fd < 0 ? "cannot be opened" : "not an ELF file");
    for (Elf_Scn *s = NULL; good && (s = elf_nextscn(elf, s));) {
        GElf_Shdr header;
        if (!gelf_getshdr(s, &header))
            continue;
        if (header.sh_type == (exported ? SHT_DYNSYM : SHT_SYMTAB))
            read_symbols(a, elf, s, &header, exported, names);
        else if (header.sh_type == SHT_DYNAMIC)
            read_soname(a, elf, s, &header, names);
    }
    elf_end(elf);
    if (fd >= 0)
        close(fd);
    if (names->count)
        qsort(names->at, names->count, sizeof *names->at, compare_text);
    unsigned kept = 0;
    for (unsigned i = 0; i < names->count; i++)
        if (!kept || strcmp(names->at[kept - 1], names->at[i]))
            names->at[kept++] = names->at[i];
    names->count = kept;
    return good;
}

bool has_name(const struct elf_names *names, const char *name)
{
    return names->count && bsearch(&name, names->at, names->count, sizeof *names->at, compare_text) != NULL;
}
