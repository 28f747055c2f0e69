/* Pictures by maps of coordinates, sampled by separable filters. Pixels have their centres at whole coordinates; behind
 * the clip rectangle its edge goes on. */
#include "host/mupp/mupp.h"

#include <math.h>
#include <string.h>

enum { TAPS = 6 }; /* of the widest filter, Lanczos' with three lobes */

static double sinc(double x) { return x == 0 ? 1 : sin(M_PI * x) / (M_PI * x); }

/* Two-parameter cubics by Mitchell and Netravali 1988. */
static double cubic(double b, double c, double x)
{
    x = fabs(x);
    if (x < 1)
        return ((12 - 9 * b - 6 * c) * x * x * x + (-18 + 12 * b + 6 * c) * x * x + 6 - 2 * b) / 6;
    if (x < 2)
        return ((-b - 6 * c) * x * x * x + (6 * b + 30 * c) * x * x + (-12 * b - 48 * c) * x + 8 * b + 24 * c) / 6;
    return 0;
}

/* The pixels along one axis that make the value at `at`, which lies in [low, high): their places, kept within, and
 * weights whose sum is 1. How many they are. */
static int find_taps(const struct mupp_remap *r, double at, int low, int high, int place[TAPS], double weight[TAPS])
{
    static const int reach[] = {[MUPP_NEAREST] = 0, [MUPP_LINEAR] = 1, [MUPP_CUBIC] = 2, [MUPP_LANCZOS] = 3};
    int n = reach[r->filter] ? 2 * reach[r->filter] : 1;
    int first = (int)floor(r->filter == MUPP_NEAREST ? at + 0.5 : at) - (n - 1) / 2;
    double sum = 0;
    for (int k = 0; k < n; k++) {
        double x = at - (first + k);
        switch (r->filter) {
        case MUPP_NEAREST: weight[k] = 1; break;
        case MUPP_LINEAR: weight[k] = 1 - fabs(x); break;
        case MUPP_CUBIC: weight[k] = cubic(r->b, r->c, x); break;
        default: weight[k] = fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0; break;
        }
        sum += weight[k];
        int p = first + k;
        place[k] = p < low ? low : p >= high ? high - 1 : p;
    }
    for (int k = 0; k < n; k++)
        weight[k] /= sum;
    return n;
}

static double load(enum mupp_type type, const void *line, int64_t at)
{
    switch (type) {
    case MUPP_8U: return ((const uint8_t *)line)[at];
    case MUPP_16U: return ((const uint16_t *)line)[at];
    case MUPP_16S: return ((const int16_t *)line)[at];
    case MUPP_32F: return ((const float *)line)[at];
    default: return ((const double *)line)[at];
    }
}
static double between(double v, double low, double high) { return rint(v < low ? low : v > high ? high : v); }
static void store(enum mupp_type type, void *line, int64_t at, double v)
{
    switch (type) {
    case MUPP_8U: ((uint8_t *)line)[at] = (uint8_t)between(v, 0, UINT8_MAX); break;
    case MUPP_16U: ((uint16_t *)line)[at] = (uint16_t)between(v, 0, UINT16_MAX); break;
    case MUPP_16S: ((int16_t *)line)[at] = (int16_t)between(v, INT16_MIN, INT16_MAX); break;
    case MUPP_32F: ((float *)line)[at] = (float)v; break;
    default: ((double *)line)[at] = v; break;
    }
}

/* A weight of 0 takes nothing: neither an infinity nor a NaN beside the place that is asked for. */
static void sample(const struct mupp_remap *r, double x, double y, void *to, int i)
{
    int column[TAPS], row[TAPS];
    double across[TAPS], down[TAPS], v[4] = {0};
    int n = find_taps(r, x, r->left, r->right, column, across);
    (void)find_taps(r, y, r->top, r->bottom, row, down);
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++)
            if (down[j] * across[k] != 0)
                for (int c = 0; c < r->channels; c++)
                    v[c] += down[j] * across[k] *
                            load(r->type, pp_line(&r->from, row[j]), (int64_t)column[k] * r->channels + c);
    for (int c = 0; c < r->channels; c++)
        store(r->type, to, (int64_t)i * r->channels + c, v[c]);
}

static void remap_line(const void *call, int j)
{
    const struct mupp_remap *r = call;
    const enum mupp_type map = r->type == MUPP_64F ? MUPP_64F : MUPP_32F;
    const void *xs = pp_line(&r->x, j), *ys = pp_line(&r->y, j);
    void *to = pp_target(&r->to, j);
    for (int i = 0; i < r->to.width; i++) {
        double x = load(map, xs, i), y = load(map, ys, i);
        if (x >= r->left && x < r->right && y >= r->top && y < r->bottom) /* not a NaN */
            sample(r, x, y, to, i);
    }
}
static double cost(const struct mupp_remap *r)
{
    static const double taps[] = {[MUPP_NEAREST] = 1, [MUPP_LINEAR] = 4, [MUPP_CUBIC] = 16, [MUPP_LANCZOS] = 36};
    return 20 + 8 * taps[r->filter] * r->channels;
}
muppStatus_t muppHostRemap(musaStream_t stream, const struct mupp_remap *r)
{
    return pp_submit(stream, &r->to, cost(r), remap_line, r, sizeof *r);
}
