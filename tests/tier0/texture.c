/* Texture and surface instructions on records made by hand: formats, results, filters, queries,
 * boundaries and faults, each against arithmetic of this file's own. */
#include <math.h>

#include "ptx/tier0/texture.h"
#include "tier0/kernels.h"

static struct t0_texture tex; /* the handle is %rd31 */
static _Alignas(64) uint8_t bytes[1 << 16];

/* Texels of 1, 2 or 4 channels in bytes[], every dimension as given, one level. */
static void shape(unsigned format, unsigned channels, uint32_t w, uint32_t h, uint32_t d)
{
    uint64_t pitch = (uint64_t)w * channels * t0_texel_bytes(format);
    tex = (struct t0_texture){.magic = T0_TEXTURE_MAGIC,
                              .format = (uint8_t)format,
                              .channels = (uint8_t)channels,
                              .address = {T0_ADDR_CLAMP, T0_ADDR_CLAMP, T0_ADDR_CLAMP},
                              .as_float = format >= T0_TEXEL_F16,
                              .levels = 1,
                              .level = {{bytes, w, h, d, pitch, pitch * h}}};
}

static void random_bytes(void)
{
    uint32_t seed = 7;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
}

static bool go(const char *body, uint32_t threads, struct t0_fault *fault)
{
    static char text[8192];
    struct args a = {out, &tex, threads};
    snprintf(text, sizeof text, "%s%s%s%s", HEAD, ENTRY("k"), body, END);
    memset(out, 0xee, sizeof out);
    return t0t_once(text, "k", 1, threads, &a, fault);
}

static uint32_t bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}

static float value(uint32_t b)
{
    float f;
    memcpy(&f, &b, 4);
    return f;
}

static void same(const char *name, const uint32_t *want, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (out[i] != want[i]) {
            check(false, "%s: out[%u] = 0x%x (%g), want 0x%x (%g)", name, i, out[i], (double)value(out[i]), want[i],
                  (double)value(want[i]));
            return;
        }
    check(true, "%s", name);
}

/* ---- formats --------------------------------------------------------------------------------- */

static float half_value(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    float f = e == 31 ? (m ? NAN : INFINITY) : e == 0 ? ldexpf((float)m, -24) : ldexpf((float)(m + 1024), e - 25);
    return h & 0x8000 ? -f : f;
}

static uint32_t decoded(unsigned format, bool scaled, const uint8_t *p)
{
    int16_t s;
    uint16_t u;
    uint32_t w;
    memcpy(&s, p, 2);
    memcpy(&u, p, 2);
    memcpy(&w, p, 4);
    switch (format) {
    case T0_TEXEL_U8: return scaled ? bits((float)*p / 255) : *p;
    case T0_TEXEL_S8: return scaled ? bits(fmaxf((float)(int8_t)*p / 127, -1)) : (uint32_t)(int8_t)*p;
    case T0_TEXEL_U16: return scaled ? bits((float)u / 65535) : u;
    case T0_TEXEL_S16: return scaled ? bits(fmaxf((float)s / 32767, -1)) : (uint32_t)s;
    case T0_TEXEL_F16: return bits(half_value(u));
    default: return w;
    }
}

static void formats(void)
{
    static const char *const names[] = {"u8", "u16", "u32", "s8", "s16", "s32", "f16", "f32"};
    uint32_t want[256];
    for (unsigned f = 0; f < T0_TEXEL_FORMATS; f++)
        for (unsigned c = 1; c <= 4; c *= 2)
            for (unsigned scaled = 0; scaled < 2; scaled++) {
                char name[64];
                if (scaled && t0_texel_bytes(f) == 4)
                    continue;
                random_bytes();
                for (unsigned i = 0; f == T0_TEXEL_F16 && i < 1024; i += 2)
                    bytes[i + 1] &= 0xfb; /* no NaN, whose bits may differ */
                shape(f, c, 64, 1, 1);
                tex.as_float |= scaled;
                for (unsigned i = 0; i < 64; i++)
                    for (unsigned k = 0; k < 4; k++)
                        want[4 * i + k] = k < c          ? decoded(f, scaled, bytes + (i * c + k) * t0_texel_bytes(f))
                                          : k < 3        ? 0
                                          : tex.as_float ? bits(1)
                                                         : 1;
                if (!go("mul.wide.u32 %rd3, %r1, 12; add.s64 %rd0, %rd0, %rd3;\n"
                        "tex.1d.v4.u32.s32 {%r2, %r3, %r4, %r5}, [%rd31, {%r1}];\n"
                        "st.global.v4.u32 [%rd0], {%r2, %r3, %r4, %r5};\n",
                        64, NULL))
                    return;
                snprintf(name, sizeof name, "format %s, %u channels%s", names[f], c, scaled ? ", scaled" : "");
                same(name, want, 256);
            }
}

