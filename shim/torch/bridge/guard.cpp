/* The CUDA device of a PyTorch that has none: its guard, streams and events are PrivateUse1's, with the device type
 * changed in what goes in and comes out. */
#include "torch/bridge/lens.h"
#include "torch/bridge/bridge.h"

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace cumu
{

namespace
{

struct Guard final : c10::impl::DeviceGuardImplInterface {
    static const c10::impl::DeviceGuardImplInterface *below()
    {
        return c10::impl::getDeviceGuardImpl(c10::DeviceType::PrivateUse1);
    }
    static c10::Device in(c10::Device d) { return turn(d, Side::MUSA); }
    static c10::Stream in(c10::Stream s) { return turn(s, Side::MUSA); }
    static c10::Device out(c10::Device d) { return turn(d, Side::CUDA); }
    static c10::Stream out(c10::Stream s) { return turn(s, Side::CUDA); }

    c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
    c10::Device exchangeDevice(c10::Device d) const override { return out(below()->exchangeDevice(in(d))); }
    c10::Device getDevice() const override { return out(below()->getDevice()); }
    void setDevice(c10::Device d) const override { below()->setDevice(in(d)); }
    void uncheckedSetDevice(c10::Device d) const noexcept override { below()->uncheckedSetDevice(in(d)); }
    c10::Stream getStream(c10::Device d) const noexcept override { return out(below()->getStream(in(d))); }
    c10::Stream getDefaultStream(c10::Device d) const override { return out(below()->getDefaultStream(in(d))); }
    c10::Stream getStreamFromGlobalPool(c10::Device d, bool high) const override
    {
        return out(below()->getStreamFromGlobalPool(in(d), high));
    }
    c10::Stream exchangeStream(c10::Stream s) const noexcept override { return out(below()->exchangeStream(in(s))); }
    c10::DeviceIndex deviceCount() const noexcept override
    {
        return c10::impl::hasDeviceGuardImpl(c10::DeviceType::PrivateUse1) ? below()->deviceCount() : 0;
    }
    void destroyEvent(void *event, const c10::DeviceIndex index) const noexcept override
    {
        below()->destroyEvent(event, index);
    }
    void record(void **event, const c10::Stream &s, const c10::DeviceIndex index,
                const c10::EventFlag flag) const override
    {
        below()->record(event, in(s), index, flag);
    }
    void block(void *event, const c10::Stream &s) const override { below()->block(event, in(s)); }
    bool queryEvent(void *event) const override { return below()->queryEvent(event); }
    bool queryStream(const c10::Stream &s) const override { return below()->queryStream(in(s)); }
    void synchronizeStream(const c10::Stream &s) const override { below()->synchronizeStream(in(s)); }
    void recordDataPtrOnStream(const c10::DataPtr &p, const c10::Stream &s) const override
    {
        below()->recordDataPtrOnStream(p, in(s));
    }
#if SINCE(2, 4)
    c10::Stream getNewStream(c10::Device d, int priority) const override
    {
        return out(below()->getNewStream(in(d), priority));
    }
    void synchronizeEvent(void *event) const override { below()->synchronizeEvent(event); }
    double elapsedTime(void *from, void *to, const c10::DeviceIndex index) const override
    {
        return below()->elapsedTime(from, to, index);
    }
#endif
#if SINCE(2, 6)
    void synchronizeDevice(const c10::DeviceIndex index) const override { below()->synchronizeDevice(index); }
#endif
};

} // namespace

void register_guard()
{
    static const Guard guard; /* PyTorch keeps the pointer for good */
    static const c10::impl::DeviceGuardImplRegistrar registrar(c10::DeviceType::CUDA, &guard);
}

} // namespace cumu
