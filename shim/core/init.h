/* Process state of the core: opt-in, first use, fork. */
#ifndef CUMU_CORE_INIT_H
#define CUMU_CORE_INIT_H

#include "core/symbols.h"

#include <stdbool.h>
#include <string.h>

/* ISO C has no cast between a function's address and an object's. */
static inline void *cumu_code_address(void (*function)(void))
{
    void *p;
    memcpy(&p, &function, sizeof p);
    return p;
}

/* The libraries below are about to be opened: from now on a fork child may not use CUDA. */
void cumu_init_used(void);

/* A facade whose slots are being filled: remembered so that a fork child can close them. */
void cumu_init_facade(const struct cumu_facade *f);

/* Calls visit with each facade that has been used. */
void cumu_init_each(void (*visit)(const struct cumu_facade *f));

/* May a fork child still call it (it reports errors, or touches no device)? */
bool cumu_survives_fork(const struct cumu_symbol *s);

#endif