static void results(void)
{
    uint32_t want[64];
    static const float v[] = {0.5f, -3.25f, 1000, 65504};
    shape(T0_TEXEL_F32, 4, 4, 1, 1);
    for (unsigned i = 0; i < 16; i++)
        memcpy(bytes + 4 * i, &v[(i + i / 4) % 4], 4);
    for (unsigned i = 0; i < 4; i++) {
        uint16_t h[4];
        for (unsigned k = 0; k < 4; k++)
            for (unsigned b = 0; b < 65536; b++)
                if (half_value((uint16_t)b) == v[(k + i) % 4])
                    h[k] = (uint16_t)b;
        want[i] = h[0] | (uint32_t)h[1] << 16;
        want[i + 4] = h[2] | (uint32_t)h[3] << 16;
    }
    go("tex.1d.v4.f16.s32 {%h1, %h2, %h3, %h4}, [%rd31, {%r1}]; mov.b32 %r2, {%h1, %h2};\n"
       "mov.b32 %r3, {%h3, %h4};" STORE("%r2") "st.global.u32 [%rd0+16], %r3;",
       4, NULL);
    same("results in f16", want, 8);
    go("tex.1d.v2.f16x2.s32 {%r2, %r3}, [%rd31, {%r1}];" STORE("%r2") "st.global.u32 [%rd0+16], %r3;", 4, NULL);
    same("results in f16x2", want, 8);
    go("mov.u32 %r2, 5; tex.1d.v4.f32.s32 {_, _, %f1, _}|%p1, [%rd31, {%r1}];\n"
       "selp.u32 %r2, 7, 9, %p1; " STORE("%r2"),
       4, NULL);
    same("everything is resident", (const uint32_t[]){7, 7, 7, 7}, 4);
}

/* ---- coordinates ----------------------------------------------------------------------------- */

static void number_texels(void) /* f32: texel n holds n */
{
    for (unsigned i = 0; i < sizeof bytes / 4; i++) {
        float f = (float)i;
        memcpy(bytes + 4 * i, &f, 4);
    }
}

