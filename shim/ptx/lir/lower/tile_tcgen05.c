/* Lowering: tensor memory and its products (tcgen05). */
#include "ptx/lir/lower/tile.h"

#include <stdlib.h>
#include <string.h>

static uint32_t pair_flag(const struct ptx_instr *i, uint32_t flag) { return lir_has(i, "cta_group::2") ? flag : 0; }

static void lower_columns(struct lir_lower *l, const struct ptx_instr *i, bool alloc)
{
    struct lir_tile_maker t;
    lir_tile_begin(l, i, &t, alloc ? LIR_TILE_TM_ALLOC : LIR_TILE_TM_DEALLOC);
    if (alloc) {
        const bool shared = lir_has(i, "shared");
        lir_tile_address(&t, lir_tile_next(&t), shared ? PTX_SP_SHARED : PTX_SP_NONE, LIR_TILE_A32);
        t.x.p[0] |= shared ? LIR_TILE_A_SHARED : 0;
    } else {
        lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_32);
    }
    lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_32);
    if (alloc)
        lir_tile_row(&t, lir_dest(l, &i->dst[0]));
    lir_tile_end(&t, LIR_TILE, true);
}

/* An address of tensor memory, of 32 bits and in brackets. */
static void tensor_address(struct lir_tile_maker *t)
{
    const struct ptx_opnd *o = lir_tile_next(t);
    if (o->kind != PTX_O_ADDR || o->reg < 0 || lir_reg_class(t->l, o->reg) != LIR_CLASS_32)
        lir_fail(t->l, "expected an address of tensor memory");
    lir_tile_address(t, o, PTX_SP_NONE, 0);
}

/* .max.abs.NaN.f32 of tcgen05.ld.red. */
static uint32_t reduction(struct lir_lower *l, const struct ptx_instr *i)
{
    const uint32_t type = lir_has(i, "u32")   ? LIR_TM_RED_U32
                          : lir_has(i, "s32") ? LIR_TM_RED_S32
                          : lir_has(i, "f32") ? LIR_TM_RED_F32
                                              : 0;
    const bool abs = lir_has(i, "abs"), nan = lir_has(i, "NaN");
    if (!type || lir_has(i, "min") == lir_has(i, "max") || ((abs || nan) && type != LIR_TM_RED_F32) ||
        lir_has(i, "pack::16b"))
        lir_refuse(l, "tcgen05.ld.red takes .min or .max of u32, s32 or f32");
    return type | (lir_has(i, "max") ? LIR_TM_RED_MAX : 0) | (abs ? LIR_TM_RED_ABS : 0) | (nan ? LIR_TM_RED_NAN : 0);
}

