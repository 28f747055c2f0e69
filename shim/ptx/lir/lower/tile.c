/* Lowering: copies by tensor maps and changes of such a map, each as one LIR_TILE; what all tiles share. */
#include "ptx/lir/lower/tile.h"

#include <string.h>

bool lir_has(const struct ptx_instr *i, const char *modifier)
{
    size_t n = strlen(modifier);
    for (const char *p = i->opcode; p && (p = strchr(p, '.')); p++)
        if (!strncmp(p + 1, modifier, n) && (p[n + 1] == '.' || p[n + 1] == ':' || !p[n + 1]))
            return true;
    return false;
}

void lir_tile_begin(struct lir_lower *l, const struct ptx_instr *i, struct lir_tile_maker *t, unsigned kind)
{
    *t = (struct lir_tile_maker){.l = l, .i = i, .x = {.kind = (uint16_t)kind, .first = l->operands.n}};
    for (unsigned s = 0; s < i->nsrc; s++) {
        const struct ptx_opnd *o = &i->src[s];
        const bool rest = s == 4 && o->kind == PTX_O_VEC; /* as the front end keeps what is past the fifth */
        for (unsigned k = 0; k < (rest ? o->n : 1u); k++) {
            if (t->n == LIR_TILE_OPERANDS)
                lir_fail(l, "too many operands");
            t->o[t->n++] = rest ? &l->f->opnd[o->first + k] : o;
        }
    }
}

const struct ptx_opnd *lir_tile_next(struct lir_tile_maker *t)
{
    if (t->at == t->n)
        lir_fail(t->l, "an operand is missing");
    return t->o[t->at++];
}

void lir_tile_row(struct lir_tile_maker *t, uint32_t row)
{
    *(uint32_t *)lir_push(t->l, &t->l->operands, sizeof(uint32_t)) = row;
    t->x.nrow++;
}

void lir_tile_value(struct lir_tile_maker *t, const struct ptx_opnd *o, enum lir_class c)
{
    if (o->kind == PTX_O_REG && lir_reg_class(t->l, o->reg) != c)
        lir_fail(t->l, "operand of the wrong width");
    lir_tile_row(t, lir_source(t->l, o, c));
}

void lir_tile_address(struct lir_tile_maker *t, const struct ptx_opnd *o, unsigned space, unsigned flag32)
{
    struct lir_lower *l = t->l;
    if (o->kind != PTX_O_ADDR)
        lir_fail(l, "expected an address in brackets");
    struct lir_place p = lir_resolve(l, o, space);
    uint32_t row = p.row;
    if (p.imm) {
        enum lir_class c = p.addr32 ? LIR_CLASS_32 : LIR_CLASS_64;
        uint32_t imm = lir_imm(l, c, (uint64_t)(int64_t)p.imm);
        row = lir_temp(l, c);
        struct lir_insn *sum = lir_emit(l, p.addr32 ? LIR_ADD_I32 : LIR_ADD_I64);
        sum->d = row;
        sum->a = p.row;
        sum->b = imm;
    }
    t->x.p[0] |= p.addr32 ? flag32 : 0;
    lir_tile_row(t, row);
}

void lir_tile_end(struct lir_tile_maker *t, unsigned op, bool warp)
{
    struct lir_lower *l = t->l;
    if (t->at != t->n)
        lir_fail(l, "too many operands");
    if (t->x.nrow != lir_tile_rows(&t->x))
        lir_fail(l, "operands of a form that is not supported");
    if (warp) { /* all lanes of the warp come together */
        uint32_t all = lir_imm(l, LIR_CLASS_32, ~0u);
        lir_emit(l, LIR_WARPSYNC)->e = all;
    }
    *(struct lir_tile *)lir_push(l, &l->tiles, sizeof t->x) = t->x;
    struct lir_insn *o = lir_emit(l, op);
    o->imm = (int32_t)(l->tiles.n - 1);
    o->aux = warp;
}

/* The elements of a vector, or the one operand. */
static const struct ptx_opnd *list_of(struct lir_lower *l, const struct ptx_opnd *o, unsigned *n)
{
    *n = o->kind == PTX_O_VEC ? o->n : 1;
    return o->kind == PTX_O_VEC ? &l->f->opnd[o->first] : o;
}

/* ---- cp.async.bulk.tensor ---- */

static unsigned tensor_mode(struct lir_lower *l, const struct ptx_instr *i)
{
    if (lir_has(i, "tile::gather4") || lir_has(i, "tile::scatter4"))
        return LIR_TENSOR_GATHER4;
    if (lir_has(i, "im2col::w::128"))
        return LIR_TENSOR_IM2COL_W128;
    if (lir_has(i, "im2col::w"))
        return LIR_TENSOR_IM2COL_W;
    if (lir_has(i, "im2col_no_offs"))
        return LIR_TENSOR_IM2COL_NO_OFFS;
    if (lir_has(i, "im2col"))
        return LIR_TENSOR_IM2COL;
    (void)l;
    return LIR_TENSOR_TILE;
}

