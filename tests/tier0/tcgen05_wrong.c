/* Products by tensor memory (tcgen05) that every lane of a warp issues, and wrong descriptors. */
#include "tier0/tcgen05.h"

/* A matrix descriptor without a swizzle, all in bytes. */
static unsigned long long descriptor(uint32_t start, uint32_t lead, uint32_t stride)
{
    return 1ull << 46 | start >> 4 | (uint64_t)(lead >> 4) << 16 | (uint64_t)(stride >> 4) << 32;
}

/* All lanes of a warp issue a product and a copy, each its own: eight of them add to the same sums. */
static void each_lane(void)
{
    uint32_t *bytes = words + 128 * 128; /* of one block */
    unsigned bad = 0;
    struct args a = {result, words, 0};
    const float sum = 8 * 16;
    length = 0;
    for (unsigned x = 0; x < SMEM / 4; x++)
        bytes[x] = x < B_AT / 4 ? 0x3c003c00 : any(1u << 31);
    PUT(BEGIN, HEAD_100 ENTRY("k"));
    for (unsigned k = 0; k < 32; k++)
        PUT("mov.b32 %%z%u, 0;\n", k);
    PUT("tcgen05.st.sync.aligned.32x32b.x32.b32 [%%r13], ");
    registers(32);
    PUT(";\ntcgen05.wait::st.sync.aligned; tcgen05.fence::before_thread_sync; bar.sync 0;\n"
        "tcgen05.fence::after_thread_sync; mov.u64 %%rd5, 0x%llx; mov.u64 %%rd6, 0x%llx; and.b32 %%r20, %%r1, 3;\n"
        "shl.b32 %%r20, %%r20, 3; add.u32 %%r20, %%r20, %%r11; shl.b32 %%r21, %%r1, 2; add.u32 %%r21, %%r21, %%r11;\n"
        "cvt.u64.u32 %%rd7, %%r1; add.u64 %%rd6, %%rd6, %%rd7; mov.u32 %%r22, 0x8020010; setp.eq.u32 %%p5, 0, 0;\n"
        "@%%p3 bra M; tcgen05.mma.cta_group::1.kind::f16 [%%r20], %%rd5, %%rd5, %%r22, %%p5;\n"
        "tcgen05.cp.cta_group::1.128x128b [%%r21+32], %%rd6;\n"
        "@%%p4 bra M; tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
        "M: mbarrier.try_wait.parity.shared::cta.b64 %%p6, [bar], 0; @!%%p6 bra M;\n"
        "tcgen05.ld.sync.aligned.32x32b.x128.b32 ",
        descriptor(A_AT, 128, 256), descriptor(B_AT, 0, 128));
    registers(128);
    PUT(", [%%r13];\ntcgen05.wait::ld.sync.aligned;\n");
    for (unsigned c = 0; c < 128; c++)
        PUT("st.global.u32 [%%rd4+%u], %%z%u;\n", 4 * c, c);
    PUT("setp.ne.u32 %%p3, %%r10, 0;\n" FINISH);
    if (!t0t_once(text_of, "k", 1, THREADS, &a, NULL))
        return;
    for (unsigned t = 0; t < THREADS; t++)
        for (unsigned c = 0; c < 128; c++) { /* lane l's copy begins at row l */
            const uint32_t got = result[t * 128 + c];
            float f;
            memcpy(&f, &got, 4);
            bad += c < 32 ? f != sum : got != bytes[B_AT / 4 + 4 * (t + (c - 32) / 4) + c % 4];
        }
    check(!bad, "products and copies of 32 lanes: %u wrong", bad);
}

