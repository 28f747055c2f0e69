/* Copies by tensor maps: what reaches shared memory and comes back, byte by byte, against plain loops over elements;
 * random maps of one to five dimensions, all swizzles, places out of bounds, im2col, rows by number, reductions, maps
 * that a kernel changes, and those that are none. */
#include <math.h>

#include "ptx/lir/tensor_map.h"
#include "tier0/kernels.h"
#include "tier0/tensor_maps.h"

enum { THREADS = 128, SMEM = 16384, DATA = 1024 };
/* in: two maps at 0 and 128 bytes, at 256 coordinates and offsets, at 288 other coordinates, at 320 bytes to come. */
static struct lir_tmap *map_of(unsigned k) { return (struct lir_tmap *)(void *)((uint8_t *)in + 128 * k); }
static uint32_t *const spot = in + 64;
static uint8_t data[1 << 16] __attribute__((aligned(128))), back[1 << 16] __attribute__((aligned(128)));

/* Everything of shared memory is 0xcc.. before; then one copy in, all bytes to out, one copy out. */
static const char *text(const char *load, const char *store)
{
    static char t[8192];
    snprintf(t, sizeof t,
             "%s.shared .align 1024 .b8 s[16384]; .shared .align 8 .b64 bar;\n"
             "mov.u32 %%r2, s; mov.u32 %%r3, bar; setp.eq.u32 %%p1, %%r1, 0; shl.b32 %%r4, %%r1, 2;\n"
             "add.u32 %%r5, %%r2, %%r4; mov.u32 %%r6, 0;\n"
             "F: st.shared.u32 [%%r5], 0xcccccccc; add.u32 %%r5, %%r5, 512; add.u32 %%r6, %%r6, 1;\n"
             "setp.lt.u32 %%p2, %%r6, 32; @%%p2 bra F;\n"
             "@%%p1 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;\n"
             "ld.global.v4.u32 {%%r10, %%r11, %%r12, %%r13}, [%%rd31+256];\n"
             "ld.global.v4.u32 {%%r14, %%r15, %%r16, %%r17}, [%%rd31+272];\n"
             "ld.global.v4.u32 {%%r20, %%r21, %%r22, %%r23}, [%%rd31+288];\n"
             "ld.global.v4.u32 {%%r24, %%r25, %%r26, %%r27}, [%%rd31+304]; ld.global.u32 %%r18, [%%rd31+320];\n"
             "cvt.u16.u32 %%h1, %%r15; cvt.u16.u32 %%h2, %%r16; cvt.u16.u32 %%h3, %%r17;\n"
             "@!%%p1 bra W; mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %%r18;\n"
             "%s\nW: mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %%p2, [bar], 0; @!%%p2 bra W;\n"
             "@%%p1 %s\nadd.u32 %%r5, %%r2, %%r4; mov.u32 %%r6, 0; add.u64 %%rd2, %%rd0, 0;\n"
             "C: ld.shared.u32 %%r7, [%%r5]; st.global.u32 [%%rd2], %%r7; add.u64 %%rd2, %%rd2, 512;\n"
             "add.u32 %%r5, %%r5, 512; add.u32 %%r6, %%r6, 1; setp.lt.u32 %%p2, %%r6, 32; @%%p2 bra C;\n" END,
             HEAD ENTRY("k"), load, store);
    return t;
}

/* Runs a text, which is opened once as long as it stays the same. */
static bool go(const char *now)
{
    static char before[8192];
    static struct t0t t;
    static bool open;
    struct args a = {out, in, THREADS};
    struct t0_fault f = {0};
    if (strcmp(before, now)) {
        if (open)
            t0t_close(&t);
        snprintf(before, sizeof before, "%s", now);
        if (!(open = t0t_open(&t, now, "k")))
            check(false, "k: %s", t.why);
    }
    if (open && t0t_run(&t, (uint32_t[3]){1, 1, 1}, (uint32_t[3]){THREADS, 1, 1}, 0, &a, &f) != T0_OK)
        check(false, "k: fault %d at line %u: %s", f.kind, f.line, f.text);
    return open && f.kind == T0_OK;
}

