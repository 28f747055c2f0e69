/* Symbol names of an ELF file, read with libelf. */
#ifndef CUMU_GEN_ELFSYMS_H
#define CUMU_GEN_ELFSYMS_H

#include "gen/text.h"

struct elf_names {
    const char *soname; /* NULL: none */
    const char **at;    /* sorted, each once */
    unsigned count, room;
};

bool is_elf(const char *path);
/* Defined functions: of .dynsym what others may bind to, or of .symtab everything (hidden ones
 * too). False with an error reported when the file cannot be read. */
bool read_elf(struct arena *a, struct errors *e, const char *path, bool exported, struct elf_names *names);
bool has_name(const struct elf_names *names, const char *name);

#endif
