/* Kernels that kernels launch. Their addresses in device code are keys: those of their cumu_func. */
#ifndef CUMU_KERNEL_NEST_H
#define CUMU_KERNEL_NEST_H

#include "kernel/module.h"

struct cumu_nested { /* a list of kernels; `at` is the caller's to free */
    struct {
        struct cumu_func *func;
        struct func_inst *made; /* the caller's */
    } * at;
    unsigned n;
};

/* The key of m's kernel of that name; 0: ptx has none. Needs the turn of the unit that ptx is of. */
uint64_t cumu_nest_key(struct cumu_module *m, const struct ptx_module *ptx, const char *name);
/* Whether f, which is lowered, may launch kernels. */
bool cumu_nest_launches(const struct cumu_func *f);
/* f, which is lowered, and the kernels that it names or finds in variables are in the list then; false: no memory. */
bool cumu_nest_reach(struct cumu_nested *list, struct cumu_unit *u, struct cumu_func *f);
/* Whether the driver lets kernels launch kernels: cumu's own does. */
bool cumu_nest_there(void);
/* Tells the driver what f's key stands for. */
void cumu_nest_name(struct cumu_func *f, MUfunction function);

#endif
