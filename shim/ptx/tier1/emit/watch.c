/* Tier 1 emitter: the watched form of a kernel (CUMU_CHECK=memory). Before each access stands a test that its lanes
 * stay in what they may touch; prelude/watch.h says how. Instructions whose accesses have no such test keep the kernel
 * on tier 0. */
#include "ptx/tier1/emit/single.h"

static const char *lanes_of(struct t1_emit *e, const struct t1_arg *a, const char *mask, unsigned h)
{
    return a->rep != T1_G ? mask : t1_str(e, "(%s & 0x%xu)", mask, 0xffffu << 16 * h);
}

/* Addresses that are a scalar and a stride: the first and the last lane that run say it for all. */
static void test_scalars(struct t1_emit *e, const struct t1_arg *a, uint64_t imm, unsigned bytes, const char *mask)
{
    for (unsigned h = 0; h < (a->rep == T1_G ? 2 : 1); h++) {
        t1_put(e, "{\nconst uint32_t on = %s;\n", lanes_of(e, a, mask, h));
        if (a->kind == T1_K_32)
            t1_put(e, "const uint64_t first = (uint32_t)(%s + 0x%xu);\n", a->s[h], (unsigned)(uint32_t)imm);
        else
            t1_put(e, "const uint64_t first = %s + 0x%llxull;\n", a->s[h], (unsigned long long)imm);
        const unsigned from = 16 * h;
        const char *wrap = a->kind == T1_K_32 ? "(uint32_t)" : ""; /* an index below 0 and a base make an address */
        const unsigned long long stride = (unsigned long long)a->stride;
        if (!a->stride)
            t1_put(e, "const uint64_t lo = first, hi = first;\n");
        else
            t1_put(
                e,
                "const uint64_t lo = %s(first + 0x%llxull * (uint64_t)(int64_t)(__builtin_ctz(on | 1u << 31) - %d));\n"
                "const uint64_t hi = %s(first + 0x%llxull * (uint64_t)(int64_t)(31 - __builtin_clz(on | 1u) - %d));\n",
                wrap, stride, (int)from, wrap, stride, (int)from);
        t1_put(e,
               "if (T1_UNLIKELY(T1_OUTSIDE(lo, hi, base, size, %uu)) && on)\n"
               "t1_watch_row(b, warp, on, first, %lldll, %u, &at_, range);\n}\n",
               bytes, (long long)a->stride, from);
    }
}

/* The cold part behind a vector test: `bad` lanes, of all that run. */
static void look_at(struct t1_emit *e, const char *mask, const char *address, const char *spills)
{
    t1_put(e,
           "if (T1_UNLIKELY(bad & %s)) {\n%suint64_t a[32];\nT1_FOR_LANES(l, %s) a[l] = %s;\n"
           "b->services->watch(b, warp, %s, a, &at_, range);\n}\n",
           mask, spills, mask, address, mask);
}

static void test_pieces(struct t1_emit *e, const struct t1_arg *a, uint64_t imm, unsigned bytes, const char *mask)
{
    const bool wide = a->kind == T1_K_64;
    const char *w = wide ? "64" : "32", *spills = t1_str(e, "uint%s_t each[32];\n", w);
    t1_put(e, "const uint64_t most = size - %uu;\nuint32_t bad = size < %uu ? ~0u : 0;\n", bytes, bytes);
    for (unsigned k = 0; k < (wide ? 2 : 1) * e->np; k++) {
        const char *p = t1_piece(e, a, k);
        t1_put(e,
               "bad |= t1_v_cmp_u%s(GT, %s + t1_splat_u%s((uint%s_t)(0x%llxull - base)), t1_splat_u%s((uint%s_t)most))"
               " << (%u * T1_%s);\n",
               w, p, w, w, (unsigned long long)imm, w, w, k, wide ? "H" : "N");
        spills = t1_str(e, "%st1_spill_u%s(each, %u, %s);\n", spills, w, k, p);
    }
    look_at(e, mask,
            wide ? t1_str(e, "each[l] + 0x%llxull", (unsigned long long)imm)
                 : t1_str(e, "(uint32_t)(each[l] + 0x%xu)", (unsigned)(uint32_t)imm),
            spills);
}

static void test_gather(struct t1_emit *e, const struct t1_gather *g, uint64_t imm, unsigned bytes, const char *mask)
{
    struct t1_arg base = t1_value_arg(e, g->base, e->block), index = t1_value_arg(e, g->index, e->block);
    const char *spills = "uint32_t each[32];\n";
    t1_put(e, "const uint64_t first = %s + 0x%llxull;\nuint32_t low, most;\n", base.s[0], (unsigned long long)imm);
    t1_put(e, "uint32_t bad = t1_watch_index(first, %u, %u, range, &low, &most) ? 0 : ~0u;\n",
           (unsigned)__builtin_ctz(g->scale), bytes);
    for (unsigned k = 0; k < e->np; k++) {
        const char *p = t1_piece(e, &index, k);
        t1_put(e, "bad |= t1_v_cmp_u32(GT, %s - t1_splat_u32(low), t1_splat_u32(most)) << (%u * T1_N);\n", p, k);
        spills = t1_str(e, "%st1_spill_u32(each, %u, %s);\n", spills, k, p);
    }
    look_at(e, mask, t1_str(e, "first + (uint64_t)(int64_t)(int32_t)each[l] * %u", g->scale), spills);
}

void t1_watch(struct t1_emit *e, const struct t1_arg *a, const struct t1_gather *g, uint64_t imm, unsigned bytes,
              unsigned what, const char *mask)
{
    if (!e->watched)
        return;
    what |= a->kind == T1_K_32 ? T1_WATCH_32 : 0;
    t1_put(e, "{\nstatic const struct t1_watched at_ = {%u, %uu, %u};\n", bytes, what, e->in ? e->in->line : 0);
    if (what & (T1_WATCH_SHARED | T1_WATCH_LOCAL))
        t1_put(e, "struct t1_range *const range = 0;\nconst uint64_t base = 0, size = g->%s;\n(void)base;\n",
               what & T1_WATCH_SHARED ? "shared_used" : "local_stride");
    else
        t1_put(
            e,
            "struct t1_range *const range = &g->ranges[%u];\nconst uint64_t base = range->base, size = range->size;\n"
            "(void)base; (void)size;\n",
            e->places++ * 2 % T1_RANGES + !!(what & (T1_WATCH_WRITES | T1_WATCH_UPDATES)));
    if (a->rep != T1_V)
        test_scalars(e, a, imm, bytes, mask);
    else if (g && !(what & (T1_WATCH_SHARED | T1_WATCH_LOCAL)))
        test_gather(e, g, imm, bytes, mask);
    else
        test_pieces(e, a, imm, bytes, mask);
    t1_put(e, "}\n");
}

static bool touches_memory(unsigned op)
{
    return (op >= LIR_LDG_8 && op <= LIR_ST_ANY) || op == LIR_ATOM || op == LIR_CP_ASYNC || op == LIR_BULK ||
           (op >= LIR_WMMA_LD && op <= LIR_STMATRIX);
}

void t1_watch_escape(struct t1_emit *e, const struct lir_image *image)
{
    const struct lir_insn *code = LIR_AT(image, code, struct lir_insn);
    for (uint32_t k = 0; e->watched && k < image->code.count; k++)
        if (touches_memory(code[k].op))
            t1_fail(e, "accesses of this instruction are not watched");
}
