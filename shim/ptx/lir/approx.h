/* The approximate functions of PTX as branch-free code, written once: the interpreter includes this file with a
 * number being a scalar (ptx/tier0/alu_approx.h), and tier 1's prelude contains its text with a number being a vector
 * of lanes (ptx/tier1/prelude/number.h), so that both give the same bits. Mostly in f64: a few terms there are within
 * half a unit of f32 plus a hair and need no fused multiply-add.
 *
 * Who includes it defines:
 *   APPROX_FN                     how a function is declared
 *   APPROX_F, APPROX_U            an f64, a u64
 *   APPROX_BITS(x), APPROX_F64(u) the bits of an f64, and back
 *   APPROX_K(c)                   the constant c as an f64
 *   APPROX_IF(GT, a, b, yes, no)  a > b ? yes : no of f64 (also LT, GE, EQ); both are computed
 *   APPROX_F32, APPROX_K32(c), APPROX_FMA32(a, b, c)   the same in f32
 * It includes nothing and uses only operators that scalars and GNU C's vectors share. */
#ifndef CUMU_PTX_LIR_APPROX_H
#define CUMU_PTX_LIR_APPROX_H

#define APPROX_ROUND 0x1.8p52     /* adding it leaves the nearest integer in the low bits of the mantissa */
#define APPROX_ONE (1023ul << 52) /* the bits of 1.0, the exponent's bias */

/* 2^x for |x| <= 1000; NaN stays. The coefficients are ln(2)^k / k!, Taylor's series, on [-0.5, 0.5]: to f^8 the
 * relative error is below 2^-32. */
APPROX_FN APPROX_F approx_exp2_64(APPROX_F x)
{
    APPROX_F shifted = x + APPROX_ROUND, f = x - (shifted - APPROX_ROUND), p = APPROX_K(1.3215486790144307e-6);
    p = p * f + 1.5252733804059840e-5;
    p = p * f + 1.5403530393381609e-4;
    p = p * f + 1.3333558146428443e-3;
    p = p * f + 9.6181291076284771e-3;
    p = p * f + 5.5504108664821580e-2;
    p = p * f + 2.4022650695910071e-1;
    p = p * f + 6.9314718055994531e-1;
    p = p * f + 1.0;
    return p * APPROX_F64((APPROX_BITS(shifted) << 52) + APPROX_ONE);
}

/* 2^f for f in [-0.5, 0.5], in f32, as every expf of a kernel comes here: a Chebyshev polynomial, whose coefficients
 * are explained in mapping/facts/ptx.md M7. Range reduction and scaling are the back end's. */
APPROX_FN APPROX_F32 approx_exp2_fraction(APPROX_F32 f)
{
    APPROX_F32 p = APPROX_K32(0.0001546144470f);
    p = APPROX_FMA32(p, f, APPROX_K32(0.001340042818f));
    p = APPROX_FMA32(p, f, APPROX_K32(0.009618056679f));
    p = APPROX_FMA32(p, f, APPROX_K32(0.05550327227f));
    p = APPROX_FMA32(p, f, APPROX_K32(0.2402265092f));
    p = APPROX_FMA32(p, f, APPROX_K32(0.6931472067f));
    return APPROX_FMA32(p, f, APPROX_K32(1.0f));
}
#define APPROX_EX2_LIMIT 200.0f  /* 2^x is 0 or infinite in f32 from there on */
#define APPROX_ROUND32 0x1.8p23f /* APPROX_ROUND for f32; the sum's bits are the integer above those below */
#define APPROX_ROUND32_BITS 0x4b400000u

