/* Tier 1 emitter: the checked form of a kernel, for tests. Beside every value that leaves its block stands a row of
 * what each lane made of it, written under the mask of the lanes that ran; wherever a block reads the value, what it
 * finds there is compared with the rows. That finds a uniform value written under a partial mask while other lanes
 * still wait to read it or have another one, lanes' results of a loop that were not merged, and phis that one edge
 * overwrote for the lanes of another. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

static bool is_tracked(const struct t1_emit *e, int32_t v)
{
    return v >= 0 && e->value[v].used && e->value[v].global && e->f->value[v].block >= 0 &&
           e->value[v].kind != T1_K_NONE;
}

void t1_check_declare(struct t1_emit *e)
{
    for (uint32_t v = 0; e->checked && v < e->f->nvalue; v++)
        if (is_tracked(e, (int32_t)v))
            t1_put(e, "uint64_t s%u[32] = {0};\n", v);
}

static void note(struct t1_emit *e, int32_t v, const struct t1_arg *a, const char *mask)
{
    t1_put(e, "{\n");
    const char *x = t1_lane(e, a);
    t1_put(e, "T1_FOR_LANES(l, %s) s%d[l] = %s;\n}\n", mask, v, x);
}

void t1_check_copy(struct t1_emit *e, int32_t v, const struct t1_arg *a, const char *mask)
{
    if (e->checked && is_tracked(e, v))
        note(e, v, a, mask ? mask : e->info[e->block].div ? "m" : "live");
}

void t1_check_made(struct t1_emit *e, uint32_t k)
{
    for (uint32_t v = 0; e->checked && v < e->f->nvalue; v++) {
        if (e->f->value[v].block != (int32_t)k || e->f->value[v].instr < 0 || !is_tracked(e, (int32_t)v))
            continue;
        struct t1_arg a = t1_value_arg(e, (int32_t)v, k);
        note(e, (int32_t)v, &a, e->info[k].div ? "m" : "live");
    }
}

void t1_check_read(struct t1_emit *e, uint32_t k)
{
    const struct ptx_func *f = e->f;
    if (!e->checked)
        return;
    uint8_t *read = t1_alloc(e, f->nvalue + 1, 1);
    t1_values_read(e, k, read);
    for (uint32_t p = 0; p < f->block[k].nphi; p++)
        read[f->block[k].phi[p].dst] = 1;
    for (uint32_t v = 0; v < f->nvalue; v++) {
        const bool made_here = f->value[v].block == (int32_t)k && f->value[v].instr >= 0;
        if (!read[v] || made_here || !is_tracked(e, (int32_t)v))
            continue;
        struct t1_arg a = t1_value_arg(e, (int32_t)v, k);
        t1_put(e, "{\n");
        const char *x = t1_lane(e, &a);
        t1_put(e,
               "T1_FOR_LANES(l, %s) if (s%u[l] != %s)\n"
               "b->services->fault(b, T1_TRAPPED, warp, l, \"B%u reads another lane's v%u\");\n}\n",
               e->info[k].div ? "m" : "live", v, x, k, v);
    }
}