static unsigned tensor_rank(struct lir_lower *l, const struct ptx_instr *i)
{
    char word[] = "1d";
    for (unsigned n = 1; n <= 5; n++, word[0]++)
        if (lir_has(i, word))
            return n;
    lir_fail(l, "expected .1d to .5d");
}

static void fill_rows(struct lir_tile_maker *t, unsigned upto)
{
    while (t->x.nrow < upto)
        lir_tile_row(t, LIR_SINK);
}

/* Offsets of im2col, which are of 16 bits. */
static void put_offsets(struct lir_tile_maker *t, unsigned want)
{
    unsigned n;
    const struct ptx_opnd *o = list_of(t->l, lir_tile_next(t), &n);
    if (n != want)
        lir_fail(t->l, "%u offsets of im2col; expected %u", n, want);
    for (unsigned k = 0; k < n; k++)
        lir_tile_value(t, &o[k], LIR_CLASS_32);
}

/* Loads [smem], [map, {...}], [mbarrier], offsets, mask, policy; stores and reduces [map, {...}], [smem], policy.
 * The rows are in the order of tile.h whatever the order of the text. */
static void lower_tensor(struct lir_lower *l, const struct ptx_instr *i)
{
    struct lir_tile_maker t;
    const unsigned mode = tensor_mode(l, i), rank = tensor_rank(l, i);
    const bool load = lir_has(i, "mbarrier"), multicast = lir_has(i, "multicast"), reduce = lir_has(i, "reduce");
    const struct ptx_opnd *smem = NULL, *map, *coord;
    unsigned n, want = mode == LIR_TENSOR_GATHER4 ? 5 : rank;
    lir_tile_begin(l, i, &t, LIR_TILE_TENSOR);
    if (load)
        smem = lir_tile_next(&t);
    map = lir_tile_next(&t);
    if (map->kind != PTX_O_VEC || map->n != 2)
        lir_fail(l, "expected [tensor map, {coordinates}]");
    coord = list_of(l, &l->f->opnd[map->first + 1], &n);
    map = &l->f->opnd[map->first];
    if (n != want || (mode == LIR_TENSOR_GATHER4 && rank != 2))
        lir_fail(l, "%u coordinates; expected %u", n, want);
    if ((mode >= LIR_TENSOR_IM2COL && rank < 3) || (!load && mode >= LIR_TENSOR_IM2COL_W) ||
        (load && mode == LIR_TENSOR_IM2COL_NO_OFFS) || (!load && mode == LIR_TENSOR_IM2COL))
        lir_refuse(l, "no such mode of this copy");
    if (!load)
        smem = lir_tile_next(&t);
    lir_tile_address(&t, map, PTX_SP_NONE, LIR_TILE_A32);
    lir_tile_address(&t, smem, PTX_SP_SHARED, LIR_TILE_B32);
    if (load)
        lir_tile_address(&t, lir_tile_next(&t), PTX_SP_SHARED, LIR_TILE_C32);
    fill_rows(&t, LIR_TENSOR_COORD);
    const uint32_t first = t.x.first;
    for (unsigned k = 0; k < n; k++)
        lir_tile_value(&t, &coord[k], LIR_CLASS_32);
    fill_rows(&t, LIR_TENSOR_OFFSET);
    if (mode == LIR_TENSOR_IM2COL)
        put_offsets(&t, rank - 2);
    else if (mode >= LIR_TENSOR_IM2COL_W)
        put_offsets(&t, 2);
    fill_rows(&t, LIR_TENSOR_ROWS);
    if (multicast)
        ((uint32_t *)l->operands.p)[first + LIR_TENSOR_MASK] = lir_source(l, lir_tile_next(&t), LIR_CLASS_32);
    if (lir_has(i, "L2") && strstr(i->opcode, "cache_hint"))
        (void)lir_tile_next(&t);
    t.x.p[1] = mode;
    t.x.p[2] = n;
    t.x.p[3] = (load ? LIR_TENSOR_TELLS : LIR_TENSOR_STORE) | (multicast ? LIR_TENSOR_MULTICAST : 0) |
               (lir_has(i, "cta_group::2") ? LIR_TENSOR_PAIR : 0);
    if (reduce) {
        static const struct {
            const char *word;
            uint8_t sub;
        } update[] = {{"add", PTX_SUB_ADD}, {"min", PTX_SUB_MIN}, {"max", PTX_SUB_MAX}, {"inc", PTX_SUB_INC},
                      {"dec", PTX_SUB_DEC}, {"and", PTX_SUB_AND}, {"or", PTX_SUB_OR},   {"xor", PTX_SUB_XOR}};
        for (unsigned k = 0; k < sizeof update / sizeof *update; k++)
            if (lir_has(i, update[k].word))
                t.x.p[4] = update[k].sub;
        if (!t.x.p[4])
            lir_fail(l, "reduction of a form that is not supported");
    }
    lir_tile_end(&t, LIR_TILE, false);
}

