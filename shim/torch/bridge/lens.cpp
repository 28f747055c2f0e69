/* Makes the other side of a tensor; see lens.h. Compiled without access control: the device and the key set of a
 * TensorImpl have no setters. */
#include "torch/bridge/lens.h"

#include <ATen/core/ivalue.h>
#include <c10/core/GradMode.h>
#include <c10/core/TensorImpl.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/custom_function.h>

namespace cumu
{

c10::DispatchKeySet turn(c10::DispatchKeySet ks, Side to)
{
    const c10::BackendComponent from = backend(other(to));
    if (!ks.has_backend(from))
        return ks;
    const c10::DispatchKeySet autocast = c10::getAutocastRelatedKeySetFromBackend(from);
    const bool casts = !autocast.empty() && ks.has_all(autocast);
    ks = ks.remove_backend(from) | c10::DispatchKeySet(backend(to));
    if (casts)
        ks = (ks - autocast) | c10::getAutocastRelatedKeySetFromBackend(backend(to));
    return ks;
}

c10::DispatchKey turn(c10::DispatchKey key, Side to)
{
    const c10::DispatchKeySet from = c10::getAutocastRelatedKeySetFromBackend(backend(other(to)));
    if (!from.empty() && from == c10::DispatchKeySet(key)) {
        const c10::DispatchKeySet casts = c10::getAutocastRelatedKeySetFromBackend(backend(to));
        return casts.empty() ? key : casts.highestPriorityTypeId();
    }
    if (c10::toBackendComponent(key) != backend(other(to)))
        return key;
    return c10::toRuntimePerBackendFunctionalityKey(c10::toFunctionalityKey(key), backend(to));
}

namespace
{

/* The same memory, sizes and version counter, on the other side, with no history. */
at::Tensor alias(const at::Tensor &t, Side to)
{
    c10::TensorImpl *old = t.unsafeGetTensorImpl();
    auto impl = old->is_inference() ? old->shallow_copy_and_detach(c10::VariableVersion(0), true)
                                    : old->shallow_copy_and_detach(old->version_counter(), true);
    impl->key_set_ = turn(impl->key_set_, to);
    impl->device_opt_ = turn(*impl->device_opt_, to);
    return at::Tensor(std::move(impl));
}

at::Tensor turned(const at::Tensor &t, Side to);

/* Gradients of one side's tensor become gradients of the other's. */
struct Turn : torch::autograd::Function<Turn> {
    static at::Tensor forward(torch::autograd::AutogradContext *ctx, const at::Tensor &t, int64_t to)
    {
        ctx->saved_data["to"] = to;
        return alias(t, static_cast<Side>(to));
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext *ctx,
                                                   torch::autograd::variable_list grads)
    {
        const Side back = other(static_cast<Side>(ctx->saved_data["to"].toInt()));
        const at::Tensor &g = grads[0];
        return {g.defined() && g.device().type() == device_type(other(back)) ? turned(g, back) : g, at::Tensor()};
    }
};

bool records(const at::Tensor &t)
{
    return t.requires_grad() && c10::GradMode::is_enabled() &&
           !c10::impl::tls_is_dispatch_key_excluded(c10::DispatchKey::AutogradFunctionality);
}

at::Tensor turned(const at::Tensor &t, Side to)
{
    return records(t) ? Turn::apply(t, static_cast<int64_t>(to)) : alias(t, to);
}

/* An operator may resize what it writes to, or give it other memory. */
void take_over(const at::Tensor &given, const at::Tensor &turned)
{
    c10::TensorImpl *to = given.unsafeGetTensorImpl(), *from = turned.unsafeGetTensorImpl();
    if (!to->has_storage() || !from->has_storage())
        return;
    if (to->sizes() == from->sizes() && to->strides() == from->strides() &&
        to->storage_offset() == from->storage_offset() &&
        to->storage_.unsafeGetStorageImpl() == from->storage_.unsafeGetStorageImpl())
        return;
    to->storage_ = from->storage_;
    to->storage_offset_ = from->storage_offset_;
    to->sizes_and_strides_ = from->sizes_and_strides_;
    to->refresh_numel();
    to->refresh_contiguous();
}

} // namespace

at::Tensor Turner::tensor(const at::Tensor &t)
{
    if (!t.defined() || t.device().type() != device_type(other(to_)))
        return t;
    for (const Pair &p : pairs_)
        if (p.given.is_same(t))
            return p.turned;
    pairs_.push_back({t, turned(t, to_)});
    return pairs_.back().turned;
}

bool Turner::value(c10::IValue &v)
{
    if (v.isTensor()) {
        at::Tensor t = tensor(v.toTensor());
        if (t.is_same(v.toTensor()))
            return false;
        v = std::move(t);
        return true;
    }
    if (v.isDevice() || v.isStream()) {
        if (v.isDevice() && v.toDevice().type() == device_type(other(to_)))
            v = turn(v.toDevice(), to_);
        else if (v.isStream() && v.toStream().device_type() == device_type(other(to_)))
            v = turn(v.toStream(), to_);
        else
            return false;
        return true;
    }
    if (!v.isList() || v.isIntList() || v.isDoubleList() || v.isBoolList())
        return false;
    const c10::List<c10::IValue> list = v.toList();
    c10::List<c10::IValue> copy = list.copy(); /* the caller keeps its own */
    bool any = false;
    for (size_t i = 0; i < copy.size(); i++) {
        c10::IValue x = copy.get(i);
        if (value(x)) {
            copy.set(i, std::move(x));
            any = true;
        }
    }
    if (any)
        v = c10::IValue(std::move(copy));
    return any;
}

bool Turner::arguments(std::vector<c10::IValue> &stack, size_t n)
{
    bool any = false;
    for (auto v = stack.end() - static_cast<ptrdiff_t>(n); v != stack.end(); ++v)
        any |= value(*v);
    return any;
}

void Turner::results(std::vector<c10::IValue> &stack, size_t n)
{
    for (const Pair &p : pairs_)
        take_over(p.given, p.turned);
    to_ = other(to_);
    for (Pair &p : pairs_) /* a result that is an argument is the one that the caller gave */
        std::swap(p.given, p.turned);
    (void)arguments(stack, n);
}

} // namespace cumu
