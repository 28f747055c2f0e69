/* Tier 0 lowering: textures and surfaces (tex, tld4, txq, suld, sust, sured, suq), which name their
 * object by a handle. */
#include "ptx/lir/lower/lower.h"

#include <string.h>

static bool has(const struct ptx_instr *i, const char *modifier)
{
    size_t n = strlen(modifier);
    for (const char *p = i->opcode; p && (p = strchr(p, '.')); p++)
        if (!strncmp(p + 1, modifier, n) && (p[n + 1] == '.' || !p[n + 1]))
            return true;
    return false;
}

/* Number of the modifier of this list that the opcode has; -1: none of them. */
static int which(const struct ptx_instr *i, const char *const *list, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        if (has(i, list[k]))
            return (int)k;
    return -1;
}

static unsigned geometry(struct lir_lower *l, const struct ptx_instr *i)
{
    static const char *const names[LIR_GEOMETRIES] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
    int g = which(i, names, LIR_GEOMETRIES);
    if (g < 0)
        lir_fail(l, "texture geometry is not supported");
    return (unsigned)g;
}

/* Elements of an operand that may be a vector. */
static const struct ptx_opnd *elements(struct lir_lower *l, const struct ptx_opnd *o, unsigned *n)
{
    *n = o->kind == PTX_O_VEC ? o->n : 1;
    return o->kind == PTX_O_VEC ? &l->f->opnd[o->first] : o;
}

/* "[handle, coordinates]" or "[handle]": the handle's row and the coordinates. */
static uint32_t handle(struct lir_lower *l, const struct ptx_opnd *o, const struct ptx_opnd **coordinates)
{
    const struct ptx_opnd *h = o->kind == PTX_O_VEC ? &l->f->opnd[o->first] : o;
    if ((o->kind == PTX_O_VEC) != (coordinates != NULL) || (o->kind == PTX_O_VEC && o->n > 2))
        lir_fail(l, "separate samplers are not supported");
    if (h->sym >= 0)
        lir_fail(l, "texture and surface references are not supported");
    if (h->kind != PTX_O_ADDR || h->reg < 0 || h->imm || lir_reg_class(l, h->reg) != LIR_CLASS_64)
        lir_fail(l, "expected a texture or surface handle");
    if (coordinates)
        *coordinates = h + 1;
    return l->reg[h->reg];
}

static uint32_t word(struct lir_lower *l, const struct ptx_opnd *o)
{
    if (o->kind == PTX_O_REG && lir_reg_class(l, o->reg) != LIR_CLASS_32)
        lir_fail(l, "operand of the wrong width");
    return lir_source(l, o, LIR_CLASS_32);
}

/* Coordinates into args[LIR_TEX_X..] and args[LIR_TEX_LAYER]. */
static void place(struct lir_lower *l, unsigned g, const struct ptx_opnd *o, uint32_t *args)
{
    static const uint8_t axes[LIR_GEOMETRIES] = {1, 2, 3, 1, 2, 3, 3};
    bool array = g == LIR_GEO_A1D || g == LIR_GEO_A2D || g == LIR_GEO_ACUBE;
    unsigned n;
    const struct ptx_opnd *c = elements(l, o, &n);
    if (n < axes[g] + (unsigned)array)
        lir_fail(l, "too few coordinates");
    if (array)
        args[LIR_TEX_LAYER] = word(l, c++);
    for (unsigned k = 0; k < axes[g]; k++)
        args[LIR_TEX_X + k] = word(l, &c[k]);
}

static void spread(struct lir_lower *l, const struct ptx_opnd *o, uint32_t *args)
{
    unsigned n;
    const struct ptx_opnd *c = elements(l, o, &n);
    for (unsigned k = 0; k < n && k < 3; k++)
        args[k] = word(l, &c[k]);
}

