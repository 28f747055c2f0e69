/* cvt to and from two numbers of 8, 6 and 4 bits, and roundings by random bits. Formats and modifiers: lir/alu_aux.h.
 * What hardware does where the ISA is silent (random bits, ue8m0 at its ends): mapping/facts/ptx.md M9, M10. */
#include "ptx/tier0/alu_pack.h"

/* By enum lir_packed. Those of 6 and 4 bits are all finite: a NaN becomes the greatest. */
static const struct t0_fmt formats[] = {{10, -14, 0x7c00, 0x7fff, 0x8000},
                                        {7, -126, 0x7f80, 0x7fff, 0x8000},
                                        {3, -6, 0x7f, 0x7f, 0x80},
                                        {2, -14, 0x7c, 0x7f, 0x80},
                                        {3, 0, 0x20, 0x1f, 0x20},
                                        {2, -2, 0x20, 0x1f, 0x20},
                                        {1, 0, 0x8, 0x7, 0x8}};

static unsigned width_of(unsigned format) { return format == LIR_PACKED_E2M1 ? 4 : format <= LIR_PACKED_BF16 ? 16 : 8; }

/* A magnitude's code with its sign, of a number that is not a NaN. */
static inline u32 finish(const struct t0_fmt *f, u64 code, bool negative, unsigned aux)
{
    if (code >= f->inf)
        code = aux & LIR_CVT_SATFINITE ? f->inf - 1 : f->inf;
    return (u32)(code | (negative ? f->sign : 0));
}

/* The power of two at or, with .rp, not below the magnitude. */
static u32 to_ue8m0(f32 x, unsigned aux)
{
    const u32 u = f32_bits(x) & 0x7fffffff, most = aux & LIR_CVT_SATFINITE ? 254 : 255;
    if (u > 0x7f800000)
        return 255;
    const bool up = AUX_RND(aux) == PTX_RP;
    u32 code = u >> 23; /* subnormals of f32 lie below 2^-126, which is 1: only 2^-127 and less are 0 */
    if (code ? up && u & 0x7fffff : up && u > 0x400000)
        code++;
    return code > most ? most : code;
}

static u32 to_packed(f32 x, unsigned format, unsigned aux)
{
    if (aux & LIR_CVT_RELU && !(x > 0) && x == x)
        x = 0;
    if (format == LIR_PACKED_UE8M0)
        return to_ue8m0(x, aux);
    const struct t0_fmt *f = &formats[format];
    const u32 u = f32_bits(x), size = u & 0x7fffffff;
    return size > 0x7f800000 ? (u32)f->nan : finish(f, t0_pack_f64(f, (f64)f32_from(size), PTX_RN), u >> 31, aux);
}

/* Rounded away from zero where the random number carries out of the bits that are dropped, at whose top it stands. */
static u32 to_packed_random(f32 x, unsigned format, unsigned aux, u32 random, unsigned bits)
{
    if (aux & LIR_CVT_RELU && !(x > 0) && x == x)
        x = 0;
    const struct t0_fmt *f = &formats[format];
    const u32 u = f32_bits(x), size = u & 0x7fffffff;
    if (size >= 0x7f800000)
        return size > 0x7f800000 ? (u32)f->nan : finish(f, f->inf, u >> 31, aux);
    const int exp = size >> 23 ? (int)(size >> 23) - 127 : -126;
    const u64 mant = (size & 0x7fffff) | (size >> 23 ? 0x800000 : 0);
    const int below = exp < f->emin ? f->emin - exp : 0, drop = 23 - (int)f->mant + below;
    const u64 kept = drop > 40 ? 0 : (mant + ((u64)random << (drop - (int)bits))) >> drop;
    return finish(f, below ? kept : ((u64)(exp - f->emin) << f->mant) + kept, u >> 31, aux);
}

#define TO_X2(id, HIGH, LOW) \
    HANDLER(id) \
    { \
        const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b); \
        u32 *d = ROW(u32, i->d); \
        const unsigned format = (unsigned)i->imm, up = width_of(format); \
        (void)b; \
        WRITE_ACTIVE(u32, d, to_packed(LOW, format, i->aux) | to_packed(HIGH, format, i->aux) << up); \
    }
