/* Loads, stores and copies of tensor memory (tcgen05): shapes against each other and the ISA's figures, copies of drawn
 * layouts; loads that reduce; columns that warps wait for. */
#include "tier0/tcgen05.h"
#include "tier0/layouts.h"

#ifndef COPIES
#define COPIES 25 /* of each shape */
#endif
static unsigned drawn_copies;

static const struct {
    const char *name;
    unsigned each;
} shapes[] = {{"32x32b", 1}, {"16x64b", 1}, {"16x128b", 2}, {"16x256b", 4}, {"16x32bx2", 1}};

/* Stored as 32x32b, loaded as the shape; each word is its lane and column. Of 16x256b the upper sixteen lanes, by an
 * address that leaves the warp's quarter out. */
static void shape(unsigned s, unsigned x, bool pack)
{
    const unsigned n = shapes[s].each * x;
    const bool upper = s == 3;
    unsigned bad = 0;
    struct args a = {result, words, 0};
    length = 0;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned c = 0; c < 128; c++)
            words[t * 128 + c] = t * 1000 + c;
    PUT(BEGIN, HEAD_100 ENTRY("k"));
    for (unsigned k = 0; k < 128; k++)
        PUT("ld.global.u32 %%z%u, [%%rd3+%u];\n", k, 4 * k);
    PUT("tcgen05.st.sync.aligned.32x32b.x128.b32 [%%r13], ");
    registers(128);
    PUT(";\ntcgen05.wait::st.sync.aligned;\ntcgen05.ld.sync.aligned.%s.x%u%s.b32 ", shapes[s].name, x,
        pack ? ".pack::16b" : "");
    registers(n);
    PUT(s == 4 ? ", [%%r13+2], 64;\n" : upper ? ", [%%r11+0x100002];\n" : ", [%%r13+2];\n");
    PUT("tcgen05.wait::ld.sync.aligned;\n");
    for (unsigned k = 0; k < n; k++)
        PUT("st.global.u32 [%%rd4+%u], %%z%u;\n", 4 * k, k);
    PUT(FINISH);
    if (!t0t_once(text_of, "k", 1, THREADS, &a, NULL))
        return;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned r = 0; r < n; r++) {
            const unsigned l = t % 32;
            unsigned row = l, col = r;
            if (s == 1) /* two words of a row; lanes 0, 2 of four have row l / 4, lanes 1, 3 the one eight below */
                row = l / 4 + (l & 1 ? 8 : 0), col = 2 * r + (l >> 1 & 1);
            else if (s == 2)
                row = l / 4 + (r & 1 ? 8 : 0), col = (r >> 1) * 4 + l % 4;
            else if (s == 3)
                row = l / 4 + (r & 2 ? 8 : 0), col = (r >> 2) * 8 + l % 4 * 2 + (r & 1);
            else if (s == 4)
                row = l % 16;
            row += t / 32 * 32 + (upper ? 16 : 0);
            const uint32_t low = row * 1000 + 2 + (pack ? 2 * col : col) + (s == 4 && l >= 16 ? 64 : 0),
                           want = pack ? (low & 0xffff) | (low + 1) << 16 : low;
            bad += result[t * 128 + r] != want;
        }
    check(!bad, "tcgen05.ld .%s.x%u%s", shapes[s].name, x, pack ? " packed" : "");
}

/* Copies as CuTe's traits have them (copy_traits_sm100.hpp): lanes of the rows of shared memory, ((rows, repeat),
 * broadcast) with their strides. */
static const struct {
    const char *name;
    unsigned chunks, shape[3], stride[3];
} copies[] = {{"128x256b", 2, {128, 1, 1}, {1, 0, 0}},
              {"128x128b", 1, {128, 1, 1}, {1, 0, 0}},
              {"4x256b", 2, {4, 1, 1}, {32, 0, 0}},
              {"64x128b.warpx2::02_13", 1, {64, 1, 2}, {1, 0, 64}},
              {"64x128b.warpx2::01_23", 1, {32, 2, 2}, {1, 64, 32}},
              {"32x128b.warpx4", 1, {32, 1, 4}, {1, 0, 32}}};

