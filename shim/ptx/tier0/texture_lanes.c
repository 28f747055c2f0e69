/* Reading textures, a warp at a time: the two commonest forms, which need no look at each lane.
 * They agree with texture.c. */
#include "ptx/tier0/texture.h"

#include <string.h>

#include "half/half.h"
#include "ptx/tier0/tier0.h"

/* Texels of one axis for all lanes, clamped; scale takes coordinates to texels. Loops that SSE2 can
 * do: bounds as floats, so that truncating is rounding down. */
static void look_lanes(const float *f, float scale, uint32_t n, int32_t at[LIR_LANES])
{
    float last = (float)n - 1;
    for (unsigned l = 0; l < LIR_LANES; l++) {
        float x = f[l] * scale;
        x = x > 0 ? x : 0; /* NaN too */
        at[l] = (int32_t)(x < last ? x : last);
    }
}

/* The same for coordinates from 0 to 1 that wrap. */
static void look_wrapped(const float *f, uint32_t n, int32_t at[LIR_LANES])
{
    float last = (float)n - 1;
    for (unsigned l = 0; l < LIR_LANES; l++) {
        float x = f[l] > -0x1p30f ? f[l] : -0x1p30f;
        x = x < 0x1p30f ? x : 0x1p30f;
        x -= (float)(int32_t)x;
        x = x < 0 ? x + 1 : x;
        x = (x < 1 ? x : 0) * (float)n;
        at[l] = (int32_t)(x < last ? x : last);
    }
}

static void look_between(const float *f, float scale, uint32_t n, int32_t at[2][LIR_LANES], float weight[LIR_LANES])
{
    float end = 256 * (float)n;
    int32_t last = (int32_t)n - 1;
    for (unsigned l = 0; l < LIR_LANES; l++) {
        float x = f[l] * scale * 256 - 127.5f;
        x = x > -256 ? x : -256;
        int32_t fixed = (int32_t)((x < end ? x : end) + 256);
        int32_t i = (fixed >> 8) - 1, next = fixed >> 8;
        weight[l] = (float)(fixed & 255) * (1 / 256.0f);
        i = i > 0 ? i : 0;
        at[0][l] = i < last ? i : last;
        at[1][l] = next < last ? next : last;
    }
}

/* All lanes of a warp from a two-dimensional texture of one 32-bit channel, nearest or linear; false: another kind,
 * lane by lane then. The coordinates are computed as vectors, the texels gathered. */
bool t0_texture_fetch_lanes(const struct t0_texture *t, uint32_t mask, const float *x, const float *y, uint32_t *out)
{
    const struct t0_texture_level *l = &t->level[0];
    int32_t ax[2][LIR_LANES], ay[2][LIR_LANES];
    float wx[LIR_LANES], wy[LIR_LANES];
    bool between = t->linear && t->as_float;
    bool wrap[2];
    for (unsigned k = 0; k < 2; k++) {
        unsigned mode = t->address[k];
        wrap[k] = t->normalized && mode == T0_ADDR_WRAP;
        if (mode == T0_ADDR_BORDER || (t->normalized && mode == T0_ADDR_MIRROR) || (wrap[k] && between))
            return false;
    }
    /* Beyond that size a float has too few bits for fractions of 1/256. */
    if (t->levels != 1 || t->channels != 1 || t0_texel_bytes(t->format) != 4 || t->linear_memory ||
        l->width > 1u << 14 || l->height > 1u << 14)
        return false;
    float width = t->normalized ? (float)l->width : 1;
    float height = t->normalized ? (float)l->height : 1;
    if (!between) {
        wrap[0] ? look_wrapped(x, l->width, ax[0]) : look_lanes(x, width, l->width, ax[0]);
        wrap[1] ? look_wrapped(y, l->height, ay[0]) : look_lanes(y, height, l->height, ay[0]);
        for (; mask; mask &= mask - 1) {
            unsigned k = (unsigned)__builtin_ctz(mask);
            memcpy(&out[k], l->data + (uint64_t)ay[0][k] * l->pitch + 4 * (size_t)ax[0][k], 4);
        }
        return true;
    }
    look_between(x, width, l->width, ax, wx);
    look_between(y, height, l->height, ay, wy);
    for (; mask; mask &= mask - 1) {
        unsigned k = (unsigned)__builtin_ctz(mask);
        const uint8_t *row = l->data + (uint64_t)ay[0][k] * l->pitch;
        const uint8_t *below = l->data + (uint64_t)ay[1][k] * l->pitch;
        float v[4], sum = 0;
        const float w[4] = {(1 - wx[k]) * (1 - wy[k]), wx[k] * (1 - wy[k]), (1 - wx[k]) * wy[k], wx[k] * wy[k]};
        for (unsigned c = 0; c < 4; c++) {
            memcpy(&v[c], (c < 2 ? row : below) + 4 * (size_t)ax[c & 1][k], 4);
            sum += w[c] == 0 ? 0 : w[c] * v[c];
        }
        out[k] = f32_bits(sum);
    }
    return true;
}

bool t0_texture_fetch_linear(const struct t0_texture *t, uint32_t mask, const uint32_t *x, uint32_t *out)
{
    const struct t0_texture_level *l = &t->level[0];
    if (!t->linear_memory || t->channels != 1 || t0_texel_bytes(t->format) != 4)
        return false;
    for (; mask; mask &= mask - 1) {
        unsigned k = (unsigned)__builtin_ctz(mask);
        out[k] = 0;
        if (x[k] < l->width)
            memcpy(&out[k], l->data + 4 * (size_t)x[k], 4);
    }
    return true;
}
