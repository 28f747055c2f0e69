/* Tells a file that is cut off, or has no section headers, from one that has nothing of CUDA. */
#include "cli/sections.h"

#include <gelf.h>
#include <stddef.h>

const char *cumu_sections_hidden(Elf *elf)
{
    size_t n;
    GElf_Ehdr h;
    if (elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &h) || (elf_getshdrnum(elf, &n) == 0 && n))
        return NULL;
    return h.e_shoff ? "is cut off: its section headers lie beyond its end"
                     : "has no section headers, by which cumu sees what a file needs";
}