/* A copy of a drawn layout to drawn columns; of 4x256b to a drawn lane of each quarter. The others keep what they are
 * filled with. */
static void copied(unsigned s, enum layout_swizzle swizzle)
{
    static uint8_t used[LAYOUT_BYTES / 16];
    static uint32_t want[THREADS * 128];
    uint32_t *bytes = words + 128 * 128;
    const unsigned rows = copies[s].shape[0] * copies[s].shape[1], chunks = copies[s].chunks;
    const unsigned column = 4 * any(32 - chunks + 1), lane = copies[s].stride[0] == 32 ? any(32) : 0;
    struct layout y;
    struct args a = {result, words, 0};
    unsigned bad = 0;
    memset(used, 0, sizeof used);
    if (!layout_draw(&y, 16, rows, 16 * chunks, swizzle, false, used))
        return;
    length = 0;
    for (unsigned x = 0; x < SMEM / 4; x++)
        bytes[x] = any(1u << 31);
    for (unsigned x = 0; x < THREADS * 128; x++)
        want[x] = words[x] = x;
    for (unsigned r = 0; r < rows; r++)
        for (unsigned b = 0; b < copies[s].shape[2]; b++)
            for (unsigned c = 0; c < chunks; c++) {
                unsigned e;
                const unsigned to = r % copies[s].shape[0] * copies[s].stride[0] +
                                    r / copies[s].shape[0] * copies[s].stride[1] + b * copies[s].stride[2] + lane;
                memcpy(&want[to * 128 + column + 4 * c], (uint8_t *)bytes + layout_chunk(&y, r, 16 * c, &e), 16);
            }
    PUT(BEGIN, HEAD_100 ENTRY("k"));
    for (unsigned k = 0; k < 128; k++)
        PUT("ld.global.u32 %%z%u, [%%rd3+%u];\n", k, 4 * k);
    PUT("tcgen05.st.sync.aligned.32x32b.x128.b32 [%%r13], ");
    registers(128);
    PUT(";\ntcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;\n"
        "tcgen05.fence::after_thread_sync; mov.u64 %%rd5, 0x%llx; add.u32 %%r20, %%r11, 0x%x;\n"
        "@%%p4 bra M; tcgen05.cp.cta_group::1.%s [%%r20], %%rd5;\n"
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
        "M: mbarrier.try_wait.parity.shared::cta.b64 %%p6, [bar], 0; @!%%p6 bra M;\n"
        "tcgen05.ld.sync.aligned.32x32b.x128.b32 ",
        (unsigned long long)layout_descriptor(&y, true), lane << 16 | column, copies[s].name);
    registers(128);
    PUT(", [%%r13];\ntcgen05.wait::ld.sync.aligned;\n");
    for (unsigned c = 0; c < 128; c++)
        PUT("st.global.u32 [%%rd4+%u], %%z%u;\n", 4 * c, c);
    PUT(FINISH);
    if (!t0t_once(text_of, "k", 1, THREADS, &a, NULL))
        return;
    for (unsigned x = 0; x < THREADS * 128; x++)
        bad += result[x] != want[x];
    EXPECT(!bad, "tcgen05.cp.%s, swizzle %d, start %u, lead %u, stride %u, base %u: %u words wrong", copies[s].name,
           swizzle, y.start, y.lead, y.stride, y.base, bad);
    drawn_copies++;
}

