/* Reading textures: addressing, filtering and conversion of one fetch, as the CUDA programming
 * guide documents them (appendix on texture fetching). */
#include "ptx/tier0/texture.h"

#include <math.h>
#include <string.h>

#include "half/half.h"

unsigned t0_texel_bytes(unsigned format)
{
    static const uint8_t bytes[T0_TEXEL_FORMATS] = {1, 2, 4, 1, 2, 4, 2, 4};
    return format < T0_TEXEL_FORMATS ? bytes[format] : 4;
}

static float from_srgb(float c) { return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f); }

/* The channels of an element as reads give them; a format at a time, since this is where most of a
 * fetch's time goes. */
static void read_element(const struct t0_texture *t, const uint8_t *p, uint32_t out[4])
{
    unsigned n = t->channels;
    bool scaled = t->as_float;
    uint16_t h[4] = {0};
    switch (t->format) {
    case T0_TEXEL_U8:
        for (unsigned k = 0; k < n; k++)
            out[k] = scaled ? f32_bits((float)p[k] / 255.0f) : p[k];
        for (unsigned k = 0; t->srgb && scaled && k < n && k < 3; k++)
            out[k] = f32_bits(from_srgb(f32_from(out[k])));
        break;
    case T0_TEXEL_S8:
        for (unsigned k = 0; k < n; k++)
            out[k] = scaled ? f32_bits(fmaxf((float)(int8_t)p[k] / 127.0f, -1.0f)) : (uint32_t)(int8_t)p[k];
        break;
    case T0_TEXEL_U16:
    case T0_TEXEL_S16:
    case T0_TEXEL_F16:
        memcpy(h, p, 2);
        for (unsigned k = 1; k < n; k++)
            memcpy(&h[k], p + 2 * (size_t)k, 2);
        for (unsigned k = 0; k < n; k++)
            out[k] = t->format == T0_TEXEL_F16   ? f32_bits(f16_to_f32(h[k]))
                     : t->format == T0_TEXEL_U16 ? (scaled ? f32_bits((float)h[k] / 65535.0f) : h[k])
                     : scaled                    ? f32_bits(fmaxf((float)(int16_t)h[k] / 32767.0f, -1.0f))
                                                 : (uint32_t)(int16_t)h[k];
        break;
    default:
        for (unsigned k = 0; k < n; k++)
            memcpy(&out[k], p + 4 * (size_t)k, 4);
    }
}

