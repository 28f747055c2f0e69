/* Kernels of the launch tests: text, translation, loading. */
#include "host-launch/kernels.h"

#include "../check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/tier0/tier0.h"

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".extern .func (.param .b32 r) vprintf(.param .b64 format, .param .b64 args);\n"
    ".extern .func (.param .b64 r) malloc(.param .b64 size);\n"
    ".extern .func free(.param .b64 p);\n"
    ".extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line,\n"
    "                           .param .b64 function, .param .b64 char_size);\n"
    ".global .align 1 .b8 format[12] = {98, 108, 111, 99, 107, 32, 37, 100, 33, 10, 0};\n"
    ".global .align 1 .b8 claim[6] = {120, 32, 60, 32, 49, 0};\n"
    ".global .align 1 .b8 file[6] = {97, 46, 99, 117, 0};\n"
    ".global .align 1 .b8 where[4] = {102, 40, 41, 0};\n"
    /* block i prints "block i!" */
    ".visible .entry say()\n"
    "{\n"
    "    .local .align 8 .b8 args[8];\n    .reg .b32 %r<3>;\n    .reg .b64 %rd<6>;\n"
    "    mov.u64 %rd1, args;\n    cvta.local.u64 %rd2, %rd1;\n    mov.u32 %r1, %ctaid.x;\n"
    "    st.local.u32 [%rd1], %r1;\n    mov.u64 %rd3, format;\n    cvta.global.u64 %rd4, %rd3;\n"
    "    {\n    .param .b64 a;\n    .param .b64 b;\n    .param .b32 r;\n"
    "    st.param.b64 [a], %rd4;\n    st.param.b64 [b], %rd2;\n"
    "    call.uni (r), vprintf, (a, b);\n    ld.param.b32 %r2, [r];\n    }\n    ret;\n}\n"
    /* threads 3, 11, 19 ... of block 1 assert `x < 1` */
    ".visible .entry claims()\n"
    "{\n"
    "    .reg .pred %p<3>;\n    .reg .b32 %r<3>;\n    .reg .b64 %rd<8>;\n"
    "    mov.u32 %r1, %ctaid.x;\n    setp.ne.u32 %p1, %r1, 1;\n    @%p1 bra DONE;\n"
    "    mov.u32 %r2, %tid.x;\n    and.b32 %r2, %r2, 7;\n    setp.ne.u32 %p2, %r2, 3;\n    @%p2 bra DONE;\n"
    "    mov.u64 %rd1, claim;\n    cvta.global.u64 %rd2, %rd1;\n    mov.u64 %rd3, file;\n"
    "    cvta.global.u64 %rd4, %rd3;\n    mov.u64 %rd5, where;\n    cvta.global.u64 %rd6, %rd5;\n"
    "    {\n    .param .b64 a;\n    .param .b64 b;\n    .param .b32 c;\n    .param .b64 d;\n"
    "    .param .b64 e;\n    st.param.b64 [a], %rd2;\n    st.param.b64 [b], %rd4;\n"
    "    st.param.b32 [c], 17;\n    st.param.b64 [d], %rd6;\n    st.param.b64 [e], 1;\n"
    "    call.uni __assertfail, (a, b, c, d, e);\n    }\nDONE:\n    ret;\n}\n"
    /* out[i] = malloc(size), freed at once if `again` */
    ".visible .entry take(.param .u64 out, .param .u64 size, .param .u32 again)\n"
    "{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<6>;\n    .reg .b64 %rd<6>;\n"
    "    ld.param.u64 %rd1, [size];\n    ld.param.u64 %rd2, [out];\n    ld.param.u32 %r1, "
    "[again];\n"
    "    mov.u32 %r2, %ctaid.x;\n    mov.u32 %r3, %ntid.x;\n    mov.u32 %r4, %tid.x;\n"
    "    mad.lo.s32 %r5, %r2, %r3, %r4;\n    mul.wide.u32 %rd3, %r5, 8;\n"
    "    add.s64 %rd4, %rd2, %rd3;\n"
    "    {\n    .param .b64 a;\n    .param .b64 r;\n    st.param.b64 [a], %rd1;\n"
    "    call.uni (r), malloc, (a);\n    ld.param.b64 %rd5, [r];\n    }\n"
    "    st.global.u64 [%rd4], %rd5;\n    setp.eq.u32 %p1, %r1, 0;\n    @%p1 bra DONE;\n"
    "    {\n    .param .b64 a;\n    st.param.b64 [a], %rd5;\n    call.uni free, (a);\n    }\n"
    "DONE:\n    ret;\n}\n"
    /* out[i] = (*clock)++, after so many turns of a loop */
    ".visible .entry mark(.param .u64 clock, .param .u64 out, .param .u32 i, .param .u32 turns)\n"
    "{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<5>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [clock];\n    ld.param.u64 %rd2, [out];\n    ld.param.u32 %r1, [i];\n"
    "    ld.param.u32 %r2, [turns];\n    mov.u32 %r3, 0;\n"
    "LOOP:\n    add.u32 %r3, %r3, 1;\n    setp.lt.u32 %p1, %r3, %r2;\n    @%p1 bra LOOP;\n"
    "    atom.global.add.u32 %r4, [%rd1], 1;\n    mul.wide.u32 %rd3, %r1, 4;\n    add.s64 %rd4, %rd2, %rd3;\n"
    "    st.global.u32 [%rd4], %r4;\n    ret;\n}\n"
    /* writes all ones to [p, p + n), n a multiple of 8 */
    ".visible .entry smash(.param .u64 p, .param .u64 n)\n"
    "{\n"
    "    .reg .pred %p<2>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [p];\n    ld.param.u64 %rd2, [n];\n    add.s64 %rd3, %rd1, %rd2;\n"
    "L:\n    st.global.u64 [%rd1], -1;\n    add.s64 %rd1, %rd1, 8;\n"
    "    setp.lt.u64 %p1, %rd1, %rd3;\n    @%p1 bra L;\n    ret;\n}\n"
    /* frees p[i] */
    ".visible .entry give(.param .u64 p)\n"
    "{\n"
    "    .reg .b32 %r<5>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [p];\n    mov.u32 %r1, %ctaid.x;\n    mov.u32 %r2, %ntid.x;\n"
    "    mov.u32 %r3, %tid.x;\n    mad.lo.s32 %r4, %r1, %r2, %r3;\n"
    "    mul.wide.u32 %rd2, %r4, 8;\n    add.s64 %rd3, %rd1, %rd2;\n"
    "    ld.global.u64 %rd4, [%rd3];\n"
    "    {\n    .param .b64 a;\n    st.param.b64 [a], %rd4;\n    call.uni free, (a);\n    }\n"
    "    ret;\n}\n"
    ".visible .entry empty() { ret; }\n"
    /* out[i] = i + v for i < n */
    ".visible .entry fill(.param .u64 out, .param .u32 n, .param .u32 v)\n"
    "{\n"
    "    .reg .pred %p<2>;\n    .reg .b32 %r<8>;\n    .reg .b64 %rd<5>;\n"
    "    ld.param.u64 %rd1, [out];\n    ld.param.u32 %r1, [n];\n    ld.param.u32 %r2, [v];\n"
    "    mov.u32 %r3, %ctaid.x;\n    mov.u32 %r4, %ntid.x;\n    mov.u32 %r5, %tid.x;\n"
    "    mad.lo.s32 %r6, %r3, %r4, %r5;\n    setp.ge.u32 %p1, %r6, %r1;\n    @%p1 bra DONE;\n"
    "    cvta.to.global.u64 %rd2, %rd1;\n    mul.wide.u32 %rd3, %r6, 4;\n"
    "    add.s64 %rd4, %rd2, %rd3;\n    add.u32 %r7, %r6, %r2;\n    st.global.u32 [%rd4], %r7;\n"
    "DONE:\n    ret;\n}\n"
    /* every kind of parameter, stored one after the other as 8-byte words */
    ".visible .entry params(.param .u8 a, .param .u64 b, .param .u16 c, .param .f32 d,\n"
    "                       .param .align 8 .b8 e[24], .param .u64 out)\n"
    "{\n"
    "    .reg .b32 %r<3>;\n    .reg .f32 %f<2>;\n    .reg .b64 %rd<9>;\n"
    "    ld.param.u64 %rd1, [out];\n    ld.param.u8 %r1, [a];\n    cvt.u64.u32 %rd2, %r1;\n"
    "    st.global.u64 [%rd1], %rd2;\n    ld.param.u64 %rd3, [b];\n    st.global.u64 [%rd1+8], "
    "%rd3;\n"
    "    ld.param.u16 %r2, [c];\n    cvt.u64.u32 %rd4, %r2;\n    st.global.u64 [%rd1+16], %rd4;\n"
    "    ld.param.f32 %f1, [d];\n    st.global.f32 [%rd1+24], %f1;\n"
    "    ld.param.u64 %rd5, [e];\n    st.global.u64 [%rd1+32], %rd5;\n"
    "    ld.param.u64 %rd6, [e+8];\n    st.global.u64 [%rd1+40], %rd6;\n"
    "    ld.param.u64 %rd7, [e+16];\n    st.global.u64 [%rd1+48], %rd7;\n    ret;\n}\n"
    ".visible .entry wild(.param .u64 p)\n"
    "{\n    .reg .b64 %rd<2>;\n    ld.param.u64 %rd1, [p];\n    st.global.u32 [%rd1], 1;\n    "
    "ret;\n}\n"
    /* block 0 faults, the others wait for what it will never write */
    ".visible .entry orphans(.param .u64 word)\n"
    "{\n"
    "    .reg .pred %p<3>;\n    .reg .b32 %r<3>;\n    .reg .b64 %rd<3>;\n"
    "    ld.param.u64 %rd1, [word];\n    mov.u32 %r1, %ctaid.x;\n    setp.ne.u32 %p1, %r1, 0;\n"
    "    @%p1 bra WAIT;\n    mov.u64 %rd2, 4096;\n    st.global.u32 [%rd2], 1;\n"
    "WAIT:\n    ld.volatile.global.u32 %r2, [%rd1];\n    setp.eq.u32 %p2, %r2, 0;\n"
    "    @%p2 bra WAIT;\n    ret;\n}\n"
    ".visible .entry trap() { trap; ret; }\n"
    ".visible .entry bounded() .maxntid 64, 1, 1 { ret; }\n"
    ".visible .entry required() .reqntid 32, 1, 1 { ret; }\n"
    ".visible .entry shared16k()\n"
    "{\n    .shared .align 4 .b8 s[16384];\n    .reg .b32 %r<2>;\n    mov.u32 %r1, s;\n"
    "    st.shared.u32 [%r1], 1;\n    ret;\n}\n"
    /* all blocks meet: every block counts itself in and waits until all `n` are there */
    ".visible .entry meet(.param .u64 counter, .param .u32 n)\n"
    "{\n"
    "    .reg .pred %p<3>;\n    .reg .b32 %r<5>;\n    .reg .b64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [counter];\n    ld.param.u32 %r1, [n];\n    mov.u32 %r2, %tid.x;\n"
    "    setp.ne.u32 %p1, %r2, 0;\n    @%p1 bra DONE;\n    atom.global.add.u32 %r3, [%rd1], 1;\n"
    "WAIT:\n    ld.volatile.global.u32 %r4, [%rd1];\n    setp.lt.u32 %p2, %r4, %r1;\n"
    "    @%p2 bra WAIT;\nDONE:\n    ret;\n}\n"
    /* grid.sync() of cooperative groups, three times: counts the blocks that see all counts of the round before */
    ".visible .entry rounds(.param .u64 counter)\n"
    "{\n"
    "    .reg .pred %p<4>;\n    .reg .b32 %r<12>;\n    .reg .b64 %rd<6>;\n"
    "    mov.u32 %r1, %envreg2;\n    cvt.u64.u32 %rd1, %r1;\n    mov.u32 %r1, %envreg1;\n    cvt.u64.u32 %rd2, %r1;\n"
    "    bfi.b64 %rd1, %rd2, %rd1, 32, 32;\n    setp.ne.s64 %p1, %rd1, 0;\n    @%p1 bra VALID;\n    trap;\n"
    "VALID:\n    ld.param.u64 %rd2, [counter];\n    mov.u32 %r2, %nctaid.x;\n    mov.u32 %r3, 0;\n"
    "    mov.u32 %r4, %tid.x;\n    mov.u32 %r5, %ctaid.x;\n    setp.ne.u32 %p2, %r4, 0;\n"
    "ROUND:\n    @%p2 bra MET;\n    atom.global.add.u32 %r6, [%rd2], 1;\n    mov.u32 %r7, 1;\n"
    "    setp.ne.u32 %p3, %r5, 0;\n    sub.s32 %r8, -2147483647, %r2;\n    selp.b32 %r7, 1, %r8, %p3;\n"
    "    atom.add.release.gpu.u32 %r9, [%rd1+4], %r7;\n"
    "WAITS:\n    ld.acquire.gpu.u32 %r10, [%rd1+4];\n    xor.b32 %r11, %r10, %r9;\n    setp.gt.s32 %p3, %r11, -1;\n"
    "    @%p3 bra WAITS;\n"
    "    ld.volatile.global.u32 %r6, [%rd2];\n    add.s32 %r9, %r3, 1;\n    mul.lo.s32 %r9, %r9, %r2;\n"
    "    setp.lt.u32 %p3, %r6, %r9;\n    @%p3 trap;\n"
    "MET:\n    barrier.sync 0;\n    add.s32 %r3, %r3, 1;\n"
    "    setp.lt.u32 %p3, %r3, 3;\n    @%p3 bra ROUND;\n    ret;\n}\n";

