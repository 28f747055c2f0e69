/* Chains of drawn f32 instructions with and without .ftz, each of which reads what others made, through loops, moves,
 * selections, comparisons and shuffles, too: what is flushed to 0 where, beside the same in plain C. SEED=n draws
 * others. */
#include "tier0/harness.h"

#include <math.h>

enum { LANES = 32, STEPS = 24, INPUTS = 3, KERNELS = 6 };
static float in[INPUTS][LANES], got[STEPS][LANES], value[INPUTS + STEPS][LANES];
static uint32_t state = 1;

static uint32_t draw(uint32_t n)
{
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state % n;
}

static uint32_t bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, 4);
    return u;
}

static float number(uint32_t u)
{
    float x;
    memcpy(&x, &u, 4);
    return x;
}

/* Most near the least normal number, where it shows. */
static float draw_number(void)
{
    static const uint32_t odd[] = {0,          0x80000000, 1,          0x007fffff, 0x00800000,
                                   0x80800000, 0x3f800000, 0x3f7fffff, 0xbf800001};
    if (draw(4) == 0)
        return number(odd[draw(sizeof odd / sizeof odd[0])]);
    const uint32_t exponent = draw(3) ? draw(4) : 64 + draw(64);
    return number(draw(2) << 31 | exponent << 23 | draw(1 << 23));
}

static float flush(float x, bool ftz) { return ftz && fabsf(x) < 0x1p-126f ? number(bits(x) & 0x80000000) : x; }

/* A result is flushed by its size with 24 bits and any exponent. */
static float product(float a, float b, float c, bool sum, bool ftz)
{
    a = flush(a, ftz), b = flush(b, ftz), c = flush(c, ftz);
    const float r = sum ? fmaf(a, b, c) : a * b;
    const float large = sum ? fmaf(a * 0x1p24f, b, c * 0x1p24f) : a * 0x1p24f * b;
    return ftz && fabsf(r) <= 0x1p-126f && fabsf(large) < 0x1p-102f ? number(bits(r) & 0x80000000) : r;
}

/* One instruction behind those made so far; its value in each lane. */
static size_t add_step(char *to, size_t room, unsigned d)
{
    static const char *const names[] = {"add", "sub", "mul", "fma.rn", "abs", "neg"};
    static const uint32_t limits[] = {0, 1, 0x80000001, 0x00800000, 0x80800000, 0x01000000, 0x3f800000};
    const unsigned op = draw(14), a = draw(d), b = draw(d), c = draw(d);
    const bool ftz = (op < 6 || op > 11) && draw(4);
    const uint32_t limit = limits[draw(sizeof limits / sizeof *limits)];
    const char *f = ftz ? ".ftz" : "";
    for (unsigned l = 0; l < LANES; l++) {
        const float x = value[a][l], y = value[b][l], z = value[c][l];
        float *r = &value[d][l];
        switch (op) {
        case 0: *r = flush(flush(x, ftz) + flush(y, ftz), ftz); break;
        case 1: *r = flush(flush(x, ftz) - flush(y, ftz), ftz); break;
        case 2: *r = product(x, y, 0, false, ftz); break;
        case 3: *r = product(x, y, z, true, ftz); break;
        case 4: *r = fabsf(flush(x, ftz)); break;
        case 5: *r = -flush(x, ftz); break;
        case 6: *r = x; break;
        case 7: *r = l % 3 ? x : y; break;
        case 8: *r = (float)(int32_t)(l * 77); break;
        case 9: *r = value[a][(7 * l + 3) % 32]; break;
        case 10: *r = (float)(l * 37) * 0x1p-24f; break; /* as a half: denormals, and some above */
        case 12: *r = flush(x, ftz) < flush(number(limit), ftz) ? y : z; break;
        case 13: *r = fminf(fmaxf(product(x, y, z, true, ftz), 0), 1) + 0.0f; break; /* NaN is 0 */
        default: /* three rounds of what halves a number, from one that nobody flushed */
            *r = x;
            for (unsigned k = 0; k < 3; k++)
                *r = product(*r, 0.5f, 0, false, true);
        }
    }
    switch (op) {
    case 0:
    case 1:
    case 2: return (size_t)snprintf(to, room, "%s%s.f32 %%f%u, %%f%u, %%f%u;\n", names[op], f, d, a, b);
    case 3: return (size_t)snprintf(to, room, "fma.rn%s.f32 %%f%u, %%f%u, %%f%u, %%f%u;\n", f, d, a, b, c);
    case 4:
    case 5: return (size_t)snprintf(to, room, "%s%s.f32 %%f%u, %%f%u;\n", names[op], f, d, a);
    case 6: return (size_t)snprintf(to, room, "mov.f32 %%f%u, %%f%u;\n", d, a);
    case 7: return (size_t)snprintf(to, room, "selp.f32 %%f%u, %%f%u, %%f%u, %%p1;\n", d, a, b);
    case 8: return (size_t)snprintf(to, room, "mul.lo.s32 %%r3, %%r1, 77; cvt.rn.f32.s32 %%f%u, %%r3;\n", d);
    case 9:
        return (size_t)snprintf(to, room,
                                "mad.lo.u32 %%r5, %%r1, 7, 3; shfl.sync.idx.b32 %%f%u, %%f%u, %%r5, 31, -1;\n", d, a);
    case 10:
        return (size_t)snprintf(to, room,
                                "mul.lo.u32 %%r5, %%r1, 37; cvt.u16.u32 %%h1, %%r5; cvt.f32.f16 %%f%u, %%h1;\n", d);
    case 12:
        return (size_t)snprintf(to, room, "setp.lt%s.f32 %%p3, %%f%u, 0f%08X; selp.f32 %%f%u, %%f%u, %%f%u, %%p3;\n", f,
                                a, limit, d, b, c);
    case 13: return (size_t)snprintf(to, room, "fma.rn%s.sat.f32 %%f%u, %%f%u, %%f%u, %%f%u;\n", f, d, a, b, c);
    default:
        return (size_t)snprintf(to, room,
                                "mov.f32 %%f%u, %%f%u; mov.u32 %%r4, 0;\nL%u: mul.ftz.f32 %%f%u, %%f%u, 0f3F000000; "
                                "add.u32 %%r4, %%r4, 1; setp.lt.u32 %%p2, %%r4, 3; @%%p2 bra L%u;\n",
                                d, a, d, d, d, d);
    }
}

