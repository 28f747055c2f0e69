/* Products of halves and of bytes by mma.sync, wgmma and tcgen05.mma, the same number of operations each: time of the
 * two that compute whole tiles beside mma's. One block, factors in shared memory; mma's are loaded by ldmatrix for each
 * step as a kernel's main loop does. CPU time of the process, after the compiled code has taken over. */
#include "library.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { STEPS = 400, ROUNDS = 7 };
#define CU(name) ((int (*)())in("libcuda.so.1", "cu" #name))

static void must(int bad, const char *what)
{
    if (bad) {
        fprintf(stderr, "%s: %d\n", what, bad);
        exit(1);
    }
}

static char text[65536];
static size_t length;
#define PUT(...) length += (size_t)snprintf(text + length, sizeof text - length, __VA_ARGS__)

static void put_registers(const char *name, unsigned first, unsigned n)
{
    PUT("{");
    for (unsigned k = 0; k < n; k++)
        PUT("%s%%%s%u", k ? ", " : "", name, first + k);
    PUT("}");
}

/* Shared memory of 24 KB of ones as halves, or bytes; %r2: where it is; a loop of STEPS. */
static void begin(const char *target)
{
    length = 0;
    PUT(".version 8.7\n.target %s\n.address_size 64\n.visible .entry k(.param .u64 out)\n{\n"
        ".reg .b32 %%r<40>; .reg .b64 %%rd<20>; .reg .pred %%p<9>;\n"
        ".reg .b32 %%d<256>; .reg .b32 %%a<4>; .reg .b32 %%b<64>;\n"
        ".shared .align 1024 .b8 s[24576]; .shared .align 4 .b32 at; .shared .align 8 .b64 bar;\n"
        "mov.u32 %%r1, %%tid.x; mov.u32 %%r2, s; shl.b32 %%r3, %%r1, 2; add.u32 %%r4, %%r2, %%r3; mov.u32 %%r5, 0;\n"
        "F: st.shared.u32 [%%r4], 0x3c003c00; add.u32 %%r4, %%r4, 512; add.u32 %%r5, %%r5, 1;\n"
        "setp.lt.u32 %%p1, %%r5, 48; @%%p1 bra F; fence.proxy.async; bar.sync 0; mov.u32 %%r5, 0;\n"
        "shr.u32 %%r10, %%r1, 5; and.b32 %%r11, %%r1, 31; setp.ne.u32 %%p2, %%r1, 0; setp.eq.u32 %%p3, 0, 0;\n"
        "setp.ne.u32 %%p4, %%r10, 0;\n",
        target);
    for (unsigned k = 0; k < 128; k++)
        PUT("mov.b32 %%d%u, 0;%s", k, k % 8 == 7 ? "\n" : " ");
}

static void end_loop(void) { PUT("add.u32 %%r5, %%r5, 1; setp.lt.u32 %%p1, %%r5, %u; @%%p1 bra L;\n", STEPS); }

static void store(unsigned n)
{
    for (unsigned k = 1; k < n; k++)
        PUT("add.u32 %%d0, %%d0, %%d%u;%s", k, k % 8 ? " " : "\n");
    PUT("ld.param.u64 %%rd1, [out]; mul.wide.u32 %%rd2, %%r1, 4; add.u64 %%rd1, %%rd1, %%rd2;\n"
        "st.global.u32 [%%rd1], %%d0;\n");
}

/* Each of four warps 32 x 128 of the 128 x 128, by 32 bytes along k: 2 x 16 tiles of 16 x 8. */
static void mma_text(bool bytes)
{
    begin("sm_90a");
    PUT("shl.b32 %%r12, %%r11, 4; add.u32 %%r12, %%r12, %%r2; shl.b32 %%r13, %%r10, 10; add.u32 %%r13, %%r13, %%r12;\n"
        "L:\n");
    for (unsigned k = 0; k < 8; k++) {
        PUT("ldmatrix.sync.aligned.m8n8.x4.shared.b16 ");
        put_registers("b", 4 * k, 4);
        PUT(", [%%r12+%u];\n", 16384 + 512 * k);
    }
    for (unsigned m = 0; m < 2; m++) {
        PUT("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%%a0, %%a1, %%a2, %%a3}, [%%r13+%u];\n", 512 * m);
        for (unsigned n = 0; n < 16; n++) {
            PUT("mma.sync.aligned.%s ", bytes ? "m16n8k32.row.col.s32.s8.s8.s32" : "m16n8k16.row.col.f32.f16.f16.f32");
            put_registers("d", 64 * m + 4 * n, 4);
            PUT(", {%%a0, %%a1, %%a2, %%a3}, ");
            put_registers("b", 2 * n, 2);
            PUT(", ");
            put_registers("d", 64 * m + 4 * n, 4);
            PUT(";\n");
        }
    }
    end_loop();
    store(128);
    PUT("ret;\n}\n");
}

