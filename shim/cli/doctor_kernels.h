/* A kernel of `cumu doctor` on the device: made, loaded and launched. In children only. */
#ifndef CUMU_CLI_DOCTOR_KERNELS_H
#define CUMU_CLI_DOCTOR_KERNELS_H

#include "abi/musa.h"
#include "ptx/ir.h"
#include "ptx/musa/musa.h"

#include <stdbool.h>

enum { DOCTOR_WHY = 520 };

struct doctor_kernel {
    void *code, *image; /* what the driver takes; the interpreter's form, which may be the same */
    struct mu_info info;
    struct ptx_module *ptx; /* NULL for one in MUSA C++ */
    MUfunction function;    /* once it is loaded */
};

/* Of PTX or of the statements of MUSA C++. What it holds is the process's, which ends soon. why: of what failed, or a
 * remark about what did not; "" otherwise. */
bool doctor_kernel_make(struct doctor_kernel *k, const char *ptx, const char *musa, unsigned arch,
                        char why[DOCTOR_WHY]);
int doctor_kernel_load(struct doctor_kernel *k); /* the driver's error, likewise below */
int doctor_kernel_launch(const struct doctor_kernel *k, void **args);

#endif
