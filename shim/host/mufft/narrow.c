/* Transforms of f16 and bf16: their data become floats and back; the transform itself is float's. */
#include "host/maths/element.h"
#include "host/mufft/mufft.h"

struct mufft_shape mufft_widened(const struct mufft_shape *s)
{
    struct mufft_shape wide = *s;
    wide.narrow = MUFFT_WIDE;
    wide.basic = true;
    return wide;
}

/* Numbers in an element of a side. */
static int parts(const struct mufft_shape *s, bool out)
{
    return mufft_kind(s->type) == (out ? MUFFT_C2R : MUFFT_R2C) ? 1 : 2;
}

static size_t bytes(const struct mufft_shape *s, bool out)
{
    struct mufft_extent e = mufft_extent(s, out, false);
    size_t n = (size_t)s->batch * (size_t)parts(s, out);
    for (int i = 0; i < s->rank; i++)
        n *= (size_t)e.n[i];
    return (n * sizeof(float) + 63) & ~(size_t)63;
}

size_t mufft_narrow_scratch(const struct mufft_shape *s, size_t *out_at)
{
    *out_at = bytes(s, false);
    return *out_at + bytes(s, true);
}

/* n elements of `parts` numbers, `step` numbers apart on the narrow side. */
typedef void convert_row(unsigned short *narrow, float *wide, long long n, long long step, int parts);

#define EACH(what) \
    for (long long i = 0; i < n; i++) \
        for (int c = 0; c < parts; c++) \
    what
static void from_f16(unsigned short *narrow, float *wide, long long n, long long step, int parts)
{
    EACH(wide[i * parts + c] = f16_to_f32(narrow[i * step + c]);)
}
static void from_bf16(unsigned short *narrow, float *wide, long long n, long long step, int parts)
{
    EACH(wide[i * parts + c] = bf16_to_f32(narrow[i * step + c]);)
}
static void to_f16(unsigned short *narrow, float *wide, long long n, long long step, int parts)
{
    EACH(narrow[i * step + c] = f32_to_f16(wide[i * parts + c]);)
}
static void to_bf16(unsigned short *narrow, float *wide, long long n, long long step, int parts)
{
    EACH(narrow[i * step + c] = f32_to_bf16(wide[i * parts + c]);)
}

static void each_row(const struct mufft_shape *s, bool out, bool in_place, unsigned short *narrow, float *wide,
                     convert_row *convert)
{
    struct mufft_extent e = mufft_extent(s, out, in_place);
    int last = s->rank - 1, per = parts(s, out);
    long long n0 = last > 1 ? e.n[0] : 1, n1 = last > 0 ? e.n[last - 1] : 1;
    for (long long b = 0; b < s->batch; b++)
        for (long long i = 0; i < n0; i++)
            for (long long k = 0; k < n1; k++) {
                long long at = b * e.dist + (last > 1 ? i * e.stride[0] : 0) + (last > 0 ? k * e.stride[last - 1] : 0);
                convert(narrow + at * per, wide, e.n[last], e.stride[last] * per, per);
                wide += e.n[last] * per;
            }
}

void mufft_widen(const struct mufft_shape *s, void *in, bool in_place, float *wide)
{
    each_row(s, false, in_place, in, wide, s->narrow == MUFFT_F16 ? from_f16 : from_bf16);
}

void mufft_make_narrow(const struct mufft_shape *s, float *wide, void *out, bool in_place)
{
    each_row(s, true, in_place, out, wide, s->narrow == MUFFT_F16 ? to_f16 : to_bf16);
}
