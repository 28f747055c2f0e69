// Stands for torch_musa: a PrivateUse1 backend on the MUSA libraries that exports the C++ names of c10::musa. What
// it has no kernel for runs on the CPU. It knows nothing of cumu, and refuses what is not its own: a tensor, stream
// or device of CUDA that reaches it is a fault of the translation.
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/Allocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>
#include <torch/version.h>

#include <atomic>
#include <map>
#include <mutex>

extern "C" { // the MUSA runtime
int musaGetDeviceCount(int *);
int musaGetDevice(int *);
int musaSetDevice(int);
int musaMalloc(void **, size_t);
int musaFree(void *);
int musaMemcpy(void *, const void *, size_t, int);
int musaStreamCreateWithFlags(void **, unsigned);
int musaStreamSynchronize(void *);
int musaStreamQuery(void *);
int musaDeviceSynchronize(void);
int mublasCreate(void **);
int mublasSetStream(void *, void *);
}

#define SINCE(major, minor) \
    (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

#define EXPORT __attribute__((visibility("default")))
constexpr c10::DeviceType kMUSA = c10::DeviceType::PrivateUse1;

namespace
{

void check(int error, const char *what) { TORCH_CHECK(error == 0, what, ": MUSA error ", error); }

int current_device()
{
    int index = 0;
    check(musaGetDevice(&index), "musaGetDevice");
    return index;
}

int device_count()
{
    int n = 0;
    return musaGetDeviceCount(&n) == 0 ? n : 0;
}

} // namespace

struct MUstream_st;

namespace c10::musa
{

class MUSAStream
{
  public:
    explicit MUSAStream(Stream s) : stream_(s) {}
    EXPORT MUstream_st *stream() const;
    c10::Stream stream_;
};

namespace MUSACachingAllocator
{

struct DeviceStats { // begins as PyTorch's does; the test looks at two numbers
    int64_t blocks = 0, emptied = 0, rest[2] = {};
};

// In the order of torch_musa's class.
struct MUSAAllocator : c10::Allocator {
    virtual void *raw_alloc(size_t) = 0;
    virtual void *raw_alloc_with_stream(size_t, MUstream_st *) = 0;
    virtual void raw_delete(void *) = 0;
    virtual void init(int) = 0;
    virtual bool initialized() = 0;
    virtual void setMemoryFraction(double, DeviceIndex) = 0;
    virtual void emptyCache() = 0;
    virtual void cacheInfo(DeviceIndex, size_t *) = 0;
    virtual void *getBaseAllocation(void *, size_t *) = 0;
    virtual void recordStream(const DataPtr &, MUSAStream) = 0;
    virtual DeviceStats getDeviceStats(DeviceIndex) = 0;
    virtual void resetAccumulatedStats(DeviceIndex) = 0;
    virtual void resetPeakStats(DeviceIndex) = 0;
};

extern EXPORT std::atomic<MUSAAllocator *> allocator;

} // namespace MUSACachingAllocator
} // namespace c10::musa

namespace
{

std::atomic<int64_t> allocated{0}, emptied{0}, recorded{0};

#if SINCE(2, 3)
#define CONST
#else
#define CONST const
#endif

struct Memory final : c10::musa::MUSACachingAllocator::MUSAAllocator {
    static void release(void *p)
    {
        if (p && musaFree(p) == 0)
            allocated--;
    }
    static void *get(size_t n)
    {
        void *p = nullptr;
        if (n) {
            check(musaMalloc(&p, n), "musaMalloc");
            allocated++;
        }
        return p;
    }
    c10::DataPtr allocate(size_t n) CONST override
    {
        void *p = get(n);
        return {p, p, release, c10::Device(kMUSA, static_cast<c10::DeviceIndex>(current_device()))};
    }
    c10::DeleterFnPtr raw_deleter() const override { return release; }
#if SINCE(2, 3)
    void copy_data(void *to, const void *from, size_t n) const override { check(musaMemcpy(to, from, n, 4), "copy"); }
#endif
    void *raw_alloc(size_t n) override { return get(n); }
    void *raw_alloc_with_stream(size_t n, MUstream_st *) override { return get(n); }
    void raw_delete(void *p) override { release(p); }
    void init(int) override {}
    bool initialized() override { return true; }
    void setMemoryFraction(double, c10::DeviceIndex) override {}
    void emptyCache() override { emptied++; }
    void cacheInfo(c10::DeviceIndex i, size_t *largest) override { *largest = 4096u + static_cast<size_t>(i); }
    void *getBaseAllocation(void *p, size_t *n) override
    {
        *n = 64;
        return p;
    }
    void recordStream(const c10::DataPtr &p, c10::musa::MUSAStream s) override;
    c10::musa::MUSACachingAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override
    {
        c10::musa::MUSACachingAllocator::DeviceStats s;
        s.blocks = allocated;
        s.emptied = emptied;
        return s;
    }
    void resetAccumulatedStats(c10::DeviceIndex) override { emptied = 0; }
    void resetPeakStats(c10::DeviceIndex) override {}
} memory;
REGISTER_ALLOCATOR(kMUSA, &memory)

// The stream's id is its handle; 0 is the default stream.
thread_local std::map<int, int64_t> current;

c10::Stream stream_of(c10::Device d, int64_t id)
{
    TORCH_CHECK(d.type() == kMUSA, "a stream of ", d);
    return c10::Stream(c10::Stream::UNSAFE, d, id);
}

c10::Device device_at(int index)
{
    return c10::Device(kMUSA, static_cast<c10::DeviceIndex>(index < 0 ? current_device() : index));
}

c10::Stream pooled(int index)
{
    void *handle = nullptr;
    const c10::Device d = device_at(index);
    const int before = current_device();
    check(musaSetDevice(d.index()), "musaSetDevice");
    check(musaStreamCreateWithFlags(&handle, 1), "musaStreamCreateWithFlags");
    check(musaSetDevice(before), "musaSetDevice");
    return stream_of(d, reinterpret_cast<int64_t>(handle));
}

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return kMUSA; }
    c10::Device exchangeDevice(c10::Device d) const override
    {
        const c10::Device before = getDevice();
        setDevice(d);
        return before;
    }
    c10::Device getDevice() const override { return device_at(-1); }
    void setDevice(c10::Device d) const override
    {
        TORCH_CHECK(d.type() == kMUSA, "the guard of musa was given ", d);
        check(musaSetDevice(d.index()), "musaSetDevice");
    }
    void uncheckedSetDevice(c10::Device d) const noexcept override { (void)musaSetDevice(d.index()); }
    c10::Stream getStream(c10::Device d) const noexcept override
    {
        return c10::Stream(c10::Stream::UNSAFE, d, current[d.index()]);
    }
    c10::Stream getDefaultStream(c10::Device d) const override { return stream_of(d, 0); }
    c10::Stream getStreamFromGlobalPool(c10::Device d, bool) const override { return pooled(d.index()); }
    c10::Stream exchangeStream(c10::Stream s) const noexcept override
    {
        const c10::Stream before = getStream(s.device());
        current[s.device_index()] = s.id();
        return before;
    }
    c10::DeviceIndex deviceCount() const noexcept override { return static_cast<c10::DeviceIndex>(device_count()); }
    void synchronizeStream(const c10::Stream &s) const override
    {
        (void)stream_of(s.device(), 0);
        check(musaStreamSynchronize(reinterpret_cast<void *>(s.id())), "musaStreamSynchronize");
    }
    bool queryStream(const c10::Stream &s) const override
    {
        return musaStreamQuery(reinterpret_cast<void *>(s.id())) == 0;
    }
    void recordDataPtrOnStream(const c10::DataPtr &p, const c10::Stream &s) const override
    {
        memory.recordStream(p, c10::musa::MUSAStream(s));
    }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard)

