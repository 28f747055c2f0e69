/* The MUSA emitter: rows of the LIR's register file as names and constants. */
#include "ptx/front/front.h"
#include "ptx/musa/emit/emit.h"

#include <stdio.h>

/* Where registers of a function begin, by class. */
struct bases {
    uint32_t pred, word, wide, end;
};

static struct bases bases(const struct lir_fn *f)
{
    struct bases b = {.pred = f->regs};
    b.word = b.pred + LIR_ROW_ALIGN * f->npred;
    b.wide = b.word + 128 * f->n32;
    b.end = b.wide + 256 * f->n64;
    return b;
}

static struct mu_str name_of(struct mu_emit *e, uint32_t row, char kind)
{
    struct bases b = bases(e->fn);
    struct mu_str r;
    char have = row < b.word ? 'p' : row < b.wide ? 'w' : 'l';
    if (row < b.pred || row >= b.end)
        mu_fail(e, "a register of another function");
    if (have != kind)
        mu_fail(e, "a register of another width (%c, not %c)", have, kind);
    e->used[row / LIR_ROW_ALIGN] = 1;
    snprintf(r.s, sizeof r.s, "%c%u",
             have == 'p'   ? 'p'
             : have == 'w' ? 'r'
                           : 'd',
             have == 'p'   ? (row - b.pred) / LIR_ROW_ALIGN
             : have == 'w' ? (row - b.word) / 128
                           : (row - b.wide) / 256);
    return r;
}

static struct mu_str number(uint64_t v, char kind)
{
    struct mu_str r;
    if (kind == 'p')
        snprintf(r.s, sizeof r.s, "%s", v & 1 ? "true" : "false");
    else if (kind == 'w')
        snprintf(r.s, sizeof r.s, v & 0xffffffffu && (uint32_t)v > 9 ? "0x%xu" : "%uu", (unsigned)v);
    else
        snprintf(r.s, sizeof r.s, v > 9 ? "0x%llxull" : "%lluull", (unsigned long long)v);
    return r;
}

// clang-format off
static const struct { uint16_t sreg; const char *text; } sregs[] = {
    {PTX_SR_TID_X, "tid(0)"}, {PTX_SR_TID_Y, "tid(1)"}, {PTX_SR_TID_Z, "tid(2)"},
    {PTX_SR_NTID_X, "ntid(0)"}, {PTX_SR_NTID_Y, "ntid(1)"}, {PTX_SR_NTID_Z, "ntid(2)"},
    {PTX_SR_CTAID_X, "ctaid(0)"}, {PTX_SR_CTAID_Y, "ctaid(1)"}, {PTX_SR_CTAID_Z, "ctaid(2)"},
    {PTX_SR_CLUSTERID_X, "ctaid(0)"}, {PTX_SR_CLUSTERID_Y, "ctaid(1)"}, {PTX_SR_CLUSTERID_Z, "ctaid(2)"},
    {PTX_SR_NCTAID_X, "nctaid(0)"}, {PTX_SR_NCTAID_Y, "nctaid(1)"}, {PTX_SR_NCTAID_Z, "nctaid(2)"},
    {PTX_SR_NCLUSTERID_X, "nctaid(0)"}, {PTX_SR_NCLUSTERID_Y, "nctaid(1)"}, {PTX_SR_NCLUSTERID_Z, "nctaid(2)"},
    {PTX_SR_CLUSTER_NCTAID_X, "1u"}, {PTX_SR_CLUSTER_NCTAID_Y, "1u"}, {PTX_SR_CLUSTER_NCTAID_Z, "1u"},
    {PTX_SR_CLUSTER_NCTARANK, "1u"},
    {PTX_SR_LANEID, "lane_id()"}, {PTX_SR_WARPID, "warp_id()"}, {PTX_SR_NWARPID, "32u"},
    {PTX_SR_LANEMASK_EQ, "(1u << lane_id())"}, {PTX_SR_LANEMASK_LT, "((1u << lane_id()) - 1)"},
    {PTX_SR_LANEMASK_LE, "((2u << lane_id()) - 1)"}, {PTX_SR_LANEMASK_GT, "(0u - (2u << lane_id()))"},
    {PTX_SR_LANEMASK_GE, "(0u - (1u << lane_id()))"},
    {PTX_SR_SMID, "sm_id()"}, {PTX_SR_NSMID, "sm_count()"}, {PTX_SR_GRIDID, "grid_id()"},
    {PTX_SR_ENVREG0 + 1, "envreg1()"}, {PTX_SR_ENVREG0 + 2, "envreg2()"},
    {PTX_SR_DYNAMIC_SMEM_SIZE, "dynamic_shared()"}, {PTX_SR_TOTAL_SMEM_SIZE, "total_shared()"},
    {PTX_SR_AGGR_SMEM_SIZE, "total_shared()"}
};
// clang-format on

