// The CUDA names that the test's extension uses, as any header of CUDA and PyTorch declares them; no toolkit and no
// CUDA build of PyTorch is needed to compile it.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/Allocator.h>
#include <c10/core/Stream.h>

#include <cstddef>
#include <ostream>

struct CUstream_st;
using CUmodule = struct CUmod_st *;
using CUfunction = struct CUfunc_st *;

extern "C" {
int cuModuleLoadData(CUmodule *, const void *);
int cuModuleGetFunction(CUfunction *, CUmodule, const char *);
int cuLaunchKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream_st *,
                   void **, void **);
int cudaFree(void *);
int cudaGetDevice(int *);
int cudaMemcpyAsync(void *, const void *, size_t, int, CUstream_st *);
int cudaStreamSynchronize(CUstream_st *);
}

namespace c10::cuda {

class CUDAStream {
public:
    explicit CUDAStream(Stream s) : stream_(s) {}
    CUstream_st *stream() const;
    Stream unwrap() const { return stream_; }

private:
    Stream stream_;
};
std::ostream &operator<<(std::ostream &, const CUDAStream &);

DeviceIndex device_count() noexcept;
DeviceIndex current_device();
CUDAStream getCurrentCUDAStream(DeviceIndex index);
CUDAStream getStreamFromPool(bool high, DeviceIndex index);
CUDAStream getStreamFromExternal(CUstream_st *handle, DeviceIndex index);
void setCurrentCUDAStream(CUDAStream s);

namespace CUDACachingAllocator {
void *raw_alloc(size_t n);
void raw_delete(void *p);
void emptyCache();
void recordStream(const DataPtr &p, CUDAStream s);
} // namespace CUDACachingAllocator

} // namespace c10::cuda
