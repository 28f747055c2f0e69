/* The software roundings of emitted kernels against the machine's own in each mode of its FPU, on values made to hurt:
 * neighbours of powers of two, ends of the range, sums that cancel, products that vanish. rounding.c compiles this. */
static double worse(double x);
static float worse(float x);
#define CM_ROUGH(x) worse(x)
#include "prelude.h"
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

using namespace cm;
#pragma STDC FENV_ACCESS ON

static unsigned long long state = 1;
static u64 any() { return state = state * 6364136223846793005ull + 1442695040888963407ull, state ^ state >> 29; }

/* Some units in the last place off, and now and then much more, as a machine's own division may be. */
static double worse(double x) { return x * (1 + ((s32)(any() >> 9 & 15) - 8) * ((any() >> 7 & 31) ? 2.2e-16 : 1e-6)); }
static float worse(float x) { return x * (1 + ((s32)(any() >> 9 & 15) - 8) * ((any() >> 7 & 31) ? 1.2e-7f : 2.4e-4f)); }

/* near: an exponent that the value shall be close to, so that sums cancel */
template <class T> static T pick(s32 near)
{
    typedef real<T> R;
    const u64 top = 2 * R::BIAS + 1, one = 1ull << (R::P - 1), sign = any() >> 7 & 1;
    u64 e = any() % (top + 1), m = any() >> 11 & (one - 1);
    switch (any() >> 5 & 15) {
    case 0: m = 0; break;
    case 1: m = any() >> 9 & 3; break;
    case 2: m = one - 1 - (any() >> 9 & 3); break;
    case 3: e = any() >> 9 & 1; break; /* subnormals and zeros */
    case 4: e = top - (any() >> 9 & 3); break;
    case 5: m &= ~0ull << (any() >> 9) % R::P; break;
    default: break;
    }
    const s64 at = near + (s64)(any() >> 13 & 7) - 4;
    if (any() >> 5 & 7 && at >= 0 && at < (s64)top)
        e = (u64)at;
    return R::of(sign << (8 * sizeof(T) - 1) | e << (R::P - 1) | m);
}

static unsigned failed, done;
template <class T> static void same(const char *what, u32 r, T a, T b, T c, T got, volatile T want)
{
    const T w = want;
    done++;
    if (bits(got) == bits(w) || (got != got && w != w))
        return;
    if (failed++ < 20)
        printf("# %s mode %u: %a %a %a: %a, not %a\n", what, r, (double)a, (double)b, (double)c, (double)got, (double)w);
}
static int fpu(u32 r) { return r == CM_RZ ? FE_TOWARDZERO : r == CM_RM ? FE_DOWNWARD : r == CM_RP ? FE_UPWARD : FE_TONEAREST; }
#define BY_MACHINE(expr) (fesetround(fpu(r)), w = (expr), fesetround(FE_TONEAREST), w)

template <class T> static void one()
{
    const u32 modes[] = {0, CM_RZ, CM_RM, CM_RP};
    const s32 bias = real<T>::BIAS;
    volatile T w;
    volatile T a = pick<T>((any() >> 7 & 3) ? bias : (s32)(any() % (2 * bias))), b = pick<T>((s32)exponent((T)a));
    volatile T c = pick<T>((s32)exponent((T)a) + (s32)exponent((T)b) - bias);
    if ((any() >> 9 & 3) == 0)
        c = -(a * b); /* what is left is the product's own error */
    if ((any() >> 9 & 31) == 0)
        b = -a;
    for (u32 k = 0; k < 4; k++) {
        const u32 r = modes[k];
        const T x = a, y = b, z = c;
        same("div", r, x, y, (T)0, r ? divided(x, y, r) : divided(x, y), BY_MACHINE(a / b));
        same("sqrt", r, x, (T)0, (T)0, r ? rooted(x, r) : rooted(x), BY_MACHINE(sizeof a == 4 ? sqrtf((float)a) : sqrt(a)));
        if (!r)
            continue;
        same("add", r, x, y, (T)0, directed_sum(x, y, r), BY_MACHINE(a + b));
        same("mul", r, x, y, (T)0, directed_product(x, y, r), BY_MACHINE(a * b));
        same("fma", r, x, y, z, directed_fma(x, y, z, r), BY_MACHINE(fused(a, b, c)));
    }
}

int main(int argc, char **argv)
{
    for (long k = argc > 1 ? atol(argv[1]) : 0; k > 0; k--) {
        one<f32>();
        one<f64>();
    }
    printf("# %u results\n", done);
    return failed || !done;
}
