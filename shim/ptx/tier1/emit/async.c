/* Tier 1 emitter: cp.async, whose copies are made at once. */
#include "ptx/tier1/emit/single.h"

/* An address of bytecode: an operand, or the sum of one and a number. */
static struct t1_arg operand(struct t1_emit *e, const struct t1_single *x, uint32_t row, uint64_t *imm, int32_t *value)
{
    const struct lir_insn *code = LIR_AT(x->image, code, struct lir_insn);
    const struct lir_row *n = LIR_AT(x->image, rows, struct lir_row);
    if (code[0].op == LIR_ADD_I64 && code[0].d == row) {
        for (uint32_t k = 0; k < x->image->rows.count; k++)
            if (n[k].offset == code[0].b)
                *imm += n[k].value;
        row = code[0].a;
    }
    *value = t1_single_value(x, row, false);
    return t1_single_arg(e, x, row);
}

/* Of a lane's `size` bytes the first n[lane] are copied, and the rest is zero; an address of which none is read may be
 * any. */
static void test_sources(struct t1_emit *e, const struct t1_arg *bytes, unsigned size)
{
    const char *all = "";
    t1_put(e, "const pu32 n[] = {");
    for (unsigned k = 0; k < e->np; k++)
        t1_put(e, "%s%s", t1_piece(e, bytes, k), k + 1 < e->np ? ", " : "};\n");
    for (unsigned k = 0; k < 2 * e->np; k++)
        all = t1_str(e, "%s%sq[%u]", all, k ? " | " : "", k);
    t1_put(e,
           "if (T1_UNLIKELY(t1_low_u64(%s, %u))) {\nuint32_t bad = 0;\nT1_FOR_LANES(l, %s)\n"
           "bad |= (uint32_t)(((const uint32_t *)n)[l] && ((const uint64_t *)q)[l] & %u) << l;\n"
           "if (bad) T1_MISALIGNED(b, warp, bad);\n}\n",
           all, size - 1, e->mask, size - 1);
}

bool t1_copy_async(struct t1_emit *e, const struct t1_single *x)
{
    const struct lir_insn *i = LIR_AT(x->image, code, struct lir_insn) + x->image->code.count - 1;
    unsigned size = 1u << (i->aux & LIR_CP_LOG2);
    if (i->op == LIR_ASYNC_GROUP)
        return true;
    const bool partial = (i->aux & LIR_CP_PARTIAL) != 0;
    if (i->op != LIR_CP_ASYNC || (partial && e->watched))
        return false;
    uint64_t from_imm = 0, to_imm = (uint64_t)(int64_t)i->imm;
    int32_t from_value, to_value;
    struct t1_arg from = operand(e, x, i->b, &from_imm, &from_value);
    struct t1_arg to = operand(e, x, i->a, &to_imm, &to_value), bytes = {.kind = T1_K_NONE};
    if (partial)
        bytes = t1_single_arg(e, x, i->c);
    if (from.kind != T1_K_64 || to.kind == T1_K_NONE || (partial && bytes.kind != T1_K_32))
        return false;
    t1_watch(e, &from, NULL, from_imm, size, 0, e->mask);
    t1_watch(e, &to, NULL, to_imm, size, T1_WATCH_WRITES | T1_WATCH_SHARED, e->mask);
    if (!partial)
        t1_aligned(e, &from, NULL, from_value, from_imm, size);
    t1_aligned(e, &to, NULL, to_value, to_imm, size);
    t1_put(e, "{\n");
    t1_pointers(e, "p", &to, true, to_imm, false);
    t1_pointers(e, "q", &from, false, from_imm, false);
    if (partial)
        test_sources(e, &bytes, size);
    t1_put(e, "t1_copy%s_%u((uint8_t *const *)p, (const uint8_t *const *)q, %s%s);\n}\n", partial ? "_parts" : "", size,
           partial ? "(const uint32_t *)n, " : "", e->mask);
    return true;
}