#define LOAD(rank, mode, at, more) \
    "cp.async.bulk.tensor." rank "d.shared::cluster.global" mode ".mbarrier::complete_tx::bytes [%r2], [%rd31, {" at \
    "}], [%r3]" more ";"
#define STORE_AS(op, rank, mode, at) \
    "cp." op "async.bulk.tensor." rank "d.global.shared::cta" mode ".bulk_group [%rd33, {" at "}], [%r2];"
static const char *const first[] = {"%r10", "%r10, %r11", "%r10, %r11, %r12", "%r10, %r11, %r12, %r13",
                                    "%r10, %r11, %r12, %r13, %r14"};
static const char *const second[] = {"%r20", "%r20, %r21", "%r20, %r21, %r22", "%r20, %r21, %r22, %r23",
                                     "%r20, %r21, %r22, %r23, %r24"};

static uint8_t want[SMEM], want_back[sizeof back];

static void arrives(const struct lir_tmap *m, uint32_t shared, uint8_t *p, uint32_t size)
{
    static const uint8_t zero[8], nan[4] = {0xff, 0xff, 0xff, 0x7f};
    if (shared + size <= SMEM)
        memcpy(want + shared, p ? p : m->nan_fill ? nan : zero, size);
}
static void leaves(const struct lir_tmap *m, uint32_t shared, uint8_t *p, uint32_t size)
{
    (void)m;
    if (p && shared + size <= SMEM)
        memcpy(want_back + (p - back), want + shared, size);
}
static void adds(const struct lir_tmap *m, uint32_t shared, uint8_t *p, uint32_t size)
{
    uint32_t a, b;
    (void)m;
    if (!p || shared + size > SMEM)
        return;
    memcpy(&a, want_back + (p - back), 4);
    memcpy(&b, want + shared, 4);
    a += b;
    memcpy(want_back + (p - back), &a, 4);
}

static void start(void)
{
    for (uint32_t k = 0; k < sizeof data; k++) {
        data[k] = (uint8_t)any(256);
        back[k] = want_back[k] = (uint8_t)any(256);
    }
    memset(want, 0xcc, sizeof want);
    memset(out, 0, sizeof out);
}

static bool same(const char *name)
{
    for (uint32_t k = 0; k < SMEM; k++)
        if (((uint8_t *)out)[k] != want[k]) {
            check(false, "%s: shared byte %u is 0x%x, want 0x%x", name, k, ((uint8_t *)out)[k], want[k]);
            return false;
        }
    for (uint32_t k = 0; k < sizeof back; k++)
        if (back[k] != want_back[k]) {
            check(false, "%s: global byte %u is 0x%x, want 0x%x", name, k, back[k], want_back[k]);
            return false;
        }
    return true;
}

/* A pattern with the rank for '#', coordinates for '@' and offsets for '&'. */
static void fill(char *to, size_t size, const char *pattern, unsigned rank, const char *at, const char *offsets)
{
    size_t n = 0;
    for (; *pattern && n + 60 < size; pattern++)
        if (*pattern == '#')
            to[n++] = (char)('0' + rank);
        else if (*pattern == '@' && pattern[1] == '!')
            n += (size_t)snprintf(to + n, size - n, "%s", at), pattern++;
        else if (*pattern == '&')
            n += (size_t)snprintf(to + n, size - n, "%s", offsets);
        else
            to[n++] = *pattern;
    to[n] = 0;
}

#define SECOND "add.u64 %rd33, %rd31, 128; "

