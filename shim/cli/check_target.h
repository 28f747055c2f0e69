/* cumu check --target: what of a kernel will not fit, is refused, or will be slow on one of MUSA's architectures. */
#ifndef CUMU_CLI_CHECK_TARGET_H
#define CUMU_CLI_CHECK_TARGET_H

#include "ptx/ir.h"

#include <stdbool.h>

struct check_target {
    const char *name; /* "mp_22" */
    uint32_t shared;  /* bytes of shared memory that a block may have */
    bool wide_warps;  /* of 128 lanes: no barriers of some of a block's threads */
    bool soft_double; /* double precision is made of integer operations */
    bool units;       /* it multiplies matrices itself, in the forms of ptx/musa/native.def */
};

const struct check_target *check_target_named(const char *name); /* NULL: there is no such, or nothing is known of it */

enum { CHECK_SLOW = 160 };
struct check_on_target {
    char slow[CHECK_SLOW]; /* what will be slow; "": nothing */
    bool dynamic;          /* launches give it more shared memory than is written in it */
};
/* Of the kernel's image: diag, if it cannot run there; else the rest. */
void check_on_target(const struct check_target *t, const struct ptx_module *m, const char *kernel, const void *image,
                     struct ptx_diag *diag, struct check_on_target *on);

#endif
