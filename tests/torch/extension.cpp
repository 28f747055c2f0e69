// A CUDA extension as people write them, in a file that needs no compiler of CUDA: operators registered under CUDA, with a
// kernel launched on the current stream, autograd, the caching allocator, guards over devices. It never says MUSA.
#include <ATen/ATen.h>
#include <ATen/Functions.h>
#include <ATen/core/op_registration/op_registration.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/core/DeviceGuard.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/library.h>

#include <sstream>

namespace
{

const char *const text = R"(.version 7.0
.target sm_70
.address_size 64
.visible .entry scale(.param .u64 out, .param .u64 in, .param .f32 by, .param .u32 n)
{
    .reg .pred %p; .reg .f32 %f<3>; .reg .b32 %r<5>; .reg .b64 %d<5>;
    ld.param.u64 %d0, [out]; ld.param.u64 %d1, [in]; ld.param.f32 %f0, [by]; ld.param.u32 %r0, [n];
    mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;
    mad.lo.s32 %r4, %r1, %r2, %r3;
    setp.ge.u32 %p, %r4, %r0;
    @%p ret;
    mul.wide.u32 %d2, %r4, 4;
    add.u64 %d3, %d0, %d2; add.u64 %d4, %d1, %d2;
    ld.global.f32 %f1, [%d4]; mul.f32 %f2, %f1, %f0; st.global.f32 [%d3], %f2;
    ret;
}
)";

void check(int error, const char *what) { TORCH_CHECK(error == 0, what, ": CUDA error ", error); }