void own(const at::Tensor &t)
{
    TORCH_CHECK(t.device().type() == kMUSA && t.key_set().has_backend(c10::BackendComponent::PrivateUse1Bit) &&
                    !t.key_set().has_backend(c10::BackendComponent::CUDABit),
                "torch_musa was given a tensor on ", t.device(), " with ", t.key_set());
}

at::Tensor empty(c10::IntArrayRef size, c10::optional<at::ScalarType> dtype, c10::optional<at::Layout>,
                 c10::optional<at::Device> device, c10::optional<bool>, c10::optional<at::MemoryFormat>)
{
    c10::OptionalDeviceGuard guard(device);
    const at::Device d = device_or_default(device);
    TORCH_CHECK(d.type() == kMUSA, "torch_musa was asked for memory on ", d);
    const auto type = c10::scalarTypeToTypeMeta(dtype_or_default(dtype));
    int64_t n = static_cast<int64_t>(type.itemsize());
    for (int64_t s : size)
        n *= s;
    auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), n, &memory, true);
    at::Tensor t = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(std::move(storage)),
                                                            c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), type);
    t.unsafeGetTensorImpl()->set_sizes_contiguous(size);
    return t;
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, c10::optional<at::ScalarType> dtype,
                         c10::optional<at::Layout> layout, c10::optional<at::Device> device, c10::optional<bool> pin)
{
    at::Tensor t = empty(size, dtype, layout, device, pin, c10::nullopt);
    t.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride);
    return t;
}

