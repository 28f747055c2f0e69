/* Fills so many megabytes of device memory, adds to each word of them by one launch, and prints the most memory that
 * the process has had, in bytes: what `sanitize.sh` compares with and without a tool. usage: touched MEGABYTES */
#include <stdint.h>
#include <string.h>

#include "../lib/driver.h"

static const char text[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry add(.param .u64 p)\n{\n"
    ".reg .u32 %r<8>; .reg .u64 %rd<4>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;\n"
    "mov.u32 %r3, %ntid.x; mad.lo.u32 %r1, %r2, %r3, %r1; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;\n"
    "ld.global.u32 %r4, [%rd1]; add.u32 %r4, %r4, %r1; st.global.u32 [%rd1], %r4;\nret;\n}\n";

static uint64_t most_kilobytes(void)
{
    char line[200];
    unsigned long long n = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmHWM: %llu kB", &n);
    if (f)
        fclose(f);
    return n;
}

int main(int argc, char **argv)
{
    const size_t bytes = (size_t)(argc > 1 ? atoi(argv[1]) : 16) << 20;
    void *module, *f;
    uint64_t p;
    open_device();
    need(cuModuleLoadData(&module, text), "cuModuleLoadData");
    need(cuModuleGetFunction(&f, module, "add"), "cuModuleGetFunction");
    need(cuMemAlloc_v2(&p, bytes), "cuMemAlloc");
    need(cuMemsetD8_v2(p, 0, bytes), "cuMemsetD8");
    void *args[] = {&p};
    need(cuLaunchKernel(f, (unsigned)(bytes / 1024), 1, 1, 256, 1, 1, 0, NULL, args, NULL), "cuLaunchKernel");
    need(cuCtxSynchronize(), "cuCtxSynchronize");
    printf("%llu\n", (unsigned long long)most_kilobytes() << 10);
    return 0;
}
