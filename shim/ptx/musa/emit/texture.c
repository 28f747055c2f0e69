/* The MUSA emitter: textures and surfaces, by the functions that MUSA C++ shares with CUDA C++. What those cannot
 * say is refused: numbered texels of more than one dimension, offsets, questions about an object, stores that
 * convert, reductions. */
#include "ptx/musa/emit/emit.h"

#include <stdio.h>

/* By enum lir_geometry: the function's name between tex or surf and what it does, coordinates, and whether a
 * layer follows them. */
static const struct {
    const char *name;
    uint8_t axes;
    bool layer;
} shapes[LIR_GEOMETRIES] = {[LIR_GEO_1D] = {"1D", 1, false},
                            [LIR_GEO_2D] = {"2D", 2, false},
                            [LIR_GEO_3D] = {"3D", 3, false},
                            [LIR_GEO_A1D] = {"1DLayered", 1, true},
                            [LIR_GEO_A2D] = {"2DLayered", 2, true},
                            [LIR_GEO_CUBE] = {"Cubemap", 3, false},
                            [LIR_GEO_ACUBE] = {"CubemapLayered", 3, true}};

/* Operand k of the TEX_ARGS that follow. */
static struct mu_str operand(struct mu_emit *e, unsigned k)
{
    const struct lir_insn *a = e->at + 1 + k / 5;
    const uint32_t row[5] = {a->d, a->a, a->b, a->c, a->e};
    return mu_get(e, row[k % 5], 'w');
}

static void axes(struct mu_emit *e, const char *type, unsigned from, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        mu_put(e, ", %s(%s)", type, operand(e, from + k).s);
}

/* A gradient: a number, a pair, or three with one to spare. */
static void gradient(struct mu_emit *e, unsigned from, unsigned n)
{
    if (n == 1) {
        axes(e, "as_f32", from, 1);
        return;
    }
    mu_put(e, ", make_float%u(as_f32(%s)", n == 2 ? 2 : 4, operand(e, from).s);
    axes(e, "as_f32", from + 1, n - 1);
    mu_put(e, n == 3 ? ", 0)" : ")");
}

/* Writes a texture read by the toolkit's functions, which alone know how arrays lie in memory. What CUDA C++ cannot
 * say without inline PTX is refused by name. */
static void fetch(struct mu_emit *e)
{
    static const char *const types[] = {
        [LIR_TEX_FLOAT] = "float4", [LIR_TEX_UNSIGNED] = "uint4", [LIR_TEX_SIGNED] = "int4"};
    static const char *const ways[] = {
        [LIR_TEX_BASE] = "", [LIR_TEX_LEVEL] = "Lod", [LIR_TEX_GRAD] = "Grad", [LIR_TEX_GATHER] = "gather"};
    static const char part[] = "xyzw";
    const struct lir_insn *i = e->at;
    const uint32_t rows[4] = {i->d, i->b, i->c, i->e};
    const unsigned form = (unsigned)i->imm, g = form & LIR_TEX_GEOMETRY;
    const unsigned mode = form >> LIR_TEX_MODE_SHIFT & 3, result = form >> LIR_TEX_RESULT_SHIFT & 3;
    const bool numbered = i->imm & LIR_TEX_INTEGER;
    if (i->imm & LIR_TEX_OFFSET)
        mu_fail(e, "offsets of texture coordinates have no counterpart in MUSA");
    if (numbered && (g != LIR_GEO_1D || mode != LIR_TEX_BASE))
        mu_fail(e, "numbered texels of more than one dimension have no counterpart in MUSA");
    if (result != LIR_TEX_32)
        mu_fail(e, "textures read as f16 have no counterpart in MUSA");
    if (mode == LIR_TEX_GATHER && g != LIR_GEO_2D)
        mu_fail(e, "a gather of another geometry than two dimensions has no counterpart in MUSA");
    mu_put(e, "{\nconst %s t = tex%s%s<%s>((CM_TEXTURE)%s", types[i->aux], shapes[g].name,
           numbered ? "fetch" : ways[mode], types[i->aux], mu_get(e, i->a, 'l').s);
    axes(e, numbered ? "(int)" : "as_f32", LIR_TEX_X, shapes[g].axes);
    if (shapes[g].layer)
        axes(e, "(int)", LIR_TEX_LAYER, 1);
    switch (mode) {
    case LIR_TEX_LEVEL: axes(e, "as_f32", LIR_TEX_LOD, 1); break;
    case LIR_TEX_GRAD:
        gradient(e, LIR_TEX_DX, shapes[g].axes);
        gradient(e, LIR_TEX_DY, shapes[g].axes);
        break;
    case LIR_TEX_GATHER: mu_put(e, ", %u", (unsigned)i->imm >> LIR_TEX_CHANNEL_SHIFT & 3); break;
    default: break;
    }
    mu_put(e, ");\n");
    for (unsigned k = 0; k < 4; k++)
        mu_put(e, i->aux == LIR_TEX_FLOAT ? "%s = bits(t.%c);\n" : "%s = (u32)t.%c;\n", mu_set(e, rows[k], 'w').s,
               part[k]);
    mu_put(e, "}\n");
}