static void tiles(unsigned rank)
{
    char load[300], store[300], name[60];
    unsigned good = 0, tried = 0;
    fill(load, sizeof load, SECOND LOAD("#", ".tile", "@!", ""), rank, first[rank - 1], "");
    for (unsigned reduce = 0; reduce < 2; reduce++) {
        snprintf(name, sizeof name, "%u dimensions%s", rank, reduce ? ", added" : "");
        if (reduce)
            fill(store, sizeof store, STORE_AS("reduce.", "#", ".add.tile", "@!"), rank, second[rank - 1], "");
        else
            fill(store, sizeof store, STORE_AS("", "#", "", "@!"), rank, second[rank - 1], "");
        for (unsigned n = 0; n < 40; n++) {
            struct lir_tmap *m = map_of(0), *b = map_of(1);
            int32_t *at = (int32_t *)spot;
            do {
                random_map(m, rank, data);
                if (reduce)
                    m->type = LIR_TMAP_U32, m->nan_fill = 0, m->box[0] = 4 * (1 + (uint16_t)any(2));
                if (reduce)
                    for (unsigned d = 0; d + 1 < rank; d++)
                        m->stride[d] = d ? m->stride[d - 1] * m->dim[d] : (m->dim[0] * 4 + 15) / 16 * 16;
            } while (lines_of(m) * 256u > SMEM || (rank > 1 && m->stride[rank - 2] * m->dim[rank - 1] > sizeof data));
            *b = *m;
            b->address = (uint64_t)(uintptr_t)back;
            for (unsigned d = 0; d < rank; d++) {
                at[d] = (int32_t)any(m->dim[d] + m->box[d] + 2) - (int32_t)m->box[d];
                at[8 + d] = (int32_t)any(m->dim[d] + m->box[d] + 2) - (int32_t)m->box[d];
            }
            start();
            spot[16] = walk(m, at, data, 0, arrives);
            walk(b, at + 8, back, 0, reduce ? adds : leaves);
            tried++;
            if (!go(text(load, store)) || !same(name))
                break;
            good++;
        }
    }
    check(good == tried, "%u dimensions: %u of %u random tiles", rank, good, tried);
}

/* Pixels in the order of width, height, depth, batch within the corners' box. */
static void im2col(unsigned rank)
{
    char load[300], store[300], offsets[40] = "%h1, %h2, %h3";
    struct lir_tmap *m = map_of(0), *b = map_of(1);
    int32_t *at = (int32_t *)spot;
    unsigned good = 0;
    offsets[rank == 3 ? 3 : rank == 4 ? 8 : 13] = 0;
    fill(load, sizeof load, SECOND LOAD("#", ".im2col", "@!", ", {&}"), rank, first[rank - 1], offsets);
    fill(store, sizeof store, STORE_AS("", "#", ".im2col_no_offs", "@!"), rank, second[rank - 1], "");
    for (unsigned n = 0; n < 40; n++) {
        random_map(m, rank, data);
        m->type = LIR_TMAP_BF16;
        m->nan_fill = 0;
        m->mode = LIR_TMAP_IM2COL;
        m->channels = (uint16_t)(8 * (1 + any(2)));
        m->pixels = (uint16_t)(1 + any(40));
        m->stride[0] = 16 * (uint64_t)(1 + m->dim[0] / 8);
        for (unsigned d = 1; d + 1 < rank; d++)
            m->stride[d] = m->stride[d - 1] * m->dim[d];
        for (unsigned d = 1; d + 1 < rank; d++) {
            m->dim[d] = 2 + any(3);
            m->lower[d - 1] = (int16_t)((int)any(3) - 1);
            m->upper[d - 1] = (int16_t)((int)any(3) - 1);
            at[4 + d] = (int32_t)any(3);
            at[d] = m->lower[d - 1] + (int32_t)any(2);
        }
        for (unsigned d = 1; d + 1 < rank; d++)
            m->stride[d] = m->stride[d - 1] * m->dim[d];
        at[0] = 8 * (int32_t)any(4);
        at[rank - 1] = (int32_t)any(m->dim[rank - 1]);
        *b = *m;
        b->address = (uint64_t)(uintptr_t)back;
        memcpy(at + 8, at, rank * sizeof *at);
        start();
        const uint32_t span = lir_tmap_span(m->swizzle), pitch = m->channels * 2u > span ? m->channels * 2u : span;
        int32_t pixel[5];
        if (m->stride[rank - 2] * (m->dim[rank - 1]) > sizeof data || (span && m->channels * 2u > span))
            continue;
        memcpy(pixel, at, sizeof pixel);
        for (unsigned p = 0; p < m->pixels; p++) {
            for (unsigned c = 0; c < m->channels; c++) {
                int64_t off[2] = {0, 0};
                bool inside[2] = {true, true};
                for (unsigned d = 0; d < rank; d++)
                    for (unsigned k = 0; k < 2; k++) {
                        int64_t x = pixel[d] + (d ? 0 : (int)c) + (!k && d && d + 1 < rank ? at[4 + d] : 0);
                        inside[k] &= x >= 0 && x < (int64_t)m->dim[d];
                        off[k] += x * (int64_t)(d ? m->stride[d - 1] : 2);
                    }
                const uint32_t s = place(m->swizzle, p * pitch + c * 2);
                memset(want + s, 0, 2);
                if (inside[0])
                    memcpy(want + s, data + off[0], 2);
                if (inside[1])
                    memcpy(want_back + off[1], want + s, 2);
            }
            for (unsigned d = 1; d < rank; d++) {
                pixel[d] += d + 1 < rank ? m->estride[d] : 1;
                if (d + 1 == rank || pixel[d] <= (int32_t)m->dim[d] - 1 + m->upper[d - 1])
                    break;
                pixel[d] = m->lower[d - 1];
            }
        }
        spot[16] = m->pixels * m->channels * 2u;
        good++;
        if (!go(text(load, store)) || !same("im2col"))
            return;
    }
    check(good > 5, "im2col of %u dimensions: %u random boxes", rank, good);
}

