/* Every opcode of the census (tests/ptxfront/opcodes.txt) with operands, made from what the front end says it takes:
 * for the programs that lower each of them, or forms next to them. */
#ifndef CUMU_TESTS_TIER0_OPCODES_H
#define CUMU_TESTS_TIER0_OPCODES_H

#include "ptx/front/front.h"

#include <stdio.h>
#include <string.h>

#define CENSUS "tests/ptxfront/opcodes.txt"

/* Operands of opcodes that the front end reads loosely; the first prefix that fits counts.
 * %h 16, %r 32, %d 64 bits, %p predicate; %f is .f32, for coordinates. */
static const struct {
    const char *prefix, *operands;
} loose[] = {
    {"cp.async.commit_group", ""},
    {"cp.async.wait_group", "0"},
    {"cp.async.wait_all", ""},
    {"cp.async.mbarrier", "[%d1]"},
    {"cp.async.bulk.commit_group", ""},
    {"cp.async.bulk.wait_group", "0"},
    {"cp.async.bulk.shared", "[%r1], [%d1], %r2, [%r3]"},
    {"cp.async.bulk.tensor.3d.global", "[%d1, {%r1, %r2, %r3}], [%r4]"},
    {"cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast",
     "[%r1], [%d1, {%r1, %r2, %r3}], [%r4], %h1, %d2"},
    {"cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2",
     "[%r1], [%d1, {%r1, %r2, %r3}], [%r4], %d2"},
    {"cp.async.bulk.tensor", "[%r1], [%d1, {%r1, %r2, %r3}], [%r4]"},
    {"cp.async", "[%r1], [%d1], 16"},
    {"mbarrier.init", "[%d1], %r1"},
    {"mbarrier.arrive.expect_tx", "%d2, [%d1], %r1"},
    {"mbarrier.arrive.shared::cluster", "_, [%d1]"},
    {"mbarrier.arrive", "%d2, [%d1]"},
    {"mbarrier.expect_tx", "[%d1], %r1"},
    {"mbarrier.inval", "[%d1]"},
    {"mbarrier.try_wait.parity", "%p1, [%d1], %r1"},
    {"mbarrier.try_wait", "%p1, [%d1], %d2"},
    {"fence", ""},
    {"membar", ""},
    {"griddepcontrol", ""},
    {"elect.sync", "%r0|%p1, %r2"},
    {"setmaxnreg", "24"},
    {"mapa", "%r1, %r2, %r3"},
    {"prefetch", "[%d1]"},
    {"movmatrix", "%r1, %r2"},
    {"st.bulk", "[%d1], %d2, 0"},
    {"red.async", "[%r1], %r2, [%r3]"},
    {"st.async", "[%r1], %r2, [%r3]"},
    {"tex.1d.v4.f32.s32", "{%r1, %r2, %r3, %r4}, [%d1, {%r1}]"},
    {"tex.1d.v4.u32.s32", "{%r1, %r2, %r3, %r4}, [%d1, {%r1}]"},
    {"tex.1d.", "{%r1, %r2, %r3, %r4}, [%d1, {%f1}]"},
    {"tex.2d.", "{%r1, %r2, %r3, %r4}, [%d1, {%f1, %f2}]"},
    {"tex.3d.", "{%r1, %r2, %r3, %r4}, [%d1, {%f1, %f2, %f3, %f3}]"},
    {"tex.a2d.", "{%r1, %r2, %r3, %r4}, [%d1, {%r5, %f1, %f2, %f3}]"},
    {"tex.cube.", "{%r1, %r2, %r3, %r4}, [%d1, {%f1, %f2, %f3, %f3}]"},
    {"tex.level.2d.", "{%r1, %r2, %r3, %r4}, [%d1, {%f1, %f2}], %f3"},
    {"tex.level.3d.", "{%r1, %r2, %r3, %r4}, [%d1, {%f1, %f2, %f3, %f3}], %f4"},
    {"sust.b.1d.v4", "[%d1, {%r1}], {%r2, %r3, %r4, %r5}"},
    {"sust.b.2d.v4", "[%d1, {%r1, %r2}], {%r3, %r4, %r5, %r6}"},
    {"sust.b.2d.b", "[%d1, {%r1, %r2}], {%r3}"},
    {"sust.b.3d.b8", "[%d1, {%r1, %r2, %r3, %r3}], {%h3}"},
    {"sust.b.a2d.v4", "[%d1, {%r1, %r2, %r3, %r3}], {%r3, %r4, %r5, %r6}"},
    {"lop3", "%r1, %r2, %r3, %r4, 0x96"},
    {"wgmma.wait_group", "0"},
    {"wgmma.fence", ""},
    {"wgmma.commit_group", ""},
};

