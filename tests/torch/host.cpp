// Runs in a PyTorch that has MUSA and no CUDA: loads the stand-in for torch_musa and a CUDA extension as Python does,
// and calls the extension's operators with tensors on musa.
#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <thread>

#include "../check.h"

static void *load(const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(2);
    }
    return handle;
}

template <class F> static c10::TypedOperatorHandle<F> op(const char *name)
{
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<F>();
}

constexpr at::DeviceType kMUSA = at::DeviceType::PrivateUse1;

static at::Tensor on(const at::Tensor &t, int device)
{
    return t.to(at::Device(kMUSA, static_cast<at::DeviceIndex>(device)));
}

static bool same(const at::Tensor &a, const at::Tensor &b)
{
    return a.device().type() == kMUSA && at::equal(a.cpu(), b);
}

static void operators()
{
    const at::Tensor x = at::arange(1000, at::kFloat), m = on(x, 0), n = on(x, 1);
    auto scale = op<at::Tensor(const at::Tensor &, double)>("toy::scale");
    check(same(scale.call(m, 3), x * 3), "torch/kernel-registered-under-cuda");
    const at::Tensor second = scale.call(n, 5);
    check(same(second, x * 5) && second.device().index() == 1, "torch/kernel-on-second-device");
    check(at::equal(scale.call(x, 3), x * 3), "torch/kernel-registered-under-cpu");

    at::Tensor y = on(x, 0);
    const void *data = y.data_ptr();
    at::Tensor &given = op<at::Tensor &(at::Tensor &, double)>("toy::scale_").call(y, 2);
    check(given.is_same(y) && y.data_ptr() == data && same(y, x * 2), "torch/in-place-returns-its-argument");

    using Where = std::tuple<std::string, at::Device>(const at::Tensor &, at::Device);
    const auto [text, device] = op<Where>("toy::where").call(n, at::Device(kMUSA, 1));
    check(text.find("cuda:1 cuda:1 cuda:1 cuda:1") == 0, "torch/devices-are-cuda-inside");
    check(text.find("stream 0 on device cuda:0") != std::string::npos, "torch/streams-print-as-cuda");
    check(device == at::Device(kMUSA, 1), "torch/device-comes-back");
    if (check_failures)
        std::printf("# %s\n", text.c_str());

    check(same(op<at::Tensor(int64_t, at::Device)>("toy::ramp").call(4, at::Device(kMUSA, 1)),
               at::arange(4, at::kFloat) + 1),
          "torch/factory-functions");
    const std::vector<at::Tensor> out =
        op<std::vector<at::Tensor>(at::TensorList, const c10::optional<at::Tensor> &)>("toy::each").call({m, m}, m);
    check(out.size() == 2 && same(out[0], x * 3) && same(out[1], x * 3), "torch/lists-and-optionals");
    check(same(op<at::Tensor(const at::Tensor &)>("toy::staged").call(m), x * 10), "torch/streams-and-allocator");
    check(op<int64_t()>("toy::devices_seen").call() == 2, "torch/guards-over-devices");
    check(same(op<at::Tensor(const at::Tensor &)>("toy::chosen").call(m), x * x), "torch/registered-with-its-schema");
    check(same(op<at::Tensor(const at::Tensor &)>("toy::older").call(m), x * x), "torch/RegisterOperators");
}

static void gradients()
{
    const at::Tensor x = at::arange(1, 9, at::kFloat);
    const at::Tensor m = on(x, 0).requires_grad_();
    auto square = op<at::Tensor(const at::Tensor &)>("toy::square");
    const at::Tensor y = square.call(m);
    check(same(y.detach(), x * x) && y.requires_grad(), "torch/autograd-forward");
    const at::Tensor g = torch::autograd::grad({y.sum()}, {m})[0];
    check(same(g, x * 2), "torch/autograd-backward");
    const at::Tensor twice = square.call(square.call(m));
    check(same(torch::autograd::grad({twice.sum()}, {m})[0], x * x * x * 4), "torch/autograd-twice");
    {
        at::NoGradGuard no;
        check(!square.call(m).requires_grad(), "torch/autograd-off");
    }
}

static void keys()
{
    auto &d = c10::Dispatcher::singleton();
    const auto scale = d.findSchemaOrThrow("toy::scale", ""), square = d.findSchemaOrThrow("toy::square", "");
    check(scale.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1), "torch/key-PrivateUse1");
    check(scale.hasKernelForDispatchKey(c10::DispatchKey::CPU), "torch/key-CPU-stays");
    check(square.hasKernelForDispatchKey(c10::DispatchKey::AutogradPrivateUse1), "torch/key-AutogradPrivateUse1");
    check(!scale.hasKernelForDispatchKey(c10::DispatchKey::XPU) &&
              !scale.hasKernelForDispatchKey(c10::DispatchKey::PrivateUse2),
          "torch/no-other-key");
    check(!at::globalContext().hasCUDA(), "torch/probes-left-alone");
}