/* Pixels in the order of width and batch; height and depth stay. */
static void im2col_wide(unsigned rank, bool whole)
{
    char load[300];
    struct lir_tmap *m = map_of(0);
    int32_t *at = (int32_t *)spot;
    unsigned good = 0;
    fill(load, sizeof load, LOAD("#", ".im2col::w&", "@!", ", {%h1, %h2}"), rank, first[rank - 1],
         whole ? "::128" : "");
    for (unsigned n = 0; n < 40; n++) {
        static const uint8_t swizzles[] = {LIR_TMAP_64B, LIR_TMAP_128B, LIR_TMAP_128B_ATOM_32B, LIR_TMAP_128B_ATOM_64B};
        random_map(m, rank, data);
        m->type = LIR_TMAP_BF16;
        m->nan_fill = 0;
        m->swizzle = swizzles[any(4)];
        m->mode = whole ? LIR_TMAP_IM2COL_W128 : LIR_TMAP_IM2COL_W;
        m->channels = (uint16_t)(8 * (1 + any(2)));
        m->pixels = (uint16_t)(whole ? 128 : 1 + any(100));
        m->dim[1] = 2 + any(12);
        m->estride[1] = (uint8_t)(1 + any(3));
        m->stride[0] = 16 * (uint64_t)(1 + m->dim[0] / 8);
        m->dim[rank - 1] = 20;
        for (unsigned d = 1; d + 1 < rank; d++) {
            m->stride[d] = m->stride[d - 1] * m->dim[d];
            at[d] = (int32_t)any(m->dim[d] + 2) - 1;
        }
        m->lower[0] = (int16_t)((int)any(3) - 1);
        m->upper[0] = (int16_t)((int)any(3) - 1);
        at[0] = 8 * (int32_t)any(4);
        at[1] = m->lower[0] + (int32_t)any(3) - 1; /* the first may lie left of the box */
        at[rank - 1] = (int32_t)any(10);
        at[5] = 0;
        at[6] = (int32_t)any(5) - 1;
        if (m->stride[rank - 2] * m->dim[rank - 1] > sizeof data || (int)m->dim[1] - 1 + m->upper[0] < m->lower[0])
            continue;
        start();
        const uint32_t pitch = lir_tmap_span(m->swizzle);
        int32_t w = at[1], batch = at[rank - 1];
        for (unsigned p = 0; p < m->pixels; p++) {
            for (unsigned c = 0; c < m->channels; c++) {
                const uint32_t s = place(m->swizzle, p * pitch + c * 2);
                int64_t off = (at[0] + (int64_t)c) * 2;
                bool inside = at[0] + c < m->dim[0];
                for (unsigned d = 1; d < rank; d++) {
                    const int32_t x = d + 1 == rank ? batch : d == 1 ? w + at[6] : at[d];
                    inside &= x >= 0 && x < (int32_t)m->dim[d];
                    off += x * (int64_t)m->stride[d - 1];
                }
                memset(want + s, 0, 2);
                if (inside)
                    memcpy(want + s, data + off, 2);
            }
            w += m->estride[1];
            if (w > (int32_t)m->dim[1] - 1 + m->upper[0])
                w = m->lower[0], batch++;
        }
        spot[16] = m->pixels * m->channels * 2u;
        good++;
        if (!go(text(load, "cp.async.bulk.wait_group 0;")) || !same("im2col::w"))
            return;
    }
    check(good > 5, "im2col::w%s of %u dimensions: %u random boxes", whole ? "::128" : "", rank, good);
    at[5] = 1;
    expect_fault("a halo", text(load, "cp.async.bulk.wait_group 0;"), 1, THREADS, T0_FAULT_INSTRUCTION, 0, 0, 0);
    at[5] = 0;
    m->mode = whole ? LIR_TMAP_IM2COL_W : LIR_TMAP_IM2COL_W128;
    expect_fault("a map of the other mode", text(load, "cp.async.bulk.wait_group 0;"), 1, THREADS, T0_FAULT_INSTRUCTION,
                 0, 0, 0);
}