static char operands[2048];
static size_t operands_end;
#define EMIT(...) \
    (operands_end += (size_t)snprintf(operands + operands_end, sizeof operands - operands_end, __VA_ARGS__))

static void comma(void)
{
    if (operands_end)
        EMIT(", ");
}

static void regs(char letter, unsigned n)
{
    EMIT("{");
    for (unsigned k = 0; k < n; k++)
        EMIT("%s%%%c%u", k ? ", " : "", letter, k);
    EMIT("}");
}

/* The number behind `key` in a shape such as m16n8k32. */
static unsigned dimension(const char *opcode, char key)
{
    for (const char *s = opcode; (s = strchr(s, '.')); s++) {
        unsigned m, n, k;
        if (sscanf(s, ".m%un%uk%u", &m, &n, &k) == 3)
            return key == 'm' ? m : key == 'n' ? n : k;
    }
    return 8;
}

static bool has(const char *opcode, const char *part)
{
    size_t n = strlen(part);
    for (const char *s = opcode; (s = strchr(s, '.')); s++)
        if (!strncmp(s + 1, part, n) && (!s[n + 1] || s[n + 1] == '.'))
            return true;
    return false;
}

static void matrices(const char *opcode)
{
    unsigned m = dimension(opcode, 'm'), n = dimension(opcode, 'n'), k = dimension(opcode, 'k');
    bool wmma = !strncmp(opcode, "wmma", 4), f64 = has(opcode, "f64");
    unsigned bits = f64                                                             ? 64
                    : has(opcode, "bf16")                                           ? 16
                    : has(opcode, "tf32")                                           ? 32
                    : has(opcode, "s8") || has(opcode, "u8") || has(opcode, "e4m3") ? 8
                    : has(opcode, "s4") || has(opcode, "u4")                        ? 4
                    : has(opcode, "b1")                                             ? 1
                                                                                    : 16;
    unsigned unit = f64 ? 64 : 32, a = m * k * bits / unit / 32, b = n * k * bits / unit / 32;
    unsigned c = m * n / 32 / (has(opcode, "f32") || has(opcode, "s32") || f64 ? 1 : 2);
    char letter = f64 ? 'd' : 'r';
    bool sparse = has(opcode, "sp::ordered_metadata");
    if (sparse)
        a /= 2;
    if (wmma && bits == 16 && !has(opcode, "bf16"))
        a = b = 8;
    if (!strncmp(opcode, "wgmma", 5)) {
        regs('r', n / 2);
        EMIT(", %%d1, %%d2, 1, 1, 1");
    } else if (!strncmp(opcode, "ldmatrix", 8)) {
        regs('r', has(opcode, "x4") ? 4 : has(opcode, "x2") ? 2 : 1);
        EMIT(", [%%d1]");
    } else if (has(opcode, "load")) {
        regs(letter, has(opcode, "a") ? a : has(opcode, "b") ? b : c);
        EMIT(", [%%d1], %%r1");
    } else if (has(opcode, "store")) {
        EMIT("[%%d1], ");
        regs(letter, c);
        EMIT(", %%r1");
    } else {
        regs(letter, c);
        comma();
        regs(letter, a);
        comma();
        regs(letter, b);
        comma();
        regs(letter, c);
        if (sparse)
            EMIT(", %%r9, 0");
    }
}

static char letter_of(unsigned type)
{
    switch (ptx_type_size(type)) {
    case 0: return 'p';
    case 1:
    case 2: return 'h';
    case 8: return 'd';
    case 16: return 'q';
    default: return 'r';
    }
}

