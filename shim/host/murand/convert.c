/* Distributions of the CPU muRAND: arrays of draws become what a program asks for. The loops are written for the
 * vectoriser, with functions of their own in place of the C library's. */
#include <math.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/murand/murand.h"

const struct murand_scale murand_full = {.full = true, .first = 0x1p-33};
const struct murand_scale murand_above = {.full = true, .first = 0x1p-32};

static inline uint64_t bits_of(double x)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}
static inline double of_bits(uint64_t b)
{
    double x;
    memcpy(&x, &b, sizeof x);
    return x;
}

/* Logarithm of a normal number above 0: of its exponent, and of the rest m in [sqrt 1/2, sqrt 2] as twice the area
 * tangent of (m - 1) / (m + 1). */
static inline double ln(double x)
{
    uint64_t b = bits_of(x), mantissa = (b & 0xfffffffffffff) | 0x3ff0000000000000;
    double m = of_bits(mantissa);
    bool great = m > M_SQRT2;
    /* An integer below 2^52 in the low bits of 2^52 is that plus it. */
    double e = of_bits(0x4330000000000000 | b >> 52) - (0x1p52 + 1023) + (great ? 1 : 0);
    m = great ? 0.5 * m : m;
    double s = (m - 1) / (m + 1), z = s * s, sum = 1.0 / 23;
    sum = sum * z + 1.0 / 21;
    sum = sum * z + 1.0 / 19;
    sum = sum * z + 1.0 / 17;
    sum = sum * z + 1.0 / 15;
    sum = sum * z + 1.0 / 13;
    sum = sum * z + 1.0 / 11;
    sum = sum * z + 1.0 / 9;
    sum = sum * z + 1.0 / 7;
    sum = sum * z + 1.0 / 5;
    sum = sum * z + 1.0 / 3;
    return e * M_LN2 + (2 * s + 2 * s * z * sum);
}

/* Sine and cosine of `turn` turns, 0 to 1: of what is left to the nearest quarter, by their series. */
static inline void sine_cosine(double turn, double *sine, double *cosine)
{
    double shifted = 4 * turn + 0x1.8p52, r = (4 * turn - (shifted - 0x1.8p52)) * M_PI_2, z = r * r;
    uint64_t quarter = bits_of(shifted);
    double s = -1.0 / 1307674368000, c = 1.0 / 20922789888000;
    s = s * z + 1.0 / 6227020800;
    c = c * z - 1.0 / 87178291200;
    s = s * z - 1.0 / 39916800;
    c = c * z + 1.0 / 479001600;
    s = s * z + 1.0 / 362880;
    c = c * z - 1.0 / 3628800;
    s = s * z - 1.0 / 5040;
    c = c * z + 1.0 / 40320;
    s = s * z + 1.0 / 120;
    c = c * z - 1.0 / 720;
    s = s * z - 1.0 / 6;
    c = c * z + 1.0 / 24;
    s = r + r * z * s;
    c = 1 - z * (0.5 - z * c);
    bool odd = quarter & 1;
    double first = odd ? c : s, second = odd ? s : c;
    *sine = of_bits(bits_of(first) ^ (quarter & 2) << 62);
    *cosine = of_bits(bits_of(second) ^ ((quarter + 1) & 2) << 62);
}

static inline double ratio(const double top[8], const double bottom[8], double r)
{
    double t = top[7], b = bottom[7];
    for (int i = 6; i >= 0; i--) {
        t = t * r + top[i];
        b = b * r + bottom[i];
    }
    return t / b;
}

/* How far below the mean the normal distribution reaches p in (0, 1/2], in deviations: Wichura's algorithm AS 241
 * (1988) to 16 digits, its three ranges. */
