/* Tier 0 execution: textures and surfaces. */
#include "ptx/tier0/warp.h"

#include <string.h>

#include "half/half.h"
#include "ptx/tier0/texture.h"
#include "ptx/tier0/texture_spot.h"

/* Row of an operand in the TEX_ARGS that follow. */
static uint32_t arg(const struct lir_insn *i, unsigned k)
{
    const struct lir_insn *a = i + 1 + k / 5;
    const uint32_t row[5] = {a->d, a->a, a->b, a->c, a->e};
    return row[k % 5];
}

const struct t0_texture *t0_texture_object(uint64_t handle, bool surface)
{
    const struct t0_texture *t = (const struct t0_texture *)(uintptr_t)handle;
    return handle && !(handle & 7) && t->magic == T0_TEXTURE_MAGIC && t->surface == surface ? t : NULL;
}

/* The object a lane names; a fault if it is none. */
static const struct t0_texture *object(struct t0_warp *w, const struct lir_insn *i, unsigned lane, bool surface)
{
    const uint64_t h = T0_U64(w, i->a)[lane];
    const struct t0_texture *t = t0_texture_object(h, surface);
    if (!t)
        t0_raise(w, i, T0_FAULT_ADDRESS, lane, h);
    return t;
}

static void store_result(struct t0_warp *w, const struct lir_insn *i, unsigned lane, bool as_float, const uint32_t v[4])
{
    const uint32_t rows[4] = {i->d, i->b, i->c, i->e};
    unsigned kind = (unsigned)i->imm >> LIR_TEX_RESULT_SHIFT & 3;
    uint32_t h[4];
    if (kind == LIR_TEX_32) {
        for (unsigned k = 0; k < 4; k++)
            T0_U32(w, rows[k])[lane] = v[k];
        return;
    }
    for (unsigned k = 0; k < 4; k++)
        h[k] = as_float ? f32_to_f16(f32_from(v[k])) : v[k] & 0xffff;
    for (unsigned k = 0; k < (kind == LIR_TEX_F16 ? 4 : 2); k++)
        T0_U32(w, rows[k])[lane] = kind == LIR_TEX_F16 ? h[k] : h[2 * k] | h[2 * k + 1] << 16;
}

/* The whole warp at once, if it reads one texture in one of the commonest ways. */
static bool tex_lanes(struct t0_warp *w, const struct lir_insn *i)
{
    const uint64_t *handle = T0_U64(w, i->a);
    unsigned first = (unsigned)__builtin_ctz(w->l.mask);
    const uint32_t form = LIR_TEX_GEOMETRY | LIR_TEX_INTEGER | 3u << LIR_TEX_MODE_SHIFT | 3u << LIR_TEX_RESULT_SHIFT |
                          LIR_TEX_OFFSET;
    bool flat = ((uint32_t)i->imm & form) == (LIR_GEO_1D | LIR_TEX_INTEGER), done;
    if (!flat && ((uint32_t)i->imm & form) != LIR_GEO_2D)
        return false;
    T0_FOR_LANES(l, w->l.mask)
    if (handle[l] != handle[first])
        return false;
    const struct t0_texture *t = object(w, i, first, false);
    uint32_t row[LIR_LANES];
    if (flat)
        done = t0_texture_fetch_linear(t, w->l.mask, T0_U32(w, arg(i, LIR_TEX_X)), row);
    else
        done = t0_texture_fetch_lanes(t, w->l.mask, T0_F32(w, arg(i, LIR_TEX_X)), T0_F32(w, arg(i, LIR_TEX_X + 1)),
                                      row);
    if (!done)
        return false;
    T0_FOR_LANES(l, w->l.mask)
    {
        T0_U32(w, i->b)[l] = T0_U32(w, i->c)[l] = 0;
        T0_U32(w, i->e)[l] = t->as_float ? f32_bits(1.0f) : 1;
        T0_U32(w, i->d)[l] = row[l];
    }
    return true;
}

/* Fetches texels lane by lane, unless all lanes fetch alike from a simple texture (tex_lanes). The texture object is
 * looked up anew only where a lane's handle differs from the one before. */