static struct mu_str special(struct mu_emit *e, unsigned sreg, char kind)
{
    struct mu_str r = number(0, kind);
    bool launch = sreg == PTX_SR_DYNAMIC_SMEM_SIZE || sreg == PTX_SR_TOTAL_SMEM_SIZE || sreg == PTX_SR_AGGR_SMEM_SIZE;
    if (!e->any && launch)
        mu_fail(e, "%s has no counterpart in MUSA", ptx_sreg_name(sreg));
    for (size_t k = 0; k < sizeof sregs / sizeof sregs[0]; k++)
        if (sregs[k].sreg == sreg)
            snprintf(r.s, sizeof r.s, kind == 'l' ? "(u64)%s" : "(u32)%s", sregs[k].text);
    return r;
}

static const struct lir_row *constant(const struct mu_emit *e, uint32_t row)
{
    uint32_t k = e->row[row / LIR_ROW_ALIGN];
    return k ? LIR_AT(e->image, rows, struct lir_row) + k - 1 : NULL;
}

bool mu_constant(const struct mu_emit *e, uint32_t row, uint64_t *value)
{
    const struct lir_row *c = constant(e, row);
    *value = c && c->kind == LIR_ROW_IMM ? c->value : 0;
    return row == LIR_SINK || (c && c->kind == LIR_ROW_IMM);
}

struct mu_str mu_get(struct mu_emit *e, uint32_t row, char kind)
{
    struct mu_str r;
    if (row < LIR_ROW_MAX)
        return number(0, kind);
    /* the upper half of a b128 constant is 0 */
    if (kind == 'l' && !constant(e, row) && row >= 256 && constant(e, row - 256) && constant(e, row - 256)->wide == 2)
        return number(0, kind);
    const struct lir_row *c = constant(e, row);
    if (!c)
        return name_of(e, row, kind);
    switch (c->kind) {
    case LIR_ROW_IMM: return number(c->value, kind);
    case LIR_ROW_SREG: return special(e, c->index, kind);
    case LIR_ROW_EXTERN:
        snprintf(r.s, sizeof r.s, "(x%u + 0x%llxull)", c->index, (unsigned long long)c->value);
        return r;
    default: {
        uint32_t index, rest;
        if (!mu_param_at(e, c->value, &index, &rest))
            mu_fail(e, "address behind the parameters");
        snprintf(r.s, sizeof r.s, "((u64)&a%u + %uu)", index, rest);
        return r;
    }
    }
}

struct mu_str mu_set(struct mu_emit *e, uint32_t row, char kind)
{
    static const char *const nowhere[] = {"no_p", "no_r", "no_d"};
    struct mu_str r;
    if (row >= LIR_ROW_MAX)
        return name_of(e, row, kind);
    e->used[kind == 'p' ? 0 : kind == 'w' ? 1 : 2] = 1;
    snprintf(r.s, sizeof r.s, "%s", nowhere[kind == 'p' ? 0 : kind == 'w' ? 1 : 2]);
    return r;
}

static void declare(struct mu_emit *e, const char *type, const char *zero, char name, uint32_t from, uint32_t to,
                    uint32_t size)
{
    unsigned n = 0;
    for (uint32_t row = from, k = 0; row < to; row += size, k++) {
        if (!e->used[row / LIR_ROW_ALIGN])
            continue;
        if (n % 12 == 0)
            mu_put(e, n ? ";\n    %s" : "    %s", type);
        mu_put(e, "%s %c%u = %s", n++ % 12 ? "," : "", name, k, zero);
    }
    if (n)
        mu_put(e, ";\n");
}

void mu_declare(struct mu_emit *e)
{
    struct bases b = bases(e->fn);
    if (e->used[0])
        mu_put(e, "    bool no_p;\n");
    if (e->used[1])
        mu_put(e, "    u32 no_r;\n");
    if (e->used[2])
        mu_put(e, "    u64 no_d;\n");
    declare(e, "bool", "false", 'p', b.pred, b.word, LIR_ROW_ALIGN);
    declare(e, "u32", "0", 'r', b.word, b.wide, 128);
    declare(e, "u64", "0", 'd', b.wide, b.end, 256);
    if (e->uses_cc)
        mu_put(e, "    bool cc = false;\n");
}
