/* mma of 8, 6 and 4 bits (sm_120a): kind::f8f6f4, and kinds with scales of blocks, dense and sparse, against sums in
 * double. Fragments, metadata and places of scales by the ISA's text, "Matrix fragments" and "Block scaling". */
#include <math.h>

#include "tier0/harness.h"
#include "xorshift.h"

enum { M = 16, N = 8, MOST_K = 128 };
static const struct {
    const char *name;
    unsigned expo, mant, bits, shift; /* of 6 bits below in a byte, of 4 in its middle */
} info[] = {
    {"e4m3", 4, 3, 8, 0}, {"e5m2", 5, 2, 8, 0}, {"e2m3", 2, 3, 6, 0}, {"e3m2", 3, 2, 6, 0}, {"e2m1", 2, 1, 4, 2}};
enum { E2M1 = 4, FORMATS };

static struct {
    unsigned k, a, b, scales, chunk;
    bool dense4, sparse, ue4m3;
    bool has[M][MOST_K];
    uint32_t va[M][MOST_K], vb[MOST_K][N];
    float vc[M][N];
    unsigned byte[2], thread[2];
} x;
static uint64_t seed = 88172645463325252u;
static uint32_t rnd(void) { return (uint32_t)(xorshift(&seed) >> 16); }

static double value(uint32_t v, unsigned expo, unsigned mant)
{
    const unsigned e = v >> mant & ((1u << expo) - 1), m = v & ((1u << mant) - 1);
    const int bias = (1 << (expo - 1)) - 1;
    const double r = e ? ldexp(1 + ldexp(m, -(int)mant), (int)e - bias) : ldexp(m, 1 - bias - (int)mant);
    return v >> (expo + mant) & 1 ? -r : r;
}
/* No infinities, no NaNs, and exponents that leave sums their digits. */
static uint32_t element(unsigned f)
{
    uint32_t v = rnd() & ((1u << info[f].bits) - 1);
    if (f == 0 && (v & 0x7f) == 0x7f)
        v &= ~1u;
    return f == 1 ? (v & 0x83) | ((v >> 2 & 7) + 10) << 2 : v;
}
static double scale(uint32_t v) { return x.ue4m3 ? value(v & 0x7f, 4, 3) : ldexp(1, (int)v - 127); }

enum { AT_B = 8, AT_C = 16, AT_META = 20, AT_SA, AT_SB, AT_SEL, LANE = 32 };
static uint32_t in[32 * LANE];
static float out[32 * LANE];

static void put(uint32_t *reg, unsigned e, unsigned f, uint32_t v)
{
    const unsigned per = x.dense4 ? 8 : 4, bits = 32 / per;
    reg[e / per] |= (x.dense4 ? v : v << info[f].shift) << e % per * bits;
}

static void fill(void)
{
    const unsigned per = x.dense4 ? 8 : 4, unit = x.chunk == 8 ? 2 : 1;
    memset(in, 0, sizeof in);
    for (unsigned k = 0; k < x.k; k++) {
        for (unsigned i = 0; i < M; i++) {
            x.va[i][k] = element(x.a);
            if (!x.sparse)
                x.has[i][k] = true;
            else if (k % x.chunk == 0) { /* two of four units */
                unsigned take = 2;
                for (unsigned u = 0; u < 4; u++) {
                    bool yes = rnd() % (4 - u) < take;
                    take -= yes;
                    for (unsigned e = 0; e < unit; e++)
                        x.has[i][k + u * unit + e] = yes;
                }
            }
        }
        for (unsigned j = 0; j < N; j++)
            x.vb[k][j] = element(x.b);
    }
    for (unsigned lane = 0; lane < 32; lane++) {
        const unsigned g = lane / 4, t = lane % 4, wide = x.sparse ? 2 * per : per;
        uint32_t *reg = in + lane * LANE;
        for (unsigned r = 0; r < 4; r++) {
            unsigned e = r * per, row = r & 1 ? g + 8 : g, first = t * wide + r / 2 * 4 * wide;
            for (unsigned k = first; k < first + wide; k++)
                if (x.has[row][k])
                    put(reg, e++, x.a, x.va[row][k]);
        }
        for (unsigned e = 0; e < x.k / 4; e++)
            put(reg + AT_B, e, x.b, x.vb[t * per + e % per + e / per * 4 * per][g]);
        for (unsigned e = 0; e < 4; e++) {
            float *c = &x.vc[e < 2 ? g : g + 8][2 * t + (e & 1)];
            *c = (float)((int)(rnd() % 2001) - 1000) / 8;
            memcpy(reg + AT_C + e, c, 4);
        }
        reg[AT_META] = rnd();
        for (unsigned s = AT_SA; s <= AT_SB; s++)
            for (unsigned b = 0; b < 32; b += 8)
                reg[s] |= (x.ue4m3 ? rnd() % 0x7f : 122 + rnd() % 11) << b;
        reg[AT_SEL] = x.byte[0] | x.thread[0] << 8 | x.byte[1] << 16 | x.thread[1] << 24;
    }
    for (unsigned row = 0; x.sparse && row < M; row++)
        for (unsigned c = 0; c < x.k / x.chunk; c++) {
            uint32_t *meta = &in[(row % 8 * 4 + 2 * (c / 8) + (row >= 8)) * LANE + AT_META], code = 0, shift = 0;
            for (unsigned u = 0; u < 4; u++)
                if (x.has[row][c * x.chunk + u * unit]) {
                    code |= u << shift;
                    shift += 2;
                }
            *meta = (*meta & ~(15u << 4 * (c % 8))) | code << 4 * (c % 8);
        }
}

