/* Kernels for a MUSA device that share a run of the compiler (group.c asks, mubin.c compiles). */
#ifndef CUMU_COMPILE_MUBIN_H
#define CUMU_COMPILE_MUBIN_H

#include "compile/compile.h"

/* text: what mu_join made of the sources. It may take an eighth of the time that one kernel may: what needs more are
 * kernels whose own code takes long. The object is kept once and an entry of each kernel leads to it; o has it.
 * False: o says why, no kernel's entry has been made. */
bool cumu_mubin_make_joined(struct cumu_compiled *o, const struct cumu_musa_source *const *s, unsigned n,
                            const char *text, size_t size, unsigned arch, enum cumu_want want);
/* Has machines without a compiler find the object, too. */
void cumu_mubin_carry(const struct cumu_compiled *o, const struct cumu_musa_source *s, unsigned arch);

#endif