static void tex(struct t0_warp *w, const struct lir_insn *i)
{
    unsigned mode = (unsigned)i->imm >> LIR_TEX_MODE_SHIFT & 3;
    bool integer = i->imm & LIR_TEX_INTEGER, more = lir_tex_more((uint32_t)i->imm);
    const uint32_t *row[LIR_TEX_ARGS_MAX];
    const struct t0_texture *t = NULL;
    uint64_t handle = 0;
    struct t0_texture_query q = {.geometry = (unsigned)i->imm & LIR_TEX_GEOMETRY, .integer = integer};
    w->at = i;
    if (q.geometry >= LIR_GEOMETRIES || tex_lanes(w, i))
        return;
    for (unsigned k = 0; k < (more ? LIR_TEX_ARGS_MAX : 5); k++)
        row[k] = T0_U32(w, arg(i, k));
    T0_FOR_LANES(l, w->l.mask)
    {
        float dx[3], dy[3];
        uint32_t v[4];
        if (T0_U64(w, i->a)[l] != handle || !t) {
            t = object(w, i, l, false);
            handle = T0_U64(w, i->a)[l];
        }
        q.layer = (int32_t)row[LIR_TEX_LAYER][l];
        for (unsigned k = 0; k < 3; k++) {
            q.i[k] = (int32_t)row[LIR_TEX_X + k][l];
            q.f[k] = f32_from(row[LIR_TEX_X + k][l]);
        }
        for (unsigned k = 0; more && k < 3; k++) {
            q.offset[k] = i->imm & LIR_TEX_OFFSET ? (int32_t)row[LIR_TEX_OFFSETS + k][l] : 0;
            dx[k] = f32_from(row[LIR_TEX_DX + k][l]);
            dy[k] = f32_from(row[LIR_TEX_DY + k][l]);
        }
        if (mode == LIR_TEX_LEVEL)
            q.lod = integer ? (float)(int32_t)row[LIR_TEX_LOD][l] : f32_from(row[LIR_TEX_LOD][l]);
        else if (mode == LIR_TEX_GRAD)
            q.lod = t0_texture_lod(t, q.geometry, dx, dy);
        if (mode == LIR_TEX_GATHER)
            t0_texture_gather(t, &q, (unsigned)i->imm >> LIR_TEX_CHANNEL_SHIFT, v);
        else
            t0_texture_fetch(t, &q, v);
        store_result(w, i, l, t->as_float, v);
    }
}

/* What txq and suq answer of a texture object. */
static uint32_t query(const struct t0_texture *t, unsigned what, uint32_t level)
{
    /* The numbers of OpenCL's channel types, which PTX uses: by format, scaled ones first. */
    static const uint16_t types[T0_TEXEL_FORMATS] = {0x10da, 0x10db, 0x10dc, 0x10d7, 0x10d8, 0x10d9, 0x10dd, 0x10de};
    static const uint16_t scaled[T0_TEXEL_FORMATS] = {0x10d2, 0x10d3, 0x10dc, 0x10d0, 0x10d1, 0x10d9, 0x10dd, 0x10de};
    const struct t0_texture_level *l = &t->level[level < t->levels ? level : t->levels ? t->levels - 1 : 0];
    switch (what) {
    case LIR_TXQ_WIDTH: return l->width;
    case LIR_TXQ_HEIGHT: return l->height;
    case LIR_TXQ_DEPTH:
    case LIR_TXQ_ARRAY_SIZE: return l->depth;
    case LIR_TXQ_LEVELS: return t->levels;
    case LIR_TXQ_SAMPLES: return 1;
    case LIR_TXQ_DATA_TYPE: return (t->as_float ? scaled : types)[t->format % T0_TEXEL_FORMATS];
    case LIR_TXQ_ORDER: return t->channels == 1 ? 0x10b0 : t->channels == 2 ? 0x10b2 : 0x10b5;
    case LIR_TXQ_NORMALIZED: return t->normalized;
    case LIR_TXQ_FILTER: return t->linear;
    case LIR_TXQ_ADDRESS:
    case LIR_TXQ_ADDRESS + 1:
    case LIR_TXQ_ADDRESS + 2: return t->address[what - LIR_TXQ_ADDRESS];
    default: return 0;
    }
}

