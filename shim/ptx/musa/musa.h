/* The MUSA back end of kernels, public: MUSA C++ source of one kernel, scalar, one thread's program, for mcc
 * or MTRTC. It is written from the low-level IR, so what tier 0 runs can be written down, and what
 * MUSA has no counterpart of is refused by name. */
#ifndef CUMU_PTX_MUSA_H
#define CUMU_PTX_MUSA_H

#include "ptx/ir.h"

#define MU_VERSION 5u /* of the emitted text: part of the cache key */

/* For whom the text is: MUSA's own devices, or any machine whose platform part has all of PTX (the tests'
 * host, nvcc), for which nothing is refused that can be written. */
/* FLAT: with the control flow flattened (emit/flat.c), for a compiler that breaks down on the usual text. */
enum mu_target { MU_MUSA, MU_ANY, MU_MUSA_FLAT, MU_ANY_FLAT };

struct mu_info {      /* what a launch of the compiled kernel must know */
    char symbol[160]; /* of the kernel */
    uint32_t shared;  /* bytes in front of dynamic shared memory */
    bool dynamic;     /* launches give `shared` bytes more than the program asks for */
    uint32_t prelude; /* bytes of the text in front of what is this kernel's own */
    uint32_t gotos;   /* jumps that have no structure */
    bool barriers;    /* of some of a block's threads: not for architectures with warps of 128 */
    bool products;    /* it has matrix products, for which a device may have units */
    uint32_t nextern; /* 64-bit addresses that MU_EXTERNS holds, in the image's order */
};
#define MU_EXTERNS "cumu_externs" /* variable of the module: addresses of the module's variables */

/* *text is malloc'ed and ends with a NUL. It depends on the arguments alone. image: what lir_lower_kernel gave
 * for this kernel of m. 0, or -1 with *diag naming instruction and line. */
int mu_emit(const struct ptx_module *m, const char *kernel, const void *image, enum mu_target target, char **text,
            size_t *size, struct mu_info *info, struct ptx_diag *diag);

/* Texts that mu_emit wrote for MU_MUSA may be joined to one that is compiled to one object. Each kernel keeps its
 * symbol there, and its table of addresses has a name of its own in place of MU_EXTERNS. */
struct mu_part {
    const char *text; /* both are the caller's */
    const struct mu_info *info;
    size_t size;
};
enum { MU_EXTERNS_NAME = 176 };
void mu_externs_name(const struct mu_info *info, char name[MU_EXTERNS_NAME]);
/* The same prelude, other symbols, and no barriers of some of a block's threads, which count in variables. */
bool mu_joinable(const struct mu_part *a, const struct mu_part *b);
char *mu_join(const struct mu_part *part, unsigned n, size_t *size); /* malloc'ed; NULL: no memory */

/* native.def: what a toolkit may do itself; the macro in front of a text chooses it. The last one has no name. */
struct mu_native {
    const char *macro, *name, *evidence, *what;
    unsigned least; /* architecture */
};
extern const struct mu_native mu_natives[];

/* What stands in front of kernels, all parts of it; malloc'ed. */
char *mu_prelude(size_t *size);

/* Matrix products of an image that are made of scalar code; units: on a device that has units for some. */
unsigned mu_scalar_products(const void *image, bool units);

#endif