/* Columns of a lane loaded with the least or the greatest of them, NaNs and zeros of both signs among them. */
static void reduced(const char *how, char type, bool max, bool abs, bool nan)
{
    static const uint32_t odd[] = {0, 0x80000000, 0x7fc00001, 0xffc00000, 0x7f800000, 0xff800000, 1, 0x80000001};
    unsigned bad = 0;
    struct args a = {result, words, 0};
    length = 0;
    for (unsigned x = 0; x < 128 * 128; x++)
        words[x] = any(4) ? any(0x40000000) << 2 | any(4) : odd[any(8)];
    for (unsigned x = 0; x < 128 * 8; x++) /* some lanes are nothing but those */
        words[x / 8 * 128 + x % 8] = x / 8 % 4 ? words[x / 8 * 128 + x % 8] : odd[any(4)];
    PUT(BEGIN, HEAD_100 ENTRY("k"));
    for (unsigned k = 0; k < 8; k++)
        PUT("ld.global.u32 %%z%u, [%%rd3+%u];\n", k, 4 * k);
    PUT("tcgen05.st.sync.aligned.32x32b.x8.b32 [%%r13], ");
    registers(8);
    PUT(";\ntcgen05.wait::st.sync.aligned;\ntcgen05.ld.red.sync.aligned.32x32b.x8.%s ", how);
    registers(8);
    PUT(", %%z9, [%%r13];\ntcgen05.wait::ld.sync.aligned;\n");
    for (unsigned k = 0; k < 10; k++)
        PUT("st.global.u32 [%%rd4+%u], %%z%u;\n", 4 * k, k);
    PUT(FINISH);
    if (!t0t_once(text_of, "k", 1, THREADS, &a, NULL))
        return;
    for (unsigned t = 0; t < THREADS; t++) {
        const uint32_t *v = &words[t * 128];
        uint32_t want = 0;
        bool some = false, seen = false;
        for (unsigned k = 0; k < 8; k++) {
            uint32_t u = abs ? v[k] & 0x7fffffff : v[k];
            float f, g;
            memcpy(&f, &u, 4);
            memcpy(&g, &want, 4);
            bad += result[t * 128 + k] != v[k];
            if (type == 'f' && isnan(f)) {
                seen = true;
                continue;
            }
            const bool less = type == 'u'   ? u < want
                              : type == 's' ? (int32_t)u < (int32_t)want
                              : f == g      ? u >> 31 > want >> 31
                                            : f < g;
            if (!some || (u != want && less != max))
                want = u;
            some = true;
        }
        if (!some || (nan && seen))
            want = 0x7fffffff;
        bad += result[t * 128 + 9] != want;
    }
    check(!bad, "tcgen05.ld.red %s: %u wrong", how, bad);
}

#define ALLOC(columns) "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%%r20], " columns ";\n"
#define DEALLOC(columns) "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %%r21, " columns ";\n"

/* The first warp has all columns and gives them back when it has slept; the three others, which go on meanwhile, get
 * half of them each, one of them when another has given its own back. All that is written in between is theirs. */
static void waiting(void)
{
    unsigned bad = 0;
    struct args a = {result, words, 0};
    length = 0;
    PUT("%s", HEAD_100 ENTRY("k"));
    PUT(".shared .align 4 .b32 at[4]; .shared .align 4 .b32 freed; mov.u32 %%r2, at; shr.u32 %%r10, %%r1, 5;\n"
        "shl.b32 %%r20, %%r10, 2; add.u32 %%r20, %%r20, %%r2; setp.ne.u32 %%p1, %%r10, 0; st.shared.u32 [freed], 0;\n"
        "mul.wide.u32 %%rd4, %%r1, 8; add.u64 %%rd4, %%rd4, %%rd30; shl.b32 %%r12, %%r10, 21; @%%p1 bra B;\n" ALLOC(
            "512") "B: bar.sync 0; @%%p1 bra O; mov.u32 %%r5, 0;\n"
                   "S: nanosleep.u32 20; add.u32 %%r5, %%r5, 1; setp.lt.u32 %%p2, %%r5, 40; @%%p2 bra S;\n"
                   "st.volatile.shared.u32 [freed], 1; ld.shared.u32 %%r21, [%%r20];\n" DEALLOC("512") "bra E;\nO: " ALLOC(
                       "256") "ld.volatile.shared.u32 %%r6, [freed]; st.global.u32 [%%rd4], %%r6;\n"
                              "ld.shared.u32 %%r21, [%%r20]; add.u32 %%r22, %%r21, %%r12; add.u32 %%r7, %%r1, 1000;\n"
                              "tcgen05.st.sync.aligned.32x32b.x1.b32 [%%r22+255], {%%r7}; tcgen05.wait::st.sync.aligned;\n"
                              "mov.u32 %%r5, 0;\n"
                              "T: nanosleep.u32 20; add.u32 %%r5, %%r5, 1; setp.lt.u32 %%p2, %%r5, 40; @%%p2 bra T;\n"
                              "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%%r8}, [%%r22+255]; tcgen05.wait::ld.sync.aligned;\n"
                              "st.global.u32 [%%rd4+4], %%r8;\n" DEALLOC("256") "E: ret;\n}\n");
    memset(result, 0, sizeof result);
    if (!t0t_once(text_of, "k", 1, THREADS, &a, NULL))
        return;
    for (unsigned t = 32; t < THREADS; t++)
        bad += result[2 * t] != 1 || result[2 * t + 1] != 1000 + t;
    check(!bad, "warps wait for columns: %u wrong", bad);
}

