/* The MUSA emitter: textures and surfaces, by the functions that MUSA C++ shares with CUDA C++. What those cannot
 * say is refused: numbered texels of more than one dimension, offsets, questions about an object, stores that
 * convert, reductions. */
#include "ptx/musa/emit/emit.h"
#include "ptx/tier0/texture.h"

#include <stdio.h>

/* By enum t0_geometry: the function's name between tex or surf and what it does, coordinates, and whether a
 * layer follows them. */
static const struct { const char *name; uint8_t axes; bool layer; } shapes[T0_GEOMETRIES] = {
    [T0_GEO_1D] = {"1D", 1, false},          [T0_GEO_2D] = {"2D", 2, false},
    [T0_GEO_3D] = {"3D", 3, false},          [T0_GEO_A1D] = {"1DLayered", 1, true},
    [T0_GEO_A2D] = {"2DLayered", 2, true},   [T0_GEO_CUBE] = {"Cubemap", 3, false},
    [T0_GEO_ACUBE] = {"CubemapLayered", 3, true},
};

/* Operand k of the TEX_ARGS that follow. */
static struct mu_str operand(struct mu_emit *e, unsigned k)
{
    const struct t0_insn *a = e->at + 1 + k / 5;
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

static void fetch(struct mu_emit *e)
{
    static const char *const types[] = {
        [T0_TEX_FLOAT] = "float4", [T0_TEX_UNSIGNED] = "uint4", [T0_TEX_SIGNED] = "int4"};
    static const char *const ways[] = {[T0_TEX_BASE] = "", [T0_TEX_LEVEL] = "Lod", [T0_TEX_GRAD] = "Grad",
                                       [T0_TEX_GATHER] = "gather"};
    static const char part[] = "xyzw";
    const struct t0_insn *i = e->at;
    const uint32_t rows[4] = {i->d, i->b, i->c, i->e};
    const unsigned form = (unsigned)i->imm, g = form & T0_TEX_GEOMETRY;
    const unsigned mode = form >> T0_TEX_MODE_SHIFT & 3, result = form >> T0_TEX_RESULT_SHIFT & 3;
    const bool numbered = i->imm & T0_TEX_INTEGER;
    if (i->imm & T0_TEX_OFFSET)
        mu_fail(e, "offsets of texture coordinates have no counterpart in MUSA");
    if (numbered && (g != T0_GEO_1D || mode != T0_TEX_BASE))
        mu_fail(e, "numbered texels of more than one dimension have no counterpart in MUSA");
    if (result != T0_TEX_32)
        mu_fail(e, "textures read as f16 have no counterpart in MUSA");
    if (mode == T0_TEX_GATHER && g != T0_GEO_2D)
        mu_fail(e, "a gather of another geometry than two dimensions has no counterpart in MUSA");
    mu_put(e, "{\nconst %s t = tex%s%s<%s>((CM_TEXTURE)%s", types[i->aux], shapes[g].name,
           numbered ? "fetch" : ways[mode], types[i->aux], mu_get(e, i->a, 'l').s);
    axes(e, numbered ? "(int)" : "as_f32", T0_TEX_X, shapes[g].axes);
    if (shapes[g].layer)
        axes(e, "(int)", T0_TEX_LAYER, 1);
    switch (mode) {
    case T0_TEX_LEVEL: axes(e, "as_f32", T0_TEX_LOD, 1); break;
    case T0_TEX_GRAD:
        gradient(e, T0_TEX_DX, shapes[g].axes);
        gradient(e, T0_TEX_DY, shapes[g].axes);
        break;
    case T0_TEX_GATHER: mu_put(e, ", %u", (unsigned)i->imm >> T0_TEX_CHANNEL_SHIFT & 3); break;
    default: break;
    }
    mu_put(e, ");\n");
    for (unsigned k = 0; k < 4; k++)
        mu_put(e, i->aux == T0_TEX_FLOAT ? "%s = bits(t.%c);\n" : "%s = (u32)t.%c;\n", mu_set(e, rows[k], 'w').s,
               part[k]);
    mu_put(e, "}\n");
}

/* ---- surfaces ---- */

static void access(struct mu_emit *e, bool store)
{
    static const char *const one[] = {"unsigned char", "unsigned short", "unsigned", "unsigned long long"};
    static const char *const several[] = {"uchar", "ushort", "uint", "ulonglong"};
    static const char *const edges[] = {[T0_SURF_TRAP] = "CM_EDGE_TRAP", [T0_SURF_CLAMP] = "CM_EDGE_CLAMP",
                                        [T0_SURF_ZERO] = "CM_EDGE_ZERO"};
    static const char part[] = "xyzw";
    const struct t0_insn *i = e->at;
    const uint32_t rows[4] = {i->d, i->b, i->c, i->e};
    const unsigned form = (unsigned)i->imm, g = form & T0_TEX_GEOMETRY;
    const unsigned log2 = form >> T0_SURF_LOG2_SHIFT & 3, n = 1u << (form >> T0_SURF_VEC_SHIFT & 3);
    const char kind = log2 == 3 ? 'l' : 'w';
    char type[24];
    if (i->imm & T0_SURF_TYPED)
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
    axes(e, "(int)", T0_TEX_X, shapes[g].axes);
    if (shapes[g].layer)
        axes(e, "(int)", T0_TEX_LAYER, 1);
    mu_put(e, ", %s);\n", edges[(unsigned)i->imm >> T0_SURF_EDGE_SHIFT & 3]);
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
    case T0_TEX: fetch(e); break;
    case T0_SULD: access(e, false); break;
    case T0_SUST: access(e, true); break;
    case T0_SURED: mu_fail(e, "reductions on surfaces have no counterpart in MUSA");
    case T0_TEX_QUERY: mu_fail(e, "questions about a texture or surface have no counterpart in MUSA");
    default: return false;
    }
    return true;
}