bool lir_lower_tensor(struct lir_lower *l, const struct ptx_instr *i)
{
    if (i->op != PTX_OP_CP || !lir_has(i, "tensor"))
        return false;
    if (!lir_has(i, "prefetch"))
        lower_tensor(l, i);
    return true;
}

/* ---- tensormap ---- */

static const struct {
    const char *word;
    uint8_t field;
    bool ordinal, wide;
    uint8_t most; /* of a field whose value is a number of the text */
} map_fields[] = {{"global_address", LIR_MAP_ADDRESS, false, true, 0},
                  {"rank", LIR_MAP_RANK, false, false, 0},
                  {"box_dim", LIR_MAP_BOX, true, false, 0},
                  {"global_dim", LIR_MAP_DIM, true, false, 0},
                  {"global_stride", LIR_MAP_STRIDE, true, true, 0},
                  {"element_stride", LIR_MAP_ESTRIDE, true, false, 0},
                  {"elemtype", LIR_MAP_TYPE, false, false, 15},
                  {"interleave_layout", LIR_MAP_INTERLEAVE, false, false, 2},
                  {"swizzle_mode", LIR_MAP_SWIZZLE, false, false, 3},
                  {"fill_mode", LIR_MAP_FILL, false, false, 1},
                  {"swizzle_atomicity", LIR_MAP_ATOMICITY, false, false, 3}};

static void lower_replace(struct lir_lower *l, const struct ptx_instr *i)
{
    const struct ptx_module *m = l->module;
    struct lir_tile_maker t;
    lir_tile_begin(l, i, &t, LIR_TILE_MAP_REPLACE);
    for (unsigned k = 0; k < sizeof map_fields / sizeof *map_fields; k++) {
        if (!lir_has(i, map_fields[k].word))
            continue;
        const bool shared = lir_has(i, "shared");
        lir_tile_address(&t, lir_tile_next(&t), shared ? PTX_SP_SHARED : PTX_SP_GLOBAL, LIR_TILE_A32);
        t.x.p[0] |= shared ? LIR_TILE_A_SHARED : 0;
        t.x.p[1] = map_fields[k].field;
        if (map_fields[k].ordinal) {
            const struct ptx_opnd *o = lir_tile_next(&t);
            if (o->kind != PTX_O_IMM || o->imm >= 5u - (map_fields[k].field == LIR_MAP_STRIDE))
                lir_refuse(l, "expected the number of a dimension");
            t.x.p[2] = (uint32_t)o->imm;
        }
        if (map_fields[k].field == LIR_MAP_STRIDE && m->version_major * 10 + m->version_minor < 85)
            t.x.p[1] |= LIR_MAP_STRIDE_BY_16;
        const struct ptx_opnd *value = lir_tile_next(&t);
        const unsigned most = map_fields[k].most;
        if (most && (value->kind != PTX_O_IMM || value->imm > most))
            lir_refuse(l, "expected a number from 0 to %u", most);
        lir_tile_value(&t, value, map_fields[k].wide ? LIR_CLASS_64 : LIR_CLASS_32);
        lir_tile_end(&t, LIR_TILE, false);
        return;
    }
    lir_fail(l, "no such field of a tensor map");
}

bool lir_lower_tensormap(struct lir_lower *l, const struct ptx_instr *i)
{
    struct lir_tile_maker t;
    if (i->op != PTX_OP_TENSORMAP)
        return false;
    if (lir_has(i, "replace")) {
        lower_replace(l, i);
        return true;
    }
    if (!lir_has(i, "cp_fenceproxy"))
        return false;
    lir_tile_begin(l, i, &t, LIR_TILE_MAP_COPY);
    lir_tile_address(&t, lir_tile_next(&t), PTX_SP_GLOBAL, LIR_TILE_A32);
    lir_tile_address(&t, lir_tile_next(&t), PTX_SP_SHARED, LIR_TILE_B32);
    t.x.p[0] |= LIR_TILE_B_SHARED;
    const struct ptx_opnd *size = lir_tile_next(&t);
    if (size->kind != PTX_O_IMM || size->imm != 128)
        lir_refuse(l, "a tensor map has 128 bytes");
    t.x.p[1] = 128;
    lir_tile_end(&t, LIR_TILE, true);
    return true;
}
