/* Tier 1 emitter: atom and red, lane by lane in ascending order. */
#include "ptx/tier1/emit/emit.h"

static const char *op_name(unsigned op)
{
    static const char *const names[] = {
        [PTX_SUB_AND] = "and", [PTX_SUB_OR] = "or",    [PTX_SUB_XOR] = "xor", [PTX_SUB_ADD] = "add",
        [PTX_SUB_MIN] = "min", [PTX_SUB_MAX] = "max",  [PTX_SUB_INC] = "inc", [PTX_SUB_DEC] = "dec",
        [PTX_SUB_CAS] = "cas", [PTX_SUB_EXCH] = "exch"};
    return op < sizeof names / sizeof *names ? names[op] : NULL;
}

static bool op_is_signed(unsigned op) { return op == PTX_SUB_MIN || op == PTX_SUB_MAX; }

static const char *type_name(unsigned op, unsigned type)
{
    switch (type) {
    case PTX_B16:
    case PTX_U16: return "u16";
    case PTX_B32:
    case PTX_U32: return "u32";
    case PTX_S32: return op_is_signed(op) ? "s32" : "u32";
    case PTX_B64:
    case PTX_U64: return "u64";
    case PTX_S64: return op_is_signed(op) ? "s64" : "u64";
    case PTX_F32: return "f32";
    case PTX_F64: return "f64";
    case PTX_F16: return "f16";
    case PTX_BF16: return "bf16";
    case PTX_F16X2: return "f16x2";
    case PTX_BF16X2: return "bf16x2";
    default: return NULL;
    }
}

/* What the prelude has. */
static bool known(unsigned op, unsigned type)
{
    switch (type) {
    case PTX_B32:
    case PTX_U32:
    case PTX_S32: return true;
    case PTX_B64:
    case PTX_U64:
    case PTX_S64: return op != PTX_SUB_INC && op != PTX_SUB_DEC;
    case PTX_F32:
    case PTX_F64:
    case PTX_F16:
    case PTX_BF16:
    case PTX_F16X2:
    case PTX_BF16X2: return op == PTX_SUB_ADD;
    case PTX_B16:
    case PTX_U16: return op == PTX_SUB_CAS;
    default: return false;
    }
}

/* A whole warp takes its addresses from registers: by way of memory, which the operations themselves may change as
 * far as the CPU can tell, a histogram takes twice the time. */
static void all_or_some(struct t1_emit *e, const struct t1_arg *a, bool tested, const char *body)
{
    e->info[e->block].masked += 2;
    t1_put(e, "if (%s == ~0u) {\n", e->mask);
    const char *anew = tested ? NULL : t1_lane_anew(e, e->f->instr_src[e->at][0], "at");
    if (anew)
        t1_put(e, "_Pragma(\"GCC unroll 32\") for (uint32_t l = 0; l < 32; l++) {\n%s%s;\n}\n", anew, body);
    for (unsigned k = 0; !anew && k < e->np; k++)
        t1_put(e, "T1_EACH_OF(at, l, %u, %s, %s);\n", k * e->nl, t1_piece(e, a, k), body);
    t1_put(e, "} else {\n");
    const char *at = t1_lane(e, a);
    t1_put(e, "T1_FOR_LANES(l, %s) {\nconst uint32_t at = %s;\n%s;\n}\n}\n", e->mask, at, body);
}

/* Atomics lane by lane; where all lanes have one address they work one after the other on a copy of what is there,
 * which memory takes at once. Those without a routine in the prelude are the interpreter's. False: another
 * instruction. */
bool t1_atomic(struct t1_emit *e)
{
    const struct ptx_instr *in = e->in;
    if (in->op != PTX_OP_ATOM && in->op != PTX_OP_RED)
        return false;
    const char *op = op_name(in->sub), *type = type_name(in->sub, in->type[0]);
    if (!op || !type || !known(in->sub, in->type[0]) || in->src[1].kind == PTX_O_VEC) {
        t1_escape(e);
        return true;
    }
    bool shared = in->space == PTX_SP_SHARED, wide = ptx_type_size(in->type[0]) == 8;
    unsigned kind = wide ? T1_K_64 : T1_K_32;
    int32_t v = in->op == PTX_OP_ATOM ? t1_dst(e, 0) : -1;
    uint64_t imm;
    t1_put(e, "{\n");
    struct t1_arg a = t1_address(e, &in->src[0], e->f->instr_src[e->at][0], &shared, &imm);
    struct t1_arg value = t1_src(e, 1, kind);
    t1_watch(e, &a, NULL, imm, ptx_type_size(in->type[0]), T1_WATCH_UPDATES | (shared ? T1_WATCH_SHARED : 0), e->mask);
    t1_race(e, &a, imm, ptx_type_size(in->type[0]), T1_WATCH_UPDATES | (shared ? T1_WATCH_SHARED : 0), NULL, 0);
    const size_t before = e->text.n;
    t1_aligned(e, &a, NULL, in->src[0].reg >= 0 ? e->f->instr_src[e->at][0] : -1, imm, ptx_type_size(in->type[0]));
    const bool tested = e->text.n != before; /* its pieces are read */
    const bool quick = a.rep == T1_V && a.kind == T1_K_32;
    const char *x, *second = "";
    const char *p = quick && !imm ? "(smem + at)" /* spares an extension of the sign */
                    : quick       ? t1_in_shared(e, "at", imm)
                                  : t1_lane_pointer(e, &a, shared, imm);
    x = t1_lane(e, &value);
    if (in->sub == PTX_SUB_CAS) {
        struct t1_arg c = t1_src(e, 2, kind);
        second = t1_str(e, ", %s", t1_lane(e, &c));
    }
    if (v >= 0)
        t1_put(e, "%s d[32] = {0};\n", wide ? "uint64_t" : "uint32_t");
    const char *keep = v >= 0 ? "d[l] = " : "";
    if (t1_same_for_all(&a)) {
        const char *container = wide ? "u64" : ptx_type_size(in->type[0]) == 2 ? "u16" : "u32";
        t1_put(e, "if (%s) T1_%s_ONE(%s, %s, T1_EACH(l, %s, %st1_satom_%s_%s(&r_, %s%s)));\n", e->mask,
               shared ? "SATOM" : "ATOM", container, p, e->mask, keep, op, type, x, second);
    } else {
        const char *body = t1_str(e, "%st1_%s_%s_%s(%s, %s%s)", keep, shared ? "satom" : "atom", op, type, p, x,
                                  second);
        if (quick)
            all_or_some(e, &a, tested, body);
        else
            t1_put(e, "T1_EACH(l, %s, %s);\n", e->mask, body);
    }
    if (v >= 0)
        t1_def_lanes(e, v, "d");
    t1_put(e, "}\n");
    return true;
}
