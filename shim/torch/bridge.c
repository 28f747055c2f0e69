/* Loads, with the first CUDA extension, the part of cumu that is built against PyTorch's headers, and leads to it
 * what extensions register and exchange with Python. */
#include "torch/torch.h"

#include "core/core.h"
#include "core/log.h"
#include "core/resolve.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

static struct {
    void *(*impl)(void *library, const char *name, void *function, int verify);
    void *(*def)(void *library, void *name_or_schema, void *function, const void *tags);
    void *(*fallback)(void *library, void *function);
    void (*registers)(void *self, void *options);
    bool (*load)(bool (*original)(void *, void *, bool), void *caster, void *object, bool convert);
    void *(*cast)(void *(*original)(const void *, int, void *), const void *tensor, int policy, void *parent);
    void *(*allocator)(void);
    void *handle;
    bool open; /* all of these are there, and PyTorch has no CUDA of its own */
} bridge;

static const struct {
    const char *name;
    size_t at;
} functions[] = {
    {"cumu_bridge_impl", offsetof(__typeof__(bridge), impl)},
    {"cumu_bridge_def", offsetof(__typeof__(bridge), def)},
    {"cumu_bridge_fallback", offsetof(__typeof__(bridge), fallback)},
    {"cumu_bridge_register", offsetof(__typeof__(bridge), registers)},
    {"cumu_bridge_load", offsetof(__typeof__(bridge), load)},
    {"cumu_bridge_cast", offsetof(__typeof__(bridge), cast)},
    {"cumu_bridge_allocator", offsetof(__typeof__(bridge), allocator)},
};

/* The bridge is linked to one libtorch_cpu by its soname, so it is found by that name too: another would bring a
 * second PyTorch into the process. */
static void open_bridge(void)
{
    const struct cumu_torch_release *r = cumu_active() ? cumu_torch_release() : NULL;
    char path[4096], soname[256];
    if (!r || !cumu_torch_library("libtorch_cpu.so", soname, sizeof soname) ||
        snprintf(path, sizeof path, "%s/torch/cumu-%s-%s.so", cumu_home(), soname, r->version) >= (int)sizeof path)
        return;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        cumu_error("torch", NULL,
                   "CUDA extensions are not taken over: cumu was built without the headers of "
                   "PyTorch %s (make TORCH=folder of the package): %s",
                   r->version, dlerror());
        return;
    }
    bool all = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void **to = (void **)((char *)&bridge + functions[i].at);
        *to = dlsym(handle, functions[i].name);
        all = all && *to;
    }
    bool (*start)(void *(*find)(const char *));
    bridge.handle = handle;
    *(void **)&start = dlsym(handle, "cumu_bridge_start");
    if (!all || !start)
        cumu_error("torch", NULL, "%s is of another cumu", path);
    else if (!start(cumu_torch_find))
        cumu_error("torch", NULL, "this PyTorch has CUDA itself: CUDA extensions are not taken over");
    else
        bridge.open = true;
}

static bool opened(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, open_bridge);
    return bridge.open;
}

void *cumu_torch_bridge(const char *name) { return opened() ? dlsym(bridge.handle, name) : NULL; }

/* The variable that extensions read points to an object with virtual functions, which the bridge has. Without a bridge
 * each of them fails by name. */
static void unserved(void)
{
    static const char text[] = "c10::cuda::CUDACachingAllocator::get(): this PyTorch is not one that cumu serves";
    cumu_error("torch", NULL, "%s", text);
    cumu_torch_throw(text);
}

void cumu_torch_loaded(const struct cumu_torch_facade *f)
{
    enum { FUNCTIONS = 64 };
    static void (*table[FUNCTIONS])(void);
    static void *object = table; /* begins with its vtable */
    for (unsigned i = 0; i < FUNCTIONS; i++)
        table[i] = unserved;
    bool open = cumu_active() && opened();
    for (const struct cumu_torch_data *d = f->data; d->name; d++)
        *d->address = open ? bridge.allocator() : (void *)&object;
}

/* A constructor with nothing to do, which may not throw. */
CUMU_TORCH_API void cumu_torch_nothing(void *object) { (void)object; }

/* Nothing is registered under a key that cannot be translated. */
static void refused(const char *what)
{
    cumu_error("torch", what, "not registered: this PyTorch is not one that cumu serves (see above)");
}

CUMU_TORCH_API void *cumu_torch_impl(void *library, const char *name, void *function, int verify)
{
    if (opened())
        return bridge.impl(library, name, function, verify);
    refused(name);
    return library;
}

CUMU_TORCH_API void *cumu_torch_def(void *library, void *name_or_schema, void *function, const void *tags)
{
    if (opened())
        return bridge.def(library, name_or_schema, function, tags);
    refused("an operator with its kernel");
    return library;
}

CUMU_TORCH_API void *cumu_torch_fallback(void *library, void *function)
{
    if (opened())
        return bridge.fallback(library, function);
    refused("a fallback");
    return library;
}

CUMU_TORCH_API void cumu_torch_register(void *self, void *options)
{
    if (opened())
        bridge.registers(self, options);
    else
        refused("an operator of torch::RegisterOperators");
}

#define CASTER "_ZN8pybind116detail11type_casterIN2at6TensorEvE4"

CUMU_TORCH_API bool cumu_torch_load(void *caster, void *object, bool convert)
{
    static bool (*original)(void *, void *, bool);
    if (!original)
        *(void **)&original = cumu_torch_find(CASTER "loadENS_6handleEb");
    return opened() ? bridge.load(original, caster, object, convert) : original(caster, object, convert);
}

CUMU_TORCH_API void *cumu_torch_cast(const void *tensor, int policy, void *parent)
{
    static void *(*original)(const void *, int, void *);
    if (!original)
        *(void **)&original = cumu_torch_find(CASTER "castERKS3_NS_19return_value_policyENS_6handleE");
    return opened() ? bridge.cast(original, tensor, policy, parent) : original(tensor, policy, parent);
}
