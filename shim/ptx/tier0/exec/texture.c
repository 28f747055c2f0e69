/* Reading textures: addressing, filtering and conversion of one fetch, as the CUDA programming
 * guide documents them (appendix on texture fetching). */
#include "ptx/tier0/texture.h"

#include <math.h>
#include <string.h>

#include "ptx/tier0/exec/half.h"

unsigned t0_texel_bytes(unsigned format)
{
    static const uint8_t bytes[T0_TEXEL_FORMATS] = {1, 2, 4, 1, 2, 4, 2, 4};
    return format < T0_TEXEL_FORMATS ? bytes[format] : 4;
}

static float from_srgb(float c)
{
    return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
}

/* One channel as reads give it. */
static uint32_t channel(const struct t0_texture *t, const uint8_t *p, unsigned k)
{
    uint16_t h;
    uint32_t w;
    float f;
    p += (size_t)k * t0_texel_bytes(t->format);
    memcpy(&h, p, t0_texel_bytes(t->format) >= 2 ? 2 : 1);
    switch (t->format) {
    case T0_TEXEL_U8:
        if (!t->as_float)
            return *p;
        f = (float)*p / 255.0f;
        return t0_bits(t->srgb && k < 3 ? from_srgb(f) : f);
    case T0_TEXEL_S8:
        return t->as_float ? t0_bits(fmaxf((float)(int8_t)*p / 127.0f, -1.0f))
                           : (uint32_t)(int8_t)*p;
    case T0_TEXEL_U16: return t->as_float ? t0_bits((float)h / 65535.0f) : h;
    case T0_TEXEL_S16:
        return t->as_float ? t0_bits(fmaxf((float)(int16_t)h / 32767.0f, -1.0f))
                           : (uint32_t)(int16_t)h;
    case T0_TEXEL_F16: return t0_bits(t0_from_f16(h));
    default: memcpy(&w, p, 4); return w;
    }
}

static void read_element(const struct t0_texture *t, const uint8_t *p, uint32_t out[4])
{
    out[1] = out[2] = 0;
    out[3] = t->as_float ? t0_bits(1.0f) : 1;
    for (unsigned k = 0; k < t->channels; k++)
        out[k] = channel(t, p, k);
}

static uint32_t saturate(uint32_t v, unsigned bits, bool is_signed)
{
    int32_t top = (int32_t)((1u << (bits - 1)) - 1);
    if (!is_signed)
        return v >> bits ? (1u << bits) - 1 : v;
    return (int32_t)v > top ? (uint32_t)top : (int32_t)v < -top - 1 ? (uint32_t)(-top - 1) : v;
}

void t0_texel_store(const struct t0_texture *t, uint8_t *p, const uint32_t in[4])
{
    unsigned size = t0_texel_bytes(t->format);
    bool is_signed = t->format >= T0_TEXEL_S8 && t->format <= T0_TEXEL_S32;
    for (unsigned k = 0; k < t->channels; k++) {
        uint32_t v = t->format == T0_TEXEL_F16 ? t0_to_f16(t0_float(in[k]))
                     : size < 4                ? saturate(in[k], 8 * size, is_signed)
                                               : in[k];
        memcpy(p + (size_t)k * size, &v, size);
    }
}

/* ---- addressing ------------------------------------------------------------------------------ */

/* Texel index on an axis of n, -1 = the border. */
static int64_t place(int64_t i, int64_t n, unsigned mode)
{
    int64_t m;
    switch (mode) {
    case T0_ADDR_WRAP: m = i % n; return m < 0 ? m + n : m;
    case T0_ADDR_MIRROR:
        m = i % (2 * n);
        m = m < 0 ? m + 2 * n : m;
        return m < n ? m : 2 * n - 1 - m;
    case T0_ADDR_BORDER: return i < 0 || i >= n ? -1 : i;
    default: return i < 0 ? 0 : i >= n ? n - 1 : i;
    }
}