void *kernel_image(const char *name)
{
    struct ptx_diag diag = {0};
    struct ptx_module *m = ptx_module_open(text, sizeof text - 1, &diag);
    void *image = NULL;
    size_t size;
    if (!m || lir_lower_kernel(m, name, &image, &size, &diag)) {
        check(false, "%s translates: line %u: %s: %s", name, diag.line, diag.what, diag.msg);
        image = NULL;
    }
    if (m)
        ptx_module_close(m);
    return image;
}

/* The variables of the text, in the current context, become known to the image. */
static MUresult bind_variables(void *image)
{
    struct ptx_diag diag = {0};
    struct ptx_module *m = ptx_module_open(text, sizeof text - 1, &diag);
    void *data = NULL;
    size_t size;
    MUmodule module = NULL;
    MUdeviceptr address;
    const char *name;
    MUresult r = m && !lir_lower_data(m, &data, &size, &diag) ? MUSA_SUCCESS : MUSA_ERROR_INVALID_PTX;
    if (!r)
        r = muModuleLoadData(&module, data);
    for (unsigned i = 0; !r && (name = lir_image_extern(image, i)); i++)
        if (!(r = muModuleGetGlobal(&address, NULL, module, name)))
            lir_image_bind(image, i, address);
    free(data);
    if (m)
        ptx_module_close(m);
    return r;
}

MUfunction kernel_function(const char *name)
{
    void *image = kernel_image(name);
    MUmodule module;
    MUfunction f = NULL;
    MUresult r = image ? bind_variables(image) : MUSA_SUCCESS;
    if (image && !r)
        r = muModuleLoadData(&module, image);
    if (image && !r)
        r = muModuleGetFunction(&f, module, name);
    if (r)
        check(false, "%s loads: %d", name, r);
    free(image);
    return f;
}

MUcontext kernels_start(void)
{
    MUcontext ctx = NULL;
    MUresult r = muInit(0);
    if (!r)
        r = muDevicePrimaryCtxRetain(&ctx, 0);
    if (!r)
        r = muCtxSetCurrent(ctx);
    if (r)
        check(false, "the driver starts: %d", r);
    return ctx;
}