/* Nearest number of 11 significant bits; of fewer below the least normal one, as subnormals have. */
static float nearest_tf32(float x)
{
    int exponent;
    if (!isfinite(x))
        return x;
    frexpf(x, &exponent);
    const double last = ldexp(1, (exponent < -125 ? -125 : exponent) - 11);
    return (float)(rint(x / last) * last);
}

/* What maps of floats make of them on their way to shared memory. */
static void floats(unsigned type, const char *name)
{
    static const uint32_t edges[] = {0,          0x80000000, 0x3f800fff, 0x3f801000, 0x3f803000, 0x3f801001, 0xbf803fff,
                                     0x3fffffff, 0x7f7fffff, 0xff7fefff, 0x7f800000, 0xff800000, 0x7f800001, 0xffc12345,
                                     0x00000fff, 0x807ff000, 0x007fffff, 0x00001000, 0x80003000, 0x00800fff};
    char load[300];
    struct lir_tmap *m = map_of(0);
    fill(load, sizeof load, LOAD("#", ".tile", "@!", ""), 1, first[0], "");
    start();
    *m = (struct lir_tmap){.magic = LIR_TMAP_MAGIC, .type = (uint8_t)type, .rank = 1, .swizzle = LIR_TMAP_PLAIN};
    m->address = (uint64_t)(uintptr_t)data;
    m->dim[0] = m->box[0] = 256;
    memset(m->estride, 1, sizeof m->estride);
    memset(spot, 0, 64);
    spot[16] = 1024;
    for (unsigned k = 0; k < 256; k++) {
        uint32_t v = k < sizeof edges / sizeof edges[0] ? edges[k] : any(1u << 16) << 16 | any(1u << 16);
        float x;
        memcpy(data + 4 * k, &v, 4);
        memcpy(&x, &v, 4);
        if (type != LIR_TMAP_F32 && type != LIR_TMAP_TF32 && fpclassify(x) == FP_SUBNORMAL)
            x = copysignf(0, x);
        if (type == LIR_TMAP_TF32 || type == LIR_TMAP_TF32_FTZ)
            x = isnan(x) ? x : nearest_tf32(x);
        if (!isnan(x))
            memcpy(&v, &x, 4);
        memcpy(want + 4 * k, &v, 4);
    }
    check(go(text(load, "cp.async.bulk.wait_group 0;")) && same(name), "256 floats by a map of type %s", name);
}