/* Face that a direction points to and the place on it, both from 0 to 1. */
static unsigned cube_face(const float d[3], float st[2])
{
    static const struct { int8_t s, t, s_sign, t_sign; } way[6] = {
        {2, 1, -1, -1}, {2, 1, 1, -1}, {0, 2, 1, 1}, {0, 2, 1, -1}, {0, 1, 1, -1}, {0, 1, -1, -1}};
    float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]);
    unsigned axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2, face = 2 * axis + (d[axis] < 0);
    float m = fabsf(d[axis]);
    st[0] = ((float)way[face].s_sign * d[way[face].s] / m + 1) / 2;
    st[1] = ((float)way[face].t_sign * d[way[face].t] / m + 1) / 2;
    return face;
}

/* A texel beyond the edge of a face lies on its neighbour. */
static unsigned over_edge(unsigned face, int64_t i[2], int64_t n)
{
    float s = (2 * (float)i[0] + 1) / (float)n - 1, t = (2 * (float)i[1] + 1) / (float)n - 1, st[2];
    const float at[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1},
                            {-s, -t, -1}};
    face = cube_face(at[face], st);
    for (unsigned k = 0; k < 2; k++)
        i[k] = place((int64_t)floorf(st[k] * (float)n), n, T0_ADDR_CLAMP);
    return face;
}

struct spot { /* where a fetch looks, in one level */
    const struct t0_texture *t;
    const struct t0_texture_level *l;
    unsigned dims, mode[3];
    bool cube;
    uint32_t layer, face;
    int64_t i[3];
    float weight[3]; /* of the next texel on each axis */
};

static void texel(const struct spot *s, const int64_t step[3], uint32_t out[4])
{
    const struct t0_texture_level *l = s->l;
    int64_t at[3] = {0, 0, 0};
    const uint32_t size[3] = {l->width, l->height, l->depth};
    uint32_t layer = s->layer;
    if (s->t->linear_memory && (s->i[0] < 0 || s->i[0] >= l->width)) {
        memset(out, 0, 16);
        return;
    }
    for (unsigned k = 0; k < s->dims; k++)
        at[k] = s->i[k] + step[k];
    if (s->cube) {
        unsigned face = s->face;
        if (s->t->seamless &&
            (at[0] < 0 || at[0] >= l->width || at[1] < 0 || at[1] >= l->height))
            face = over_edge(face, at, l->width);
        layer = layer * 6 + face;
    }
    for (unsigned k = 0; k < s->dims; k++) {
        at[k] = place(at[k], size[k], s->mode[k]);
        if (at[k] < 0) {
            memcpy(out, s->t->border, 16);
            return;
        }
    }
    uint64_t z = s->dims == 3 ? (uint64_t)at[2] : layer < l->depth ? layer : l->depth - 1;
    read_element(s->t, l->data + z * l->slice + (uint64_t)at[1] * l->pitch +
                           (uint64_t)at[0] * t0_texel_bytes(s->t->format) * s->t->channels, out);
}

static double tame(double x)
{
    return x != x ? 0 : x > 0x1p40 ? 0x1p40 : x < -0x1p40 ? -0x1p40 : x;
}

/* Coordinates -> texel indices and weights. Weights have 8 bits of fraction. */
static void locate(struct spot *s, const struct t0_texture *t, const struct t0_texture_query *q,
                   unsigned level, bool between)
{
    static const uint8_t dims[T0_GEOMETRIES] = {1, 2, 3, 1, 2, 2, 2};
    bool array = q->geometry == T0_GEO_A1D || q->geometry == T0_GEO_A2D ||
                 q->geometry == T0_GEO_ACUBE;
    float f[3] = {q->f[0], q->f[1], q->f[2]};
    *s = (struct spot){.t = t, .l = &t->level[level], .dims = dims[q->geometry],
                       .cube = q->geometry >= T0_GEO_CUBE};
    const uint32_t size[3] = {s->l->width, s->l->height, s->l->depth};
    if (array) {
        uint32_t n = s->cube ? s->l->depth / 6 : s->l->depth;
        s->layer = q->layer < 0 ? 0 : (uint32_t)q->layer < n ? (uint32_t)q->layer : n ? n - 1 : 0;
    }
    if (s->cube)
        s->face = cube_face(q->f, f);
    for (unsigned k = 0; k < s->dims; k++) {
        unsigned mode = s->cube ? T0_ADDR_CLAMP : t->address[k];
        bool scaled = t->normalized || s->cube;
        s->mode[k] = scaled || mode == T0_ADDR_BORDER ? mode : T0_ADDR_CLAMP;
        if (q->integer) {
            s->i[k] = (int64_t)q->i[k] + q->offset[k];
            continue;
        }
        double x = tame(f[k]);
        if (scaled)
            x = (mode == T0_ADDR_WRAP ? x - floor(x) : x) * size[k];
        if (between) {
            int64_t fixed = (int64_t)floor(x * 256 - 128 + 0.5);
            s->i[k] = (fixed >> 8) + q->offset[k];
            s->weight[k] = (float)(fixed & 255) / 256;
        } else {
            s->i[k] = (int64_t)floor(x) + q->offset[k];
        }
    }
}