/* ---- surfaces ---- */

/* Writes a surface load or store by the toolkit's functions. */
static void access(struct mu_emit *e, bool store)
{
    static const char *const one[] = {"unsigned char", "unsigned short", "unsigned", "unsigned long long"};
    static const char *const several[] = {"uchar", "ushort", "uint", "ulonglong"};
    static const char *const edges[] = {
        [LIR_SURF_TRAP] = "CM_EDGE_TRAP", [LIR_SURF_CLAMP] = "CM_EDGE_CLAMP", [LIR_SURF_ZERO] = "CM_EDGE_ZERO"};
    static const char part[] = "xyzw";
    const struct lir_insn *i = e->at;
    const uint32_t rows[4] = {i->d, i->b, i->c, i->e};
    const unsigned form = (unsigned)i->imm, g = form & LIR_TEX_GEOMETRY;
    const unsigned log2 = form >> LIR_SURF_LOG2_SHIFT & 3, n = 1u << (form >> LIR_SURF_VEC_SHIFT & 3);
    const char kind = log2 == 3 ? 'l' : 'w';
    char type[24];
    if (i->imm & LIR_SURF_TYPED)
        mu_fail(e, "stores that convert to a surface's format have no counterpart in MUSA");
    if (n << log2 > 16)
        mu_fail(e, "a surface access of more than 16 bytes");
    snprintf(type, sizeof type, n == 1 ? "%s" : "%s%u", n == 1 ? one[log2] : several[log2], n);
    mu_put(e, "{\n");
    if (store) {
        mu_put(e, n == 1 ? "const %s v = (%s)%s;\n" : "%s v;\n", type, type, mu_get(e, rows[0], kind).s);
        for (unsigned k = 0; n > 1 && k < n; k++)
            mu_put(e, "v.%c = (%s)%s;\n", part[k], one[log2], mu_get(e, rows[k], kind).s);
        mu_put(e, "surf%swrite(v, ", shapes[g].name);
    } else {
        mu_put(e, "const %s v = surf%sread<%s>(", type, shapes[g].name, type);
    }
    mu_put(e, "(CM_SURFACE)%s", mu_get(e, i->a, 'l').s);
    axes(e, "(int)", LIR_TEX_X, shapes[g].axes);
    if (shapes[g].layer)
        axes(e, "(int)", LIR_TEX_LAYER, 1);
    mu_put(e, ", %s);\n", edges[(unsigned)i->imm >> LIR_SURF_EDGE_SHIFT & 3]);
    for (unsigned k = 0; !store && k < n; k++)
        if (n == 1)
            mu_put(e, "%s = v;\n", mu_set(e, rows[k], kind).s);
        else
            mu_put(e, "%s = v.%c;\n", mu_set(e, rows[k], kind).s, part[k]);
    mu_put(e, "}\n");
}

bool mu_texture(struct mu_emit *e)
{
    switch (e->at->op) {
    case LIR_TEX: fetch(e); break;
    case LIR_SULD: access(e, false); break;
    case LIR_SUST: access(e, true); break;
    case LIR_SURED: mu_fail(e, "reductions on surfaces have no counterpart in MUSA");
    case LIR_TEX_QUERY: mu_fail(e, "questions about a texture or surface have no counterpart in MUSA");
    default: return false;
    }
    return true;
}