/* .32x32b.x8: N, and registers of a lane. */
static void lower_transfer(struct lir_lower *l, const struct ptx_instr *i, bool store)
{
    static const struct {
        const char *word;
        uint8_t shape, each; /* registers of .x1 */
    } shapes[] = {{"32x32b", LIR_TM_32X32, 1},
                  {"16x64b", LIR_TM_16X64, 1},
                  {"16x128b", LIR_TM_16X128, 2},
                  {"16x256b", LIR_TM_16X256, 4},
                  {"16x32bx2", LIR_TM_16X32X2, 1}};
    struct lir_tile_maker t;
    unsigned n = 0, have = 1;
    lir_tile_begin(l, i, &t, store ? LIR_TILE_TM_ST : LIR_TILE_TM_LD);
    t.x.p[1] = LIR_TM_SHAPES;
    for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++)
        if (lir_has(i, shapes[k].word)) {
            t.x.p[1] = shapes[k].shape;
            n = shapes[k].each;
        }
    for (unsigned x = 1; x <= 128; x *= 2) {
        char word[8] = "x";
        word[1] = (char)('0' + (x >= 100 ? x / 100 : x >= 10 ? x / 10 : x));
        word[2] = (char)(x >= 100 ? '0' + x / 10 % 10 : x >= 10 ? '0' + x % 10 : 0);
        word[3] = (char)(x >= 100 ? '0' + x % 10 : 0);
        if (lir_has(i, word))
            t.x.p[2] = n * x;
    }
    t.x.p[4] = lir_has(i, "red") ? reduction(l, i) : 0;
    if (t.x.p[4] && t.x.p[1] != LIR_TM_32X32)
        lir_fail(l, "tcgen05.ld.red of a shape other than .32x32b is not supported");
    tensor_address(&t);
    if (t.x.p[1] == LIR_TM_16X32X2) {
        const struct ptx_opnd *split = lir_tile_next(&t);
        if (split->kind != PTX_O_IMM || split->imm >= 512)
            lir_refuse(l, "expected the columns between both halves");
        t.x.p[3] = (uint32_t)split->imm;
    }
    t.x.p[0] |= lir_has(i, "pack::16b") || lir_has(i, "unpack::16b") ? LIR_TM_PACKED : 0;
    const struct ptx_opnd *v = store ? lir_tile_next(&t) : &i->dst[0];
    if (v->kind == PTX_O_VEC) {
        have = v->n;
        v = &l->f->opnd[v->first];
    }
    if (!t.x.p[2] || t.x.p[2] > 128 || have != t.x.p[2] || i->ndst != !store + (t.x.p[4] != 0))
        lir_fail(l, "%u registers; expected %u", have, t.x.p[2]);
    for (unsigned k = 0; k < have; k++) {
        if (v[k].kind == PTX_O_REG && ptx_type_size(l->f->reg[v[k].reg].type) != 4)
            lir_fail(l, "register of the wrong width");
        lir_tile_row(&t, store ? lir_source(l, &v[k], LIR_CLASS_32) : lir_dest(l, &v[k]));
    }
    if (t.x.p[4]) {
        const struct ptx_opnd *red = &i->dst[1];
        if (red->kind != PTX_O_REG || ptx_type_size(l->f->reg[red->reg].type) != 4)
            lir_fail(l, "register of the wrong width");
        lir_tile_row(&t, lir_dest(l, red));
    }
    lir_tile_end(&t, LIR_TILE, true);
}

static void lower_copy(struct lir_lower *l, const struct ptx_instr *i)
{
    static const struct {
        const char *word, *also;
        uint8_t shape;
    } shapes[] = {
        {"128x256b", "128x256b", LIR_TM_CP_128X256},          {"4x256b", "4x256b", LIR_TM_CP_4X256},
        {"128x128b", "128x128b", LIR_TM_CP_128X128},          {"64x128b", "warpx2::02_13", LIR_TM_CP_64X128_02_13},
        {"64x128b", "warpx2::01_23", LIR_TM_CP_64X128_01_23}, {"32x128b", "warpx4", LIR_TM_CP_32X128}};
    struct lir_tile_maker t;
    lir_tile_begin(l, i, &t, LIR_TILE_TM_CP);
    t.x.p[1] = LIR_TM_CP_SHAPES;
    for (unsigned k = 0; k < sizeof shapes / sizeof *shapes; k++)
        if (lir_has(i, shapes[k].word) && lir_has(i, shapes[k].also))
            t.x.p[1] = shapes[k].shape;
    if (lir_has(i, "b8x16"))
        lir_fail(l, "tcgen05.cp that unpacks: the ISA shows in figures only where in a byte the bits come to lie");
    if (t.x.p[1] == LIR_TM_CP_SHAPES)
        lir_fail(l, "copy to tensor memory of a form that is not supported");
    t.x.p[0] = pair_flag(i, LIR_TM_PAIR);
    tensor_address(&t);
    lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_64);
    lir_tile_end(&t, LIR_TILE, false);
}