static void rows_by_number(void)
{
    struct lir_tmap *m = map_of(0), *b = map_of(1);
    const int32_t at[8] = {8, 5, 0, 77, 3};
    start();
    *m = (struct lir_tmap){.magic = LIR_TMAP_MAGIC, .type = LIR_TMAP_F16, .rank = 2, .swizzle = LIR_TMAP_64B};
    m->address = (uint64_t)(uintptr_t)data;
    m->dim[0] = 30;
    m->dim[1] = 10;
    m->box[0] = 32;
    m->box[1] = 1;
    m->stride[0] = 64;
    memset(m->estride, 1, sizeof m->estride);
    *b = *m;
    b->address = (uint64_t)(uintptr_t)back;
    memcpy(spot, at, sizeof at);
    memcpy(spot + 8, at, sizeof at);
    spot[16] = 4 * 64;
    for (unsigned r = 0; r < 4; r++)
        for (unsigned c = 0; c < 32; c++) {
            const bool inside = at[1 + r] < 10 && 8 + c < 30;
            const uint32_t s = place(LIR_TMAP_64B, r * 64 + c * 2);
            memset(want + s, 0, 2);
            if (inside) {
                memcpy(want + s, data + at[1 + r] * 64 + (8 + c) * 2, 2);
                memcpy(want_back + at[1 + r] * 64 + (8 + c) * 2, want + s, 2);
            }
        }
    char load[300], store[300];
    snprintf(load, sizeof load, "%s", SECOND LOAD("2", ".tile::gather4", "%r10, %r11, %r12, %r13, %r14", ""));
    snprintf(store, sizeof store, "%s", STORE_AS("", "2", ".tile::scatter4", "%r20, %r21, %r22, %r23, %r24"));
    if (go(text(load, store)) && same("rows by number"))
        check(true, "gather4 and scatter4");
}

/* A map that the kernel makes of another: in shared memory, then published. */
static void replaced(bool zeros)
{
    struct lir_tmap *m = map_of(0), *b = map_of(1);
    static const char change[] =
        "st.global.u64 [%rd31+400], %rd31; add.u64 %rd33, %rd31, 128; ld.global.u64 %rd5, [%rd33+64];\n"
        "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd33], 0, 7;\n"
        "tensormap.replace.tile.global_dim.global.b1024.b32 [%rd33], 1, 3;\n"
        "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd33], 0, 8;\n"
        "tensormap.replace.tile.rank.global.b1024.b32 [%rd33], 1;\n"
        "tensormap.replace.tile.elemtype.global.b1024.b32 [%rd33], 1;\n"
        "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd33], 0;\n"
        "tensormap.replace.tile.fill_mode.global.b1024.b32 [%rd33], 0;\n"
        "tensormap.replace.tile.global_address.global.b1024.b64 [%rd33], %rd6;\n"
        "fence.proxy.tensormap::generic.acquire.gpu [%rd33], 128; mov.u64 %rd31, %rd33;\n";
    static const char rest[] = /* of a map that was nothing but zeros, as Triton has them; strides in units of 16 */
        "tensormap.replace.tile.box_dim.global.b1024.b32 [%rd33], 1, 4;\n"
        "tensormap.replace.tile.global_stride.global.b1024.b64 [%rd33], 0, 2;\n"
        "tensormap.replace.tile.element_stride.global.b1024.b32 [%rd33], 0, 1;\n"
        "tensormap.replace.tile.element_stride.global.b1024.b32 [%rd33], 1, 1;\n"
        "tensormap.replace.tile.interleave_layout.global.b1024.b32 [%rd33], 0;\n";
    char load[2600], store[300];
    start();
    *m = (struct lir_tmap){.magic = LIR_TMAP_MAGIC, .type = LIR_TMAP_U16, .rank = 2};
    m->address = (uint64_t)(uintptr_t)data;
    m->dim[0] = 100;
    m->dim[1] = 100;
    m->box[0] = 16;
    m->box[1] = 4;
    m->stride[0] = 32;
    memset(m->estride, 1, sizeof m->estride);
    *b = *m;
    b->swizzle = LIR_TMAP_32B;
    b->type = LIR_TMAP_F32;
    if (zeros)
        memset(b, 0, 128);
    memset(spot, 0, 64);
    const uint64_t to = (uint64_t)(uintptr_t)(data + 1024);
    memcpy(in + 90, &to, 8);
    spot[16] = 8 * 4 * 2;
    for (unsigned r = 0; r < 4; r++)
        for (unsigned c = 0; c < 8; c++) {
            memset(want + r * 16 + c * 2, 0, 2);
            if (r < 3 && c < 7)
                memcpy(want + r * 16 + c * 2, data + 1024 + r * 32 + c * 2, 2);
        }
    snprintf(load, sizeof load, "add.u64 %%rd33, %%rd31, 128; ld.global.u64 %%rd6, [%%rd31+360]; %s%s%s",
             zeros ? rest : "", change, LOAD("2", "", "%r10, %r11", ""));
    snprintf(store, sizeof store, "cp.async.bulk.commit_group;");
    if (go(text(load, store)) && same("replaced"))
        check(true, "fields of a map replaced%s", zeros ? ", which was zeros" : "");
}