static void fetch_level(const struct t0_texture *t, const struct t0_texture_query *q,
                        unsigned level, uint32_t out[4])
{
    struct spot s;
    bool between = t->linear && t->as_float && !q->integer;
    locate(&s, t, q, level, between);
    if (!between) {
        texel(&s, (const int64_t[3]){0, 0, 0}, out);
        return;
    }
    float sum[4] = {0};
    for (unsigned corner = 0; corner < 1u << s.dims; corner++) {
        int64_t step[3] = {corner & 1, corner >> 1 & 1, corner >> 2};
        float weight = 1;
        uint32_t v[4];
        for (unsigned k = 0; k < s.dims; k++)
            weight *= step[k] ? s.weight[k] : 1 - s.weight[k];
        if (weight == 0)
            continue;
        texel(&s, step, v);
        for (unsigned k = 0; k < 4; k++)
            sum[k] += weight * t0_float(v[k]);
    }
    for (unsigned k = 0; k < 4; k++)
        out[k] = t0_bits(sum[k]);
}

/* Level of detail within what the texture has; levels are numbered from 0. */
static float level_of(const struct t0_texture *t, float lod)
{
    float top = (float)(t->levels - 1);
    lod += t->bias;
    lod = lod > t->max_lod ? t->max_lod : lod;
    lod = lod >= t->min_lod ? lod : t->min_lod;
    return lod > top ? top : lod > 0 ? lod : 0;
}

void t0_texture_fetch(const struct t0_texture *t, const struct t0_texture_query *q,
                      uint32_t out[4])
{
    if (t->levels < 2) {
        fetch_level(t, q, 0, out);
        return;
    }
    float lod = level_of(t, q->lod);
    if (!t->mip_linear || !t->as_float) {
        fetch_level(t, q, (unsigned)(lod + 0.5f), out);
        return;
    }
    unsigned fixed = (unsigned)(lod * 256 + 0.5f), level = fixed >> 8;
    float weight = (float)(fixed & 255) / 256;
    fetch_level(t, q, level, out);
    if (weight == 0)
        return;
    uint32_t next[4];
    fetch_level(t, q, level + 1, next);
    for (unsigned k = 0; k < 4; k++)
        out[k] = t0_bits((1 - weight) * t0_float(out[k]) + weight * t0_float(next[k]));
}

void t0_texture_gather(const struct t0_texture *t, const struct t0_texture_query *q, unsigned which,
                       uint32_t out[4])
{
    static const int64_t step[4][3] = {{0, 1, 0}, {1, 1, 0}, {1, 0, 0}, {0, 0, 0}};
    struct spot s;
    uint32_t v[4];
    locate(&s, t, q, 0, true);
    for (unsigned k = 0; k < 4; k++) {
        texel(&s, step[k], v);
        out[k] = v[which & 3];
    }
}

float t0_texture_lod(const struct t0_texture *t, unsigned geometry, const float dx[3],
                     const float dy[3])
{
    const float size[3] = {(float)t->level[0].width, (float)t->level[0].height,
                           (float)t->level[0].depth};
    unsigned n = geometry == T0_GEO_1D || geometry == T0_GEO_A1D   ? 1
                 : geometry == T0_GEO_2D || geometry == T0_GEO_A2D ? 2
                                                                   : 3;
    float x = 0, y = 0;
    for (unsigned k = 0; k < n; k++) {
        float scale = geometry >= T0_GEO_CUBE ? size[0] / 2 : t->normalized ? size[k] : 1;
        x += dx[k] * scale * dx[k] * scale;
        y += dy[k] * scale * dy[k] * scale;
    }
    x = x > y ? x : y;
    return x > 0 ? 0.5f * log2f(x) : -128;
}
