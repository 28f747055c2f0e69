/* Independent check of control-flow graph and SSA form, by slow and obvious means. */
#ifndef CUMU_TEST_PTXFRONT_VERIFY_H
#define CUMU_TEST_PTXFRONT_VERIFY_H

#include "ptx/ir.h"

/* f after ptx_ssa_build. 0, or -1 with what is wrong in why. */
int verify_ssa(struct ptx_func *f, char *why, size_t size);

#endif
