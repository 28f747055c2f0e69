/* Which forms of ptx/musa/native.def kernels for a MUSA device are compiled with. A set has bits in that order. */
#ifndef CUMU_COMPILE_NATIVE_H
#define CUMU_COMPILE_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a probe on a device of this architecture, with the compiler that there is, has tried and found right. */
struct cumu_native_found {
    uint32_t tried, right;
};
void cumu_native_get(unsigned arch, struct cumu_native_found *f); /* nothing if there was no probe */
void cumu_native_keep(unsigned arch, const struct cumu_native_found *f);

uint32_t cumu_native_matrices(void); /* the set of matrix products */
/* What kernels are to be compiled with, by CUMU_MUSA_NATIVE, CUMU_MMA and what was found. */
uint32_t cumu_native_wanted(unsigned arch);
/* Nothing says yet whether matrix products of this architecture may go by the device's units: a probe would tell. */
bool cumu_native_unknown(unsigned arch);
/* Has the tool probe them, in a process of its own; whatever it does, it is not asked again. */
void cumu_native_probe(unsigned arch);

/* The text with the set's macros in front; malloc'ed. */
char *cumu_native_text(uint32_t set, const char *text, size_t size, size_t *new_size);

#endif