static void threads()
{
    const at::Tensor x = at::arange(256, at::kFloat);
    std::atomic<int> good{0};
    std::vector<std::thread> all;
    const at::Tensor shared = on(x, 0);
    for (int t = 0; t < 4; t++)
        all.emplace_back([&] {
            auto scale = op<at::Tensor(const at::Tensor &, double)>("toy::scale");
            for (int i = 0; i < 20; i++)
                good += same(scale.call(shared, i), x * i);
        });
    for (auto &t : all)
        t.join();
    check(good == 80, "torch/threads-share-a-tensor");
}

static double now() // this thread's own time, in nanoseconds
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// Nanoseconds a call, the least of twenty runs.
template <class F> static double cost(int n, F f)
{
    double best = 1e12;
    for (int i = 0; i < 20; i++) {
        const double start = now();
        f(n);
        best = std::min(best, (now() - start) / n);
    }
    return best;
}

static void bench(void *backend, void *extension)
{
    struct Pair {
        uint64_t device;
        int64_t id;
    };
    auto cuda = reinterpret_cast<void (*)(int)>(dlsym(extension, "extension_current_stream"));
    auto musa = reinterpret_cast<Pair (*)(int8_t)>(dlsym(backend, "_ZN3c104musa20getCurrentMUSAStreamEa"));
    constexpr int n = 100000;
    const double direct = cost(n, [&](int k) {
        for (int i = 0; i < k; i++) {
            const Pair p = musa(0);
            __asm__ volatile("" : : "g"(&p) : "memory");
        }
    });
    const double ours = cost(n, cuda);
    std::printf("bench torch.current_stream %.1f ns\nbench torch.current_stream_direct %.1f ns\n", ours, direct);
    const auto device = [](at::DeviceType type) {
        const c10::impl::VirtualGuardImpl guard(type);
        return cost(n, [&](int k) {
            for (int i = 0; i < k; i++) {
                const at::Device d = guard.exchangeDevice(at::Device(type, 0));
                __asm__ volatile("" : : "g"(&d) : "memory");
            }
        });
    };
    std::printf("bench torch.exchange_device %.1f ns\n", device(at::DeviceType::CUDA));
    std::printf("bench torch.exchange_device_direct %.1f ns\n", device(kMUSA));
    const at::Tensor x = on(at::ones(8), 0);
    auto chosen = op<at::Tensor(const at::Tensor &)>("toy::chosen");
    const double call = cost(2000, [&](int k) {
        for (int i = 0; i < k; i++)
            (void)chosen.call(x);
    });
    const double plain = cost(2000, [&](int k) {
        for (int i = 0; i < k; i++)
            (void)(x * x);
    });
    std::printf("bench torch.op_call %.0f ns\nbench torch.op_call_direct %.0f ns\n", call, plain);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (argc > 4)
        (void)load(argv[4]); // what disagrees with this PyTorch
    void *backend = load(argv[1]);
    void *extension = load(argv[2]);
    const std::string what = argc > 3 ? argv[3] : "all";
    try {
        if (what == "bench")
            bench(backend, extension);
        else if (what == "lacking")
            reinterpret_cast<void (*)()>(dlsym(extension, "extension_lacking"))();
        else if (what == "allocator")
            reinterpret_cast<void (*)()>(dlsym(extension, "extension_allocator"))();
        else if (what == "bad-key")
            reinterpret_cast<void (*)(int)>(dlsym(extension, "extension_bad_key"))(40000);
        else if (what == "call")
            (void)op<at::Tensor(const at::Tensor &, double)>("toy::scale").call(on(at::ones(4), 0), 2);
        else {
            const auto context = reinterpret_cast<void (*)(void (*)(const char *, bool), int64_t (*)(), int64_t (*)())>(
                dlsym(extension, "extension_context"));
            context([](const char *name, bool good) { check(good, "torch/%s", name); },
                    reinterpret_cast<int64_t (*)()>(dlsym(backend, "backend_allocated")),
                    reinterpret_cast<int64_t (*)()>(dlsym(backend, "backend_recorded")));
            operators();
            gradients();
            keys();
            threads();
            const auto count = reinterpret_cast<int64_t (*)()>(dlsym(backend, "backend_allocated"));
            check(count() == 0, "torch/memory-is-returned");
        }
    } catch (const std::exception &e) {
        check(false, "torch/exception: %.600s", e.what());
    }
    return check_end("torch");
}
