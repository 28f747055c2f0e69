/* Tier 1's prelude: what a number is to ptx/lir/approx.h, which follows: half a piece of f64, or a piece of f32. */
#define APPROX_FN T1_INLINE
#define APPROX_F pf64
#define APPROX_U pu64
#define APPROX_BITS(x) ((pu64)(x))
#define APPROX_F64(u) ((pf64)(u))
#define APPROX_K(c) ((pf64){0} + (c))
#define APPROX_IF(rel, a, b, yes, no) ((pf64)t1_pick64(T1_C_F64(rel, (pu64)(a), (pu64)(b)), (pu64)(yes), (pu64)(no)))
#define APPROX_F32 pf32
#define APPROX_K32(c) ((pf32){0} + (c))
#define APPROX_FMA32(a, b, c) T1_F(t1_v_fma_f32((pu32)(a), (pu32)(b), (pu32)(c)))
