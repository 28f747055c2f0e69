/* Matrix kernels as nvcc makes them of nvcuda::wmma and inline assembly (ptx/wmma.cu), against
 * plain loops. Numbers are small integers, so that every sum is exact whatever its order. */
#include "tier0/harness.h"

enum kind { F16, BF16, F32, F64, S8, U8, S32 };
static const unsigned size_of[] = {2, 2, 4, 8, 1, 1, 4};

static uint32_t seed = 12345;
static int small_number(enum kind k)
{
    seed = seed * 1664525 + 1013904223;
    return (int)(seed >> 24) % 9 - (k == U8 ? 0 : 4);
}

static void put(void *array, unsigned at, enum kind k, int v)
{
    uint8_t *p = (uint8_t *)array + at * size_of[k];
    float f = (float)v;
    double d = v;
    uint32_t bits;
    memcpy(&bits, &f, 4);
    uint16_t half = 0, brain = (uint16_t)(bits >> 16);
    if (v)
        half = (uint16_t)((bits >> 16 & 0x8000) | ((bits >> 13 & 0x3ffff) - (112 << 10)));
    switch (k) {
    case F16: memcpy(p, &half, 2); break;
    case BF16: memcpy(p, &brain, 2); break;
    case F32: memcpy(p, &f, 4); break;
    case F64: memcpy(p, &d, 8); break;
    case S8:
    case U8: *p = (uint8_t)v; break;
    default: memcpy(p, &v, 4);
    }
}

static char *text;
static uint8_t a[8192], b[8192], c[8192], d[8192], want[8192];
static int va[1024], vb[1024];

static bool launch(const char *kernel, const void *params) { return t0t_once(text, kernel, 1, 32, params, NULL); }

static void product(const char *kernel, enum kind factor, enum kind sum, bool acol, bool bcol)
{
    void *params[] = {a, b, c, d};
    for (unsigned i = 0; i < 1024; i++) {
        put(a, i, factor, va[i] = small_number(factor));
        put(b, i, factor, vb[i] = small_number(factor));
    }
    for (unsigned i = 0; i < 32; i++)
        for (unsigned j = 0; j < 32; j++) {
            int s = 0, v = small_number(sum);
            for (unsigned k = 0; k < 32; k++)
                s += va[acol ? k * 32 + i : i * 32 + k] * vb[bcol ? j * 32 + k : k * 32 + j];
            put(c, i * 32 + j, sum, v);
            put(want, i * 32 + j, sum, s + 2 * v);
        }
    memset(d, 0xee, sizeof d);
    if (launch(kernel, params))
        check(!memcmp(d, want, 1024 * size_of[sum]), "wmma: %s", kernel);
}

static void bits(void)
{
    void *params[] = {a, b, c, d};
    for (unsigned i = 0; i < 128; i++) {
        a[i] = (uint8_t)(small_number(S8) * 37);
        b[i] = (uint8_t)(small_number(S8) * 91);
    }
    for (unsigned i = 0; i < 64; i++) {
        int s = small_number(S8);
        put(c, i, S32, s);
        for (unsigned k = 0; k < 16; k++)
            s += __builtin_popcount(a[i / 8 * 16 + k] ^ b[i % 8 * 16 + k]);
        put(want, i, S32, s);
    }
    if (launch("bits", params))
        check(!memcmp(d, want, 256), "wmma: bits");
}

static void inline_mma(void)
{
    void *params[] = {a, b, d};
    for (unsigned i = 0; i < 1024; i++) {
        put(a, i, F16, va[i] = small_number(F16));
        put(b, i, F16, vb[i] = small_number(F16));
    }
    for (unsigned i = 0; i < 1024; i++) {
        int s = 0;
        for (unsigned k = 0; k < 32; k++)
            s += va[i / 32 * 32 + k] * vb[k * 32 + i % 32];
        put(want, i, F16, s);
    }
    memset(d, 0xee, sizeof d);
    if (launch("inline_mma", params))
        check(!memcmp(d, want, 2048), "inline assembly: cp.async, ldmatrix, mma, stmatrix");
}

static void transposes(void)
{
    static const char *const how[] = {"ldmatrix.trans", "movmatrix", "stmatrix.trans", "ldmatrix"};
    void *params[] = {a, d};
    uint16_t in[256], turned[256];
    for (unsigned i = 0; i < 256; i++) {
        in[i] = (uint16_t)(i * 259);
        turned[(i & ~63u) + i % 8 * 8 + i / 8 % 8] = in[i];
    }
    memcpy(a, in, sizeof in);
    memset(d, 0xee, sizeof d);
    if (!launch("transposes", params))
        return;
    for (unsigned k = 0; k < 4; k++)
        check(!memcmp(d + k * 512, k == 3 ? in : turned, 512), "8 x 8 by %s", how[k]);
}

int main(void)
{
    FILE *f = fopen("tests/tier0/ptx/wmma.ptx", "r");
    size_t room = 1 << 20, n = 0;
    text = calloc(1, room);
    if (f && text)
        n = fread(text, 1, room - 1, f);
    if (f)
        fclose(f);
    if (!check(n > 0, "tests/tier0/ptx/wmma.ptx can be read"))
        return 1;
    product("half_rr", F16, F32, false, false);
    product("half_cc", F16, F32, true, true);
    product("half_rc", F16, F16, false, true);
    product("bf16_rr", BF16, F32, false, false);
    product("tf32_cr", F32, F32, true, false);
    product("f64_rc", F64, F64, false, true);
    product("s8_rr", S8, S32, false, false);
    product("u8_rc", U8, S32, false, true);
    bits();
    inline_mma();
    transposes();
    free(text);
    return t0t_done();
}
