/* Variables of PTX modules in memory (variables.c). Whoever asks has the turn of the unit they belong to. */
#ifndef CUMU_KERNEL_VARIABLES_H
#define CUMU_KERNEL_VARIABLES_H

#include "kernel/module.h"

struct cumu_variables; /* of one unit */

int cumu_variables_new(struct cumu_module *m, struct ptx_module *ptx, struct cumu_variables **out);
/* With what lies below. NULL is fine. */
void cumu_variables_free(struct cumu_variables *v);
/* Gives managed variables their memory. */
int cumu_variables_managed(struct cumu_variables *v);
/* Writes the addresses that variables have in ctx into a lowered kernel's image. */
int cumu_variables_bind(struct cumu_variables *v, struct cumu_func *f, MUcontext ctx, void *image);
/* Address of a variable in ctx; CUDA_ERROR_NOT_FOUND. */
int cumu_variables_find(struct cumu_variables *v, MUcontext ctx, const char *name, uint64_t *address, size_t *size,
                        bool *managed);
/* As cumu_context_gone, under the lock; v may be NULL. */
void cumu_variables_context_gone(struct cumu_variables *v, MUcontext ctx, int device);

#endif
