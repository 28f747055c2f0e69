/* Linking of PTX: what a relocatable program or a cuLink session is made of, as one text. */
#ifndef CUMU_COMPILE_LINK_H
#define CUMU_COMPILE_LINK_H

#include "ptx/ir.h"

/* The PTX of `n` units as one text of *len bytes, malloc'ed; NULL on out of memory. */
char *cumu_ptx_link(struct ptx_module *const *units, unsigned n, size_t *len);
bool cumu_ptx_needs(const struct ptx_module *a, const struct ptx_module *b); /* a uses what b defines */

#endif