// The tensor's whole memory on the host, and the tensor in it.
at::Tensor on_host(const at::Tensor &t, at::Tensor &whole)
{
    if (t.is_cpu())
        return t;
    const auto n = static_cast<int64_t>(t.storage().nbytes());
    whole = at::empty({n}, at::kByte);
    check(musaMemcpy(whole.data_ptr(), t.storage().data(), whole.nbytes(), 4), "musaMemcpy");
    return at::from_blob(whole.data_ptr<uint8_t>() + t.storage_offset() * static_cast<int64_t>(t.itemsize()), t.sizes(),
                         t.strides(), t.options().device(at::kCPU));
}

at::Tensor &copy_(at::Tensor &self, const at::Tensor &src, bool)
{
    if (self.is_cpu())
        own(src);
    else
        own(self);
    const c10::DeviceGuard guard(self.is_cpu() ? src.device() : self.device());
    if (src.scalar_type() == self.scalar_type() && src.sizes().equals(self.sizes()) && src.is_contiguous() &&
        self.is_contiguous()) {
        check(musaMemcpy(self.data_ptr(), src.data_ptr(), self.nbytes(), 4), "musaMemcpy");
        return self;
    }
    at::Tensor from, to;
    on_host(self, to).copy_(on_host(src, from));
    if (!self.is_cpu())
        check(musaMemcpy(self.storage().data_ptr().get(), to.data_ptr(), to.nbytes(), 4), "musaMemcpy");
    return self;
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &dst)
{
    own(dst);
    if (!dst.sizes().equals(self.sizes()))
        const_cast<at::Tensor &>(dst).resize_(self.sizes());
    return const_cast<at::Tensor &>(dst).copy_(self);
}

const at::Tensor &resize_(const at::Tensor &self, c10::IntArrayRef size, c10::optional<at::MemoryFormat>)
{
    own(self);
    int64_t n = static_cast<int64_t>(self.itemsize());
    for (int64_t s : size)
        n *= s;
    c10::StorageImpl *storage = self.storage().unsafeGetStorageImpl();
    if (static_cast<size_t>(n) > storage->nbytes()) {
        c10::DataPtr more = memory.allocate(static_cast<size_t>(n));
        check(musaMemcpy(more.get(), storage->data(), storage->nbytes(), 4), "musaMemcpy");
        storage->set_data_ptr_noswap(std::move(more));
        storage->set_nbytes(static_cast<size_t>(n));
    }
    self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
    return self;
}

void fallback(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    for (const c10::IValue &v : *stack)
        if (v.isTensor() && v.toTensor().defined() && !v.toTensor().is_cpu())
            own(v.toTensor());
    at::native::cpu_fallback(op, stack);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("empty.memory_format", empty);
    m.impl("empty_strided", empty_strided);
    m.impl("copy_", copy_);
    m.impl("_copy_from_and_resize", copy_from_and_resize);
    m.impl("resize_", resize_);
    m.impl("as_strided", at::native::as_strided_tensorimpl);
    m.impl("view", at::native::view);
    m.impl("_reshape_alias", at::native::_reshape_alias);
}

TORCH_LIBRARY_IMPL(_, AutogradPrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFallthrough()); // PyTorch has none for this key, torch_musa brings it
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

} // namespace

void Memory::recordStream(const c10::DataPtr &, c10::musa::MUSAStream s)
{
    (void)stream_of(s.stream_.device(), 0);
    recorded++;
}

