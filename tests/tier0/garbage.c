/* What a program should not have given: tensor maps and matrix descriptors with bits changed or drawn, coordinates and
 * addresses of any value, instruction descriptors of no shape. Whatever it is, the kernel ends, by itself or with a
 * fault that names its line; and what was copied by a map that still is one is what the map says. */
#include "ptx/lir/tensor_map.h"
#include "sanitize.h"
#include "tier0/kernels.h"
#include "tier0/tensor_maps.h"

#include <sys/mman.h>

#ifndef ROUNDS
#define ROUNDS 500
#endif
enum { THREADS = 128, SMEM = 16384, AT_WORDS = 64, AT_LONGS = 96 };

/* in: maps at 0 and 128 bytes, 32 words behind them, 8 long words behind these. out: shared memory afterwards. */
static const char head[] = ".version 8.7\n.target %s\n.address_size 64\n" ENTRY(
    "k") ".reg .b32 %z<64>; .reg .b32 %w<32>; .reg .b64 %l<8>;\n"
         ".shared .align 1024 .b8 s[16384]; .shared .align 8 .b64 bar; .shared .align 4 .b32 at;\n"
         "mov.u32 %r2, s; mov.u32 %r3, bar; setp.ne.u32 %p1, %r1, 0; shl.b32 %r4, %r1, 2; add.u32 %r5, %r2, %r4;\n"
         "mov.u32 %r6, 0;\nF: st.shared.u32 [%r5], 0xcccccccc; add.u32 %r5, %r5, 512; add.u32 %r6, %r6, 1;\n"
         "setp.lt.u32 %p2, %r6, 32; @%p2 bra F;\n@%p1 bra I; mbarrier.init.shared::cta.b64 [bar], 1; I: bar.sync 0;\n";
static const char tail[] = "bar.sync 0; add.u32 %r5, %r2, %r4; mov.u32 %r6, 0; mov.u64 %rd2, %rd0;\n"
                           "C: ld.shared.u32 %r7, [%r5]; st.global.u32 [%rd2], %r7; add.u64 %rd2, %rd2, 512;\n"
                           "add.u32 %r5, %r5, 512; add.u32 %r6, %r6, 1; setp.lt.u32 %p2, %r6, 32; @%p2 bra C;\n" END;

#define SHARED "[%w8]"
#define ALLOC \
    "mov.u32 %r20, 512; @%p4 bra A; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], %r20;\nA: bar.sync 0;\n"
#define FREE "bar.sync 0; @%p4 bra D; mov.u32 %r21, 0; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r21, %r20; D:\n"
#define COPY(rank, from, mode, to, more) "cp.async.bulk.tensor." rank "d." from mode to more ";"
#define IN "shared::cluster.global"
#define TELLS ".mbarrier::complete_tx::bytes"