static void coordinates(void)
{
    uint32_t want[512];
    number_texels();
    shape(T0_TEXEL_F32, 1, 8, 4, 6);
    tex.address[0] = tex.address[1] = T0_ADDR_BORDER;
    tex.border[0] = bits(-5);
    for (unsigned i = 0; i < 40; i++) {
        int x = (int)(i % 8) + 1, y = (int)(i / 8) - 1;
        want[i] = x < 8 && y >= 0 && y < 4 ? bits((float)(y * 8 + x)) : bits(-5);
    }
    const char split[] = "rem.u32 %r2, %r1, 8; div.u32 %r3, %r1, 8; cvt.rn.f32.u32 %f2, %r2;\n"
                         "cvt.rn.f32.u32 %f3, %r3; add.f32 %f2, %f2, 0f3F000000;\n"
                         "add.f32 %f3, %f3, 0f3F000000;\n";
    char text[1024];
    snprintf(text, sizeof text,
             "%stex.2d.v4.f32.f32 {%%f4, %%f5, %%f6, %%f7}, [%%rd31, {%%f2, %%f3}], {1, -1};\n"
             "st.global.f32 [%%rd0], %%f4;",
             split);
    go(text, 40, NULL);
    same("offsets and border", want, 40);

    for (unsigned i = 0; i < 64; i++) /* layer 9 is beyond the last, and layer -1 before the first */
        want[i] = bits((float)((i < 32 ? 5 : 0) * 32 + (i % 32 / 8) * 8 + i % 8));
    snprintf(text, sizeof text,
             "%sand.b32 %%r3, %%r3, 3; cvt.rn.f32.u32 %%f3, %%r3; add.f32 %%f3, %%f3, 0f3F000000;\n"
             "setp.lt.u32 %%p1, %%r1, 32; selp.s32 %%r4, 9, -1, %%p1;\n"
             "tex.a2d.v4.f32.f32 {%%f4, %%f5, %%f6, %%f7}, [%%rd31, {%%r4, %%f2, %%f3, %%f3}];\n"
             "st.global.f32 [%%rd0], %%f4;",
             split);
    go(text, 64, NULL);
    same("layers are clamped", want, 64);

    for (unsigned i = 0; i < 32; i++)
        want[i] = bits((float)((i / 8) * 32 + i % 8)); /* one row a layer: the first */
    snprintf(text, sizeof text,
             "%stex.a1d.v4.f32.f32 {%%f4, %%f5, %%f6, %%f7}, [%%rd31, {%%r3, %%f2}];\n"
             "st.global.f32 [%%rd0], %%f4;",
             split);
    go(text, 32, NULL);
    same("one-dimensional layers", want, 32);

    shape(T0_TEXEL_F32, 1, 8, 4, 1);
    static const char *const channel[] = {"r", "g", "b", "a"};
    for (unsigned c = 0; c < 4; c++) { /* only red is there */
        for (unsigned i = 0; i < 4; i++)
            want[i] = c == 3 ? bits(1) : c ? 0 : bits((const float[]){16, 17, 9, 8}[i]);
        snprintf(text, sizeof text,
                 "mov.f32 %%f2, 0f3F800000; mov.f32 %%f3, 0f40000000;\n"
                 "tld4.%s.2d.v4.f32.f32 {%%f4, %%f5, %%f6, %%f7}, [%%rd31, {%%f2, %%f3}];\n"
                 "st.global.v4.f32 [%%rd30], {%%f4, %%f5, %%f6, %%f7};",
                 channel[c]);
        go(text, 1, NULL);
        same("gather", want, 4);
    }
}

/* Normalized coordinates of every size, which repeat or are mirrored; where rounding may lead to either of two texels
 * both are right. */
static void periods(void)
{
    enum { LANES = 512 };
    uint32_t want[LANES];
    number_texels();
    for (uint32_t n = 2; n < 8; n++)
        for (unsigned mode = T0_ADDR_WRAP; mode <= T0_ADDR_MIRROR; mode += T0_ADDR_MIRROR - T0_ADDR_WRAP) {
            shape(T0_TEXEL_F32, 1, n, 1, 1);
            tex.normalized = true;
            tex.address[0] = mode;
            go("mul.lo.u32 %r2, %r1, 0x9E3779B1; rem.u32 %r3, %r2, 0x7F800000; and.b32 %r2, %r2, 0x80000000;\n"
               "or.b32 %r3, %r3, %r2; mov.b32 %f2, %r3;\n"
               "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd31, {%f2}]; st.global.f32 [%rd0], %f4;",
               LANES, NULL);
            for (uint32_t i = 0; i < LANES; i++) {
                const uint32_t b = i * 0x9E3779B1u;
                const double m = fmod((double)value(b % 0x7F800000u | (b & 0x80000000u)), 2) + 2;
                const double at = (mode == T0_ADDR_WRAP ? m - floor(m) : fmod(m, 2)) * n, edge = fabs(at - round(at));
                const uint32_t k = (uint32_t)at;
                want[i] = edge > 0 && edge < 1e-4 ? out[i] : bits((float)(k < n ? k : 2 * n - 1 - k));
            }
            same(mode == T0_ADDR_WRAP ? "coordinates that repeat" : "mirrored coordinates", want, LANES);
        }
}

/* ---- filters --------------------------------------------------------------------------------- */