static inline double below(double p)
{
    static const double near[2][8] = {
        {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
         4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
        {1, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
         3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
    static const double middle[2][8] = {
        {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
         1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4},
        {1, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
         1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9}};
    static const double far[2][8] = {
        {6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
         2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7},
        {1, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
         1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15}};
    double q = 0.5 - p, r = sqrt(-ln(p));
    double n = q * ratio(near[0], near[1], 0.180625 - q * q);
    double m = ratio(middle[0], middle[1], r - 1.6), f = ratio(far[0], far[1], r - 5);
    return q <= 0.425 ? n : r <= 5 ? m : f;
}

/* ---- uniform ---------------------------------------------------------------------------------- */

MURAND_VECTOR void murand_precise(const uint32_t *low, const uint32_t *high, unsigned n, double *out)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t d = low[i] ^ (uint64_t)high[i] << 21; /* 53 bits: the upper 21 and the lower 32 are exact */
        out[i] = ((double)(uint32_t)(d >> 32) * 0x1p32 + (double)(uint32_t)d) * 0x1p-53 + 0x1p-54;
    }
}

MURAND_VECTOR void murand_uniform(const struct murand_scale *scale, const uint32_t *draws, unsigned n, double *out)
{
    double step = scale->full ? 0x1p-32 : scale->step, first = scale->first;
    for (unsigned i = 0; i < n; i++)
        out[i] = (double)draws[i] * step + first;
}

MURAND_VECTOR void murand_uniform_float(const struct murand_scale *scale, const uint32_t *draws, unsigned n, float *out)
{
    if (scale->full)
        for (unsigned i = 0; i < n; i++)
            out[i] = (float)draws[i] * 0x1p-32f + 0x1p-33f;
    else
        for (unsigned i = 0; i < n; i++)
            out[i] = (float)((double)draws[i] * scale->step);
}

/* ---- normal ----------------------------------------------------------------------------------- */

/* Standard normal numbers become the request's. */
MURAND_VECTOR static void place(const struct murand_request *r, const double *z, unsigned n, size_t at)
{
    if (r->kind == MURAND_NORMAL || r->kind == MURAND_LOG_NORMAL) {
        float *out = (float *)r->out + at, mean = (float)r->a, deviation = (float)r->b;
        for (unsigned i = 0; i < n; i++)
            out[i] = (float)z[i] * deviation + mean;
        for (unsigned i = 0; r->kind == MURAND_LOG_NORMAL && i < n; i++)
            out[i] = expf(out[i]);
    } else {
        double *out = (double *)r->out + at, mean = r->a, deviation = r->b;
        for (unsigned i = 0; i < n; i++)
            out[i] = z[i] * deviation + mean;
        for (unsigned i = 0; r->kind == MURAND_LOG_NORMAL_DOUBLE && i < n; i++)
            out[i] = exp(out[i]);
    }
}

static inline void circle(const double *restrict far, const double *restrict turn, unsigned n, double *restrict sines,
                          double *restrict cosines)
{
    for (unsigned i = 0; i < n; i++) {
        double length = sqrt(-2 * ln(far[i])), sine, cosine;
        sine_cosine(turn[i], &sine, &cosine);
        sines[i] = length * sine;
        cosines[i] = length * cosine;
    }
}

MURAND_VECTOR static void box_muller(const double *far, const double *turn, unsigned n, double *out)
{
    double sines[MURAND_CHUNK], cosines[MURAND_CHUNK];
    circle(far, turn, n, sines, cosines);
    for (unsigned i = 0; i < n; i++) {
        out[2 * i] = sines[i];
        out[2 * i + 1] = cosines[i];
    }
}

/* The upper half of the distribution is the lower one's mirror: p keeps its digits. */
MURAND_VECTOR static void inverse(const uint32_t *draws, unsigned n, double *out)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t upper = 0 - (draws[i] >> 31);
        double z = below((double)(draws[i] ^ upper) * 0x1p-32 + 0x1p-33);
        out[i] = upper ? z : -z;
    }
}

MURAND_VECTOR static void inverse_wide(const uint64_t *draws, unsigned n, double *out)
{
    for (unsigned i = 0; i < n; i++) {
        uint64_t upper = 0 - (draws[i] >> 63), x = (draws[i] ^ upper) >> 11;
        double z = below(((double)(uint32_t)(x >> 32) * 0x1p32 + (double)(uint32_t)x) * 0x1p-53 + 0x1p-54);
        out[i] = upper ? z : -z;
    }
}