static void tex_query(struct t0_warp *w, const struct lir_insn *i)
{
    w->at = i;
    T0_FOR_LANES(l, w->l.mask)
    {
        uint64_t h = T0_U64(w, i->a)[l];
        const struct t0_texture *t = (const struct t0_texture *)(uintptr_t)h;
        if (!h || h & 7 || t->magic != T0_TEXTURE_MAGIC)
            t0_raise(w, i, T0_FAULT_ADDRESS, l, h);
        T0_U32(w, i->d)[l] = query(t, (unsigned)i->imm, i->aux ? T0_U32(w, i->c)[l] : 0);
    }
}

/* ---- surfaces -------------------------------------------------------------------------------- */

static bool fit(int64_t *x, int64_t n, unsigned edge)
{
    if (*x >= 0 && *x < n)
        return true;
    *x = *x < 0 ? 0 : n - 1;
    return edge == LIR_SURF_CLAMP;
}

void t0_surface_locate(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_texture *t,
                       struct t0_spot *o)
{
    const unsigned edge = (unsigned)i->imm >> LIR_SURF_EDGE_SHIFT & 3, g = i->imm & LIR_TEX_GEOMETRY;
    const unsigned log2 = (unsigned)i->imm >> LIR_SURF_LOG2_SHIFT & 3, n = (unsigned)i->imm >> LIR_SURF_VEC_SHIFT & 3;
    const struct t0_texture_level *s = &t->level[0];
    const unsigned element = t0_texel_bytes(t->format) * t->channels;
    int64_t x = (int32_t)T0_U32(w, arg(i, LIR_TEX_X))[lane], y = 0, z = 0;
    const bool typed = i->imm & LIR_SURF_TYPED;
    if (g != LIR_GEO_1D && g != LIR_GEO_A1D)
        y = (int32_t)T0_U32(w, arg(i, LIR_TEX_X + 1))[lane];
    if (g == LIR_GEO_3D)
        z = (int32_t)T0_U32(w, arg(i, LIR_TEX_X + 2))[lane];
    else if (g == LIR_GEO_A1D || g == LIR_GEO_A2D)
        z = (int32_t)T0_U32(w, arg(i, LIR_TEX_LAYER))[lane];
    *o = (struct t0_spot){.at = {x, y, z}, .unit = typed ? element : 1u << (log2 + n)};
    o->width = (uint64_t)s->width * element;
    o->misaligned = !typed && x % o->unit;
    if (!typed)
        x = x / o->unit;
    bool inside = fit(&x, (int64_t)s->width * element / o->unit, edge);
    inside &= fit(&y, s->height, edge);
    inside &= fit(&z, s->depth, edge);
    o->traps = !inside && edge == LIR_SURF_TRAP;
    if (inside && x >= 0)
        o->p = s->data + (uint64_t)z * s->slice + (uint64_t)y * s->pitch + (uint64_t)(x * o->unit);
}

/* Address of what a lane accesses; NULL: outside, and nothing happens. */
static uint8_t *spot(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_texture *t)
{
    struct t0_spot s;
    t0_surface_locate(w, i, lane, t, &s);
    if (s.misaligned)
        t0_raise(w, i, T0_FAULT_MISALIGNED, lane, (uint64_t)s.at[0]);
    if (s.traps)
        t0_raise(w, i, T0_FAULT_ADDRESS, lane, (uint64_t)(uintptr_t)t->level[0].data);
    return s.p;
}

static void suld(struct t0_warp *w, const struct lir_insn *i)
{
    unsigned log2 = (unsigned)i->imm >> LIR_SURF_LOG2_SHIFT & 3;
    unsigned n = 1u << ((unsigned)i->imm >> LIR_SURF_VEC_SHIFT & 3), size = 1u << log2;
    const uint32_t rows[4] = {i->d, i->b, i->c, i->e};
    w->at = i;
    T0_FOR_LANES(l, w->l.mask)
    {
        const uint8_t *p = spot(w, i, l, object(w, i, l, true));
        for (unsigned k = 0; k < n && k < 4; k++) {
            uint64_t v = 0;
            if (p)
                memcpy(&v, p + (size_t)k * size, size);
            if (log2 == 3)
                T0_U64(w, rows[k])[l] = v;
            else
                T0_U32(w, rows[k])[l] = (uint32_t)v;
        }
    }
}