/* What reads give for channels that are not there. */
static void fill_channels(const struct t0_texture *t, uint32_t out[4])
{
    if (t->channels == 4)
        return;
    if (t->channels == 1)
        out[1] = 0;
    out[2] = 0;
    out[3] = t->as_float ? f32_bits(1.0f) : 1;
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
        uint32_t v = t->format == T0_TEXEL_F16 ? f32_to_f16(f32_from(in[k]))
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
    static const struct {
        int8_t s, t, s_sign, t_sign;
    } way[6] = {{2, 1, -1, -1}, {2, 1, 1, -1}, {0, 2, 1, 1}, {0, 2, 1, -1}, {0, 1, 1, -1}, {0, 1, -1, -1}};
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
    const float at[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
    face = cube_face(at[face], st);
    for (unsigned k = 0; k < 2; k++)
        i[k] = place((int64_t)(st[k] * (float)n), n, T0_ADDR_CLAMP);
    return face;
}

/* The largest integer not above x, and no library call: SSE2 has no such instruction. */
static inline int64_t floor_of(double x)
{
    int64_t i = x > -0x1p60 && x < 0x1p60 ? (int64_t)x : 0; /* NaN and what is out of sight: 0 */
    return i - (x < (double)i);
}

/* A normalized coordinate within its period, 1 or 2; large ones are whole numbers, and even. NaN and infinity: 0. */
static inline double within(double x, unsigned period)
{
    return x > -0x1p40 && x < 0x1p40 ? x - period * (double)floor_of(x / period) : 0;
}

struct axis {      /* where a fetch looks on one axis */
    int64_t at[2]; /* the texel and the next one, -1 = the border */
    float weight;  /* of the next one, 8 bits of fraction */
};

static inline struct axis look(const struct t0_texture *t, unsigned k, float f, int32_t offset, uint32_t n,
                               bool between)
{
    unsigned mode = t->address[k];
    double x = f;
    struct axis a = {.weight = 0};
    int64_t i;
    if (t->normalized && mode == T0_ADDR_WRAP)
        x = within(x, 1);
    else if (t->normalized && mode == T0_ADDR_MIRROR && !(x > -2 && x < 2))
        x = within(x, 2);
    if (t->normalized)
        x = (float)x * (float)n;
    else if (mode != T0_ADDR_BORDER)
        mode = T0_ADDR_CLAMP;
    x = x > -0x1p40 ? x < 0x1p40 ? x : 0x1p40 : -0x1p40; /* NaN is far to the left */
    if (between) {
        int64_t fixed = floor_of(x * 256 - 127.5);
        i = (fixed >> 8) + offset;
        a.weight = (float)(fixed & 255) / 256;
        a.at[1] = i >= 0 && i + 1 < n ? i + 1 : place(i + 1, n, mode);
    } else {
        i = floor_of(x) + offset;
    }
    a.at[0] = i >= 0 && i < n ? i : place(i, n, mode);
    return a;
}

static inline const uint8_t *element(const struct t0_texture *t, const struct t0_texture_level *l, int64_t x, int64_t y,
                                     int64_t z)
{
    if ((x | y | z) < 0)
        return (const uint8_t *)0;
    return l->data + (uint64_t)z * l->slice + (uint64_t)y * l->pitch +
           (uint64_t)x * t0_texel_bytes(t->format) * t->channels;
}

static inline void read_at(const struct t0_texture *t, const uint8_t *p, uint32_t out[4])
{
    if (p)
        read_element(t, p, out);
    else
        memcpy(out, t->border, 16);
}

/* Weighted sum of up to eight texels. */
static inline void blend(const struct t0_texture *t, const uint8_t *const p[], const float weight[], unsigned n,
                         uint32_t out[4])
{
    float sum[4] = {0};
    uint32_t v[4];
    for (unsigned c = 0; c < n; c++) {
        if (weight[c] == 0)
            continue;
        read_at(t, p[c], v);
        for (unsigned k = 0; k < t->channels; k++)
            sum[k] += weight[c] * f32_from(v[k]);
    }
    for (unsigned k = 0; k < t->channels; k++)
        out[k] = f32_bits(sum[k]);
}

static uint32_t layer_of(const struct t0_texture_query *q, uint32_t n)
{
    return q->layer < 0 || !n ? 0 : (uint32_t)q->layer < n ? (uint32_t)q->layer : n - 1;
}

/* Everything but cubes; dims and between are constants where this is called. */
static inline __attribute__((always_inline)) void fetch_box(const struct t0_texture *t,
                                                            const struct t0_texture_query *q,
                                                            const struct t0_texture_level *l, unsigned dims,
                                                            bool between, uint32_t out[4])
{
    const uint32_t size[3] = {l->width, l->height, l->depth};
    struct axis a[3] = {{.at = {0, 0}}};
    for (unsigned k = 0; k < dims; k++)
        a[k] = look(t, k, q->f[k], q->offset[k], size[k], between);
    if (q->geometry == LIR_GEO_A1D || q->geometry == LIR_GEO_A2D)
        a[2].at[0] = layer_of(q, l->depth);
    if (!between) {
        read_at(t, element(t, l, a[0].at[0], a[1].at[0], a[2].at[0]), out);
        return;
    }
    const uint8_t *p[8];
    float weight[8];
    for (unsigned c = 0; c < 1u << dims; c++) {
        unsigned x = c & 1, y = c >> 1 & 1, z = c >> 2;
        weight[c] = (x ? a[0].weight : 1 - a[0].weight) *
                    (dims < 2 ? 1
                     : y      ? a[1].weight
                              : 1 - a[1].weight) *
                    (dims < 3 ? 1
                     : z      ? a[2].weight
                              : 1 - a[2].weight);
        p[c] = element(t, l, a[0].at[x], a[1].at[y], a[2].at[z]);
    }
    blend(t, p, weight, 1u << dims, out);
}

/* Texels named by their numbers. */
static void fetch_integer(const struct t0_texture *t, const struct t0_texture_query *q,
                          const struct t0_texture_level *l, unsigned dims, uint32_t out[4])
{
    const uint32_t size[3] = {l->width, l->height, l->depth};
    int64_t at[3] = {0, 0, 0};
    if (t->linear_memory && (uint32_t)q->i[0] >= l->width) {
        memset(out, 0, 16);
        return;
    }
    for (unsigned k = 0; k < dims; k++) {
        unsigned mode = t->normalized || t->address[k] == T0_ADDR_BORDER ? t->address[k] : T0_ADDR_CLAMP;
        at[k] = (int64_t)q->i[k] + q->offset[k];
        if (at[k] < 0 || at[k] >= size[k])
            at[k] = place(at[k], size[k], mode);
    }
    if (q->geometry == LIR_GEO_A1D || q->geometry == LIR_GEO_A2D)
        at[2] = layer_of(q, l->depth);
    read_at(t, element(t, l, at[0], at[1], at[2]), out);
}

struct face { /* where a fetch looks on a cube */
    int64_t i[2];
    float weight[2];
    uint32_t layer, number;
};

static struct face look_at_cube(const struct t0_texture_level *l, const struct t0_texture_query *q, bool between)
{
    float st[2];
    struct face f = {.number = cube_face(q->f, st)};
    if (q->geometry == LIR_GEO_ACUBE)
        f.layer = layer_of(q, l->depth / 6);
    for (unsigned k = 0; k < 2; k++) {
        double x = st[k] * (float)l->width;
        int64_t fixed = between ? floor_of(x * 256 - 127.5) : floor_of(x) * 256;
        f.i[k] = (fixed >> 8) + q->offset[k];
        f.weight[k] = (float)(fixed & 255) / 256;
    }
    return f;
}

static const uint8_t *cube_element(const struct t0_texture *t, const struct t0_texture_level *l, const struct face *f,
                                   unsigned dx, unsigned dy)
{
    int64_t at[2] = {f->i[0] + dx, f->i[1] + dy}, n = l->width;
    unsigned face = f->number;
    if (t->seamless && (at[0] < 0 || at[0] >= n || at[1] < 0 || at[1] >= n))
        face = over_edge(face, at, n);
    int64_t z = (int64_t)f->layer * 6 + face;
    return element(t, l, place(at[0], n, T0_ADDR_CLAMP), place(at[1], n, T0_ADDR_CLAMP),
                   z < l->depth ? z : l->depth - 1);
}

static void fetch_cube(const struct t0_texture *t, const struct t0_texture_query *q, const struct t0_texture_level *l,
                       bool between, uint32_t out[4])
{
    struct face f = look_at_cube(l, q, between);
    const uint8_t *p[4];
    float weight[4];
    if (!between) {
        read_at(t, cube_element(t, l, &f, 0, 0), out);
        return;
    }
    for (unsigned c = 0; c < 4; c++) {
        weight[c] = (c & 1 ? f.weight[0] : 1 - f.weight[0]) * (c & 2 ? f.weight[1] : 1 - f.weight[1]);
        p[c] = cube_element(t, l, &f, c & 1, c >> 1);
    }
    blend(t, p, weight, 4, out);
}

static void fetch_level(const struct t0_texture *t, const struct t0_texture_query *q, unsigned level, uint32_t out[4])
{
    static const uint8_t dims[LIR_GEOMETRIES] = {1, 2, 3, 1, 2, 0, 0};
    const struct t0_texture_level *l = &t->level[level];
    bool between = t->linear && t->as_float;
    unsigned n = dims[q->geometry];
    if (q->integer && n)
        fetch_integer(t, q, l, n, out);
    else if (!n)
        fetch_cube(t, q, l, between && !q->integer, out);
    else if (n == 2)
        between ? fetch_box(t, q, l, 2, true, out) : fetch_box(t, q, l, 2, false, out);
    else if (n == 1)
        between ? fetch_box(t, q, l, 1, true, out) : fetch_box(t, q, l, 1, false, out);
    else
        between ? fetch_box(t, q, l, 3, true, out) : fetch_box(t, q, l, 3, false, out);
    fill_channels(t, out);
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

void t0_texture_fetch(const struct t0_texture *t, const struct t0_texture_query *q, uint32_t out[4])
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
        out[k] = f32_bits((1 - weight) * f32_from(out[k]) + weight * f32_from(next[k]));
}

void t0_texture_gather(const struct t0_texture *t, const struct t0_texture_query *q, unsigned which, uint32_t out[4])
{
    static const uint8_t dx[4] = {0, 1, 1, 0}, dy[4] = {1, 1, 0, 0};
    const struct t0_texture_level *l = &t->level[0];
    bool cube = q->geometry >= LIR_GEO_CUBE;
    struct face f = {.number = 0};
    struct axis x = {.weight = 0}, y = x;
    int64_t z = q->geometry == LIR_GEO_A2D ? layer_of(q, l->depth) : 0;
    uint32_t v[4];
    if (cube) {
        f = look_at_cube(l, q, true);
    } else {
        x = look(t, 0, q->f[0], q->offset[0], l->width, true);
        y = look(t, 1, q->f[1], q->offset[1], l->height, true);
    }
    for (unsigned k = 0; k < 4; k++) {
        read_at(t, cube ? cube_element(t, l, &f, dx[k], dy[k]) : element(t, l, x.at[dx[k]], y.at[dy[k]], z), v);
        fill_channels(t, v);
        out[k] = v[which & 3];
    }
}

float t0_texture_lod(const struct t0_texture *t, unsigned geometry, const float dx[3], const float dy[3])
{
    const float size[3] = {(float)t->level[0].width, (float)t->level[0].height, (float)t->level[0].depth};
    unsigned n = geometry == LIR_GEO_1D || geometry == LIR_GEO_A1D   ? 1
                 : geometry == LIR_GEO_2D || geometry == LIR_GEO_A2D ? 2
                                                                     : 3;
    float x = 0, y = 0;
    for (unsigned k = 0; k < n; k++) {
        float scale = geometry >= LIR_GEO_CUBE ? size[0] / 2 : t->normalized ? size[k] : 1;
        x += dx[k] * scale * dx[k] * scale;
        y += dy[k] * scale * dy[k] * scale;
    }
    x = x > y ? x : y;
    return x > 0 ? 0.5f * log2f(x) : -128;
}
