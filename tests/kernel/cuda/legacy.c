/* Host code as the compilers of CUDA 7 to 11 and clang write it: registration in a constructor, launch by
 * the stub's address through cudaLaunchKernel. FATBIN is the file with the kernel. Also what a program of
 * that time reads: properties, attributes and pointers in the layouts of its own runtime. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    unsigned x, y, z;
} dim3;
extern void **__cudaRegisterFatBinary(void *);
extern void __cudaRegisterFatBinaryEnd(void **);
extern void __cudaUnregisterFatBinary(void **);
extern void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *,
                                   int *);
extern unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *);
extern int __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
extern int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
extern int cudaMalloc(void **, size_t);
extern int cudaMemcpy(void *, const void *, size_t, int);
extern int cudaGetDeviceProperties(void *, int);
extern int cudaFuncGetAttributes(void *, const void *);
extern int cudaPointerGetAttributes(void *, const void *);
extern int cudaRuntimeGetVersion(int *);

__asm__(".section .nv_fatbin, \"a\"\n.balign 8\nfatbin_data: .incbin \"" FATBIN "\"\n.previous\n");
extern const char fatbin_data[];
static struct {
    int magic, version;
    const void *data, *file;
} wrapper __attribute__((section(".nvFatBinSegment"))) = {0x466243B1, 1, fatbin_data, NULL};

static void **handle;

static void some_kernel(int *p) /* the stub */
{
    void *args[] = {&p};
    dim3 grid, block;
    size_t shared;
    void *stream;
    if (__cudaPopCallConfiguration(&grid, &block, &shared, &stream) == 0)
        cudaLaunchKernel((const void *)some_kernel, grid, block, args, shared, stream);
}

__attribute__((constructor)) static void start(void)
{
    handle = __cudaRegisterFatBinary(&wrapper);
    __cudaRegisterFunction(handle, (const char *)some_kernel, (char *)"some_kernel", "some_kernel", -1, NULL, NULL,
                           NULL, NULL, NULL);
    __cudaRegisterFatBinaryEnd(handle);
}

__attribute__((destructor)) static void stop(void) { __cudaUnregisterFatBinary(handle); }

static int beyond(const unsigned char *buf, size_t size, size_t end)
{
    int bad = 0;
    for (size_t i = size; i < end; i++)
        bad += buf[i] != 0xAB;
    return bad;
}

int main(void)
{
    int *d = NULL, h[32], bad = 0, version = 0;
    cudaMalloc((void **)&d, sizeof h);
    if (!__cudaPushCallConfiguration((dim3){1, 1, 1}, (dim3){32, 1, 1}, 0, NULL))
        some_kernel(d);
    cudaMemcpy(h, d, sizeof h, 2);
    for (int i = 0; i < 32; i++)
        bad += h[i] != 3 * i;
    unsigned char buf[2048];
    memset(buf, 0xAB, sizeof buf);
    bad += cudaGetDeviceProperties(buf, 0) != 0 || beyond(buf, 728, sizeof buf);
    memset(buf, 0xAB, sizeof buf);
    bad += cudaPointerGetAttributes(buf, d) != 0 || beyond(buf, 24, sizeof buf) || buf[0] != 2;
    memset(buf, 0xAB, sizeof buf);
    cudaRuntimeGetVersion(&version);
    bad += cudaFuncGetAttributes(buf, (const void *)some_kernel) != 0 ||
           beyond(buf, version < 12000 ? 56 : 144, sizeof buf);
    printf("runtime %d, bad %d\n", version, bad);
    return bad != 0;
}