static void lower_commit(struct lir_lower *l, const struct ptx_instr *i)
{
    struct lir_tile_maker t;
    const bool shared = lir_has(i, "shared"), multicast = lir_has(i, "multicast");
    lir_tile_begin(l, i, &t, LIR_TILE_TM_COMMIT);
    lir_tile_address(&t, lir_tile_next(&t), shared ? PTX_SP_SHARED : PTX_SP_NONE, LIR_TILE_A32);
    t.x.p[0] |= (shared ? LIR_TILE_A_SHARED : 0) | (multicast ? LIR_TM_MULTICAST : 0);
    if (multicast)
        lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_32);
    else
        lir_tile_row(&t, LIR_SINK);
    lir_tile_end(&t, LIR_TILE, false);
}

/* One whose row is a register's. */
static uint32_t plain_tensor_address(struct lir_lower *l, const struct ptx_opnd *o)
{
    if (o->kind != PTX_O_ADDR || o->reg < 0 || o->imm || lir_reg_class(l, o->reg) != LIR_CLASS_32)
        lir_fail(l, "expected an address of tensor memory");
    return l->reg[o->reg];
}

static void lower_mma(struct lir_lower *l, const struct ptx_instr *i)
{
    static const struct {
        const char *word;
        uint8_t kind, blocks;
    } kinds[] = {{"kind::f16", LIR_TC_F16, 0},           {"kind::tf32", LIR_TC_TF32, 0},
                 {"kind::f8f6f4", LIR_TC_F8F6F4, 0},     {"kind::i8", LIR_TC_I8, 0},
                 {"kind::mxf8f6f4", LIR_TC_MXF8F6F4, 1}, {"kind::mxf4", LIR_TC_MXF4, 2},
                 {"kind::mxf4nvf4", LIR_TC_MXF4NVF4, 4}};
    struct lir_tile_maker t;
    lir_tile_begin(l, i, &t, LIR_TILE_TCMMA);
    t.x.p[1] = LIR_TC_KINDS;
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (lir_has(i, kinds[k].word)) {
            t.x.p[1] = kinds[k].kind;
            t.x.p[2] = kinds[k].blocks;
        }
    if (t.x.p[1] == LIR_TC_KINDS)
        lir_fail(l, "no such kind of product");
    if (lir_has(i, "ashift"))
        lir_fail(l, "tcgen05.mma with .ashift: no public text says from which side a row is taken");
    const bool sparse = lir_has(i, "sp"), ws = lir_has(i, "ws");
    if (t.x.p[1] == LIR_TC_MXF4NVF4 && (lir_has(i, "scale_vec::2X") || lir_has(i, "block32")))
        t.x.p[2] = 2;
    const bool scaled = t.x.p[2] != 0;
    if (scaled != lir_has(i, "block_scale"))
        lir_refuse(l, "block_scale goes with the kinds mxf8f6f4, mxf4 and mxf4nvf4");
    t.x.p[0] = pair_flag(i, LIR_TC_PAIR) | (scaled ? LIR_TC_SCALED : 0) | (sparse ? LIR_TC_SPARSE : 0) |
               (ws ? LIR_TC_WS : 0);
    if (ws && (scaled || t.x.p[0] & LIR_TC_PAIR))
        lir_refuse(l, "tcgen05.mma.ws is of one block and without block scales");
    tensor_address(&t);
    if (t.at < t.n && t.o[t.at]->kind == PTX_O_ADDR) {
        t.x.p[0] |= LIR_TC_A_TENSOR;
        tensor_address(&t);
    } else {
        lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_64);
    }
    lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_64);
    const struct ptx_opnd *meta = sparse ? lir_tile_next(&t) : NULL;
    lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_32);
    const uint32_t at = t.x.first;
    for (unsigned k = LIR_TC_ADD; k < LIR_TC_ROWS; k++)
        lir_tile_row(&t, LIR_SINK);
    if (meta)
        ((uint32_t *)l->operands.p)[at + LIR_TC_META] = plain_tensor_address(l, meta);
    /* the rows behind come in another order than the operands */
    unsigned k = LIR_TC_SCALE_A;
    for (; scaled && k <= LIR_TC_SCALE_B; k++) {
        const uint32_t row = plain_tensor_address(l, lir_tile_next(&t));
        ((uint32_t *)l->operands.p)[at + k] = row;
    }
    if (!ws && t.at < t.n && t.o[t.at]->kind == PTX_O_VEC) {
        const struct ptx_opnd *o = lir_tile_next(&t);
        if (o->n != (t.x.p[0] & LIR_TC_PAIR ? 8 : 4))
            lir_refuse(l, "the lanes of each block have four words of a mask");
        t.x.p[0] |= LIR_TC_MASK;
        for (unsigned n = 0; n < o->n; n++)
            ((uint32_t *)l->operands.p)[at + LIR_TC_MASKS + n] = lir_source(l, &l->f->opnd[o->first + n], LIR_CLASS_32);
    }
    const struct ptx_opnd *add = lir_tile_next(&t);
    if (add->kind == PTX_O_REG ? lir_reg_class(l, add->reg) != LIR_CLASS_PRED : add->kind != PTX_O_IMM || add->is_real)
        lir_refuse(l, "expected a predicate");
    ((uint32_t *)l->operands.p)[at + LIR_TC_ADD] = lir_source(l, add, LIR_CLASS_PRED);
    if (ws && t.at < t.n) {
        const struct ptx_opnd *zero = lir_tile_next(&t);
        if (zero->kind == PTX_O_REG ? lir_reg_class(l, zero->reg) != LIR_CLASS_64
                                    : zero->kind != PTX_O_IMM || zero->is_real)
            lir_refuse(l, "expected a mask of columns in 64 bits");
        t.x.p[0] |= LIR_TC_ZEROES;
        const uint32_t row = lir_source(l, zero, LIR_CLASS_64);
        ((uint32_t *)l->operands.p)[at + LIR_TC_ZERO] = row;
    } else if (t.at < t.n) {
        const struct ptx_opnd *down = lir_tile_next(&t);
        if (down->kind != PTX_O_IMM || down->imm > 15)
            lir_refuse(l, "sums are scaled by 2^-0 to 2^-15");
        t.x.p[3] = (uint32_t)down->imm;
    }
    lir_tile_end(&t, LIR_TCMMA, false);
}

