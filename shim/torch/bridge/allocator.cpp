/* The object behind c10::cuda::CUDACachingAllocator::get(). Extensions call its virtual functions by their position, so
 * they stand here in the order of each release; the memory is PrivateUse1's. */
#include "torch/bridge/bridge.h"
#include "torch/bridge/lens.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#if SINCE(2, 9)
#include <c10/core/CachingDeviceAllocator.h>
#endif

#include <atomic>

namespace cumu
{

#if !SINCE(2, 9)
/* More than two registers hold, so the caller says where it goes; what is written there is torch_musa's affair. */
struct Stats {
    int64_t opaque[512];
};

/* torch_musa's own, c10::musa::MUSACachingAllocator::allocator. These come first after the functions of the base in
 * every release of it that has the variable (those for PyTorch 2.2 to 2.7). Indices are int before
 * 2.3. Not in an unnamed namespace: the compiler would know that nothing here derives from it. */
struct Below : c10::Allocator {
    virtual void *raw_alloc(size_t) = 0;
    virtual void *raw_alloc_with_stream(size_t, void *) = 0;
    virtual void raw_delete(void *) = 0;
    virtual void init(int) = 0;
    virtual bool initialized() = 0;
    virtual void setMemoryFraction(double, int) = 0;
    virtual void emptyCache() = 0;
    virtual void cacheInfo(int, size_t *) = 0;
    virtual void *getBaseAllocation(void *, size_t *) = 0;
    virtual void recordStream(const c10::DataPtr &, c10::Stream) = 0;
    virtual Stats getDeviceStats(int) = 0;
    virtual void resetAccumulatedStats(int) = 0;
    virtual void resetPeakStats(int) = 0;
};
#endif

namespace
{

constexpr c10::DeviceType MUSA = c10::DeviceType::PrivateUse1;

c10::Allocator *memory() { return c10::GetAllocator(MUSA); }

/* Memory that belongs to a stream that PyTorch may not know: it is current while the memory is asked for. */
void *allocate_on(size_t n, void *handle)
{
    auto external = reinterpret_cast<c10::Stream (*)(void *, c10::DeviceIndex)>(
        find("_ZN3c104musa21getStreamFromExternalEP11MUstream_sta"));
    TORCH_CHECK(external, "cumu: torch: CUDACachingAllocator::raw_alloc_with_stream: torch_musa, as loaded here, lacks "
                          "c10::musa::getStreamFromExternal");
    const c10::impl::VirtualGuardImpl guard(MUSA);
    const c10::Stream before = guard.exchangeStream(external(handle, guard.getDevice().index()));
    try {
        void *p = memory()->raw_allocate(n);
        guard.exchangeStream(before);
        return p;
    } catch (...) {
        guard.exchangeStream(before);
        throw;
    }
}

void record_stream(const c10::DataPtr &p, c10::Stream s)
{
    c10::impl::VirtualGuardImpl(MUSA).recordDataPtrOnStream(p, turn(s, Side::MUSA));
}

#if SINCE(2, 9)
using Base = c10::DeviceAllocator; /* PyTorch's own interface has what follows */
using Stats = c10::CachingDeviceAllocator::DeviceStats;
Base *below(const char *) { return c10::getDeviceAllocator(MUSA); }
#else
using Base = c10::Allocator;

Below *below(const char *what)
{
    auto *p = static_cast<std::atomic<Below *> *>(find("_ZN3c104musa20MUSACachingAllocator9allocatorE"));
    TORCH_CHECK(p && p->load(), "cumu: torch: CUDACachingAllocator::", what,
                ": torch_musa, as loaded here, lacks "
                "c10::musa::MUSACachingAllocator::allocator");
    return p->load();
}
#endif

[[noreturn]] void unserved(const char *what)
{
    TORCH_CHECK(false, "cumu: torch: CUDACachingAllocator: ", what, " not served on MUSA");
}

/* What an extension passes as a CUDAStream. */
struct CudaStream {
    c10::Stream stream;
};

#if SINCE(2, 3)
#define CONST
#else
#define CONST const
#endif
#define ONE(n) \
    virtual void unserved##n() { unserved("snapshots, pools of graphs, history and IPC handles are"); }
#define EIGHT(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7)

struct Allocator final : Base {
    c10::DataPtr allocate(size_t n) CONST override
    {
        c10::DataPtr p = memory()->allocate(n);
        const c10::DeleterFnPtr release = p.get_deleter();
        const c10::Device device = turn(p.device(), Side::CUDA);
        void *data = p.get();
        return {data, p.release_context(), release, device};
    }
    c10::DeleterFnPtr raw_deleter() const override { return memory()->raw_deleter(); }
#if SINCE(2, 3)
    void copy_data(void *to, const void *from, std::size_t n) const override { memory()->copy_data(to, from, n); }
#endif
#if SINCE(2, 9)
    bool initialized() override { return true; }
    void emptyCache(c10::MempoolId_t pool) override { below("")->emptyCache(pool); }
    void recordStream(const c10::DataPtr &p, c10::Stream s) override { record_stream(p, s); }
    Stats getDeviceStats(c10::DeviceIndex i) override { return below("")->getDeviceStats(i); }
    void resetAccumulatedStats(c10::DeviceIndex i) override { below("")->resetAccumulatedStats(i); }
    void resetPeakStats(c10::DeviceIndex i) override { below("")->resetPeakStats(i); }
#endif
    /* From here on in the order of CUDAAllocator. */
    virtual void *raw_alloc(size_t n) { return memory()->raw_allocate(n); }
    virtual void *raw_alloc_with_stream(size_t n, void *stream) { return allocate_on(n, stream); }
    virtual void raw_delete(void *p) { memory()->raw_deallocate(p); }
    virtual void init(int) {} /* torch_musa has done it */
#if SINCE(2, 9)
    virtual double getMemoryFraction(int) { unserved("getMemoryFraction is"); }
    virtual void setMemoryFraction(double, int) { unserved("setMemoryFraction is"); }
#if SINCE(2, 10)
    virtual void getExpandableSegmentSizes() { unserved("getExpandableSegmentSizes is"); }
#endif
    virtual void enable(bool) { unserved("enable is"); }
    virtual bool isEnabled() const { return true; }
    virtual void cacheInfo(int, size_t *) { unserved("cacheInfo is"); }
    virtual void *getBaseAllocation(void *, size_t *) { unserved("getBaseAllocation is"); }
    virtual void recordStream(const c10::DataPtr &p, CudaStream s) { record_stream(p, s.stream); }
#else
    virtual bool initialized() { return true; }
#if SINCE(2, 6)
    virtual double getMemoryFraction(int) { unserved("getMemoryFraction is"); }
#endif
    virtual void setMemoryFraction(double f, int i) { below("setMemoryFraction")->setMemoryFraction(f, i); }
    virtual void emptyCache() { below("emptyCache")->emptyCache(); }
#if SINCE(2, 6)
    virtual void enable(bool) { unserved("enable is"); }
    virtual bool isEnabled() const { return true; }
#endif
    virtual void cacheInfo(int i, size_t *largest) { below("cacheInfo")->cacheInfo(i, largest); }
    virtual void *getBaseAllocation(void *p, size_t *n) { return below("getBaseAllocation")->getBaseAllocation(p, n); }
    virtual void recordStream(const c10::DataPtr &p, CudaStream s) { record_stream(p, s.stream); }
    virtual Stats getDeviceStats(int i) { return below("getDeviceStats")->getDeviceStats(i); }
    virtual void resetAccumulatedStats(int i) { below("resetAccumulatedStats")->resetAccumulatedStats(i); }
    virtual void resetPeakStats(int i) { below("resetPeakStats")->resetPeakStats(i); }
#endif
    EIGHT(1) EIGHT(2) EIGHT(3) EIGHT(4) EIGHT(5) /* no release has more */
};

Allocator &the_allocator()
{
    static Allocator a;
    return a;
}

} // namespace

void register_allocator() { c10::SetAllocator(c10::DeviceType::CUDA, &the_allocator()); }

EXPORT void *cumu_bridge_allocator() { return static_cast<c10::Allocator *>(&the_allocator()); }

/* A CUDAStream is a c10::Stream. */
EXPORT bool cumu_bridge_stream_query(const c10::Stream *s)
{
    return c10::impl::VirtualGuardImpl(MUSA).queryStream(turn(*s, Side::MUSA));
}
EXPORT void cumu_bridge_stream_synchronize(const c10::Stream *s)
{
    c10::impl::VirtualGuardImpl(MUSA).synchronizeStream(turn(*s, Side::MUSA));
}

/* Functions of their own in 1.13. */
EXPORT void *cumu_bridge_raw_alloc(size_t n) { return the_allocator().raw_alloc(n); }
EXPORT void *cumu_bridge_raw_alloc_with_stream(size_t n, void *s)
{
    return the_allocator().raw_alloc_with_stream(n, s);
}
EXPORT void cumu_bridge_raw_delete(void *p) { the_allocator().raw_delete(p); }
EXPORT void cumu_bridge_record_stream(const c10::DataPtr &p, c10::Stream s) { record_stream(p, s); }
#if !SINCE(2, 0)
EXPORT void cumu_bridge_empty_cache() { the_allocator().emptyCache(); }
EXPORT void cumu_bridge_set_memory_fraction(double f, int i) { the_allocator().setMemoryFraction(f, i); }
EXPORT void *cumu_bridge_base_allocation(void *p, size_t *n) { return the_allocator().getBaseAllocation(p, n); }
EXPORT Stats cumu_bridge_device_stats(int i) { return the_allocator().getDeviceStats(i); }
EXPORT void cumu_bridge_reset_accumulated_stats(int i) { the_allocator().resetAccumulatedStats(i); }
EXPORT void cumu_bridge_reset_peak_stats(int i) { the_allocator().resetPeakStats(i); }
#endif

} // namespace cumu