int main(void)
{
    static const struct {
        const char *name, *body;
        enum t0_fault_kind kind;
    } wrong[] = {
        {"sparse descriptor of a dense product",
         "mov.u32 %%r22, 0x8040494; mov.u64 %%rd5, 0; tcgen05.mma.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, %%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"dense descriptor of a sparse product",
         "mov.u32 %%r22, 0x8040490; mov.u64 %%rd5, 0; tcgen05.mma.sp.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, "
         "[%%r11], %%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"sparse product of 64 rows",
         "mov.u32 %%r22, 0x4040494; mov.u64 %%rd5, 0; tcgen05.mma.sp.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, "
         "[%%r11], %%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"a selector that there is not",
         "mov.u32 %%r22, 0x8040496; mov.u64 %%rd5, 0; tcgen05.mma.sp.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, "
         "[%%r11], %%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"A of 6 bits in tensor memory",
         "mov.u32 %%r22, 0x8041590; mov.u64 %%rd5, 0; tcgen05.mma.cta_group::1.kind::f8f6f4 [%%r11], [%%r11], %%rd5, "
         "%%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"elements of 4 bits along m",
         "mov.u32 %%r22, 0x8049690; mov.u64 %%rd5, 0; tcgen05.mma.cta_group::1.kind::f8f6f4 [%%r11], %%rd5, %%rd5, "
         "%%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"eight rows of 8 bits along n",
         "mov.u32 %%r22, 0x8070010; mov.u64 %%rd5, 0; tcgen05.mma.cta_group::1.kind::f8f6f4 [%%r11], %%rd5, %%rd5, "
         "%%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"96 elements of 8 bits along k",
         "mov.u32 %%r22, 0x88840000; mov.u64 %%rd5, 0; tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%%r11], "
         "%%rd5, %%rd5, %%r22, [%%r11], [%%r11], 1;\n",
         T0_FAULT_INSTRUCTION},
        {"rows of 48 bytes behind the end of their lines",
         "mov.u32 %%r22, 0x88840480; mov.u64 %%rd5, 0x4000404000400006; tcgen05.mma.cta_group::1.kind::mxf4.block_scale "
         "[%%r11], %%rd5, %%rd5, %%r22, [%%r11], [%%r11], 1;\n",
         T0_FAULT_INSTRUCTION},
        {"lines that go on elsewhere of 64 elements",
         "mov.u32 %%r22, 0x8840480; mov.u64 %%rd5, 0x4010404000400000; tcgen05.mma.cta_group::1.kind::mxf4.block_scale "
         "[%%r11], %%rd5, %%rd5, %%r22, [%%r11], [%%r11], 1;\n",
         T0_FAULT_INSTRUCTION},
        {"block scales of 64 rows",
         "mov.u32 %%r22, 0x4840480; mov.u64 %%rd5, 0; tcgen05.mma.cta_group::1.kind::mxf4.block_scale [%%r11], %%rd5, "
         "%%rd5, %%r22, [%%r11], [%%r11], 1;\n",
         T0_FAULT_INSTRUCTION},
        {"scales of e4m3 where ue8m0 is asked",
         "mov.u32 %%r22, 0x8040000; mov.u64 %%rd5, 0; tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%%r11], "
         "%%rd5, %%rd5, %%r22, [%%r11], [%%r11], 1;\n",
         T0_FAULT_INSTRUCTION},
        {"columns of zeros by reserved bits",
         "mov.u32 %%r22, 0x8100490; mov.u64 %%rd5, 0; tcgen05.mma.ws.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, "
         "%%r22, 1, 0x1000000000;\n",
         T0_FAULT_INSTRUCTION},
        {"32 columns of weights that stay",
         "mov.u32 %%r22, 0x8080490; mov.u64 %%rd5, 0; tcgen05.mma.ws.cta_group::1.kind::f16 [%%r11], %%rd5, %%rd5, "
         "%%r22, 1;\n",
         T0_FAULT_INSTRUCTION},
        {"lanes of another warp",
         "add.u32 %%r13, %%r11, 0x200000; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%%z0}, [%%r13];\n",
         T0_FAULT_INSTRUCTION},
        {"columns that are not there", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%%z0}, [%%r13+600];\n",
         T0_FAULT_ADDRESS}};
    each_lane();
    for (unsigned k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        struct args a = {result, words, 0};
        struct t0_fault f = {0};
        length = 0;
        PUT(BEGIN, HEAD_100 ENTRY("k"));
        PUT(wrong[k].body, 0);
        PUT(FINISH);
        t0t_once(text_of, "k", 1, 32, &a, &f);
        check(f.kind == wrong[k].kind && f.line, "%s (kind %d line %u: %s)", wrong[k].name, f.kind, f.line, f.text);
    }
    return t0t_done();
}