static void filters(void)
{
    uint32_t want[1024];
    float v[4] = {0, 256, 1024, -256};
    shape(T0_TEXEL_F32, 1, 4, 1, 1);
    memcpy(bytes, v, sizeof v);
    tex.linear = true;
    for (unsigned i = 0; i < 1024; i++) { /* steps of 1/256 and of half of that */
        double x = (double)i / 512 + 0.5, b = x - 0.5;
        unsigned fixed = (unsigned)floor(b * 256 + 0.5), k = fixed >> 8;
        double a = (fixed & 255) / 256.0;
        want[i] = bits((float)(v[k] * (1 - a) + v[k + 1 < 4 ? k + 1 : 3] * a));
    }
    go("cvt.rn.f32.u32 %f2, %r1; fma.rn.f32 %f2, %f2, 0f3B000000, 0f3F000000;\n"
       "tex.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd31, {%f2}]; st.global.f32 [%rd0], %f4;",
       1024, NULL);
    same("weights have eight bits", want, 1024);

    shape(T0_TEXEL_U8, 4, 2, 1, 1);
    memcpy(bytes, (const uint8_t[]){0, 10, 128, 128, 255, 10, 128, 128}, 8);
    tex.as_float = tex.srgb = true;
    go("tex.1d.v4.f32.s32 {%f4, %f5, %f6, %f7}, [%rd31, {0}]; st.global.v4.f32 [%rd30], {%f4, %f5, %f6, %f7};", 1,
       NULL);
    check(out[0] == 0 && fabsf(value(out[1]) - 10 / 255.0f / 12.92f) < 1e-7f &&
              fabsf(value(out[2]) - 0.2158605f) < 1e-6f && value(out[3]) == 128 / 255.0f,
          "sRGB: %g %g %g %g", (double)value(out[0]), (double)value(out[1]), (double)value(out[2]),
          (double)value(out[3]));

    float level[3] = {10, 20, 40}; /* a chain of constants */
    shape(T0_TEXEL_F32, 1, 1, 1, 1);
    memcpy(bytes, level, sizeof level);
    tex.levels = 3;
    for (unsigned k = 0; k < 3; k++)
        tex.level[k] = (struct t0_texture_level){bytes + 4 * k, 4u >> k, 1, 1, 0, 0};
    for (unsigned k = 0; k < 3; k++)
        tex.level[k].width = 1;
    tex.max_lod = 1.75f;
    tex.bias = 0.25f;
    for (unsigned mip = 0; mip < 2; mip++) {
        tex.mip_linear = mip;
        for (unsigned i = 0; i < 12; i++) {
            float lod = (float)i / 4 - 1 + 0.25f;
            lod = lod > 1.75f ? 1.75f : lod < 0 ? 0 : lod;
            unsigned k = (unsigned)lod, near = (unsigned)(lod + 0.5f);
            want[i] = bits(!mip ? level[near] : level[k] + (lod - (float)k) * (level[k + 1] - level[k]));
        }
        go("cvt.rn.f32.u32 %f2, %r1; fma.rn.f32 %f2, %f2, 0f3E800000, 0fBF800000;\n"
           "tex.level.1d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd31, {%f2}], %f2; st.global.f32 [%rd0], %f4;",
           12, NULL);
        same(mip ? "between levels" : "nearest level", want, 12);
    }
}

/* What whole warps take at once is what lanes get one by one: a second texture in one lane keeps the
 * warp from the short way. */
static void short_way(void)
{
    static struct t0_texture other;
    static uint32_t lanes[1024];
    for (unsigned kind = 0; kind < 7; kind++) {
        char text[1024], name[64];
        number_texels();
        shape(kind == 4 ? T0_TEXEL_S32 : T0_TEXEL_F32, 1, 24, kind == 5 ? 1 : 20, 1);
        tex.linear = kind & 1 && kind < 4;
        tex.normalized = kind == 2 || kind == 3;
        tex.linear_memory = kind == 5;
        if (kind == 6) { /* wraps, from -0.5 to 2.5 */
            tex.normalized = true;
            tex.address[0] = tex.address[1] = T0_ADDR_WRAP;
        }
        for (unsigned both = 0; both < 2; both++) {
            other = tex;
            snprintf(text, sizeof text,
                     "mov.u64 %%rd5, %llu; rem.u32 %%r6, %%r1, 32; setp.eq.u32 %%p1, %%r6, %u;\n"
                     "selp.b64 %%rd2, %%rd5, %%rd31, %%p1; cvt.rn.f32.u32 %%f1, %%r1;\n"
                     "fma.rn.f32 %%f2, %%f1, 0f%08X, 0fBF000000; sub.u32 %%r2, %%r1, 9;\n"
                     "fma.rn.f32 %%f3, %%f1, 0f%08X, 0fBFA00000; mov.u32 %%r3, 77;\n"
                     "setp.ne.u32 %%p2, %%r6, 5;\n"
                     "@%%p2 tex.%s {%%r3, %%r4, %%r5, %%r6}, [%%rd2, {%s}];\n"
                     "st.global.u32 [%%rd0], %%r3;",
                     (unsigned long long)(uintptr_t)&other, both ? 99 : 7, bits(tex.normalized ? 0.003f : 0.0371f),
                     bits(tex.normalized ? 0.0021f : 0.0293f), kind == 5 ? "1d.v4.f32.s32" : "2d.v4.f32.f32",
                     kind == 5 ? "%r2" : "%f2, %f3");
            go(text, 1024, NULL);
            if (!both)
                memcpy(lanes, out, sizeof lanes);
        }
        snprintf(name, sizeof name, "the short way, kind %u", kind);
        same(name, lanes, 1024);
        check(out[5] == 77 && out[900] != 77, "%s, only where the guard holds", name);
    }
}

