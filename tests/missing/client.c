/* Uses kernels that are missing in each way there is: what the calls answer, or where the process ends. */
#include <stdio.h>
#include <string.h>

#include "abi/cuda.h"
#include "cuda_functions.h"

int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);

static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry good()\n{\n  ret;\n}\n"
                          ".visible .entry bad()\n{\n  tcgen05.shift.cta_group::1.down [0];\n  ret;\n}\n";

/* A container with one image: PTX (1), or machine code (2). */
static unsigned char container[4096];
static struct {
    unsigned magic, version;
    const void *data, *more;
} wrapper = {0x466243b1, 1, container, NULL};

static void put(unsigned at, unsigned long long value, unsigned bytes) { memcpy(container + at, &value, bytes); }

static void make_container(unsigned kind, const void *image, unsigned size)
{
    put(0, 0xba55ed50, 4);
    put(4, 1, 2);
    put(6, 16, 2);
    put(8, 64 + size, 8);
    put(16, kind, 2);
    put(18, 0x101, 2);
    put(20, 64, 4);
    put(24, size, 8);
    put(44, 80, 4);
    put(48, 64, 4);
    memcpy(container + 80, image, size);
}

static char stub[3]; /* of good, bad and one that no PTX defines */

static void registered(const char *how)
{
    unsigned char elf[64] = "\177ELF";
    if (!strcmp(how, "sass"))
        make_container(2, elf, sizeof elf);
    else
        make_container(1, ptx, sizeof ptx);
    void **m = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(m, &stub[0], "good", "good", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(m, &stub[1], "bad", "bad", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(m, &stub[2], "gone", "gone", -1, 0, 0, 0, 0, 0);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "", *call = argc > 2 ? argv[2] : "";
    void *ctx = NULL, *module = NULL, *f = NULL;
    char room[512];
    int value = 0, r = -1;
    dim3 one = {1, 1, 1};
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (!strcmp(how, "driver")) {
        cuInit(0);
        cuDevicePrimaryCtxRetain(&ctx, 0);
        cuCtxSetCurrent(ctx);
        printf("load %d\n", cuModuleLoadData(&module, ptx));
        printf("absent %d\n", cuModuleGetFunction(&f, module, "absent"));
        printf("get %d\n", cuModuleGetFunction(&f, module, "good"));
        printf("good %d\n", cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        printf("get %d\n", cuModuleGetFunction(&f, module, "bad"));
        r = !strcmp(call, "attribute")   ? cuFuncGetAttribute(&value, 0, f)
            : !strcmp(call, "load")      ? cuFuncLoad(f)
            : !strcmp(call, "occupancy") ? cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, f, 32, 0)
                                         : cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    } else if (!strcmp(how, "machine")) {
        unsigned char elf[64] = "\177ELF\2\1\1";
        cuInit(0);
        cuDevicePrimaryCtxRetain(&ctx, 0);
        cuCtxSetCurrent(ctx);
        r = cuModuleLoadData(&module, elf);
    } else {
        char *stub_of = &stub[!strcmp(how, "gone") ? 2 : 1];
        registered(how);
        if (strcmp(how, "sass") != 0)
            printf("good %d\n", cudaLaunchKernel(&stub[0], one, one, NULL, 0, NULL));
        r = !strcmp(call, "attributes")  ? cudaFuncGetAttributes(room, stub_of)
            : !strcmp(call, "attribute") ? cudaFuncSetAttribute(stub_of, 8, 1024)
            : !strcmp(call, "occupancy") ? cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, stub_of, 32, 0)
            : !strcmp(call, "symbol")    ? cudaGetFuncBySymbol(&f, stub_of) ?: cuFuncLoad(f)
                                         : cudaLaunchKernel(stub_of, one, one, NULL, 0, NULL);
    }
    printf("end %d\n", r);
    return 0;
}