namespace c10::musa
{

EXPORT MUstream_st *MUSAStream::stream() const
{
    TORCH_CHECK(stream_.device_type() == kMUSA, "a stream of ", stream_.device());
    return reinterpret_cast<MUstream_st *>(stream_.id());
}
EXPORT DeviceIndex device_count() noexcept { return static_cast<DeviceIndex>(::device_count()); }
EXPORT DeviceIndex current_device() { return static_cast<DeviceIndex>(::current_device()); }
EXPORT void set_device(DeviceIndex index) { check(musaSetDevice(index), "musaSetDevice"); }
EXPORT int GetDevice(DeviceIndex *index)
{
    *index = static_cast<DeviceIndex>(::current_device());
    return 0;
}
EXPORT int SetDevice(DeviceIndex index) { return musaSetDevice(index); }
EXPORT int MaybeSetDevice(DeviceIndex index) { return musaSetDevice(index); }
EXPORT DeviceIndex ExchangeDevice(DeviceIndex index)
{
    const DeviceIndex before = current_device();
    set_device(index);
    return before;
}
EXPORT DeviceIndex MaybeExchangeDevice(DeviceIndex index) { return ExchangeDevice(index); }
EXPORT void device_synchronize() { check(musaDeviceSynchronize(), "musaDeviceSynchronize"); }
EXPORT MUSAStream getCurrentMUSAStream(DeviceIndex index)
{
    const c10::Device d = device_at(index);
    return MUSAStream(stream_of(d, current[d.index()]));
}
EXPORT MUSAStream getDefaultMUSAStream(DeviceIndex index) { return MUSAStream(stream_of(device_at(index), 0)); }
EXPORT MUSAStream getStreamFromPool(bool, DeviceIndex index) { return MUSAStream(pooled(index)); }
EXPORT MUSAStream getStreamFromExternal(MUstream_st *handle, DeviceIndex index)
{
    return MUSAStream(stream_of(device_at(index), reinterpret_cast<int64_t>(handle)));
}
EXPORT void setCurrentMUSAStream(MUSAStream s)
{
    current[stream_of(s.stream_.device(), 0).device_index()] = s.stream_.id();
}
EXPORT const char *get_musa_check_suffix() noexcept { return ""; }
namespace MUSACachingAllocator
{
std::atomic<MUSAAllocator *> allocator{&memory};
} // namespace MUSACachingAllocator
} // namespace c10::musa

namespace at
{

struct PhiloxMusaState { // laid out as CUDA's
    uint64_t seed, offset;
    uint32_t offset_intragraph = 0;
    bool captured = false;
};

struct EXPORT MUSAGeneratorImpl : c10::GeneratorImpl {
    explicit MUSAGeneratorImpl(c10::DeviceIndex i)
        : c10::GeneratorImpl(c10::Device(kMUSA, i), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1))
    {
    }
    void set_current_seed(uint64_t seed) override;
    uint64_t current_seed() const override { return seed_; }
    uint64_t seed() override { return seed_; }
    void set_state(const c10::TensorImpl &) override {}
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override { return {}; }
#if SINCE(2, 1)
    void set_offset(uint64_t offset) override { offset_ = offset; }
    uint64_t get_offset() const override { return offset_; }
#endif
    MUSAGeneratorImpl *clone_impl() const override { return new MUSAGeneratorImpl(*this); }
    PhiloxMusaState philox_musa_state(uint64_t increment);
    std::pair<uint64_t, uint64_t> philox_engine_inputs(uint64_t increment);
    static c10::DeviceType device_type();

    uint64_t seed_ = 0, offset_ = 0;

  private:
    MUSAGeneratorImpl(const MUSAGeneratorImpl &g)
        : c10::GeneratorImpl(g.device_, g.key_set_), seed_(g.seed_), offset_(g.offset_)
    {
    }
};

void MUSAGeneratorImpl::set_current_seed(uint64_t seed)
{
    seed_ = seed;
    offset_ = 0;
}
PhiloxMusaState MUSAGeneratorImpl::philox_musa_state(uint64_t increment)
{
    const PhiloxMusaState s{seed_, offset_};
    offset_ += increment;
    return s;
}
std::pair<uint64_t, uint64_t> MUSAGeneratorImpl::philox_engine_inputs(uint64_t increment)
{
    const PhiloxMusaState s = philox_musa_state(increment);
    return {s.seed, s.offset};
}
c10::DeviceType MUSAGeneratorImpl::device_type() { return kMUSA; }

namespace musa::detail
{

EXPORT Generator createMUSAGenerator(c10::DeviceIndex index)
{
    return make_generator<MUSAGeneratorImpl>(device_at(index).index());
}
EXPORT const Generator &getDefaultMUSAGenerator(c10::DeviceIndex)
{
    static const Generator g = createMUSAGenerator(0);
    return g;
}

} // namespace musa::detail
} // namespace at

namespace at::musa
{

EXPORT void *getCurrentMUSABlasHandle()
{
    thread_local void *handle;
    if (!handle)
        check(mublasCreate(&handle), "mublasCreate");
    check(mublasSetStream(handle, c10::musa::getCurrentMUSAStream(-1).stream()), "mublasSetStream");
    return handle;
}
EXPORT int warp_size() { return 32; }

} // namespace at::musa

// For the test: how many blocks of memory are there?
extern "C" EXPORT int64_t backend_allocated() { return allocated; }
extern "C" EXPORT int64_t backend_recorded() { return recorded; }
