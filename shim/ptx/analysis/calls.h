/* The functions that one lowering of a kernel reaches, and which of them call which. */
#ifndef CUMU_PTX_CALLS_H
#define CUMU_PTX_CALLS_H

#include "ptx/ir.h"

#define PTX_ANY_CALLEE UINT32_MAX /* of an indirect call: any function but the kernel */

/* Zeroed at first. All functions say false where memory is short. */
struct ptx_calls {
    struct ptx_func **func; /* copies (ptx_func_copy): the kernel, then the others as they were found */
    uint32_t nfunc, func_cap;
    uint32_t *number;    /* by place in module->func: index in func + 1 */
    uint32_t (*edge)[2]; /* caller and callee, as indices in func */
    uint32_t nedge, edge_cap;
};

/* Index of f, which is the module's. */
bool ptx_calls_reach(struct ptx_calls *c, const struct ptx_func *f, uint32_t *index);
bool ptx_calls_add(struct ptx_calls *c, uint32_t caller, uint32_t callee);
/* again[k]: function k may be called again before it has returned; the result in *cycle: there is one such. *most: the
 * largest sum of bytes along a chain of calls, of use where there is none. bytes and again may be NULL. */
bool ptx_calls_follow(const struct ptx_calls *c, const uint64_t *bytes, bool *again, bool *cycle, uint64_t *most);
void ptx_calls_free(struct ptx_calls *c);

#endif