/* Nobody is left who could give columns back: the others wait at a barrier. */
static void stuck(void)
{
    struct args a = {result, words, 0};
    struct t0_fault f = {0};
    length = 0;
    PUT("%s", HEAD_100 ENTRY("k"));
    PUT(".shared .align 4 .b32 at; mov.u32 %%r20, at; setp.gt.u32 %%p1, %%r1, 31; @%%p1 bra B;\n" ALLOC(
        "512") "bar.warp.sync 0xffffffff;\n" ALLOC("32") "B: bar.sync 0; ret;\n}\n");
    t0t_once(text_of, "k", 1, THREADS, &a, &f);
    check(f.kind == T0_FAULT_DEADLOCK && f.line, "more columns than there are (kind %d line %u: %s)", f.kind, f.line,
          f.text);
}

/* All four warps give back what one has allocated; then `columns` from the first on, of which it holds 32. */
static void again(const char *columns, enum t0_fault_kind kind)
{
    struct args a = {result, words, 0};
    struct t0_fault f = {0};
    length = 0;
    PUT("%s", HEAD_100 ENTRY("k"));
    PUT(".shared .align 4 .b32 at; mov.u32 %%r20, at; setp.gt.u32 %%p1, %%r1, 31; @%%p1 bra B;\n" ALLOC(
        "64") "B: bar.sync 0; ld.shared.u32 %%r21, [at];\n" DEALLOC("64") "bar.sync 0; @%%p1 bra E;\n" ALLOC("32"));
    PUT("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %%r21, %s;\nE: ret;\n}\n", columns);
    t0t_once(text_of, "k", 1, THREADS, &a, &f);
    check(f.kind == kind && (f.kind == T0_OK || f.line), "columns given back by four warps, then %s of 32 (%s)",
          columns, f.text);
}

int main(void)
{
    waiting();
    again("32", T0_OK);
    again("64", T0_FAULT_INSTRUCTION);
    stuck();

    for (unsigned s = 0; s < 5; s++) {
        shape(s, s == 3 ? 8 : 16, false);
        shape(s, 1, false);
        shape(s, s == 3 ? 4 : 8, true);
    }
    reduced("min.u32", 'u', false, false, false);
    reduced("max.u32", 'u', true, false, false);
    reduced("min.s32", 's', false, false, false);
    reduced("max.s32", 's', true, false, false);
    for (unsigned how = 0; how < 8; how++) {
        char text[32];
        snprintf(text, sizeof text, "%s%s%s.f32", how & 1 ? "max" : "min", how & 2 ? ".abs" : "",
                 how & 4 ? ".NaN" : "");
        reduced(text, 'f', how & 1, how & 2, how & 4);
    }
    for (unsigned s = 0; s < sizeof copies / sizeof copies[0]; s++)
        for (unsigned k = 0; k < COPIES; k++)
            copied(s, (enum layout_swizzle)((s + k) % 5));
    check(drawn_copies >= 5 * COPIES, "%u copies of drawn layouts", drawn_copies);
    return t0t_done();
}
