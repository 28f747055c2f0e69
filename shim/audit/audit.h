/* The audit module: serves programs whose CUDA runtime is linked in statically. It lives in its own
 * link-map namespace, loaded by LD_AUDIT, and shares nothing with the core but this folder's rules. */
#ifndef CUMU_AUDIT_H
#define CUMU_AUDIT_H

#include <stddef.h>
#include <stdint.h>

/* An ELF file mapped for reading. */
struct audit_elf {
    const uint8_t *data;
    size_t size;
};
int audit_elf_open(struct audit_elf *e, const char *path); /* 0, or -1: no x86-64 ELF file */
void audit_elf_close(struct audit_elf *e);
/* Defined functions of the symbol table of this section type, by name. Return true to stop. */
typedef int audit_symbol(void *ctx, const char *name, uint64_t value, uint64_t size);
int audit_elf_functions(const struct audit_elf *e, uint32_t section_type, audit_symbol *each, void *ctx);

/* The runtime linked into an object, found by the runtime's own local names: 11, 12, 13, or 0. */
int audit_runtime_version(const struct audit_elf *e);
int audit_runtime_of(const char *path); /* the same of a file; 0 for what is no ELF file too */
/* Makes the object's runtime functions jump to the functions of the same name in the facade. Both are
 * mapped at their base. Returns how many were patched; 0 with *why set when it cannot be done. */
unsigned audit_patch(const struct audit_elf *object, uintptr_t base, const struct audit_elf *facade,
                     uintptr_t facade_base, const char **why);

#endif