/* A map of one dimension that was zeros: its rank, which is 0 there, is not replaced. */
static void made_of_zeros(void)
{
    char load[1200];
    start();
    memset(map_of(0), 0, 128);
    memset(spot, 0, 64);
    const uint64_t from = (uint64_t)(uintptr_t)(data + 1024);
    memcpy(in + 90, &from, 8);
    spot[16] = 16 * 2;
    memset(want, 0, 32);
    memcpy(want, data + 1024, 13 * 2);
    snprintf(load, sizeof load,
             "ld.global.u64 %%rd6, [%%rd31+360];\n"
             "tensormap.replace.tile.global_address.global.b1024.b64 [%%rd31], %%rd6;\n"
             "tensormap.replace.tile.box_dim.global.b1024.b32 [%%rd31], 0, 16;\n"
             "tensormap.replace.tile.global_dim.global.b1024.b32 [%%rd31], 0, 13;\n"
             "tensormap.replace.tile.element_stride.global.b1024.b32 [%%rd31], 0, 1;\n"
             "tensormap.replace.tile.elemtype.global.b1024.b32 [%%rd31], 6;\n"
             "fence.proxy.tensormap::generic.acquire.gpu [%%rd31], 128;\n%s",
             LOAD("1", "", "%r10", ""));
    if (go(text(load, "cp.async.bulk.commit_group;")) && same("a map of zeros"))
        check(true, "a map of one dimension made of zeros");
}

static void malformed(void)
{
    char load[300];
    const char *store = "cp.async.bulk.wait_group 0;";
    snprintf(load, sizeof load, "%s", LOAD("2", "", "%r10, %r11", ""));
    memset(in, 0, sizeof in);
    expect_fault("no map at all", text(load, store), 1, THREADS, T0_FAULT_INSTRUCTION, 0, 0, 0);
    random_map(map_of(0), 3, data);
    expect_fault("a map of other dimensions", text(load, store), 1, THREADS, T0_FAULT_INSTRUCTION, 0, 0, 0);
    random_map(map_of(0), 2, data);
    map_of(0)->mode = LIR_TMAP_IM2COL;
    expect_fault("a map of im2col", text(load, store), 1, THREADS, T0_FAULT_INSTRUCTION, 0, 0, 0);
    random_map(map_of(0), 2, data);
    map_of(0)->box[1] = 0;
    expect_fault("a box of nothing", text(load, store), 1, THREADS, T0_FAULT_INSTRUCTION, 0, 0, 0);
    /* numbers whose low bits are those of a good one */
    static const char *const fields[] = {"box_dim", "element_stride", "rank"};
    for (unsigned k = 0; k < sizeof fields / sizeof *fields; k++) {
        random_map(map_of(0), 2, data);
        snprintf(load, sizeof load,
                 "mov.u32 %%r9, 0x10001; tensormap.replace.tile.%s.global.b1024.b32 [%%rd31], %s%%r9;", fields[k],
                 k < 2 ? "0, " : "");
        expect_fault(fields[k], text(load, store), 1, THREADS, T0_FAULT_INSTRUCTION, 0, 0, 0);
    }
}

int main(void)
{
    for (unsigned rank = 1; rank <= 5; rank++)
        tiles(rank);
    for (unsigned rank = 3; rank <= 5; rank++)
        im2col(rank);
    for (unsigned rank = 3; rank <= 5; rank++) {
        im2col_wide(rank, false);
        im2col_wide(rank, true);
    }
    floats(LIR_TMAP_F32, "f32");
    floats(LIR_TMAP_F32_FTZ, "f32.ftz");
    floats(LIR_TMAP_TF32, "tf32");
    floats(LIR_TMAP_TF32_FTZ, "tf32.ftz");
    rows_by_number();
    replaced(false);
    replaced(true);
    made_of_zeros();
    malformed();
    return t0t_done();
}
