/* The device runtime library as PTX for linkers: handles of grids and their barrier. What launches kernels from
 * kernels every module has by itself (ptx/front/device.c). The barrier is that of cooperative_groups' header:
 * mapping/facts/ptx.md N4. */
#include "compile/devrt.h"

#include <string.h>

/* cudaCGGetIntrinsicHandle(scope): scope 1 is the grid, whose handle is its workspace; 0 where the launch was not
 * cooperative. cudaCGSynchronize(handle, flags), also Grid's name for it: block 0 adds what makes the sum of all blocks
 * 0x80000000, so the sign of the word changes once when the last block has come. A null handle is
 * cudaErrorInvalidValue, 1. */
const char cumu_device_runtime[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .func (.param .b64 out) cudaCGGetIntrinsicHandle(.param .b32 scope)\n{\n"
    ".reg .pred %p;\n.reg .b32 %r<4>;\n.reg .b64 %d<2>;\n"
    "ld.param.u32 %r1, [scope];\nmov.u32 %r2, %envreg2;\nmov.u32 %r3, %envreg1;\nmov.b64 %d1, {%r2, %r3};\n"
    "setp.ne.u32 %p, %r1, 1;\n@%p mov.u64 %d1, 0;\nst.param.b64 [out], %d1;\nret;\n}\n"
    ".visible .func (.param .b32 out) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)\n{\n"
    ".reg .pred %p;\n.reg .b32 %r<12>;\n.reg .b64 %d<2>;\n"
    "mov.u32 %r9, 1;\nld.param.u64 %d1, [handle];\nsetp.eq.u64 %p, %d1, 0;\n@%p bra DONE;\n"
    "barrier.sync 0;\n"
    "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %tid.y;\nmov.u32 %r3, %tid.z;\nor.b32 %r1, %r1, %r2;\nor.b32 %r1, %r1, %r3;\n"
    "setp.ne.u32 %p, %r1, 0;\n@%p bra MEET;\n"
    "mov.u32 %r1, %nctaid.x;\nmov.u32 %r2, %nctaid.y;\nmov.u32 %r3, %nctaid.z;\n"
    "mul.lo.u32 %r4, %r1, %r2;\nmul.lo.u32 %r4, %r4, %r3;\nsub.u32 %r4, 0x80000001, %r4;\n"
    "mov.u32 %r1, %ctaid.x;\nmov.u32 %r2, %ctaid.y;\nmov.u32 %r3, %ctaid.z;\nor.b32 %r1, %r1, %r2;\nor.b32 %r1, %r1, %r3;\n"
    "setp.eq.u32 %p, %r1, 0;\nselp.u32 %r4, %r4, 1, %p;\n"
    "atom.add.release.gpu.u32 %r5, [%d1+4], %r4;\n"
    "WAIT:\nld.acquire.gpu.u32 %r6, [%d1+4];\nxor.b32 %r7, %r5, %r6;\nsetp.ge.s32 %p, %r7, 0;\n@%p bra WAIT;\n"
    "MEET:\nbarrier.sync 0;\nmov.u32 %r9, 0;\n"
    "DONE:\nst.param.b32 [out], %r9;\nret;\n}\n";

bool cumu_is_device_runtime(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return path && strncmp(slash ? slash + 1 : path, "libcudadevrt.a", 14) == 0;
}