/* The directions of a cube's edges: a seamless filter takes the neighbour's texel. */
static void cubes(void)
{
    shape(T0_TEXEL_F32, 1, 4, 4, 12);
    tex.linear = true;
    for (unsigned i = 0; i < 12 * 16; i++) {
        float f = (float)(i / 16);
        memcpy(bytes + 4 * i, &f, 4);
    }
    const char body[] = "mov.f32 %f1, 0f3F800000; mov.f32 %f2, 0f00000000; mov.u32 %r4, 1;\n"
                        "tex.acube.v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd31, {%r4, %f1, %f1, %f2}];\n"
                        "st.global.f32 [%rd30], %f4;";
    go(body, 1, NULL);
    same("a cube's edge, clamped", (const uint32_t[]){bits(6)}, 1);
    tex.seamless = true;
    go(body, 1, NULL); /* halfway between +x and +y */
    same("a cube's edge, seamless", (const uint32_t[]){bits(7)}, 1);
}

static void queries(void)
{
    static const struct {
        const char *what;
        uint32_t want;
    } q[] = {{"txq.width", 7},
             {"txq.height", 5},
             {"txq.depth", 3},
             {"txq.num_mipmap_levels", 1},
             {"txq.array_size", 3},
             {"txq.normalized_coords", 1},
             {"txq.channel_data_type", 0x10d8},
             {"txq.channel_order", 0x10b2},
             {"txq.addr_mode_0", T0_ADDR_MIRROR},
             {"txq.filter_mode", 0},
             {"suq.width", 7},
             {"suq.height", 5}};
    shape(T0_TEXEL_S16, 2, 7, 5, 3);
    tex.normalized = true;
    tex.address[0] = T0_ADDR_MIRROR;
    for (unsigned k = 0; k < sizeof q / sizeof *q; k++) {
        char text[128];
        snprintf(text, sizeof text, "%s.b32 %%r2, [%%rd31]; st.global.u32 [%%rd0], %%r2;", q[k].what);
        go(text, 1, NULL);
        same(q[k].what, &q[k].want, 1);
    }
}

/* ---- surfaces -------------------------------------------------------------------------------- */

static void surface(unsigned format, unsigned channels, uint32_t w, uint32_t h, uint32_t d)
{
    shape(format, channels, w, h, d);
    tex.surface = true;
}