/* tanh x = (t - 1) / (t + 1) with t = e^2x = 2^(x 2/ln 2); near 0, where that cancels, x - x^3/3 + 2x^5/15 */
APPROX_FN APPROX_F approx_tanh_64(APPROX_F x)
{
    const APPROX_F lo = APPROX_K(-200.0), hi = APPROX_K(200.0); /* tanh is 1 or -1 long before */
    APPROX_F scaled = x * 2.8853900817779268, z = x * x;
    APPROX_F t = approx_exp2_64(APPROX_IF(LT, scaled, lo, lo, APPROX_IF(GT, scaled, hi, hi, scaled)));
    APPROX_F far = (t - 1.0) / (t + 1.0);
    APPROX_F near = x * (1.0 - z * (0.33333333333333333 - z * 0.13333333333333333));
    return APPROX_IF(LT, z, APPROX_K(0.0004), near, far);
}

/* log2 x of an x that is not subnormal: x = m 2^e with m in [sqrt(1/2), sqrt(2)], and log2 m = 2/ln(2) atanh(s) with
 * s = (m - 1) / (m + 1); the coefficients are 2/ln(2) / (2k + 1), the series of atanh. */
APPROX_FN APPROX_F approx_lg2_64(APPROX_F x)
{
    APPROX_U u = APPROX_BITS(x);
    APPROX_F m = APPROX_F64((u & 0xffffffffffffful) | APPROX_ONE), root = APPROX_K(1.4142135623730951);
    /* the exponent's field below 2^52 is an integer in the mantissa of an f64 */
    APPROX_F e = APPROX_F64((u >> 52 & 0x7ff) | 1075ul << 52) - (0x1p52 + 1023);
    e = e + APPROX_IF(GT, m, root, APPROX_K(1.0), APPROX_K(0.0));
    m = APPROX_IF(GT, m, root, m * 0.5, m);
    APPROX_F s = (m - 1.0) / (m + 1.0), z = s * s, p = APPROX_K(0.26230818925253879);
    p = p * z + 0.32059889797532519;
    p = p * z + 0.41219858311113238;
    p = p * z + 0.57707801635558530;
    p = p * z + 0.96179669392597558;
    p = p * z + 2.8853900817779268;
    APPROX_F r = e + s * p;
    r = APPROX_IF(EQ, x, APPROX_K(0.0), APPROX_K(-__builtin_inf()), r);
    r = APPROX_IF(GT, x, APPROX_K(3.5e38), x, r); /* only infinity is, of what was an f32 */
    return APPROX_IF(GE, x, APPROX_K(0.0), r, APPROX_K(__builtin_nan("")));
}

/* sin(x + quadrant pi/2) for |x| up to APPROX_SIN_LIMIT: x less a multiple q of pi/2 in two parts (Cody and Waite 1980:
 * the first has 33 bits, so that its product with q is exact), then Taylor's series of sine and cosine on
 * [-pi/4, pi/4]; 2/pi chooses q, whose low bits choose between the two and the sign. */
#define APPROX_SIN_LIMIT 0x1p20f
APPROX_FN APPROX_F approx_sin_64(APPROX_F x, APPROX_U quadrant)
{
    APPROX_F shifted = x * 0.63661977236758134 + APPROX_ROUND, q = shifted - APPROX_ROUND;
    APPROX_F r = (x - q * 0x1.921fb544p+0) - q * 0x1.0b4611a626331p-34, z = r * r;
    APPROX_F s = APPROX_K(-2.5052108385441719e-8), c = APPROX_K(-2.7557319223985888e-7);
    s = s * z + 2.7557319223985891e-6;
    s = s * z - 1.9841269841269841e-4;
    s = s * z + 8.3333333333333333e-3;
    s = s * z - 1.6666666666666667e-1;
    s = r * (1.0 + z * s); /* a product, so that -0 stays -0 */
    c = c * z + 2.4801587301587302e-5;
    c = c * z - 1.3888888888888889e-3;
    c = c * z + 4.1666666666666667e-2;
    c = c * z - 0.5;
    c = 1.0 + z * c;
    APPROX_U k = APPROX_BITS(shifted) + quadrant, odd = 0 - (k & 1);
    APPROX_U y = (APPROX_BITS(c) & odd) | (APPROX_BITS(s) & ~odd);
    return APPROX_F64(y ^ (k & 2) << 62);
}

#endif
