/* Tier 1 execution: single instructions by tier 0's handlers, which see a warp of one register file. */
#include <stdlib.h>
#include <string.h>

#include "ptx/tier0/tools.h"
#include "ptx/tier1/exec/object.h"

/* The block and the warp that handlers are shown; made when a kernel first asks. */
static struct t0_warp *stand_in(struct t1_worker *t)
{
    struct t0_block *k = t->stand_in;
    if (!k && (k = calloc(1, sizeof *k))) {
        k->worker = t->owner;
        k->warp[0].block = k;
        k->again = true;
        t->stand_in = k;
    }
    return k ? k->warp : NULL;
}

void t1_service_exec(struct t1_block *b, const void *image, uint8_t *regs, uint32_t warp, uint32_t mask)
{
    struct t1_worker *t = b->worker;
    struct t0_warp *w = stand_in(t);
    const struct lir_image *m = image;
    if (!w) {
        b->services->fault(b, T0_FAULT_NOMEM, warp, 0, "no memory");
        return;
    }
    w->l = (struct t0_lanes){.regs = regs, .mask = mask};
    w->shared = b->shared;
    w->shared_size = b->shared_size;
    w->params = b->params;
    w->block->alone = (struct t0_cluster){.base = b->cluster_shared, .size = b->cluster_size};
    w->block->cluster = &w->block->alone;
    w->block->others_run = b->others_run;
    w->index = warp;
    w->block->image = m;
    w->block->grid = t->grid;
    w->block->rec = t->grid->kernel->rec;
    memcpy(w->block->index, b->ctaid, sizeof b->ctaid);
    const struct lir_insn *code = LIR_AT(m, code, struct lir_insn);
    for (uint32_t k = 0; k < m->code.count; k++)
        if (code[k].op < LIR_SHFL) {
            const uint32_t gone = t0_watch_texture_gone(w, &code[k]), outside = t0_watch_mbarrier_outside(w, &code[k]);
            if (gone)
                b->services->fault(b, T0_FAULT_ADDRESS, warp, (uint32_t)__builtin_ctz(gone), "texture");
            if (outside)
                b->services->fault(b, T0_FAULT_SHARED, warp, (uint32_t)__builtin_ctz(outside), "mbarrier");
            lir_table[code[k].op](w, &code[k]);
        }
}
