/* PyTorch's own operators, called by an extension on CUDA tensors or for a CUDA device: a boxed fallback of the
 * dispatch keys turns the arguments, calls PrivateUse1's kernel, and turns what comes back. */
#include "torch/bridge/bridge.h"
#include "torch/bridge/lens.h"

#include <torch/library.h>

namespace cumu
{

namespace
{

void forward(const c10::OperatorHandle &op, c10::DispatchKeySet ks, torch::jit::Stack *stack)
{
    const c10::FunctionSchema &schema = op.schema();
    Turner turner(Side::MUSA);
    (void)turner.arguments(*stack, schema.arguments().size());
    op.redispatchBoxed(turn(ks & c10::after_ADInplaceOrView_keyset, Side::MUSA), stack);
    turner.results(*stack, schema.returns().size());
}

} // namespace

void register_fallback()
{
    static std::vector<torch::Library> registered; /* until the process ends, as PyTorch's own */
    for (c10::DispatchKey key : {c10::DispatchKey::CUDA, c10::DispatchKey::SparseCUDA, c10::DispatchKey::QuantizedCUDA,
                                 c10::DispatchKey::NestedTensorCUDA}) {
        registered.emplace_back(torch::Library::IMPL, "_", key, __FILE__, __LINE__);
        registered.back().fallback(torch::CppFunction::makeFromBoxedFunction<&forward>());
    }
    /* Kernels that serve every backend go before a fallback, and some look for a CUDA kernel inside. PrivateUse1's
     * way of them is wanted, whole: it also turns the arguments once. */
    static std::vector<c10::RegistrationHandleRAII> kernels;
    c10::Dispatcher &d = c10::Dispatcher::singleton();
    for (const c10::OperatorName &name : d.getAllOpNames()) {
        const auto op = d.findOp(name);
        if (op && !op->hasKernelForDispatchKey(c10::DispatchKey::CUDA) &&
            (op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
             op->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional)))
            kernels.push_back(d.registerImpl(name, c10::DispatchKey::CUDA,
                                             c10::KernelFunction::makeFromBoxedFunction<&forward>(), c10::nullopt,
                                             nullptr, "cumu"));
    }
}

} // namespace cumu
