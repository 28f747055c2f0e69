/* What a CUDA extension calls to register kernels and to exchange tensors with Python. Its calls arrive here, and
 * no others: the audit module renames these imports in extensions (shim/audit/torch.c). */
#include "torch/bridge/bridge.h"
#include "torch/bridge/lens.h"

#include <ATen/Context.h>
#include <ATen/core/op_registration/op_registration.h>
#include <torch/library.h>

#include <dlfcn.h>
#include <memory>

namespace cumu
{

namespace
{

/* A kernel of the extension as the rest of the process calls it. Called with nothing of PrivateUse1, it is called
 * as it is. */
struct Kernel : c10::OperatorKernel {
    explicit Kernel(c10::KernelFunction f) : inner(std::move(f)) {}
    void operator()(const c10::OperatorHandle &op, c10::DispatchKeySet ks, torch::jit::Stack *stack)
    {
        const c10::FunctionSchema &schema = op.schema();
        Turner turner(Side::CUDA);
        if (!turner.arguments(*stack, schema.arguments().size())) {
            inner.callBoxed(op, ks, stack);
            return;
        }
        inner.callBoxed(op, turn(ks, Side::CUDA), stack);
        turner.results(*stack, schema.returns().size());
    }
    c10::KernelFunction inner;
};

c10::KernelFunction wrap(const c10::KernelFunction &f)
{
    if (!f.isValid() || f.isFallthrough())
        return f;
    return c10::KernelFunction::makeFromBoxedFunctor<Kernel>(std::make_unique<Kernel>(f));
}

std::unique_ptr<c10::FunctionSchema> clone(const std::unique_ptr<c10::FunctionSchema> &s)
{
    return s ? std::make_unique<c10::FunctionSchema>(*s) : nullptr;
}

enum class Kind { ELSEWHERE, CUDA, ANYWHERE };

/* ANYWHERE: no key, or an alias key that kernels of every backend share. A number that this PyTorch has no name for
 * comes from an extension of another release: it must not be registered as whatever it means here. */
Kind kind_of(c10::optional<c10::DispatchKey> key)
{
    if (!key)
        return Kind::ANYWHERE;
    TORCH_CHECK(*key <= c10::DispatchKey::EndOfAliasKeys, "cumu: torch: dispatch key ", static_cast<unsigned>(*key),
                " is none of PyTorch ", TORCH_VERSION);
    if (c10::isAliasDispatchKey(*key))
        return Kind::ANYWHERE;
    return turn(*key, Side::MUSA) != *key ? Kind::CUDA : Kind::ELSEWHERE;
}

/* A function for PrivateUse1 beside one for CUDA. */
torch::CppFunction beside(const torch::CppFunction &f, c10::DispatchKey key)
{
    torch::CppFunction g(wrap(f.func_), f.cpp_signature_, clone(f.schema_));
    g.debug_ = f.debug_;
    g.dispatch_key_ = turn(key, Side::MUSA);
    return g;
}

/* Registers g under its own key in a library that may be of another. */
void implement(torch::Library &library, const char *name, torch::CppFunction &&g)
{
    const auto key = library.dispatch_key_;
    if (key)
        library.dispatch_key_ = g.dispatch_key_;
    library._impl(name, std::move(g));
    library.dispatch_key_ = key;
}

/* The key that f is registered under. */
c10::optional<c10::DispatchKey> key_of(const torch::Library &library, const torch::CppFunction &f)
{
    return f.dispatch_key_ ? f.dispatch_key_ : library.dispatch_key_;
}

} // namespace

static void *(*finder)(const char *);

void *find(const char *name) { return finder(name); }

void *find_beside(const void *caller, const char *name)
{
    Dl_info info;
    void *handle = dladdr(caller, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (!handle)
        return nullptr;
    void *address = dlsym(handle, name);
    dlclose(handle); /* it is loaded, and stays */
    return address;
}

/* Does this PyTorch have a PrivateUse1 where its CUDA would be? Then the bridge is open. */
EXPORT bool cumu_bridge_start(void *(*find)(const char *))
{
    if (at::globalContext().hasCUDA())
        return false;
    finder = find;
    register_allocator();
    register_guard();
    register_fallback();
    return true;
}

#if SINCE(2, 0)
#define RV , torch::_RegisterOrVerify rv
#define RV_PASS , rv
#else
#define RV
#define RV_PASS
#endif

EXPORT torch::Library &cumu_bridge_impl(torch::Library &library, const char *name, torch::CppFunction &f RV)
{
    const auto key = key_of(library, f);
    if (kind_of(key) == Kind::CUDA)
        implement(library, name, beside(f, *key));
    else if (kind_of(key) == Kind::ANYWHERE)
        f.func_ = wrap(f.func_);
    return library._impl(name, std::move(f) RV_PASS);
}

#if SINCE(2, 3)
using NameOrSchema = std::variant<c10::OperatorName, c10::FunctionSchema>;
#define TAGS , const std::vector<at::Tag> &tags
#define TAGS_PASS , tags
static c10::OperatorName name_of(const NameOrSchema &n)
{
    return std::holds_alternative<c10::OperatorName>(n) ? std::get<c10::OperatorName>(n)
                                                        : std::get<c10::FunctionSchema>(n).operator_name();
}
#else
using NameOrSchema = c10::either<c10::OperatorName, c10::FunctionSchema>;
#define TAGS
#define TAGS_PASS
static c10::OperatorName name_of(const NameOrSchema &n) { return n.is_left() ? n.left() : n.right().operator_name(); }
#endif

EXPORT torch::Library &cumu_bridge_def(torch::Library &library, NameOrSchema &what, torch::CppFunction &f TAGS)
{
    if (kind_of(f.dispatch_key_) == Kind::ANYWHERE)
        f.func_ = wrap(f.func_);
    if (kind_of(f.dispatch_key_) != Kind::CUDA)
        return library._def(std::move(what), std::move(f) TAGS_PASS);
    torch::CppFunction g = beside(f, *f.dispatch_key_);
    const c10::OperatorName name = name_of(what);
    library._def(std::move(what), std::move(f) TAGS_PASS);
    const std::string text = name.overload_name.empty() ? name.name : name.name + "." + name.overload_name;
    implement(library, text.c_str(), std::move(g));
    return library;
}

EXPORT torch::Library &cumu_bridge_fallback(torch::Library &library, torch::CppFunction &f)
{
    const auto key = key_of(library, f);
    TORCH_CHECK(kind_of(key) != Kind::CUDA, "cumu: torch: a fallback for all operators of ", *key,
                " is not taken over from an extension");
    return library._fallback(std::move(f));
}

/* The older way: torch::RegisterOperators. */
EXPORT void cumu_bridge_register(c10::RegisterOperators &self, c10::RegisterOperators::Options &options)
{
    using Config = c10::RegisterOperators::Options::KernelRegistrationConfig;
    std::vector<Config> more;
    for (Config &k : options.kernels)
        if (kind_of(k.dispatch_key) == Kind::ANYWHERE)
            k.func = wrap(k.func);
        else if (kind_of(k.dispatch_key) == Kind::CUDA) {
            more.emplace_back();
            more.back().dispatch_key = turn(*k.dispatch_key, Side::MUSA);
            more.back().func = wrap(k.func);
            more.back().cpp_signature = k.cpp_signature;
            more.back().inferred_function_schema = clone(k.inferred_function_schema);
        }
    for (Config &k : more)
        options.kernels.push_back(std::move(k));
    self.checkSchemaAndRegisterOp_(std::move(options));
}

/* pybind11's caster of at::Tensor keeps the tensor as its first member; a handle is one pointer. */
EXPORT bool cumu_bridge_load(bool (*original)(at::Tensor *, void *, bool), at::Tensor *caster, void *object,
                             bool convert)
{
    if (!original(caster, object, convert))
        return false;
    Turner turner(Side::CUDA);
    *caster = turner.tensor(*caster);
    return true;
}

EXPORT void *cumu_bridge_cast(void *(*original)(const at::Tensor &, int, void *), const at::Tensor &t, int policy,
                              void *parent)
{
    Turner turner(Side::MUSA);
    return original(turner.tensor(t), policy, parent);
}

} // namespace cumu