static void run_drawn(unsigned number_of)
{
    static char text[16384];
    struct {
        void *in, *out;
    } args = {in, got};
    size_t n = (size_t)snprintf(
        text, sizeof text,
        ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 from, .param "
        ".u64 to)\n{\n.reg .b32 %%r<8>; .reg .b64 %%rd<4>; .reg .f32 %%f<64>; .reg .pred %%p<4>; .reg .b16 %%h<2>;\n"
        "ld.param.u64 %%rd0, [from]; ld.param.u64 %%rd1, [to]; mov.u32 %%r1, %%tid.x; mul.wide.u32 "
        "%%rd2, %%r1, 4;\nadd.u64 %%rd0, %%rd0, %%rd2; add.u64 %%rd1, %%rd1, %%rd2; rem.u32 %%r2, "
        "%%r1, 3; setp.ne.u32 %%p1, %%r2, 0;\n");
    for (unsigned k = 0; k < INPUTS; k++) {
        for (unsigned l = 0; l < LANES; l++)
            value[k][l] = in[k][l] = draw_number();
        n += (size_t)snprintf(text + n, sizeof text - n, "ld.global.f32 %%f%u, [%%rd0+%u];\n", k, k * LANES * 4);
    }
    for (unsigned k = 0; k < STEPS; k++)
        n += add_step(text + n, sizeof text - n, INPUTS + k);
    for (unsigned k = 0; k < STEPS; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "st.global.f32 [%%rd1+%u], %%f%u;\n", k * LANES * 4,
                              INPUTS + k);
    snprintf(text + n, sizeof text - n, "ret;\n}\n");
    unsigned bad = 0;
    memset(got, 0xee, sizeof got);
    const bool ran = t0t_once(text, "k", 1, LANES, &args, NULL);
    for (unsigned k = 0; k < STEPS; k++)
        for (unsigned l = 0; l < LANES; l++) {
            const float want = value[INPUTS + k][l];
            bad += isnan(want) ? !isnan(got[k][l]) : bits(want) != bits(got[k][l]);
        }
    check(ran && !bad, "drawn chain %u (%u values wrong)%s%s", number_of, bad, bad ? "\n" : "", bad ? text : "");
}

int main(void)
{
    const char *seed = getenv("SEED");
    state = seed ? (uint32_t)strtoul(seed, NULL, 10) * 2654435761u + 1 : 1;
    for (unsigned k = 0; k < KERNELS; k++)
        run_drawn(k);
    return t0t_done();
}