static void emit_args(struct lir_lower *l, const uint32_t *args, unsigned more)
{
    for (unsigned k = 0; k <= more; k++, args += 5) {
        struct lir_insn *o = lir_emit(l, LIR_TEX_ARGS);
        o->d = args[0];
        o->a = args[1];
        o->b = args[2];
        o->c = args[3];
        o->e = args[4];
        o->aux = (uint16_t)(more - k);
    }
}

/* Rows of up to four data elements, as many as .v2 or .v4 says; ptxas lets sust.p go without. */
static unsigned data_rows(struct lir_lower *l, const struct ptx_opnd *o, bool store, enum lir_class c, uint32_t row[4])
{
    unsigned n;
    const struct ptx_opnd *e = elements(l, o, &n);
    memset(row, 0, 4 * sizeof *row);
    if ((n != l->at->vec && !(has(l->at, "p") && l->at->vec == 1)) || n > 4 || n == 3)
        lir_fail(l, "%u registers; expected %u", n, l->at->vec);
    for (unsigned k = 0; k < n; k++) {
        if (e[k].kind == PTX_O_REG && lir_reg_class(l, e[k].reg) != c)
            lir_fail(l, "data register of the wrong width");
        row[k] = store ? lir_source(l, &e[k], c) : lir_dest(l, &e[k]);
    }
    return n;
}

/* Lowers tex and tld4: coordinates, level or gradients, and offsets each have a fixed place among the arguments,
 * whatever the geometry, so that one handler serves them all. Arguments that do not fit into an instruction follow
 * it as LIR_TEX_ARGS. */
static void lower_fetch(struct lir_lower *l, const struct ptx_instr *i)
{
    static const char *const channels[] = {"r", "g", "b", "a"};
    const struct ptx_opnd *c;
    uint32_t args[LIR_TEX_ARGS_MAX] = {0}, row[4], at = handle(l, &i->src[0], &c);
    unsigned g = geometry(l, i), next = 1, mode = LIR_TEX_BASE, imm = g;
    int channel = which(i, channels, 4);
    place(l, g, c, args);
    if (i->op == PTX_OP_TLD4) {
        mode = LIR_TEX_GATHER;
        imm |= (unsigned)(channel < 0 ? 0 : channel) << LIR_TEX_CHANNEL_SHIFT;
    } else if (has(i, "level") && i->nsrc > 1) {
        mode = LIR_TEX_LEVEL;
        args[LIR_TEX_LOD] = word(l, &i->src[next++]);
    } else if (has(i, "grad") && i->nsrc > 2) {
        mode = LIR_TEX_GRAD;
        spread(l, &i->src[next++], args + LIR_TEX_DX);
        spread(l, &i->src[next++], args + LIR_TEX_DY);
    }
    /* Offsets are a vector, as long as the coordinates; a depth, which may stand without them, is not. */
    if (next < i->nsrc && (i->src[next].kind == PTX_O_VEC || has(i, "1d") || has(i, "a1d"))) {
        imm |= LIR_TEX_OFFSET;
        spread(l, &i->src[next++], args + LIR_TEX_OFFSETS);
    }
    if (next < i->nsrc)
        lir_fail(l, "depth comparison is not supported");
    unsigned result = i->type[0] == PTX_F16 ? LIR_TEX_F16 : i->type[0] == PTX_F16X2 ? LIR_TEX_F16X2 : LIR_TEX_32;
    if (i->type[1] == PTX_S32)
        imm |= LIR_TEX_INTEGER;
    imm |= mode << LIR_TEX_MODE_SHIFT | result << LIR_TEX_RESULT_SHIFT;
    data_rows(l, &i->dst[0], false, LIR_CLASS_32, row);
    if (i->ndst > 1) { /* everything is resident */
        uint32_t yes = lir_imm(l, LIR_CLASS_PRED, 0xffffffff);
        lir_emit_move(l, LIR_CLASS_PRED, lir_dest(l, &i->dst[1]), yes);
    }
    struct lir_insn *o = lir_emit(l, LIR_TEX);
    o->aux = i->type[0] == PTX_U32 ? LIR_TEX_UNSIGNED : i->type[0] == PTX_S32 ? LIR_TEX_SIGNED : LIR_TEX_FLOAT;
    o->a = at;
    o->d = row[0];
    o->b = row[1];
    o->c = row[2];
    o->e = row[3];
    o->imm = (int32_t)imm;
    emit_args(l, args, lir_tex_more(imm));
}