/* Loads and stores are done already: only what checks their order looks at this. */
static void lower_wait(struct lir_lower *l, bool stores)
{
    lir_emit(l, LIR_ASYNC_GROUP)->aux = LIR_GROUP_WAIT_ALL | (stores ? LIR_GROUP_STORES : LIR_GROUP_LOADS);
}

bool lir_lower_tcgen05(struct lir_lower *l, const struct ptx_instr *i)
{
    if (i->op != PTX_OP_TCGEN05)
        return false;
    l->uses_tensor = true;
    if (lir_has(i, "mma"))
        lower_mma(l, i);
    else if (lir_has(i, "alloc"))
        lower_columns(l, i, true);
    else if (lir_has(i, "dealloc"))
        lower_columns(l, i, false);
    else if (lir_has(i, "ld") || lir_has(i, "st"))
        lower_transfer(l, i, lir_has(i, "st"));
    else if (lir_has(i, "cp"))
        lower_copy(l, i);
    else if (lir_has(i, "commit"))
        lower_commit(l, i);
    else if (lir_has(i, "wait::ld") || lir_has(i, "wait::st"))
        lower_wait(l, lir_has(i, "wait::st"));
    else if (lir_has(i, "shift"))
        lir_fail(l, "tcgen05.shift: no public text says from which side a row is taken");
    else
        return lir_has(i, "relinquish_alloc_permit") || lir_has(i, "fence::before_thread_sync") ||
               lir_has(i, "fence::after_thread_sync");
    return true;
}