// out = in * by, on the device of `in` and its current stream.
void launch(const at::Tensor &out, const at::Tensor &in, float by)
{
    static CUmodule modules[8];
    static CUfunction kernels[8];
    const int device = in.get_device();
    const c10::OptionalDeviceGuard guard(at::device_of(in));
    TORCH_CHECK(c10::cuda::current_device() == device);
    check(cudaFree(nullptr), "cudaFree");
    if (!kernels[device]) {
        check(cuModuleLoadData(&modules[device], text), "cuModuleLoadData");
        check(cuModuleGetFunction(&kernels[device], modules[device], "scale"), "cuModuleGetFunction");
    }
    const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream(static_cast<c10::DeviceIndex>(device));
    TORCH_CHECK(stream.unwrap().device() == in.device(), "stream on ", stream.unwrap().device());
    void *o = out.data_ptr(), *i = in.data_ptr();
    unsigned n = static_cast<unsigned>(in.numel());
    void *arguments[] = {&o, &i, &by, &n};
    check(cuLaunchKernel(kernels[device], (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream.stream(), arguments, nullptr),
          "cuLaunchKernel");
}

void expect_cuda(const at::Tensor &x)
{
    TORCH_CHECK(x.is_cuda() && x.device().type() == at::kCUDA && x.options().device().is_cuda(),
                "x must be a CUDA tensor, it is on ", x.device());
    TORCH_CHECK(x.is_contiguous() && x.scalar_type() == at::kFloat);
}

at::Tensor scale(const at::Tensor &x, double by)
{
    expect_cuda(x);
    at::Tensor out = at::empty_like(x);
    expect_cuda(out);
    launch(out, x, static_cast<float>(by));
    return out;
}

at::Tensor &scale_(at::Tensor &x, double by)
{
    expect_cuda(x);
    launch(x, x, static_cast<float>(by));
    return x;
}

// What the extension sees and prints of its arguments' device.
std::tuple<std::string, at::Device> where(const at::Tensor &x, at::Device d)
{
    std::ostringstream s;
    s << x.device() << ' ' << d << ' ' << at::Device("cuda:1") << ' ' << x.options().device() << ' '
      << c10::cuda::getCurrentCUDAStream(-1);
    TORCH_CHECK(at::Device("cuda").is_cuda() && d.is_cuda());
    return {s.str(), d};
}

// Made by factory functions for a CUDA device.
at::Tensor ramp(int64_t n, at::Device d)
{
    at::Tensor t = at::arange(n, at::TensorOptions().device(d).dtype(at::kFloat));
    expect_cuda(t);
    at::Tensor ones = at::ones({n}, at::device(at::Device(at::kCUDA, d.index())).dtype(at::kFloat));
    return t + ones;
}

std::vector<at::Tensor> each(at::TensorList xs, const c10::optional<at::Tensor> &bias)
{
    std::vector<at::Tensor> out;
    for (const at::Tensor &x : xs)
        out.push_back(bias ? scale(x, 2) + *bias : scale(x, 2));
    return out;
}

// Its own stream from the pool, memory of the caching allocator, and an event's worth of waiting.
at::Tensor staged(const at::Tensor &x)
{
    expect_cuda(x);
    const c10::DeviceIndex device = x.device().index();
    const c10::cuda::CUDAStream before = c10::cuda::getCurrentCUDAStream(device);
    const c10::cuda::CUDAStream own = c10::cuda::getStreamFromPool(false, device);
    TORCH_CHECK(own.unwrap().device() == x.device() && own.stream() != before.stream());
    c10::cuda::setCurrentCUDAStream(own);
    TORCH_CHECK(c10::cuda::getCurrentCUDAStream(device).stream() == own.stream());
    at::Tensor out = at::empty_like(x);
    void *scratch = c10::cuda::CUDACachingAllocator::raw_alloc(x.nbytes());
    check(cudaMemcpyAsync(scratch, x.data_ptr(), x.nbytes(), cudaMemcpyDeviceToDevice, own.stream()),
          "cudaMemcpyAsync");
    check(cudaMemcpyAsync(out.data_ptr(), scratch, x.nbytes(), cudaMemcpyDeviceToDevice, own.stream()),
          "cudaMemcpyAsync");
    launch(out, out, 10);
    c10::cuda::CUDACachingAllocator::recordStream(x.storage().data_ptr(), own);
    check(cudaStreamSynchronize(own.stream()), "cudaStreamSynchronize");
    c10::cuda::CUDACachingAllocator::raw_delete(scratch);
    c10::cuda::setCurrentCUDAStream(before);
    c10::impl::VirtualGuardImpl guard(at::kCUDA);
    TORCH_CHECK(guard.getStream(x.device()) == before.unwrap() && guard.deviceCount() > 0);
    // The default stream, by the handle's three special values too.
    for (intptr_t sentinel : {0, 1, 2}) {
        auto *handle = reinterpret_cast<CUstream_st *>(sentinel);
        const auto s = c10::cuda::getStreamFromExternal(handle, device);
        TORCH_CHECK(s.stream() == handle && s.unwrap().device() == x.device());
        check(cudaStreamSynchronize(s.stream()), "cudaStreamSynchronize");
    }
    return out;
}

// On every device in turn; the guard puts the first one back.
int64_t devices_seen()
{
    int64_t seen = 0;
    const c10::DeviceIndex first = c10::cuda::current_device(), n = c10::cuda::device_count();
    for (c10::DeviceIndex i = 0; i < n; i++) {
        const c10::DeviceGuard guard(at::Device(at::kCUDA, i));
        int runtime = -1;
        check(cudaGetDevice(&runtime), "cudaGetDevice");
        seen += runtime == i && c10::cuda::current_device() == i && guard.current_device().is_cuda();
    }
    TORCH_CHECK(c10::cuda::current_device() == first);
    return seen;
}

struct Square : torch::autograd::Function<Square> {
    static at::Tensor forward(torch::autograd::AutogradContext *ctx, const at::Tensor &x)
    {
        expect_cuda(x);
        ctx->save_for_backward({x});
        return x * x;
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext *ctx,
                                                   torch::autograd::variable_list grads)
    {
        const at::Tensor x = ctx->get_saved_variables()[0];
        expect_cuda(x);
        expect_cuda(grads[0].contiguous());
        return {grads[0] * scale(x, 2)};
    }
};

at::Tensor square(const at::Tensor &x) { return Square::apply(x); }

at::Tensor square_without(const at::Tensor &x) { return x * x; }

TORCH_LIBRARY(toy, m)
{
    m.def("scale(Tensor x, float by) -> Tensor");
    m.def("scale_(Tensor(a!) x, float by) -> Tensor(a!)");
    m.def("where(Tensor x, Device d) -> (str, Device)", where);
    m.def("ramp(int n, Device d) -> Tensor", ramp);
    m.def("each(Tensor[] xs, Tensor? bias) -> Tensor[]");
    m.def("staged(Tensor x) -> Tensor");
    m.def("square(Tensor x) -> Tensor");
    m.def("devices_seen", devices_seen);
    m.def("chosen(Tensor x) -> Tensor", torch::dispatch(c10::DispatchKey::CUDA, square_without));
}

TORCH_LIBRARY_IMPL(toy, CUDA, m)
{
    m.impl("scale", scale);
    m.impl("scale_", scale_);
    m.impl("each", each);
    m.impl("staged", staged);
    m.impl("square", square_without);
}

TORCH_LIBRARY_IMPL(toy, CPU, m)
{
    m.impl("scale", [](const at::Tensor &x, double by) { return x * by; });
}

TORCH_LIBRARY_IMPL(toy, AutogradCUDA, m) { m.impl("square", square); }

const auto older = c10::RegisterOperators().op(
    "toy::older(Tensor x) -> Tensor",
    c10::RegisterOperators::options().kernel<decltype(square_without), square_without>(c10::DispatchKey::CUDA));

} // namespace

// Called directly, as from pybind11; torch_musa lacks what it needs.
extern "C" __attribute__((visibility("default"))) void extension_lacking() { c10::cuda::warn_or_error_on_sync(); }

// Compiled for another release, where this is the number of a key.
extern "C" __attribute__((visibility("default"))) void extension_bad_key(int key)
{
    static torch::Library m(torch::Library::FRAGMENT, "toy", c10::nullopt, __FILE__, __LINE__);
    m.def("late(Tensor x) -> Tensor");
    m.impl("late", torch::dispatch(static_cast<c10::DispatchKey>(key), square_without));
}

// For the benchmark.
extern "C" __attribute__((visibility("default"))) void extension_current_stream(int n)
{
    for (int i = 0; i < n; i++) {
        const auto s = c10::cuda::getCurrentCUDAStream(0);
        __asm__ volatile("" : : "g"(&s) : "memory");
    }
}