enum kind { MAP, PRODUCT, TENSOR_MEMORY };
static const struct variant {
    const char *name, *body;
    enum kind kind;
    unsigned rank;   /* of the map; else the instruction descriptor that is changed */
    bool all, loads; /* of all threads; by a tile that the map has */
} variants[] = {
    {"1-D", COPY("1", IN, ".tile" TELLS, " " SHARED ", [%rd31, {%w0}], [%r3]", ""), MAP, 1, false, true},
    {"2-D", COPY("2", IN, ".tile" TELLS, " " SHARED ", [%rd31, {%w0, %w1}], [%r3]", ""), MAP, 2, false, true},
    {"3-D", COPY("3", IN, ".tile" TELLS, " " SHARED ", [%rd31, {%w0, %w1, %w2}], [%r3]", ""), MAP, 3, false, true},
    {"5-D", COPY("5", IN, ".tile" TELLS, " " SHARED ", [%rd31, {%w0, %w1, %w2, %w3, %w4}], [%r3]", ""), MAP, 5, false,
     true},
    {"a drawn mbarrier", COPY("2", IN, ".tile" TELLS, " " SHARED ", [%rd31, {%w0, %w1}], [%w9]", ""), MAP, 2, false,
     false},
    {"a drawn mask of blocks",
     COPY("2", IN, ".tile" TELLS ".multicast::cluster", " " SHARED ", [%rd31, {%w0, %w1}], [%r3], %h1", ""), MAP, 2,
     false, false},
    {"gather4", COPY("2", IN, ".tile::gather4" TELLS, " " SHARED ", [%rd31, {%w0, %w1, %w2, %w3, %w4}], [%r3]", ""),
     MAP, 2, false, false},
    {"im2col", COPY("4", IN, ".im2col" TELLS, " " SHARED ", [%rd31, {%w0, %w1, %w2, %w3}], [%r3], {%h1, %h2}", ""), MAP,
     4, false, false},
    {"im2col::w", COPY("3", IN, ".im2col::w" TELLS, " " SHARED ", [%rd31, {%w0, %w1, %w2}], [%r3], {%h3, %h2}", ""),
     MAP, 3, false, false},
    {"store", COPY("2", "global.shared::cta", ".tile.bulk_group", " [%rd31, {%w0, %w1}], " SHARED, ""), MAP, 2, false,
     false},
    {"scatter4",
     COPY("2", "global.shared::cta", ".tile::scatter4.bulk_group", " [%rd31, {%w0, %w1, %w2, %w3, %w4}], " SHARED, ""),
     MAP, 2, false, false},
    {"reduction",
     "cp.reduce.async.bulk.tensor.3d.global.shared::cta.add.tile.bulk_group [%rd31, {%w0, %w1, %w2}], " SHARED ";", MAP,
     3, false, false},
    {"replace",
     "tensormap.replace.tile.rank.global.b1024.b32 [%rd31], %w17; tensormap.replace.tile.box_dim.global.b1024.b32 [%rd31], "
     "1, %w18; tensormap.replace.tile.global_stride.global.b1024.b64 [%rd31], 0, %l0;\n"
     "tensormap.replace.tile.swizzle_mode.global.b1024.b32 [%rd31], 3; tensormap.replace.tile.elemtype.global.b1024.b32 "
     "[%rd31], 4;\n" COPY("2", IN, ".tile" TELLS, " " SHARED ", [%rd31, {%w0, %w1}], [%r3]", ""),
     MAP, 2, false, true},
    {"wgmma",
     "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%z0, %z1, %z2, %z3, %z4, %z5, %z6, %z7}, %l1, %l2, 0, "
     "1, 1, 1, 0;",
     PRODUCT, 0, true, false},
    {"wgmma of bytes", "wgmma.mma_async.sync.aligned.m64n8k32.s32.u8.s8 {%z0, %z1, %z2, %z3}, %l1, %l2, 0;", PRODUCT, 0,
     true, false},
    {"wgmma.sp",
     "wgmma.mma_async.sp.sync.aligned.m64n8k64.f32.e4m3.e5m2 {%z0, %z1, %z2, %z3}, %l1, %l2, %w10, 0, 0, 1, "
     "1;",
     PRODUCT, 0, true, false},
    {"tcgen05.mma of f16",
     ALLOC
     "@%p1 bra M; setp.ne.u32 %p5, %w12, 0; tcgen05.mma.cta_group::1.kind::f16 [%w13], %l1, %l2, %w14, %p5; M:" FREE,
     TENSOR_MEMORY, 0x8080490, true, false},
    {"tcgen05.mma.sp of f8f6f4",
     ALLOC "@%p1 bra M; tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [%w13], %l1, %l2, [%w15], %w14, 1; M:" FREE,
     TENSOR_MEMORY, 0x8080014, true, false},
    {"tcgen05.mma.ws of i8",
     ALLOC "@%p1 bra M; tcgen05.mma.ws.cta_group::1.kind::i8 [%w13], [%w15], %l2, %w14, 1, %l3; M:" FREE, TENSOR_MEMORY,
     0x8100020, true, false},
    {"tcgen05.mma of mxf4nvf4",
     ALLOC
     "@%p1 bra M; tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%w13], %l1, %l2, %w14, [%w15], "
     "[%w16], 0; M:" FREE,
     TENSOR_MEMORY, 0x8080480, true, false},
    {"tcgen05.cp",
     ALLOC "@%p1 bra M; tcgen05.cp.cta_group::1.128x256b [%w13], %l1;\n"
           "tcgen05.cp.cta_group::1.64x128b.warpx2::02_13 [%w15], %l2; M:" FREE,
     TENSOR_MEMORY, 0, true, false},
    {"tcgen05.ld and .st",
     ALLOC "tcgen05.ld.sync.aligned.16x256b.x1.b32 {%z0, %z1, %z2, %z3}, [%w13];\n"
           "tcgen05.st.sync.aligned.32x32b.x4.b32 [%w15], {%z0, %z1, %z2, %z3};\n" FREE,
     TENSOR_MEMORY, 0, true, false},
    {"tcgen05.alloc and .dealloc",
     "@%p4 bra A; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 " SHARED ", %w10;\n"
     "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %w13, %w11; A:",
     TENSOR_MEMORY, 0, true, false},
    {"tcgen05.commit",
     ALLOC
     "@%p1 bra M; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%w9], "
     "%h1; M:" FREE,
     TENSOR_MEMORY, 0, true, false},
};

