/* Streams and device properties of PyTorch's CUDA interface on torch_musa's. A stream is a c10::Stream, 16 bytes in
 * two registers: device type and index in the low bytes of the first, the id in the second. The extension sees
 * DeviceType::CUDA, torch_musa PrivateUse1; the rest of the stream is the same. */
#include "torch/torch.h"

#include "core/core.h"
#include "core/init.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct stream {
    uint64_t device;
    int64_t id;
};
enum { DEVICE_TYPE = 0xff };

/* A MUSA function that a wrapper calls, found on first use. */
struct callee {
    const char *name;
    _Atomic(void *) address;
};

static void nothing(void) {}

static void *find(struct callee *c)
{
    void *address = cumu_torch_find(c->name);
    if (address)
        atomic_store_explicit(&c->address, address, memory_order_release);
    else {
        char text[512];
        (void)snprintf(text, sizeof text, "cumu: torch: torch_musa, as loaded here, lacks %s", c->name);
        cumu_torch_throw(text);
        return cumu_code_address(nothing); /* not reached in a process with a C++ library */
    }
    return address;
}

static inline void *address_of(struct callee *c)
{
    void *address = atomic_load_explicit(&c->address, memory_order_acquire);
    return __builtin_expect(address != NULL, 1) ? address : find(c);
}

/* DeviceType's numbers: CUDA is 1 in every release, PrivateUse1 is not. */
static inline uint64_t musa_type(void)
{
    static _Atomic(int) number;
    int n = atomic_load_explicit(&number, memory_order_relaxed);
    if (__builtin_expect(!n, 0)) {
        n = cumu_torch_number("CUDA", true, true);
        if (n < 0)
            cumu_torch_throw("cumu: torch: this PyTorch is not known");
        atomic_store(&number, n);
    }
    return (uint64_t)n;
}
enum { CUDA_TYPE = 1 };

static inline struct stream to_cuda(struct stream s)
{
    s.device = (s.device & ~(uint64_t)DEVICE_TYPE) | CUDA_TYPE;
    return s;
}

static inline struct stream to_musa(struct stream s)
{
    if ((s.device & DEVICE_TYPE) == CUDA_TYPE)
        s.device = (s.device & ~(uint64_t)DEVICE_TYPE) | musa_type();
    return s;
}

/* CALLEE(name) gives the MUSA function of that name the type of the variable that is declared with it. */
#define CALLEE(variable, symbol) \
    static struct callee callee_ = {symbol, NULL}; \
    *(void **)&(variable) = address_of(&callee_)

CUMU_TORCH_API struct stream cumu_torch_current_stream(int8_t index)
{
    struct stream (*get)(int8_t);
    CALLEE(get, "_ZN3c104musa20getCurrentMUSAStreamEa");
    return to_cuda(get(index));
}

CUMU_TORCH_API struct stream cumu_torch_default_stream(int8_t index)
{
    struct stream (*get)(int8_t);
    CALLEE(get, "_ZN3c104musa20getDefaultMUSAStreamEa");
    return to_cuda(get(index));
}

CUMU_TORCH_API struct stream cumu_torch_pool_stream_high(bool high, int8_t index)
{
    struct stream (*get)(bool, int8_t);
    CALLEE(get, "_ZN3c104musa17getStreamFromPoolEba");
    return to_cuda(get(high, index));
}

CUMU_TORCH_API struct stream cumu_torch_pool_stream(int priority, int8_t index)
{
    struct stream (*get)(int, int8_t);
    CALLEE(get, "_ZN3c104musa17getStreamFromPoolEia");
    return to_cuda(get(priority, index));
}

/* The handle may be 0, 1 or 2 (default, legacy, per thread): MUSA's sentinels are the same numbers. */
CUMU_TORCH_API struct stream cumu_torch_external_stream(void *handle, int8_t index)
{
    struct stream (*get)(void *, int8_t);
    CALLEE(get, "_ZN3c104musa21getStreamFromExternalEP11MUstream_sta");
    return to_cuda(get(handle, index));
}

CUMU_TORCH_API void cumu_torch_set_stream(struct stream s)
{
    void (*set)(struct stream);
    CALLEE(set, "_ZN3c104musa20setCurrentMUSAStreamENS0_10MUSAStreamE");
    set(to_musa(s));
}

CUMU_TORCH_API void *cumu_torch_raw_stream(const struct stream *self)
{
    void *(*get)(const struct stream *);
    CALLEE(get, "_ZNK3c104musa10MUSAStream6streamEv");
    struct stream s = to_musa(*self);
    return get(&s);
}

CUMU_TORCH_API bool cumu_torch_record_event(void *pointer, void *context, struct stream s)
{
    bool (*record)(void *, void *, struct stream);
    CALLEE(record, "_ZN2at4musa32CachingHostAllocator_recordEventEPvS1_N3c104musa10MUSAStreamE");
    return record(pointer, context, to_musa(s));
}

/* One answer of cudaGetDeviceProperties; made once per device and toolkit, and kept as PyTorch keeps its own. */
struct properties {
    struct properties *next;
    int (*get)(void *, int);
    int index;
    char bytes[2048]; /* the largest cudaDeviceProp has 1032 */
};

static void *properties_of(int (*get)(void *, int), int index)
{
    static _Atomic(struct properties *) first;
    for (struct properties *p = atomic_load(&first); p; p = p->next)
        if (p->get == get && p->index == index)
            return p->bytes;
    struct properties *p = calloc(1, sizeof *p);
    if (!p || get(p->bytes, index) != 0) {
        free(p);
        return NULL;
    }
    p->get = get;
    p->index = index;
    p->next = atomic_load(&first);
    while (!atomic_compare_exchange_weak(&first, &p->next, p)) {
    }
    return p->bytes;
}

/* As the runtime lays them out that the extension was built with: its own dependency, the facade of its toolkit. */
static void *properties(int index, void *caller)
{
    static const char *const names[] = {"cudaGetDeviceProperties_v2", "cudaGetDeviceProperties"};
    int (*get)(void *, int) = NULL;
    int (*current)(int *) = NULL;
    Dl_info info;
    void *handle = dladdr(caller, &info) ? dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    for (unsigned i = 0; handle && !get && i < 2; i++)
        *(void **)&get = dlsym(handle, names[i]);
    if (handle) {
        *(void **)&current = dlsym(handle, "cudaGetDevice");
        (void)dlclose(handle);
    }
    if (index < 0 && current && current(&index) != 0)
        index = -1;
    void *p = get && index >= 0 ? properties_of(get, index) : NULL;
    if (!p)
        cumu_torch_throw("cumu: torch: device properties: no such device, or the extension has no CUDA runtime");
    return p;
}

CUMU_TORCH_API void *cumu_torch_current_properties(void) { return properties(-1, __builtin_return_address(0)); }

CUMU_TORCH_API void *cumu_torch_properties(int8_t index) { return properties(index, __builtin_return_address(0)); }

CUMU_TORCH_API void *cumu_torch_properties_long(int64_t index)
{
    return properties((int)index, __builtin_return_address(0));
}
