/* The register limit of ptxas and of the driver's compiler, on PTX. */
#ifndef CUMU_COMPILE_BOUND_H
#define CUMU_COMPILE_BOUND_H

#include "ptx/ir.h"

/* ptx_module_open of the text with that limit as .maxnreg of its kernels; those with launch bounds or a limit of their
 * own keep theirs, as with ptxas. 0: no limit. */
struct ptx_module *cumu_ptx_open(const char *text, size_t len, uint32_t registers, struct ptx_diag *diag);

#endif