static void surfaces(void)
{
    static const char *const types[] = {"b8", "b16", "b32", "b64"};
    static const char *const regs[] = {"%h", "%h", "%r", "%rd"};
    uint32_t want[256];
    for (unsigned log2 = 0; log2 < 4; log2++)
        for (unsigned n = 1; n * (1u << log2) <= 16 && n <= 4; n *= 2) { /* copy within the surface */
            char text[1024], list[64] = "", name[64];
            unsigned size = n << log2;
            random_bytes();
            surface(T0_TEXEL_U32, 4, 64, 2, 1);
            for (unsigned k = 0; k < n; k++)
                snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s%u", k ? ", " : "", regs[log2], k + 2);
            snprintf(text, sizeof text,
                     "mul.lo.u32 %%r10, %%r1, %u; mov.u32 %%r11, 0; mov.u32 %%r12, 1;\n"
                     "suld.b.2d.%s%s.trap {%s}, [%%rd31, {%%r10, %%r11}];\n"
                     "sust.b.2d.%s%s.trap [%%rd31, {%%r10, %%r12}], {%s};\n",
                     size,
                     n == 1   ? ""
                     : n == 2 ? "v2."
                              : "v4.",
                     types[log2], list,
                     n == 1   ? ""
                     : n == 2 ? "v2."
                              : "v4.",
                     types[log2], list);
            go(text, 1024 / size, NULL);
            snprintf(name, sizeof name, "copy by %u of %s", n, types[log2]);
            check(!memcmp(bytes, bytes + 1024, 1024), "%s", name);
        }

    number_texels();
    surface(T0_TEXEL_F32, 1, 8, 1, 1);
    for (unsigned i = 0; i < 16; i++) {
        int x = (int)i - 4;
        want[i] = bits((float)(x < 0 ? 0 : x > 7 ? 7 : x));
        want[16 + i] = x < 0 || x > 7 ? 0 : bits((float)x);
    }
    go("shl.b32 %r2, %r1, 2; sub.u32 %r2, %r2, 16; suld.b.1d.b32.clamp {%r3}, [%rd31, {%r2}];\n"
       "suld.b.1d.b32.zero {%r4}, [%rd31, {%r2}];" STORE("%r3") "st.global.u32 [%rd0+64], %r4;",
       16, NULL);
    same("loads at the edge: clamp, zero", want, 32);
    go("shl.b32 %r2, %r1, 2; sub.u32 %r2, %r2, 16; mov.u32 %r3, 9;\n"
       "sust.b.1d.b32.zero [%rd31, {%r2}], {%r3};",
       4, NULL);
    check(value(*(uint32_t *)(void *)bytes) == 0, "stores outside do nothing");

    surface(T0_TEXEL_U8, 4, 8, 1, 1); /* formatted stores saturate */
    go("mov.u32 %r2, 300; mov.u32 %r3, 7; mov.u32 %r4, -1;\n"
       "sust.p.1d.v4.b32.trap [%rd31, {%r1}], {%r2, %r3, %r4, %r1};",
       8, NULL);
    check(bytes[20] == 255 && bytes[21] == 7 && bytes[22] == 255 && bytes[23] == 5, "formatted stores of u8");
    surface(T0_TEXEL_S16, 2, 8, 1, 1);
    go("mov.u32 %r2, 70000; mov.u32 %r3, -70000; sust.p.1d.v2.b32.trap [%rd31, {%r1}], {%r2, %r3};", 8, NULL);
    check(!memcmp(bytes + 28, (const int16_t[]){32767, -32768}, 4), "formatted stores of s16");
    surface(T0_TEXEL_F16, 1, 8, 1, 1);
    go("mov.f32 %f2, 0fC0500000; sust.p.1d.b32.trap [%rd31, {%r1}], {%f2};", 8, NULL);
    check(!memcmp(bytes + 14, (const uint16_t[]){0xc280}, 2), "formatted stores of f16");
}

