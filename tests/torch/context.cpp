// What CUDA extensions ask of at::cuda and c10::cuda besides the current stream, as PyTorch's headers of CUDA declare it
// and in part define it: handles of libraries, device properties, events, guards, the caching allocator, the random
// generator, errors. The program that loads the extension calls this directly, as pybind11 would.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/Exceptions.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/version.h>

#include <cstring>
#include <sstream>
#include <thread>

#define EXPECT(what, condition) expect(what, (condition))
using Expect = void (*)(const char *what, bool good);

namespace
{

constexpr bool OLD = TORCH_VERSION_MAJOR < 2;
namespace allocator = c10::cuda::CUDACachingAllocator;

struct Buffer { // of floats, on the current device
    explicit Buffer(std::initializer_list<float> values) : n(values.size() * sizeof(float))
    {
        C10_CUDA_CHECK(cudaMalloc(&p, n));
        C10_CUDA_CHECK(cudaMemcpy(p, values.begin(), n, cudaMemcpyHostToDevice));
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { (void)cudaFree(p); }
    bool holds(std::initializer_list<float> values) const
    {
        std::vector<float> host(values.size());
        C10_CUDA_CHECK(cudaDeviceSynchronize());
        C10_CUDA_CHECK(cudaMemcpy(host.data(), p, n, cudaMemcpyDeviceToHost));
        return std::equal(host.begin(), host.end(), values.begin());
    }
    float *at() const { return static_cast<float *>(p); }
    void *p = nullptr;
    size_t n;
};

template <class F> bool throws(const char *text, F f)
{
    try {
        f();
    } catch (const c10::Error &e) {
        return std::strstr(e.what(), text) != nullptr;
    }
    return false;
}

void blas(Expect expect)
{
    const float one = 1, zero = 0;
    const Buffer a({1, 2, 3, 4}), b({5, 6, 7, 8}), c({0, 0, 0, 0});
    const auto own = c10::cuda::getStreamFromPool();
    const c10::cuda::CUDAStreamGuard guard(own);
    cublasHandle_t h = at::cuda::getCurrentCUDABlasHandle();
    TORCH_CUDABLAS_CHECK(
        cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, a.at(), 2, b.at(), 2, &zero, c.at(), 2));
    EXPECT("cublas-handle-multiplies", c.holds({23, 34, 31, 46}));
    cudaStream_t s = nullptr;
    TORCH_CUDABLAS_CHECK(cublasGetStream_v2(h, &s));
    EXPECT("cublas-handle-has-the-current-stream", s == own.stream() && h == at::cuda::getCurrentCUDABlasHandle());
    EXPECT("cublas-error-has-a-name", throws("CUBLAS_STATUS_INVALID_VALUE", [&] {
               TORCH_CUDABLAS_CHECK(
                   cublasSgemm_v2(h, CUBLAS_OP_N, CUBLAS_OP_N, -1, 2, 2, &one, a.at(), 2, b.at(), 2, &zero, c.at(), 2));
           }));
#if TORCH_VERSION_MAJOR >= 2
    cublasLtHandle_t lt = at::cuda::getCurrentCUDABlasLtHandle();
    cublasLtMatmulDesc_t d = nullptr;
    cublasLtMatrixLayout_t l = nullptr;
    TORCH_CUDABLAS_CHECK(cublasLtMatmulDescCreate(&d, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    TORCH_CUDABLAS_CHECK(cublasLtMatrixLayoutCreate(&l, CUDA_R_32F, 2, 2, 2));
    TORCH_CUDABLAS_CHECK(cublasLtMatmul(lt, d, &one, b.at(), l, a.at(), l, &zero, c.at(), l, c.at(), l, nullptr,
                                        nullptr, 0, own.stream()));
    EXPECT("cublaslt-handle-multiplies", c.holds({19, 22, 43, 50}) && lt == at::cuda::getCurrentCUDABlasLtHandle());
    TORCH_CUDABLAS_CHECK(cublasLtMatrixLayoutDestroy(l));
    TORCH_CUDABLAS_CHECK(cublasLtMatmulDescDestroy(d));
#endif
}

void solver_and_sparse(Expect expect)
{
    const auto own = c10::cuda::getStreamFromPool();
    const c10::cuda::CUDAStreamGuard guard(own);
    cudaStream_t s = nullptr;
    cusolverDnHandle_t h = at::cuda::getCurrentCUDASolverDnHandle();
    EXPECT("cusolver-handle-has-the-current-stream",
           cusolverDnGetStream(h, &s) == CUSOLVER_STATUS_SUCCESS && s == own.stream());
    const Buffer a({4, 2, 2, 5}), info({-1});
    int lwork = 0;
    TORCH_CHECK(cusolverDnSpotrf_bufferSize(h, CUBLAS_FILL_MODE_LOWER, 2, a.at(), 2, &lwork) ==
                CUSOLVER_STATUS_SUCCESS);
    void *work = allocator::raw_alloc(static_cast<size_t>(lwork) * sizeof(float));
    TORCH_CHECK(cusolverDnSpotrf(h, CUBLAS_FILL_MODE_LOWER, 2, a.at(), 2, static_cast<float *>(work), lwork,
                                 static_cast<int *>(info.p)) == CUSOLVER_STATUS_SUCCESS);
    EXPECT("cusolver-handle-factors", a.holds({2, 1, 2, 2}) && info.holds({0}));
    allocator::raw_delete(work);

    s = nullptr;
    cusparseHandle_t sparse = at::cuda::getCurrentCUDASparseHandle();
    EXPECT("cusparse-handle-has-the-current-stream",
           cusparseGetStream(sparse, &s) == CUSPARSE_STATUS_SUCCESS && s == own.stream());
    EXPECT("one-handle-a-thread", h == at::cuda::getCurrentCUDASolverDnHandle());
    cusolverDnHandle_t others[2] = {};
    for (auto &other : others) // the second thread has what the first one left
        std::thread([&] { other = at::cuda::getCurrentCUDASolverDnHandle(); }).join();
    EXPECT("another-thread-another-handle", others[0] && others[0] != h && others[1] == others[0]);
    const c10::cuda::CUDAGuard second(1);
    EXPECT("another-device-another-handle", at::cuda::getCurrentCUDASolverDnHandle() != h);
}

void devices(Expect expect)
{
    const cudaDeviceProp *p = at::cuda::getCurrentDeviceProperties();
    EXPECT("device-properties", p->warpSize == 32 && p->name[0] && p->major == 8 && p->totalGlobalMem > 0);
    EXPECT("device-properties-by-index",
           p == at::cuda::getDeviceProperties(0) && p != at::cuda::getDeviceProperties(1));
    EXPECT("warp-size", at::cuda::warp_size() == 32);
    EXPECT("device-count", at::cuda::getNumGPUs() == 2 && at::cuda::is_available());
    bool thrown = false;
    try {
        (void)at::cuda::getDeviceProperties(77);
    } catch (const std::exception &) {
        thrown = true;
    }
    EXPECT("no-such-device", thrown);
    EXPECT("cuda-error-has-its-text",
           throws("CUDA error: invalid device ordinal", [] { C10_CUDA_CHECK(cudaSetDevice(99)); }));
    EXPECT("cuda-error-is-cleared", cudaGetLastError() == cudaSuccess);
}

int current()
{
    int device = -1;
    C10_CUDA_CHECK(cudaGetDevice(&device));
    return device;
}

void guards(Expect expect)
{
    using namespace c10::cuda;
    {
        CUDAGuard guard(1);
        EXPECT("CUDAGuard", current() == 1 && guard.original_device() == c10::Device("cuda:0") &&
                                getCurrentCUDAStream().device_index() == 1);
        guard.set_index(0);
        EXPECT("CUDAGuard-set", current() == 0 && guard.current_device().is_cuda());
        OptionalCUDAGuard optional;
        optional.set_device(c10::Device("cuda:1"));
        EXPECT("OptionalCUDAGuard", current() == 1 && optional.current_device()->index() == 1);
        optional.reset();
        EXPECT("OptionalCUDAGuard-reset", current() == 0);
    }
    const CUDAStream before = getCurrentCUDAStream(1), on0 = getStreamFromPool(true, 0),
                     on1 = getStreamFromPool(false, 1);
    {
        const CUDAStreamGuard guard(on1);
        EXPECT("CUDAStreamGuard",
               current() == 1 && getCurrentCUDAStream() == on1 && guard.original_device().index() == 0);
    }
    EXPECT("CUDAStreamGuard-ends", current() == 0 && getCurrentCUDAStream(1) == before);
    {
        OptionalCUDAStreamGuard guard;
        guard.reset_stream(on1);
        EXPECT("OptionalCUDAStreamGuard", guard.current_stream() && *guard.current_stream() == on1 && current() == 1);
    }
    {
        const CUDAMultiStreamGuard guard({on0, on1});
        EXPECT("CUDAMultiStreamGuard",
               current() == 0 && getCurrentCUDAStream(0) == on0 && getCurrentCUDAStream(1) == on1);
    }
    EXPECT("CUDAMultiStreamGuard-ends",
           getCurrentCUDAStream(0) == getDefaultCUDAStream(0) && getCurrentCUDAStream(1) == before);
    cudaStream_t theirs = nullptr;
    C10_CUDA_CHECK(cudaStreamCreate(&theirs));
    {
        const CUDAStream external = getStreamFromExternal(theirs, 0);
        const CUDAStreamGuard guard(external);
        EXPECT("getStreamFromExternal", external.stream() == theirs && getCurrentCUDAStream().stream() == theirs);
        external.synchronize();
        EXPECT("stream-query", external.query() && external.priority() <= 0);
    }
    C10_CUDA_CHECK(cudaStreamDestroy(theirs));
#if TORCH_VERSION_MAJOR >= 2
    const CUDAStream copy = CUDAStream::unpack3(on1.pack3().stream_id, on1.pack3().device_index,
                                                on1.pack3().device_type);
    EXPECT("stream-packs", copy == on1 && copy.stream() == on1.stream() && copy.device_type() == c10::DeviceType::CUDA);
#endif
}

void events(Expect expect)
{
    at::cuda::CUDAEvent first(cudaEventDefault), last(cudaEventDefault), lazy;
    const auto stream = c10::cuda::getStreamFromPool(false, 1), other = c10::cuda::getStreamFromPool(false, 1);
    EXPECT("event-before-it-is-recorded", lazy.query() && !lazy.isCreated());
    first.record(stream);
    last.record(stream);
    last.block(other);
    other.synchronize();
    last.synchronize();
    EXPECT("event",
           last.query() && first.elapsed_time(last) >= 0 && last.device()->is_cuda() && last.device_index() == 1);
    at::cuda::CUDAEvent moved(std::move(first));
    EXPECT("event-moves", moved.isCreated() && current() == 0);
}

void memory(Expect expect, int64_t (*blocks)(), int64_t (*recorded)())
{
    const int64_t before = blocks();
    const auto stream = c10::cuda::getStreamFromPool();
    void *p = allocator::raw_alloc(100), *q = allocator::raw_alloc_with_stream(100, stream.stream());
    EXPECT("raw_alloc", p && q && p != q && blocks() == before + 2);
    EXPECT("raw_alloc_with_stream-puts-the-stream-back",
           c10::cuda::getCurrentCUDAStream() == c10::cuda::getDefaultCUDAStream());
    C10_CUDA_CHECK(cudaMemcpyAsync(q, p, 100, cudaMemcpyDeviceToDevice, stream.stream()));
    stream.synchronize();
    const auto stats = allocator::getDeviceStats(0);
    EXPECT("getDeviceStats", stats.allocation[0].current == before + 2);
    allocator::raw_delete(p);
    allocator::raw_delete(q);
    EXPECT("raw_delete", blocks() == before);
    allocator::emptyCache();
    allocator::emptyCache();
    EXPECT("emptyCache", allocator::getDeviceStats(0).allocation[0].peak == 2);
    allocator::resetAccumulatedStats(0);
    EXPECT("resetAccumulatedStats", allocator::getDeviceStats(0).allocation[0].peak == 0);
    allocator::resetPeakStats(0);
    allocator::setMemoryFraction(0.5, 0);
    {
        const c10::DataPtr data = at::cuda::getCUDADeviceAllocator()->allocate(64);
        EXPECT("getCUDADeviceAllocator",
               data.get() && data.device() == c10::Device("cuda:0") && blocks() == before + 1);
        allocator::recordStream(data, stream);
        EXPECT("recordStream", recorded() == 1);
        size_t n = 0;
        EXPECT("getBaseAllocation", allocator::getBaseAllocation(data.get(), &n) == data.get() && n == 64);
    }
    EXPECT("allocator-takes-memory-back", blocks() == before);
    EXPECT("c10::GetAllocator", c10::GetAllocator(c10::DeviceType::CUDA) == allocator::get());
    if (!OLD)
        EXPECT("allocator-unserved", throws("not served on MUSA", [] { (void)allocator::snapshot(); }));
}

void generator(Expect expect)
{
    const at::Generator &standard = at::cuda::detail::getDefaultCUDAGenerator();
    auto *g = at::get_generator_or_default<at::CUDAGeneratorImpl>(c10::nullopt, standard);
    const std::lock_guard<std::mutex> lock(g->mutex_);
    g->set_current_seed(42);
    const at::PhiloxCudaState one = g->philox_cuda_state(4), two = g->philox_cuda_state(4);
    EXPECT("philox-state", one.seed_.val == 42 && !one.captured_ && two.offset_.val == one.offset_.val + 4);
    const auto pair = g->philox_engine_inputs(4);
    EXPECT("philox-inputs", pair.first == 42 && pair.second == two.offset_.val + 4);
    at::Generator given = at::cuda::detail::createCUDAGenerator();
    auto *mine = at::get_generator_or_default<at::CUDAGeneratorImpl>(given, standard);
    EXPECT("a-generator-of-its-own", mine != g && mine->philox_cuda_state(4).offset_.val == 0);
}

} // namespace

extern "C" __attribute__((visibility("default"))) void extension_allocator() { allocator::emptyCache(); }

extern "C" __attribute__((visibility("default"))) void extension_context(Expect expect, int64_t (*blocks)(),
                                                                         int64_t (*recorded)())
{
    devices(expect);
    guards(expect);
    events(expect);
    memory(expect, blocks, recorded);
    generator(expect);
    blas(expect);
    solver_and_sparse(expect);
}