static bool near(unsigned i, unsigned j, double got)
{
    double sum = x.vc[i][j], size = fabs(sum);
    for (unsigned k = 0; k < x.k; k++) {
        double p = x.has[i][k] ? value(x.va[i][k], info[x.a].expo, info[x.a].mant) *
                                     value(x.vb[k][j], info[x.b].expo, info[x.b].mant)
                               : 0;
        if (x.scales) {
            const unsigned at = k / (x.k / x.scales);
            const unsigned la = i % 8 * 4 + 2 * x.thread[0] + i / 8, lb = j * 4 + x.thread[1];
            p *= scale(in[la * LANE + AT_SA] >> 8 * (x.byte[0] + at) & 255) *
                 scale(in[lb * LANE + AT_SB] >> 8 * (x.byte[1] + at) & 255);
        }
        sum += p;
        size += fabs(p);
    }
    return fabs(got - sum) <= size * 0x1p-20;
}

static char text[1 << 13];
#define EMIT(...) (at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__))

static void product(const char *kind, unsigned k, unsigned a, unsigned b, unsigned scales, bool ue4m3, bool sparse,
                    bool say)
{
    char opcode[200];
    size_t at = 0;
    unsigned bad = 0;
    memset(&x, 0, sizeof x);
    x.k = k;
    x.a = a;
    x.b = b;
    x.scales = scales;
    x.ue4m3 = ue4m3;
    x.sparse = sparse;
    x.dense4 = !strncmp(kind, "mxf4", 4);
    x.chunk = x.dense4 ? 8 : 4;
    const unsigned step = scales == 4 ? 4 : scales;
    for (unsigned s = 0; s < 2 && scales; s++) {
        x.byte[s] = rnd() % (4 / step) * step;
        x.thread[s] = rnd() % (s ? 4 : 2);
    }
    static const char *const vec[] = {"", ".scale_vec::1X", ".scale_vec::2X", "", ".scale_vec::4X"};
    snprintf(opcode, sizeof opcode, "mma%s.sync.aligned.m16n8k%u.row.col.kind::%s%s%s.f32.%s.%s.f32%s",
             sparse ? ".sp::ordered_metadata" : "", k, kind, scales ? ".block_scale" : "", say ? vec[scales] : "",
             info[a].name, info[b].name,
             !scales ? ""
             : ue4m3 ? ".ue4m3"
                     : ".ue8m0");
    EMIT(
        ".version 9.0\n.target sm_120a\n.address_size 64\n.visible .entry k(.param .u64 pout, .param .u64 pin)\n{\n"
        ".reg .b32 %%r<40>; .reg .b16 %%h<8>; .reg .b64 %%p, %%q, %%o;\nld.param.u64 %%p, [pout]; ld.param.u64 %%q, "
        "[pin]; mov.u32 %%r39, %%tid.x;\nmul.wide.u32 %%o, %%r39, 128; add.s64 %%p, %%p, %%o; add.s64 %%q, %%q, %%o;\n");
    for (unsigned r = 0; r < 24; r++)
        EMIT("ld.global.b32 %%r%u, [%%q+%u];\n", r, 4 * r);
    for (unsigned s = 0; s < 4; s++)
        EMIT("shr.u32 %%r38, %%r23, %u; and.b32 %%r38, %%r38, 255; cvt.u16.u32 %%h%u, %%r38;\n", 8 * s, s);
    EMIT("%s {%%r24, %%r25, %%r26, %%r27}, {%%r0, %%r1, %%r2, %%r3}, {%%r8, %%r9", opcode);
    if (sparse)
        EMIT(", %%r10, %%r11");
    EMIT("}, {%%r16, %%r17, %%r18, %%r19}%s", sparse ? ", %r20, 0" : "");
    if (scales && rnd() & 1)
        EMIT(", %%r21, {%%h0, %%h1}, %%r22, {%%h2, %%h3}");
    else if (scales)
        EMIT(", {%%r21}, {%u, %u}, {%%r22}, {%u, %u}", x.byte[0], x.thread[0], x.byte[1], x.thread[1]);
    EMIT(";\n");
    for (unsigned r = 0; r < 4; r++)
        EMIT("st.global.b32 [%%p+%u], %%r%u;\n", 4 * r, 24 + r);
    EMIT("ret;\n}\n");
    for (unsigned round = 0; round < 3; round++) {
        struct {
            void *out, *in;
        } args = {out, in};
        fill();
        memset(out, 0, sizeof out);
        if (!t0t_once(text, "k", 1, 32, &args, NULL))
            return;
        for (unsigned lane = 0; lane < 32; lane++)
            for (unsigned e = 0; e < 4; e++)
                bad += !near(lane / 4 + (e < 2 ? 0 : 8), lane % 4 * 2 + (e & 1), (double)out[lane * LANE + e]);
    }
    check(!bad, "%s (%u wrong)", opcode, bad);
}

int main(void)
{
    for (unsigned sparse = 0; sparse < 2; sparse++) {
        for (unsigned a = 0; a < FORMATS; a++)
            for (unsigned b = 0; b < FORMATS; b++) {
                product("f8f6f4", sparse ? 64 : 32, a, b, 0, false, sparse, false);
#ifndef NO_SCALES
                product("mxf8f6f4", sparse ? 64 : 32, a, b, 1, false, sparse, rnd() & 1);
#endif
            }
#ifndef NO_SCALES
        for (unsigned again = 0; again < 4; again++) {
            product("mxf4", sparse ? 128 : 64, E2M1, E2M1, 2, false, sparse, again & 1);
            product("mxf4nvf4", sparse ? 128 : 64, E2M1, E2M1, 2, false, sparse, true);
            product("mxf4nvf4", sparse ? 128 : 64, E2M1, E2M1, 4, true, sparse, true);
        }
#endif
    }
    return t0t_done();
}
