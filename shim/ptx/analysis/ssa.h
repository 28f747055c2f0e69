/* Registers an instruction reads and writes, and where their SSA values are kept. */
#ifndef CUMU_PTX_SSA_H
#define CUMU_PTX_SSA_H

#include "ptx/arena.h"

enum ptx_role { PTX_USE, PTX_OLD, PTX_DEF };
struct ptx_slot {
    int32_t reg;
    int32_t *value; /* NULL before ptx_ssa_build */
    uint8_t role;
};
struct ptx_slots { /* reused from instruction to instruction; in the context's arena */
    struct ptx_slot *slot;
    uint32_t n, cap;
};
/* Uses first (guard and kept old values included), then definitions. */
void ptx_slots_of(struct ptx_ctx *c, struct ptx_func *f, uint32_t instr, struct ptx_slots *s);

#endif