static void sust(struct t0_warp *w, const struct lir_insn *i)
{
    unsigned log2 = (unsigned)i->imm >> LIR_SURF_LOG2_SHIFT & 3;
    unsigned n = 1u << ((unsigned)i->imm >> LIR_SURF_VEC_SHIFT & 3), size = 1u << log2;
    const uint32_t rows[4] = {i->d, i->b, i->c, i->e};
    w->at = i;
    T0_FOR_LANES(l, w->l.mask)
    {
        const struct t0_texture *t = object(w, i, l, true);
        uint8_t *p = spot(w, i, l, t);
        uint32_t in[4] = {0};
        for (unsigned k = 0; p && k < n && k < 4; k++) {
            uint64_t v = log2 == 3 ? T0_U64(w, rows[k])[l] : T0_U32(w, rows[k])[l];
            in[k] = (uint32_t)v;
            if (!(i->imm & LIR_SURF_TYPED))
                memcpy(p + (size_t)k * size, &v, size);
        }
        if (p && i->imm & LIR_SURF_TYPED)
            t0_texel_store(t, p, in);
    }
}

/* Reductions; the surface's rows are aligned to more than 8 bytes. */
#define REDUCE(name, type) \
    static void name(type *p, type v, unsigned op) \
    { \
        type old = __atomic_load_n(p, __ATOMIC_RELAXED), new; \
        do \
            new = op == PTX_SUB_ADD   ? old + v \
                  : op == PTX_SUB_MIN ? (v < old ? v : old) \
                  : op == PTX_SUB_MAX ? (v > old ? v : old) \
                  : op == PTX_SUB_AND ? (old & v) \
                                      : (old | v); \
        while (!__atomic_compare_exchange_n(p, &old, new, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)); \
    }
REDUCE(reduce_u32, uint32_t)
REDUCE(reduce_s32, int32_t)
REDUCE(reduce_u64, uint64_t)
REDUCE(reduce_s64, int64_t)
#undef REDUCE

/* Reductions on a surface, lane by lane, each an atomic of the host. Which type an element has, the instruction says
 * (.b) or the surface (.p). */
static void sured(struct t0_warp *w, const struct lir_insn *i)
{
    bool wide = ((unsigned)i->imm >> LIR_SURF_LOG2_SHIFT & 3) == 3, sign = i->imm & LIR_SURF_SIGNED;
    unsigned op = i->aux;
    w->at = i;
    T0_FOR_LANES(l, w->l.mask)
    {
        const struct t0_texture *t = object(w, i, l, true);
        unsigned unit = t0_texel_bytes(t->format) * t->channels;
        uint8_t *p = spot(w, i, l, t);
        if (i->imm & LIR_SURF_TYPED) { /* the surface says what an element is */
            if (unit != (wide ? 8u : 4u))
                t0_raise(w, i, T0_FAULT_ADDRESS, l, T0_U64(w, i->a)[l]);
            sign = t->format == T0_TEXEL_S32;
        }
        if (!p)
            continue;
        void *q = p;
        if (wide && sign && op != PTX_SUB_ADD) /* a signed sum must not overflow in C */
            reduce_s64(q, (int64_t)T0_U64(w, i->d)[l], op);
        else if (wide)
            reduce_u64(q, T0_U64(w, i->d)[l], op);
        else if (sign && op != PTX_SUB_ADD)
            reduce_s32(q, (int32_t)T0_U32(w, i->d)[l], op);
        else
            reduce_u32(q, T0_U32(w, i->d)[l], op);
    }
}

static void tex_args(struct t0_warp *w, const struct lir_insn *i)
{
    (void)w; /* read by the instruction before */
    (void)i;
}

void t0_texture_handlers(t0_handler *table[LIR_NOPS])
{
    table[LIR_TEX] = tex;
    table[LIR_TEX_QUERY] = tex_query;
    table[LIR_SULD] = suld;
    table[LIR_SUST] = sust;
    table[LIR_SURED] = sured;
    table[LIR_TEX_ARGS] = tex_args;
}
