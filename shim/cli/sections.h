/* Whether an ELF file's sections can be seen. */
#ifndef CUMU_CLI_SECTIONS_H
#define CUMU_CLI_SECTIONS_H

#include <libelf.h>

/* Why imports and device code, which are found by sections, would not be seen in this file; NULL: they are. */
const char *cumu_sections_hidden(Elf *elf);

#endif