TO_X2(CVT_X2_F32, f32_from(a[l]), f32_from(b[l]))
TO_X2(CVT_X2_F16X2, f16_to_f32(a[l] >> 16), f16_to_f32(a[l] & 0xffff))
TO_X2(CVT_X2_BF16X2, bf16_to_f32(a[l] >> 16), bf16_to_f32(a[l] & 0xffff))

static u32 reversed16(u32 v)
{
    v = (v >> 1 & 0x5555) | (v & 0x5555) << 1;
    v = (v >> 2 & 0x3333) | (v & 0x3333) << 2;
    v = (v >> 4 & 0x0f0f) | (v & 0x0f0f) << 4;
    return (v >> 8 & 0xff) | (v & 0xff) << 8;
}

/* To f16 and bf16 each has half of c; to others both share its lower half, the first backwards. */
HANDLER(CVT_RS_X2_F32)
{
    const f32 *a = CROW(f32, i->a), *b = CROW(f32, i->b);
    const u32 *c = CROW(u32, i->c);
    u32 *d = ROW(u32, i->d);
    const unsigned format = (unsigned)i->imm, up = width_of(format);
    const unsigned bits = format == LIR_PACKED_F16 ? 13 : 16;
    const u32 each = (1u << bits) - 1;
    WRITE_ACTIVE(
        u32, d,
        to_packed_random(b[l], format, i->aux, c[l] & each, bits) |
            to_packed_random(a[l], format, i->aux, up == 16 ? c[l] >> 16 & each : reversed16(c[l] & 0xffff), bits)
                << up);
}

/* Exact in f32. */
static inline f32 from_packed(u32 v, unsigned format)
{
    if (format == LIR_PACKED_UE8M0)
        return f32_from(v == 255 ? 0x7fffffff : v ? v << 23 : 0x400000);
    if (format == LIR_PACKED_S2F6)
        return (f32)(int8_t)v * 0x1p-6f;
    const struct t0_fmt *f = &formats[format];
    const u32 m = v & ((u32)f->sign - 1), least = 1u << f->mant;
    const bool finite = f->inf == f->sign || m < f->inf;
    const f32 lsb = f32_from((u32)(f->emin - (int)f->mant + 127) << 23);
    const f32 x = !finite     ? f32_from(format == LIR_PACKED_E5M2 && m == f->inf ? 0x7f800000 : 0x7fffffff)
                  : m < least ? (f32)(s32)m * lsb
                              : f32_from((m << (23 - f->mant)) + ((u32)(f->emin - 1 + 127) << 23));
    return v & f->sign && x == x ? -x : x;
}

static inline u32 relu_half(u32 h, unsigned aux, u32 inf)
{
    return aux & LIR_CVT_RELU && h & 0x8000 && (h & 0x7fff) <= inf ? 0 : h;
}
static u32 f16_of(u32 v, unsigned format, unsigned aux)
{
    return relu_half(f32_to_f16(from_packed(v, format)), aux, 0x7c00);
}
/* The product is exact in f32 or beyond bf16. */
static u32 bf16_of(u32 v, u32 scale, unsigned format, unsigned aux)
{
    u32 h = f32_to_bf16(from_packed(v, format) * from_packed(scale & 255, LIR_PACKED_UE8M0));
    if ((h & 0x7fff) > 0x7f80)
        return 0x7fff;
    if (aux & LIR_CVT_SATFINITE && (h & 0x7fff) == 0x7f80)
        h--;
    return relu_half(h, aux, 0x7f80);
}

HANDLER(CVT_F16X2_X2)
{
    const u32 *a = CROW(u32, i->a);
    u32 *d = ROW(u32, i->d);
    const unsigned format = (unsigned)i->imm, up = width_of(format);
    const u32 each = (1u << up) - 1;
    WRITE_ACTIVE(u32, d, f16_of(a[l] & each, format, i->aux) | f16_of(a[l] >> up & each, format, i->aux) << 16);
}
HANDLER(CVT_BF16X2_X2)
{
    const u32 *a = CROW(u32, i->a), *b = CROW(u32, i->b);
    u32 *d = ROW(u32, i->d);
    const unsigned format = (unsigned)i->imm, up = width_of(format);
    const u32 each = (1u << up) - 1;
    WRITE_ACTIVE(u32, d,
                 bf16_of(a[l] & each, b[l], format, i->aux) | bf16_of(a[l] >> up & each, b[l] >> 8, format, i->aux)
                                                                  << 16);
}
