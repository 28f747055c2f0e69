/* The platform part of kernels that the stand-in for mcc compiles: the host's of musa/host.h, and what the stand-in
 * driver (driver.c) asks an object: its kernel's parameters, static shared memory and entry. */
#include "musa/host.h"

#define CM_SHOWN extern "C" __attribute__((visibility("default")))
#undef CM_SHARED
#define CM_JOIN2(a, b) a##b
#define CM_JOIN(a, b) CM_JOIN2(a, b)
/* CM_PART is the kernel's symbol where there are several in the text, else that word itself. */
#define CM_SHARED(n) CM_SHOWN const unsigned CM_JOIN(cm_static_shared_, CM_PART) = n;

namespace device
{
struct cursor {
    const unsigned char *p;
    unsigned at;
    template <class T> void align() { at = (at + alignof(T) - 1) / alignof(T) * alignof(T); }
};
template <class T> T take(cursor &c)
{
    T v;
    c.align<T>();
    __builtin_memcpy(&v, c.p + c.at, sizeof v);
    c.at += sizeof v;
    return v;
}
template <class... A> struct caller { /* braces keep the order of the arguments */
    caller(void (*f)(A...), A... a) { f(a...); }
};
template <class... A> void call(void (*f)(A...), const unsigned char *p)
{
    cursor c = {p, 0};
    caller<A...>{f, take<A>(c)...};
    (void)c;
}
template <class T> int place(cursor &c, unsigned (*table)[2], unsigned k)
{
    c.align<T>();
    table[k][0] = c.at;
    table[k][1] = sizeof(T);
    c.at += sizeof(T);
    return 0;
}
template <class... A> unsigned params(void (*)(A...), unsigned (*table)[2])
{
    cursor c = {nullptr, 0};
    unsigned k = 0;
    int each[] = {0, place<A>(c, table, k++)...};
    (void)each, (void)c, (void)table;
    return k;
}
} // namespace device

/* The last lines of every source, put there by the stand-in: one a kernel with its namespace, one for all. */
#define CM_OBJECT(space, symbol, threads) \
    CM_SHOWN const unsigned cm_max_threads_##symbol = threads; \
    CM_SHOWN unsigned cm_params_##symbol(unsigned(*table)[2]) { return device::params(&space::symbol, table); } \
    CM_SHOWN void cm_entry_##symbol(const unsigned char *p) { device::call(&space::symbol, p); }
#define CM_ARCH(arch) CM_SHOWN const unsigned cm_arch = arch;

/* What `cumu doctor` tries of a toolkit's own, beside what emitted kernels use. */
#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define warpSize 32
#define __syncthreads() bar_all(0)
namespace cm
{
inline unsigned __ballot_sync(unsigned mask, int p) { return ballot(mask, p != 0); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
} // namespace cm
