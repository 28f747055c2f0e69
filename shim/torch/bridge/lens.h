/* Two sides of one tensor: the CUDA extension sees its device as CUDA, PyTorch and torch_musa as PrivateUse1. The
 * comparisons that tell (`x.is_cuda()`, CUDAGuard) are compiled into the extension, so the device that it is given
 * must be CUDA; the memory is the same, and so are the version counter and, through autograd, the history. */
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DispatchKeySet.h>

#include <vector>

namespace cumu
{

enum class Side { CUDA, MUSA };

constexpr c10::DeviceType device_type(Side s)
{
    return s == Side::CUDA ? c10::DeviceType::CUDA : c10::DeviceType::PrivateUse1;
}
constexpr c10::BackendComponent backend(Side s)
{
    return s == Side::CUDA ? c10::BackendComponent::CUDABit : c10::BackendComponent::PrivateUse1Bit;
}
constexpr Side other(Side s) { return s == Side::CUDA ? Side::MUSA : Side::CUDA; }

inline c10::Device turn(c10::Device d, Side to)
{
    return d.type() == device_type(other(to)) ? c10::Device(device_type(to), d.index()) : d;
}
inline c10::Stream turn(c10::Stream s, Side to)
{
    return c10::Stream(c10::Stream::UNSAFE, turn(s.device(), to), s.id());
}
c10::DispatchKeySet turn(c10::DispatchKeySet ks, Side to);
/* The key of the other side, or the key itself. */
c10::DispatchKey turn(c10::DispatchKey key, Side to);

/* Turns tensors, lists of them, devices and streams on a dispatcher's stack, and remembers which tensor was
 * given for which, so that what comes back is the tensor that went in. */
class Turner
{
  public:
    explicit Turner(Side to) : to_(to) {}
    /* Entries [begin, begin + n) of the stack; true if one changed. */
    bool arguments(std::vector<c10::IValue> &stack, size_t n);
    /* The last n entries, turned back. In-place and out= operators may have changed the shape of an argument:
     * the tensor it stands for takes it over. */
    void results(std::vector<c10::IValue> &stack, size_t n);
    /* One tensor; itself if it is not of the other side. */
    at::Tensor tensor(const at::Tensor &t);

  private:
    struct Pair {
        at::Tensor given, turned;
    };
    bool value(c10::IValue &v);
    Side to_;
    std::vector<Pair> pairs_;
};

} // namespace cumu