/* Two of 64 x 128 a step, without swizzle: rows of 16 bytes, eight of them a block of 128 bytes. */
static void wgmma_text(bool bytes)
{
    begin("sm_90a");
    PUT("shr.u32 %%r20, %%r2, 4; cvt.u64.u32 %%rd5, %%r20; or.b64 %%rd5, %%rd5, 0x1000080000; \n"
        "add.u64 %%rd6, %%rd5, 128; add.u64 %%rd7, %%rd5, 1024; L: wgmma.fence.sync.aligned;\n");
    for (unsigned m = 0; m < 2; m++) {
        PUT("wgmma.mma_async.sync.aligned.%s ", bytes ? "m64n128k32.s32.s8.s8" : "m64n128k16.f32.f16.f16");
        put_registers("d", 64 * m, 64);
        PUT(", %%rd%u, %%rd7, %%p3%s;\n", 5 + m, bytes ? "" : ", 1, 1, 0, 0");
    }
    PUT("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n");
    end_loop();
    store(128);
    PUT("ret;\n}\n");
}

/* One of 128 x 128 a step, by one thread. */
static void tcgen05_text(bool bytes)
{
    begin("sm_100a");
    const unsigned idesc = (bytes ? 2u << 4 | 1u << 7 | 1u << 10 : 1u << 4) | 128 / 8 << 17 | 128 / 16 << 24;
    PUT("@%%p2 bra N; mbarrier.init.shared::cta.b64 [bar], 1; N: @%%p4 bra G;\n"
        "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [at], 128; G: bar.sync 0; ld.shared.u32 %%r21, [at];\n"
        "shr.u32 %%r20, %%r2, 4; cvt.u64.u32 %%rd5, %%r20; or.b64 %%rd5, %%rd5, 0x401000080000;\n"
        "add.u64 %%rd7, %%rd5, 1024; setp.ne.u32 %%p5, 0, 0; @%%p2 bra W;\n"
        "L: tcgen05.mma.cta_group::1.kind::%s [%%r21], %%rd5, %%rd7, 0x%x, %%p5; setp.eq.u32 %%p5, 0, 0;\n",
        bytes ? "i8" : "f16", idesc);
    end_loop();
    PUT("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];\n"
        "W: mbarrier.try_wait.parity.shared::cta.b64 %%p6, [bar], 0; @!%%p6 bra W;\n"
        "shl.b32 %%r22, %%r10, 21; add.u32 %%r22, %%r22, %%r21; tcgen05.ld.sync.aligned.32x32b.x128.b32 ");
    put_registers("d", 0, 128);
    PUT(", [%%r22]; tcgen05.wait::ld.sync.aligned;\n");
    store(128);
    PUT("bar.sync 0; @%%p4 bra Z; tcgen05.dealloc.cta_group::1.sync.aligned.b32 %%r21, 128; Z: ret;\n}\n");
}

/* Milliseconds of a launch, least of ROUNDS; *sum is what the threads left. */
static double run(uint64_t out, unsigned *sum)
{
    void *module, *f;
    void *args[] = {&out};
    double best = 1e30;
    unsigned left[128];
    must(CU(ModuleLoadData)(&module, text), "cuModuleLoadData");
    must(CU(ModuleGetFunction)(&f, module, "k"), "cuModuleGetFunction");
    for (unsigned k = 0; k < 2 * ROUNDS; k++) {
        const double from = seconds(CLOCK_PROCESS_CPUTIME_ID);
        must(CU(LaunchKernel)(f, 1, 1, 1, 128, 1, 1, 0, NULL, args, NULL), "cuLaunchKernel");
        must(CU(CtxSynchronize)(), "cuCtxSynchronize");
        const double took = seconds(CLOCK_PROCESS_CPUTIME_ID) - from;
        best = k >= ROUNDS && took < best ? took : best;
    }
    must(CU(MemcpyDtoH_v2)(left, out, sizeof left), "cuMemcpyDtoH");
    *sum = 0;
    for (unsigned k = 0; k < 128; k++)
        *sum += left[k];
    must(CU(ModuleUnload)(module), "cuModuleUnload");
    return best * 1e3;
}

int main(void)
{
    static const char *const names[2] = {"f16", "s8"};
    void *context;
    int device;
    uint64_t out;
    must(CU(Init)(0), "cuInit");
    must(CU(DeviceGet)(&device, 0), "cuDeviceGet");
    must(CU(DevicePrimaryCtxRetain)(&context, device), "cuDevicePrimaryCtxRetain");
    must(CU(CtxSetCurrent)(context), "cuCtxSetCurrent");
    must(CU(MemAlloc_v2)(&out, (size_t)512), "cuMemAlloc");
    for (unsigned bytes = 0; bytes < 2; bytes++) {
        double ms[3];
        unsigned sum[3];
        mma_text(bytes);
        ms[0] = run(out, &sum[0]);
        wgmma_text(bytes);
        ms[1] = run(out, &sum[1]);
        tcgen05_text(bytes);
        ms[2] = run(out, &sum[2]);
        must(sum[0] != sum[1] || sum[0] != sum[2], "the three products differ");
        const double operations = 2.0 * 128 * 128 * (bytes ? 32 : 16) * STEPS;
        printf("bench tiles.mma_%s %.3g GFLOP/s\n", names[bytes], operations / ms[0] * 1e-6);
        printf("bench tiles.wgmma_%s_vs_mma %.2f ratio # of times\n", names[bytes], ms[1] / ms[0]);
        printf("bench tiles.tcgen05_%s_vs_mma %.2f ratio # of times\n", names[bytes], ms[2] / ms[0]);
    }
    return 0;
}
