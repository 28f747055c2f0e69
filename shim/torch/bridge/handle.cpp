/* Handles of the CUDA libraries that PyTorch keeps for each thread and device: at::cuda::getCurrentCUDA...Handle().
 * torch_musa has muBLAS's and muSPARSE's; the others are made here, by the library that the extension needs. */
#include "torch/bridge/bridge.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include <atomic>
#include <map>
#include <mutex>
#include <vector>

namespace cumu
{

namespace
{

using Create = int (*)(void **);
using Key = std::pair<Create, c10::DeviceIndex>;

/* Handles that no thread uses. They outlive every thread, and the library that made them may go first: never freed. */
struct Pool {
    std::mutex mutex;
    std::map<Key, std::vector<void *>> free;
};

Pool &pool()
{
    static Pool *p = new Pool;
    return *p;
}

struct Functions {
    Create create;
    int (*set_stream)(void *, void *);
};

struct Window {                                                           /* of one thread */
    std::map<std::pair<const void *, const char *>, Functions> functions; /* by who asks, and what for */
    std::map<Key, void *> mine;
    ~Window()
    {
        const std::lock_guard<std::mutex> lock(pool().mutex);
        for (const auto &m : mine)
            pool().free[m.first].push_back(m.second);
    }
};

thread_local Window window;

void *handle_of(const Key &key, const char *create)
{
    void *&h = window.mine[key];
    if (!h) {
        const std::lock_guard<std::mutex> lock(pool().mutex);
        auto &free = pool().free[key];
        if (!free.empty()) {
            h = free.back();
            free.pop_back();
        }
    }
    if (!h) {
        void *made = nullptr;
        const int status = key.first(&made);
        TORCH_CHECK(status == 0, "cumu: torch: ", create, " failed with status ", status);
        h = made;
    }
    return h;
}

/* find(), once it has succeeded: torch_musa may come later. */
void *found(std::atomic<void *> &known, const char *name)
{
    void *p = known.load(std::memory_order_acquire);
    if (!p)
        known.store(p = find(name), std::memory_order_release);
    return p;
}

/* The current stream's handle, as the CUDA runtime takes it. */
void *current_stream(c10::DeviceIndex device)
{
    static std::atomic<void *> get_address, raw_address;
    const auto get = reinterpret_cast<c10::Stream (*)(c10::DeviceIndex)>(
        found(get_address, "_ZN3c104musa20getCurrentMUSAStreamEa"));
    const auto raw = reinterpret_cast<void *(*)(const c10::Stream *)>(
        found(raw_address, "_ZNK3c104musa10MUSAStream6streamEv"));
    TORCH_CHECK(get && raw, "cumu: torch: torch_musa, as loaded here, lacks c10::musa::getCurrentMUSAStream");
    const c10::Stream s = get(device);
    return raw(&s);
}

void *own(const void *caller, const char *create, const char *set_stream)
{
    Functions &f = window.functions[{caller, create}];
    if (!f.create) {
        f.create = reinterpret_cast<Create>(find_beside(caller, create));
        if (set_stream)
            f.set_stream = reinterpret_cast<int (*)(void *, void *)>(find_beside(caller, set_stream));
    }
    TORCH_CHECK(f.create && (f.set_stream || !set_stream), "cumu: torch: a handle is asked for that ", create,
                " makes, and the extension links no library "
                "that has it");
    const c10::DeviceIndex device = c10::impl::VirtualGuardImpl(c10::DeviceType::PrivateUse1).getDevice().index();
    void *h = handle_of({f.create, device}, create);
    if (set_stream) {
        const int status = f.set_stream(h, current_stream(device));
        TORCH_CHECK(status == 0, "cumu: torch: ", set_stream, " failed with status ", status);
    }
    return h;
}

/* torch_musa's, where it has the function. */
void *either(std::atomic<void *> &known, const char *below, const void *caller, const char *create,
             const char *set_stream)
{
    if (const auto get = reinterpret_cast<void *(*)()>(found(known, below)))
        return get();
    return own(caller, create, set_stream);
}

} // namespace

EXPORT void *cumu_bridge_blas_handle()
{
    static std::atomic<void *> known;
    return either(known, "_ZN2at4musa24getCurrentMUSABlasHandleEv", __builtin_return_address(0), "cublasCreate_v2",
                  "cublasSetStream_v2");
}

EXPORT void *cumu_bridge_sparse_handle()
{
    static std::atomic<void *> known;
    return either(known, "_ZN2at4musa26getCurrentCUDASparseHandleEv", __builtin_return_address(0), "cusparseCreate",
                  "cusparseSetStream");
}

/* cuBLASLt takes no stream. Its handle is cumu's own, so torch_musa's would not do. */
EXPORT void *cumu_bridge_blaslt_handle() { return own(__builtin_return_address(0), "cublasLtCreate", nullptr); }

EXPORT void *cumu_bridge_solver_handle()
{
    return own(__builtin_return_address(0), "cusolverDnCreate", "cusolverDnSetStream");
}

} // namespace cumu