/* Operands by the pattern of opinfo.def. */
static void by_pattern(const struct ptx_opcode *oc)
{
    const struct ptx_instr *i = &oc->in;
    unsigned n = 0;
    for (const char *s = oc->sig; *s; s++, n++) {
        unsigned type = i->type[0];
        char letter;
        if (*s == '?')
            return;
        comma();
        switch (*s) {
        case 'P':
        case 'S':
        case 'p': letter = 'p'; break;
        case 'I':
        case 'J':
        case 'R':
        case 'K':
        case 'i':
        case 'k':
        case 'n':
        case 'o':
        case 'u': letter = 'r'; break;
        case 'l':
        case 'x': letter = 'd'; break;
        case 'W':
        case 'w': letter = ptx_type_size(type) == 2 ? 'r' : 'd'; break;
        case '1':
        case 'c': letter = letter_of(i->type[1]); break;
        default: letter = letter_of(type);
        }
        if (*s == 'D' && ptx_type_size(type) == 1)
            letter = 'c';
        if (*s == 'a')
            EMIT(i->op == PTX_OP_ST && i->space == PTX_SP_PARAM ? "[argument]" : "[%%d9]");
        else if (*s == 'b')
            EMIT("L");
        else if (strchr("MmEeVv", *s) && i->vec > 1)
            regs(letter, i->vec);
        else
            EMIT("%%%c%u", letter, n);
    }
}

static void make_operands(const char *opcode)
{
    struct ptx_diag d;
    struct ptx_ctx c = {.diag = &d};
    struct ptx_opcode oc;
    operands_end = 0;
    operands[0] = '\0';
    if (!strncmp(opcode, "call", 4)) {
        EMIT("f");
        return;
    }
    for (size_t k = 0; k < sizeof loose / sizeof *loose; k++)
        if (!strncmp(opcode, loose[k].prefix, strlen(loose[k].prefix))) {
            EMIT("%s", loose[k].operands);
            return;
        }
    if (setjmp(c.out))
        return;
    ptx_decode(&c, opcode, strlen(opcode), 1, &oc);
    if (*oc.sig == '~')
        matrices(opcode);
    else
        by_pattern(&oc);
}