MURAND_VECTOR static void round_to_float(double *z, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        z[i] = (double)(float)z[i];
}

/* ---- Poisson ---------------------------------------------------------------------------------- */

bool murand_poisson_begin(struct poisson_sums *p, double lambda)
{
    *p = poisson_range(lambda);
    p->sum = maths_alloc(p->count * sizeof *p->sum);
    if (p->sum)
        poisson_fill(p, lambda);
    return p->sum;
}

/* By their sums or, without these, from normal numbers. */
static void poisson(const struct murand_request *r, const struct poisson_sums *p, const double *of, unsigned n,
                    size_t at)
{
    uint32_t *out = (uint32_t *)r->out + at;
    double deviation = sqrt(r->a);
    for (unsigned i = 0; i < n; i++) {
        double normal = p->sum ? 0 : rint(r->a + deviation * of[i]);
        out[i] = p->sum ? poisson_at(p, of[i]) : normal < 0 ? 0 : normal < 0x1p32 ? (uint32_t)normal : UINT32_MAX;
    }
}

void murand_pairs(const struct murand_request *r, const double *far, const double *turn, unsigned n, bool firsts,
                  size_t at)
{
    static const struct poisson_sums none;
    double z[2 * MURAND_CHUNK];
    unsigned numbers = firsts ? n : 2 * n;
    box_muller(far, turn, n, z);
    for (unsigned i = 0; firsts && i < n; i++)
        z[i] = z[2 * i];
    if (r->kind == MURAND_POISSON) {
        round_to_float(z, numbers);
        poisson(r, &none, z, numbers, at);
    } else
        place(r, z, numbers, at);
}

/* ---- a number a draw -------------------------------------------------------------------------- */

void murand_singles(const struct murand_engine *e, const struct murand_request *r, const struct poisson_sums *p,
                    const uint32_t *draws, unsigned n, size_t at)
{
    double z[MURAND_CHUNK];
    switch (r->kind) {
    case MURAND_BITS: memcpy((uint32_t *)r->out + at, draws, n * sizeof *draws); break;
    case MURAND_UNIFORM: murand_uniform_float(e->scale, draws, n, (float *)r->out + at); break;
    case MURAND_UNIFORM_DOUBLE: murand_uniform(e->scale, draws, n, (double *)r->out + at); break;
    case MURAND_POISSON:
        if (p->sum)
            murand_uniform(&murand_full, draws, n, z);
        else
            inverse(draws, n, z);
        poisson(r, p, z, n, at);
        break;
    default:
        inverse(draws, n, z);
        if (e->coarse)
            round_to_float(z, n);
        place(r, z, n, at);
    }
}

void murand_wide_singles(const struct murand_engine *e, const struct murand_request *r, const struct poisson_sums *p,
                         const uint64_t *draws, unsigned n, size_t at)
{
    double z[MURAND_CHUNK];
    uint32_t upper[MURAND_CHUNK];
    for (unsigned i = 0; i < n; i++)
        upper[i] = (uint32_t)(draws[i] >> 32);
    switch (r->kind) {
    case MURAND_LONG_LONG: memcpy((uint64_t *)r->out + at, draws, n * sizeof *draws); break;
    case MURAND_UNIFORM_DOUBLE:
    case MURAND_POISSON:
        if (r->kind == MURAND_POISSON && !p->sum)
            inverse_wide(draws, n, z);
        else
            for (unsigned i = 0; i < n; i++)
                z[i] = (double)(draws[i] >> 11) * 0x1p-53 + 0x1p-54;
        if (r->kind == MURAND_POISSON)
            poisson(r, p, z, n, at);
        else
            memcpy((double *)r->out + at, z, n * sizeof *z);
        break;
    case MURAND_NORMAL_DOUBLE:
    case MURAND_LOG_NORMAL_DOUBLE:
        inverse_wide(draws, n, z);
        place(r, z, n, at);
        break;
    default: /* floats have the upper bits */ murand_singles(e, r, p, upper, n, at);
    }
}
