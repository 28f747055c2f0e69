/* The few driver API functions that the bench calls, looked up at run time. */
#ifndef BENCH_CUDA_H
#define BENCH_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define CUDA_FUNCTIONS(F) \
    F(cuInit, (unsigned)) \
    F(cuDevicePrimaryCtxRetain, (void **, int)) \
    F(cuCtxSetCurrent, (void *)) \
    F(cuModuleLoadData, (void **, const void *)) \
    F(cuModuleGetFunction, (void **, void *, const char *)) \
    F(cuMemAlloc_v2, (uint64_t *, size_t)) \
    F(cuMemFree_v2, (uint64_t)) \
    F(cuMemcpyHtoD_v2, (uint64_t, const void *, size_t)) \
    F(cuMemcpyDtoH_v2, (void *, uint64_t, size_t)) \
    F(cuLaunchKernel, \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)) \
    F(cuStreamSynchronize, (void *)) \
    F(cuStreamCreate, (void **, unsigned)) \
    F(cuStreamBeginCapture_v2, (void *, int)) \
    F(cuStreamEndCapture, (void *, void **)) \
    F(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long)) \
    F(cuGraphLaunch, (void *, void *)) \
    F(cuMemAllocAsync, (uint64_t *, size_t, void *)) \
    F(cuMemFreeAsync, (uint64_t, void *)) \
    F(cuCtxSynchronize, (void))

struct cuda {
#define F(name, args) int(*name) args;
    CUDA_FUNCTIONS(F)
#undef F
};
extern struct cuda cu;

/* Looks up, makes a context current; ends the program with a message on failure, as the others do. */
void cuda_open(void);
void cuda_check(int result, const char *what);
void *cuda_kernel(const char *ptx, const char *entry);

#endif