static char text_of[8192];
static const char *text(const struct variant *v)
{
    int n = snprintf(text_of, sizeof text_of, ".version 8.7\n.target %s\n.address_size 64\n%s",
                     v->kind == PRODUCT ? "sm_90a" : "sm_100a", head);
    for (unsigned k = 0; k < 24; k++)
        n += snprintf(text_of + n, sizeof text_of - (size_t)n, "ld.global.u32 %%w%u, [%%rd31+%u];\n", k,
                      4 * (AT_WORDS + k));
    for (unsigned k = 0; k < 4; k++)
        n += snprintf(text_of + n, sizeof text_of - (size_t)n, "ld.global.u64 %%l%u, [%%rd31+%u];\n", k,
                      4 * (AT_LONGS + 2 * k));
    snprintf(text_of + n, sizeof text_of - (size_t)n,
             "add.u32 %%w8, %%w8, %%r2; add.u32 %%w9, %%w9, %%r3; cvt.u16.u32 %%h1, %%w5; cvt.u16.u32 %%h2, %%w6;\n"
             "mov.b16 %%h3, 0; shr.u32 %%r10, %%r1, 5; setp.ne.u32 %%p4, %%r10, 0;\n%s%s\nE: %s",
             v->all ? "" : "@%p1 bra E; ", v->body, tail);
    return text_of;
}

/* Memory that has nothing around it, for maps to miss; large enough for most that they can say. */
static uint8_t *data;
enum { DATA = 1 << 16 };
static bool make_data(void)
{
    const size_t around = (size_t)1 << 41;
    uint8_t *p = mmap(NULL, around, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED || mprotect(p + around / 2, DATA, PROT_READ | PROT_WRITE))
        return false;
    data = p + around / 2;
    for (unsigned k = 0; k < DATA; k++)
        data[k] = (uint8_t)any(256);
    return true;
}

/* Mostly small, sometimes anything. */
static uint32_t number(uint32_t small) { return any(4) ? any(small) : any(2) ? any(UINT32_MAX) : 0u - any(small); }

static void draw_map(const struct variant *v)
{
    struct lir_tmap m;
    random_map(&m, v->kind == MAP ? v->rank : 2, data + 16 * any(16));
    if (!strncmp(v->name, "im2col", 6)) {
        m.mode = v->rank == 4 ? LIR_TMAP_IM2COL : LIR_TMAP_IM2COL_W;
        m.channels = (uint16_t)(16 / lir_tmap_unit(m.type).global * (1 + any(4)));
        m.pixels = (uint16_t)(1 + any(64));
    } else if (strstr(v->name, "er4") && any(4)) {
        m.box[1] = 1;
    }
    memset(in, 0, sizeof in);
    memcpy(in, &m, sizeof m);
    uint8_t *bytes = (uint8_t *)in;
    for (unsigned n = any(4); n; n--) /* the magic's bits are as good as any other's */
        bytes[any(sizeof m)] ^= (uint8_t)(1u << any(8));
    if (!any(20))
        for (unsigned k = any(2) ? 4 : 0; k < sizeof m; k++)
            bytes[k] = (uint8_t)any(256);
    memcpy(&m, in, sizeof m); /* steps that leave the empty room around data by far are drawn for reading alone */
    for (unsigned d = 0; d < 4 && !v->loads; d++)
        m.stride[d] &= (1u << 30) - 1;
    if (CUMU_ASAN) /* its memcpy has no fault for an address that no memory can have */
        for (unsigned d = 0; d < 5; d++) {
            m.address &= ((uint64_t)1 << 46) - 1;
            m.dim[d] &= (1u << 24) - 1;
            m.stride[d & 3] &= (1u << 20) - 1;
        }
    memcpy(in, &m, sizeof m);
}