/* What the census of compiled programs has none of. */
static const char *const rare[] = {
    "multimem.ld_reduce.weak.global.add.v4.f32 {%f0, %f1, %f2, %f3}, [%d1]",
    "multimem.st.relaxed.sys.global.f32 [%d1], %f0",
    "multimem.red.relaxed.sys.global.add.u32 [%d1], %r0",
    "prefetch.global.L2::evict_last [%d1]",
    "prefetchu.L1 [%d1]",
    "prefetch.tensormap [%d1]",
    "applypriority.global.L2::evict_normal [%d1], 128",
    "discard.global.L2 [%d1], 128",
    "createpolicy.fractional.L2::evict_last.b64 %d0",
    "createpolicy.range.global.L2::evict_last.b64 %d0, [%d1], %r1, %r2",
    "getctarank.u64 %r0, %d1",
    "cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r0], 16",
    "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%d1], [%r0], 16, %h1",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%d1], [%r0], 16",
    "cp.async.bulk.prefetch.L2.global [%d1], 16",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r0], [%d1, {%r1, %r2}], [%r3]",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [%r0], [%d1, {%r1, %r2, %r4, %r5, %r6}], [%r3]",
    "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%r0], [%d1, {%r1, %r2, %r4, %r5}], [%r3], {%h1, %h2}",
    "cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w.mbarrier::complete_tx::bytes [%r0], [%d1, {%r1, %r2, %r4, %r5}], [%r3], {%h1, %h2}",
    "cp.async.bulk.tensor.4d.shared::cluster.global.im2col::w::128.mbarrier::complete_tx::bytes [%r0], [%d1, {%r1, %r2, %r4, %r5}], [%r3], {%h1, %h2}",
    "cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%d1, {%r1, %r2, %r3}], [%r0]",
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%d1, {%r1, %r2}], [%r0]",
    "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%d1, {%r1, %r2}]",
    "tensormap.replace.tile.global_address.global.b1024.b64 [%d1], %d2",
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%d1], [%d2], 128",
    "tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%d1, {%f4, %f5}]",
    "txq.width.b32 %r0, [%d1]",
    "sured.b.add.2d.u32.zero [%d1, {%r0, %r1}], %r2",
    "suq.height.b32 %r0, [%d1]",
    "fence.proxy.tensormap::generic.acquire.gpu [%d1], 128",
    "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%r0], [%r1]",
    "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p0, %q1",
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r0, %r1, %r2, _}, %q1",
    "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e4m3.f32.ue8m0 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3}, %r10, {0, 0}, %r11, {0, 0}",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3}, %r10, {0, 0}, %r11, {0, 0}",
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3}, %r10, {0, 0}, %r11, {0, 0}",
    "mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%f0, %f1, %f2, %f3}, %r12, 0, %r10, {0, 0}, %r11, {0, 0}",
    "stmatrix.sync.aligned.m8n8.x2.shared.b16 [%d1], {%r0, %r1}",
    "stmatrix.sync.aligned.m16n8.x4.trans.shared.b8 [%d1], {%r0, %r1, %r2, %r3}",
    "wgmma.mma_async.sp.sync.aligned.m64n8k32.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %d1, %d2, %r10, 0, 1, 1, 1, 0, 0",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32",
    "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 32",
    "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned",
    "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%r1]",
    "tcgen05.ld.red.sync.aligned.32x32b.x2.max.f32 {%r0, %r2}, %r3, [%r1]",
    "tcgen05.st.sync.aligned.16x64b.x1.b32 [%r1], {%r0}",
    "tcgen05.wait::ld.sync.aligned",
    "tcgen05.cp.cta_group::1.128x256b [%r0], %d1",
    "tcgen05.mma.cta_group::1.kind::f16 [%r0], %d1, %d2, %r3, %p0",
    "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [%r0], %d1, %d2, %r3, [%r4], [%r5], %p0",
    "tcgen05.mma.sp.cta_group::1.kind::f8f6f4 [%r0], %d1, %d2, [%r4], %r3, %p0",
    "tcgen05.mma.ws.cta_group::1.kind::i8 [%r0], %d1, %d2, %r3, %p0",
    "tcgen05.mma.ws.sp.cta_group::1.kind::f16 [%r0], %d1, %d2, [%r4], %r3, %p0, 0",
    "tcgen05.fence::before_thread_sync",
    "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r0]",
    "pmevent 3",
    "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r0], [%r1], 16, [%r2]",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.min.f16 [%d1], [%r0], 16",
    "createpolicy.cvt.L2.b64 %d0, %d1",
    "mbarrier.arrive_drop.shared.b64 %d0, [%d1]",
    "mbarrier.arrive_drop.expect_tx.shared::cta.b64 %d0, [%d1], %r1",
    "mbarrier.complete_tx.shared.b64 [%d1], %r1",
    "mbarrier.pending_count.b64 %r1, %d1",
    "mbarrier.test_wait.shared.b64 %p1, [%d1], %d2",
    "mbarrier.test_wait.parity.shared.b64 %p1, [%d1], %r2",
    "multimem.cp.async.bulk.global.shared::cta.bulk_group [%d1], [%r0], 64",
    "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%d1], [%r0], 64",
    "suld.b.2d.v2.b32.clamp {%r0, %r1}, [%d1, {%r2, %r3}]",
    "sured.p.min.1d.b32.trap [%d1, {%r0}], %r1",
    "sust.p.1d.v4.b32.clamp [%d1, {%r0}], {%r1, %r2, %r3, %r4}",
    "szext.wrap.s32 %r0, %r1, %r2",
    "tex.base.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%d1, {%f4, %f5}]",
    "tex.grad.2d.v4.s32.f32 {%r0, %r1, %r2, %r3}, [%d1, {%f4, %f5}], {%f1, %f2}, {%f3, %f4}",
    "txq.level.width.b32 %r0, [%d1], %r1",
    "barrier.cta.red.popc.aligned.u32 %r0, 1, 64, %p1",
    "bar.cta.sync 1, 64",
    "tcgen05.wait::st.sync.aligned",
    "tcgen05.fence::after_thread_sync",
    "tcgen05.cp.cta_group::2.64x128b.warpx2::02_13 [%r0], %d1",
    "st.async.release.gpu.global.b32 [%d1], %r0",
};

/* A kernel of this instruction alone. */
static void make_kernel(char *text, size_t size, const char *target, const char *instruction)
{
    snprintf(
        text, size,
        ".version 9.0\n.target %s\n.address_size 64\n.func f() { ret; }\n"
        ".visible .entry k()\n{\n.reg .pred %%p<9>; .reg .b8 %%c<9>; .reg .b16 %%h<9>; .reg .b32 %%r<130>;\n"
        ".reg .b64 %%d<33>; .reg .b128 %%q<9>; .reg .f32 %%f<9>; .param .align 16 .b8 argument[64];\n%s;\nL: ret;\n}\n",
        target, instruction);
}

#endif
