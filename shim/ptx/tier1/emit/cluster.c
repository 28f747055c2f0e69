/* Tier 1 emitter: addresses of shared memory that other blocks of a cluster hold. */
#include "ptx/tier1/emit/emit.h"

#include <string.h>

bool t1_of_cluster(const struct ptx_instr *in) { return in->opcode && strstr(in->opcode, "shared::cluster") != NULL; }

/* A shared::cluster address in a register as a flat one from which `imm` leads on, with the alignment of the register's
 * value: tests of it stay true. */
struct t1_arg t1_far_address(struct t1_emit *e, const struct t1_arg *a, uint64_t imm)
{
    struct t1_arg flat = {.kind = T1_K_64, .rep = t1_same_for_all(a) || (a->rep == T1_G && !a->stride) ? a->rep : T1_V};
    const unsigned long long off = a->kind == T1_K_64 ? imm : (uint32_t)imm;
    const char *x = a->kind == T1_K_64 ? "(%s + 0x%llxull)" : "(uint64_t)(uint32_t)(%s + 0x%llxu)";
    for (unsigned h = 0; flat.rep != T1_V && h < (a->rep == T1_G ? 2 : 1); h++)
        flat.s[h] = t1_str(e, "(T1_FAR(b, %s) - 0x%llxull)", t1_str(e, x, a->s[h], off), (unsigned long long)imm);
    if (flat.rep != T1_V)
        return flat;
    flat.v = t1_str(e, "t%u", e->temps++);
    for (unsigned q = 0; q < 2 * e->np; q++) {
        const char *p = a->kind == T1_K_64 ? t1_str(e, "(%s + 0x%llxull)", t1_piece(e, a, q), off)
                                           : t1_str(e, "t1_zext_u32(%s + 0x%llxu)", t1_half(e, a, q), off);
        t1_put(e, "const pu64 %s_%u = T1_FAR(b, %s) - 0x%llxull;\n", flat.v, q, p, (unsigned long long)imm);
    }
    return flat;
}

struct t1_arg t1_near_address(struct t1_emit *e, const struct t1_arg *a)
{
    struct t1_arg near = {.kind = T1_K_64, .rep = T1_V};
    if (t1_same_for_all(a))
        return (struct t1_arg){.kind = T1_K_64, .rep = T1_U, .s = {t1_str(e, "T1_NEAR(b, %s)", a->s[0])}};
    near.v = t1_str(e, "t%u", e->temps++);
    for (unsigned q = 0; q < 2 * e->np; q++)
        t1_put(e, "const pu64 %s_%u = T1_NEAR(b, %s);\n", near.v, q, t1_piece(e, a, q));
    return near;
}

/* A source as a generic address: a variable is one of shared memory. */
static struct t1_arg address_source(struct t1_emit *e, unsigned kind)
{
    struct t1_arg a = t1_src(e, 0, kind);
    if (e->in->src[0].kind == PTX_O_SYM && e->in->space != PTX_SP_SHARED)
        a.s[0] = t1_str(e, "((uint64_t)smem + %s)", a.s[0]);
    return a;
}

/* Piece k of a 32-bit result that is computed from a 64-bit source. */
static const char *narrow_piece(struct t1_emit *e, const struct t1_arg *a, unsigned k, const char *macro)
{
    return t1_str(e, "t1_join_u32(t1_trunc_u64(%s(b, %s)), t1_trunc_u64(%s(b, %s)))", macro, t1_piece(e, a, 2 * k),
                  macro, t1_piece(e, a, 2 * k + 1));
}

static void rank_of(struct t1_emit *e)
{
    const int32_t v = t1_dst(e, 0);
    if (v < 0)
        return;
    const bool shared = e->in->space == PTX_SP_SHARED, wide = ptx_type_size(e->in->type[0]) == 8;
    const char *macro = !shared ? "T1_RANK_OF" : "T1_FAR_RANK";
    const struct t1_arg a = address_source(e, wide ? T1_K_64 : T1_K_32);
    if (e->value[v].rep != T1_V)
        for (unsigned h = 0; h < (e->value[v].rep == T1_G ? 2 : 1); h++)
            t1_def_scalar(e, v, h, t1_str(e, "(uint32_t)%s(b, %s)", macro, t1_scalar(e, &a, h)));
    else
        for (unsigned k = 0; k < e->np; k++)
            t1_def_piece(e, v, k,
                         wide ? narrow_piece(e, &a, k, macro) : t1_str(e, "%s(b, %s)", macro, t1_piece(e, &a, k)));
    t1_def_done(e, v);
}

static void map_address(struct t1_emit *e)
{
    const int32_t v = t1_dst(e, 0);
    if (v < 0)
        return;
    const bool wide = ptx_type_size(e->in->type[0]) == 8;
    const char *macro = e->in->space == PTX_SP_SHARED ? "T1_MAPA_FAR" : "T1_MAPA";
    const struct t1_arg a = address_source(e, wide ? T1_K_64 : T1_K_32), rank = t1_src(e, 1, T1_K_32);
    if (e->value[v].rep != T1_V) {
        for (unsigned h = 0; h < (e->value[v].rep == T1_G ? 2 : 1); h++)
            t1_def_scalar(e, v, h,
                          t1_str(e, wide ? "%s(b, %s, (uint64_t)%s)" : "%s(b, %s, %s)", macro, t1_scalar(e, &a, h),
                                 t1_scalar(e, &rank, h)));
    } else {
        for (unsigned k = 0; k < (wide ? 2 : 1) * e->np; k++)
            t1_def_piece(e, v, k,
                         wide ? t1_str(e, "%s(b, %s, t1_zext_u32(%s))", macro, t1_piece(e, &a, k), t1_half(e, &rank, k))
                              : t1_str(e, "%s(b, %s, %s)", macro, t1_piece(e, &a, k), t1_piece(e, &rank, k)));
    }
    t1_def_done(e, v);
}

bool t1_cluster_op(struct t1_emit *e)
{
    switch (e->in->op) {
    case PTX_OP_MAPA: map_address(e); return true;
    case PTX_OP_GETCTARANK: rank_of(e); return true;
    default: return false;
    }
}