static void draw(const struct variant *v)
{
    uint64_t l[4];
    draw_map(v);
    for (unsigned k = 0; k < 5; k++)
        in[AT_WORDS + k] = v->loads ? number(20) : any(2) ? any(20) : 0u - any(20);
    in[AT_WORDS + 5] = any(3) ? 1 : any(65536);
    in[AT_WORDS + 6] = any(65536);
    in[AT_WORDS + 8] = any(5) ? 128 * any(8) : number(SMEM + 200);
    in[AT_WORDS + 9] = any(3) ? 0 : number(64);
    in[AT_WORDS + 10] = number(8) << (any(2) ? 5 : 0);
    in[AT_WORDS + 11] = number(8) << (any(2) ? 5 : 0);
    in[AT_WORDS + 12] = any(2);
    in[AT_WORDS + 13] = any(3) ? 0 : any(3) ? any(512) | any(128) << 16 : any(UINT32_MAX);
    in[AT_WORDS + 14] = any(6) ? v->rank ^ (any(3) ? 0 : 1u << any(32)) : any(UINT32_MAX);
    in[AT_WORDS + 15] = any(3) ? 256 : any(3) ? any(512) | any(128) << 16 : any(UINT32_MAX);
    in[AT_WORDS + 16] = any(3) ? 300 : any(UINT32_MAX);
    in[AT_WORDS + 17] = any(4) ? 1 : number(8);
    in[AT_WORDS + 18] = any(2) ? any(8) : number(300);
    for (unsigned k = 0; k < 4; k++) { /* two swizzles more than there are */
        l[k] = (uint64_t)any(any(2) ? 64 : SMEM / 16) | (uint64_t)any(any(2) ? 16 : 1 << 14) << 16 |
               (uint64_t)any(any(2) ? 48 : 1 << 14) << 32 | (uint64_t)any(8) << 61;
        if (!any(4))
            l[k] ^= (uint64_t)1 << any(64);
        if (!any(8))
            l[k] = (uint64_t)any(UINT32_MAX) << 32 | any(UINT32_MAX);
    }
    if (any(2)) /* no columns of zeros */
        l[3] = 0;
    if (v->kind == MAP)
        l[0] = any(2) ? 16 * any(40) : l[0];
    memcpy(in + AT_LONGS, l, sizeof l);
}

static uint8_t want[SMEM];
static bool beyond;
static void arrives(const struct lir_tmap *m, uint32_t shared, uint8_t *p, uint32_t size)
{
    static const uint8_t zero[16];
    static const uint8_t nan[3][8] = {
        {0xff, 0x7f}, {0xff, 0xff, 0xff, 0x7f}, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}};
    if (shared + size > SMEM)
        beyond = true;
    else
        memcpy(want + shared, p ? p : m->nan_fill && size > 1 ? nan[size / 4] : zero, size);
}

/* Where the map is one as cuTensorMapEncodeTiled makes them, or by a kernel's changes: the tile, and nothing else. */
static bool right(const struct variant *v)
{
    struct lir_tmap m;
    int32_t at[5];
    memcpy(&m, in, sizeof m);
    memcpy(at, in + AT_WORDS, sizeof at);
    const unsigned size = lir_tmap_unit(m.type).global, span = lir_tmap_span(m.swizzle);
    if (!v->loads || m.type >= LIR_TMAP_U4X16 || (m.type >= LIR_TMAP_F32_FTZ && m.type <= LIR_TMAP_TF32_FTZ) ||
        m.swizzle == LIR_TMAP_128B_ATOM_32B_FLIP_8B || (m.nan_fill && size == 1))
        return true;
    if ((span && m.box[0] * size > span) || (m.rank > 1 && m.stride[0] % 16))
        return false;
    memset(want, 0xcc, sizeof want);
    beyond = false;
    for (unsigned d = m.rank; d < 5; d++)
        m.box[d] = m.estride[d] = m.dim[d] = 1;
    walk(&m, at, (uint8_t *)(uintptr_t)m.address, in[AT_WORDS + 8], arrives);
    return beyond || !memcmp(want, out, SMEM); /* beyond: over what else the block has */
}

static void run_variant(const struct variant *v)
{
    struct t0t t;
    unsigned ended = 0, faults = 0;
    if (!t0t_open(&t, text(v), "k"))
        check(false, "%s: %s", v->name, t.why);
    else
        for (unsigned round = 0; round < ROUNDS; round++) {
            struct args a = {out, in, THREADS};
            struct t0_fault f = {0};
            draw(v);
            t0t_run(&t, (uint32_t[3]){1, 1, 1}, (uint32_t[3]){THREADS, 1, 1}, 0, &a, &f);
            ended += f.kind == T0_OK;
            faults += f.kind != T0_OK;
            EXPECT(f.kind == T0_OK || f.line, "%s, round %u: fault %d without a line: %s", v->name, round, f.kind,
                   f.text);
            EXPECT(f.kind != T0_OK || right(v), "%s, round %u: not what the map says", v->name, round);
        }
    t0t_close(&t);
    check(faults && (ended || ROUNDS < 10), "%s: %u times done, %u times refused", v->name, ended, faults);
}

int main(void)
{
    if (!check(make_data(), "memory with nothing around it"))
        return 1;
    for (size_t k = 0; k < sizeof variants / sizeof variants[0]; k++)
        run_variant(&variants[k]);
    return t0t_done();
}