static void reductions(void)
{
    static const struct {
        const char *op, *type;
        int64_t start, want;
    } r[] = {{"add", "u32", 5, 5 + 496},    {"min", "s32", 3, -1},
             {"min", "u32", 3, 0},          {"max", "s32", -9, 30},
             {"max", "u32", 1, 0xffffffff}, {"and", "b32", -1, 0},
             {"or", "b32", 64, 64 | 31},    {"add", "u64", 1ll << 40, (1ll << 40) + 496},
             {"max", "s64", -4, 30}};
    for (unsigned k = 0; k < sizeof r / sizeof *r; k++) {
        char text[512], name[64];
        bool wide = strstr(r[k].type, "64"), flip = r[k].op[0] == 'm';
        int64_t got = 0;
        surface(T0_TEXEL_U32, wide ? 2 : 1, 4, 1, 1);
        memset(bytes, 0, 32);
        memcpy(bytes + 8, &r[k].start, 8);
        /* lanes give 0..31; for min and max -1..30 */
        snprintf(text, sizeof text,
                 "sub.s32 %%r2, %%r1, %d; cvt.s64.s32 %%rd2, %%r2; mov.u32 %%r3, 8;\n"
                 "sured.b.%s.1d.%s.trap [%%rd31, {%%r3}], %s;\n",
                 flip && !(r[k].op[1] == 'i' && r[k].type[0] == 'u'), r[k].op, r[k].type, wide ? "%rd2" : "%r2");
        go(text, 32, NULL);
        memcpy(&got, bytes + 8, wide ? 8 : 4);
        snprintf(name, sizeof name, "sured.%s.%s", r[k].op, r[k].type);
        check(got == (wide ? r[k].want : (int64_t)(uint32_t)r[k].want), "%s: %lld", name, (long long)got);
    }
    surface(T0_TEXEL_S32, 1, 4, 1, 1);
    memset(bytes, 0, 16);
    go("sub.s32 %r2, 0, %r1; mov.u32 %r3, 2; sured.p.min.1d.b32.trap [%rd31, {%r3}], %r2;", 32, NULL);
    check(!memcmp(bytes + 8, (const int32_t[]){-31}, 4), "sured.p takes the sign of the format");
}

/* ---- faults ---------------------------------------------------------------------------------- */

static void fault(const char *name, const char *body, enum t0_fault_kind kind, uint32_t thread)
{
    struct t0_fault f = {0};
    go(body, 32, &f);
    check(f.kind == kind && f.thread[0] == thread && f.line, "%s (kind %d thread %u: %s)", name, f.kind, f.thread[0],
          f.text);
}

static void refused(const char *name, const char *body)
{
    struct t0t t;
    static char text[2048];
    snprintf(text, sizeof text, "%s%s%s%s", HEAD, ENTRY("k"), body, END);
    check(!t0t_open(&t, text, "k") && strstr(t.why, "support"), "%s: %s", name, t.why);
    t0t_close(&t);
}

static void faults(void)
{
    static const char fetch[] = "setp.eq.u32 %p1, %r1, 9; selp.b64 %rd2, %rd5, %rd31, %p1;\n"
                                "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd2, {%r1}];\n";
    static char text[1024];
    shape(T0_TEXEL_F32, 1, 32, 1, 1);
    snprintf(text, sizeof text, "mov.u64 %%rd5, 0; %s", fetch);
    fault("no texture", text, T0_FAULT_ADDRESS, 9);
    snprintf(text, sizeof text, "mov.u64 %%rd5, 4096; %s", fetch);
    fault("a wild handle", text, T0_FAULT_ADDRESS, 9);
    snprintf(text, sizeof text, "mov.u64 %%rd5, %%rd30; %s", fetch);
    fault("a handle of something else", text, T0_FAULT_ADDRESS, 9);
    fault("a texture as surface", "suld.b.1d.b32.trap {%r2}, [%rd31, {0}];", T0_FAULT_ADDRESS, 0);
    tex.surface = true;
    fault("a surface as texture", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd31, {%r1}];", T0_FAULT_ADDRESS, 0);
    fault("outside with trap", "shl.b32 %r2, %r1, 3; suld.b.1d.b32.trap {%r3}, [%rd31, {%r2}];", T0_FAULT_ADDRESS, 16);
    fault("before the start",
          "sub.s32 %r2, 12, %r1; and.b32 %r2, %r2, -4;\n"
          "sust.b.1d.b32.trap [%rd31, {%r2}], {%r1};",
          T0_FAULT_ADDRESS, 13);
    fault("misaligned", "add.u32 %r2, %r1, 4; suld.b.1d.b32.trap {%r3}, [%rd31, {%r2}];", T0_FAULT_MISALIGNED, 1);
    refused("separate sampler", "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd31, %rd30, {%r1}];");
    refused("depth", "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd31, {%f1, %f2}], %f3;");
    refused("depth after an offset", "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd31, {%f1, %f2}], {%r1, %r2}, %f3;");
    refused("multisampled", "tex.2dms.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%rd31, {%r1, %r1, %r1, %r1}];");
}

int main(void)
{
    formats();
    results();
    coordinates();
    periods();
    filters();
    short_way();
    cubes();
    queries();
    surfaces();
    reductions();
    faults();
    return t0t_done();
}
