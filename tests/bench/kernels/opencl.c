/* Runs the OpenCL C twins of the kernels. The library is looked up at run time and its few functions are
 * declared here, so that the bench builds where there is none. Buffers are shared virtual memory: one
 * address for host and device, at which a kernel's data may begin anywhere. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

enum { /* values of the OpenCL specification's CL/cl.h */
       DEVICE_TYPE_CPU = 1 << 1,
       DEVICE_NAME = 0x102b,
       MEM_READ_WRITE = 1 << 0,
       PROGRAM_BUILD_LOG = 0x1183
};

#define OPENCL_FUNCTIONS(F) \
    F(int, clGetPlatformIDs, (unsigned, void **, unsigned *)) \
    F(int, clGetDeviceIDs, (void *, uint64_t, unsigned, void **, unsigned *)) \
    F(int, clGetDeviceInfo, (void *, unsigned, size_t, void *, size_t *)) \
    F(void *, clCreateContext, (const intptr_t *, unsigned, void *const *, void *, void *, int *)) \
    F(void *, clCreateCommandQueueWithProperties, (void *, void *, const uint64_t *, int *)) \
    F(void *, clCreateProgramWithSource, (void *, unsigned, const char **, const size_t *, int *)) \
    F(int, clBuildProgram, (void *, unsigned, void *const *, const char *, void *, void *)) \
    F(int, clGetProgramBuildInfo, (void *, void *, unsigned, size_t, void *, size_t *)) \
    F(void *, clCreateKernel, (void *, const char *, int *)) \
    F(int, clReleaseKernel, (void *)) \
    F(int, clReleaseProgram, (void *)) \
    F(int, clSetKernelArg, (void *, unsigned, size_t, const void *)) \
    F(int, clSetKernelArgSVMPointer, (void *, unsigned, const void *)) \
    F(void *, clSVMAlloc, (void *, uint64_t, size_t, unsigned)) \
    F(void, clSVMFree, (void *, void *)) \
    F(int, clEnqueueNDRangeKernel, \
      (void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *const *, void **)) \
    F(int, clFinish, (void *))

static struct {
#define F(result, name, args) result(*name) args;
    OPENCL_FUNCTIONS(F)
#undef F
} cl;
static void *device, *context, *queue;

struct opencl_kernel {
    void *program, *kernel;
    unsigned bufs;
    void *buf[6];
};

static void check(int result, const char *what)
{
    if (result) {
        fprintf(stderr, "bench: %s: OpenCL error %d\n", what, result);
        exit(1);
    }
}

static bool find_device(void)
{
    void *platform[8];
    unsigned platforms = 0, devices = 0;
    if (cl.clGetPlatformIDs(8, platform, &platforms))
        return false;
    for (unsigned i = 0; i < platforms && i < 8 && !devices; i++)
        if (cl.clGetDeviceIDs(platform[i], DEVICE_TYPE_CPU, 1, &device, &devices))
            devices = 0;
    return devices != 0;
}

const char *opencl_open(void)
{
    int err;
    char name[256] = "";
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 0);
    void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
    if (!lib)
        return "no libOpenCL.so.1 (Debian: pocl-opencl-icd)";
#define F(result, function, args) \
    if (!(cl.function = (result(*) args)dlsym(lib, #function))) \
        return "libOpenCL.so.1 has no " #function;
    OPENCL_FUNCTIONS(F)
#undef F
    if (!find_device())
        return "OpenCL has no CPU device (Debian: pocl-opencl-icd)";
    cl.clGetDeviceInfo(device, DEVICE_NAME, sizeof name, name, NULL);
    printf("kernels: beside OpenCL on %s\n", name);
    context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    check(err, "clCreateContext");
    queue = cl.clCreateCommandQueueWithProperties(context, device, NULL, &err);
    check(err, "clCreateCommandQueueWithProperties");
    return NULL;
}

static void *build(const char *folder, const char *file)
{
    char source[5000], options[5000], log[4096] = "";
    const char *text = source;
    int err;
    snprintf(source, sizeof source, "#include \"%s.cl\"\n", file);
    snprintf(options, sizeof options, "-I %s", folder);
    void *program = cl.clCreateProgramWithSource(context, 1, &text, NULL, &err);
    check(err, "clCreateProgramWithSource");
    err = cl.clBuildProgram(program, 1, &device, options, NULL, NULL);
    if (err) {
        cl.clGetProgramBuildInfo(program, device, PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
        fprintf(stderr, "%s\n", log);
        check(err, file);
    }
    return program;
}

struct opencl_kernel *opencl_kernel(const char *folder, const char *file, const struct work *w)
{
    struct opencl_kernel *k = calloc(1, sizeof *k);
    int err;
    if (!k)
        exit(1);
    k->program = build(folder, file);
    k->kernel = cl.clCreateKernel(k->program, "run", &err);
    check(err, "clCreateKernel");
    k->bufs = w->bufs;
    for (unsigned i = 0; i < w->bufs; i++) {
        if (!(k->buf[i] = cl.clSVMAlloc(context, MEM_READ_WRITE, w->buf[i].size, 0)))
            check(-4, "clSVMAlloc");
        memcpy(k->buf[i], w->buf[i].data, w->buf[i].size);
        check(cl.clSetKernelArgSVMPointer(k->kernel, i, (char *)k->buf[i] + w->buf[i].shift),
              "clSetKernelArgSVMPointer");
    }
    for (unsigned i = 0; i < w->nscalars; i++)
        check(cl.clSetKernelArg(k->kernel, w->bufs + i, sizeof w->scalars[i], &w->scalars[i]), "clSetKernelArg");
    return k;
}

void opencl_reset(struct opencl_kernel *k, const struct work *w)
{
    for (unsigned i = 0; i < w->bufs; i++)
        if (w->buf[i].role == INOUT)
            memcpy(k->buf[i], w->buf[i].data, w->buf[i].size);
}

void opencl_launch(struct opencl_kernel *k, const struct work *w, unsigned repeats)
{
    size_t local[2] = {w->block[0], w->block[1]};
    size_t global[2] = {w->grid[0] * local[0], w->grid[1] * local[1]};
    for (unsigned i = 0; i < repeats; i++)
        check(cl.clEnqueueNDRangeKernel(queue, k->kernel, 2, NULL, global, local, 0, NULL, NULL),
              "clEnqueueNDRangeKernel");
    check(cl.clFinish(queue), "clFinish");
}

const void *opencl_data(const struct opencl_kernel *k, unsigned i) { return k->buf[i]; }

void opencl_drop(struct opencl_kernel *k)
{
    for (unsigned i = 0; i < k->bufs; i++)
        cl.clSVMFree(context, k->buf[i]);
    cl.clReleaseKernel(k->kernel);
    cl.clReleaseProgram(k->program);
    free(k);
}