/* txq and suq: the number of the word that names what is asked for. */
static void lower_query(struct lir_lower *l, const struct ptx_instr *i)
{
    static const char *const names[] = {"width",
                                        "height",
                                        "depth",
                                        "array_size",
                                        "num_mipmap_levels",
                                        "num_samples",
                                        "channel_data_type",
                                        "channel_order",
                                        "normalized_coords",
                                        "force_unnormalized_coords",
                                        "filter_mode",
                                        "addr_mode_0",
                                        "addr_mode_1",
                                        "addr_mode_2",
                                        "memory_layout"};
    int q = which(i, names, sizeof names / sizeof names[0]);
    if (q < 0)
        lir_fail(l, "query is not supported");
    uint32_t row = handle(l, &i->src[0], NULL), level = i->nsrc > 1 ? word(l, &i->src[1]) : LIR_SINK;
    uint32_t d = lir_dest(l, &i->dst[0]);
    struct lir_insn *o = lir_emit(l, LIR_TEX_QUERY);
    o->d = d;
    o->a = row;
    o->c = level;
    o->imm = q;
    o->aux = i->nsrc > 1;
}

/* Lowers suld, sust and sured. Coordinates are bytes in x and elements else; what a position outside does (.trap,
 * .clamp, .zero) and how elements are converted (.p) are bits of `imm`. */
static void lower_surface(struct lir_lower *l, const struct ptx_instr *i)
{
    static const char *const edges[] = {"trap", "clamp", "zero"};
    const struct ptx_opnd *c;
    bool load = i->op == PTX_OP_SULD, typed = has(i, "p");
    uint32_t args[LIR_TEX_ARGS_MAX] = {0}, row[4], at = handle(l, &i->src[0], &c);
    unsigned g = geometry(l, i), size = ptx_type_size(i->type[0]);
    int edge = which(i, edges, 3);
    if (edge < 0 || !size || size > 8 || (load && typed))
        lir_fail(l, "form of a surface access that is not supported");
    place(l, g, c, args);
    unsigned n = data_rows(l, load ? &i->dst[0] : &i->src[1], !load, size == 8 ? LIR_CLASS_64 : LIR_CLASS_32, row);
    struct lir_insn *o = lir_emit(l, load ? LIR_SULD : i->op == PTX_OP_SURED ? LIR_SURED : LIR_SUST);
    o->a = at;
    o->d = row[0];
    o->b = row[1];
    o->c = row[2];
    o->e = row[3];
    o->aux = i->sub;
    o->imm = (int32_t)(g | (unsigned)__builtin_ctz(size) << LIR_SURF_LOG2_SHIFT |
                       (unsigned)__builtin_ctz(n) << LIR_SURF_VEC_SHIFT | (unsigned)edge << LIR_SURF_EDGE_SHIFT |
                       (typed ? LIR_SURF_TYPED : 0u) |
                       (i->type[0] == PTX_S32 || i->type[0] == PTX_S64 ? LIR_SURF_SIGNED : 0u));
    emit_args(l, args, 0);
}

bool lir_lower_texture(struct lir_lower *l, const struct ptx_instr *i)
{
    switch (i->op) {
    case PTX_OP_TEX:
    case PTX_OP_TLD4: lower_fetch(l, i); return true;
    case PTX_OP_TXQ:
    case PTX_OP_SUQ: lower_query(l, i); return true;
    case PTX_OP_SULD:
    case PTX_OP_SUST:
    case PTX_OP_SURED: lower_surface(l, i); return true;
    default: return false;
    }
}
