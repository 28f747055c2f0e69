/* Device variables reached through their host shadow. */
#include "api/api.h"

/* Address of [offset, offset + count) of a symbol, or the error. */
static int span(const void *symbol, size_t count, size_t offset, uint64_t *address)
{
    size_t size;
    int err = cumu_host_var(symbol, address, &size);
    if (err == CUDA_ERROR_NOT_FOUND)
        return cudaErrorInvalidSymbol;
    if (err)
        return err;
    if (offset > size || count > size - offset)
        return cudaErrorInvalidValue;
    *address += offset;
    return cudaSuccess;
}

static bool to_kind(int kind)
{
    return kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

static bool from_kind(int kind)
{
    return kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault;
}

int cumu_symbol_to(const void *symbol, size_t count, size_t offset, int kind, void **at)
{
    uint64_t address;
    if (!to_kind(kind))
        return cudaErrorInvalidMemcpyDirection;
    int err = span(symbol, count, offset, &address);
    if (!err)
        *at = (void *)(uintptr_t)address;
    return err;
}

int cumu_symbol_from(const void *symbol, size_t count, size_t offset, int kind, void **at)
{
    uint64_t address;
    if (!from_kind(kind))
        return cudaErrorInvalidMemcpyDirection;
    int err = span(symbol, count, offset, &address);
    if (!err)
        *at = (void *)(uintptr_t)address;
    return err;
}

cudaError_t wrap_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count, size_t offset, int kind)
{
    uint64_t at;
    if (!to_kind(kind))
        return CUMU_RT(cudaErrorInvalidMemcpyDirection);
    int err = span(symbol, count, offset, &at);
    return err ? CUMU_RT(err) : mu.musaMemcpy((void *)(uintptr_t)at, src, count, kind);
}

cudaError_t wrap_cudaMemcpyToSymbol_ptds(const void *symbol, const void *src, size_t count, size_t offset, int kind)
{
    uint64_t at;
    if (!to_kind(kind))
        return CUMU_RT(cudaErrorInvalidMemcpyDirection);
    int err = span(symbol, count, offset, &at);
    return err ? CUMU_RT(err) : mu.musaMemcpy_ptds((void *)(uintptr_t)at, src, count, kind);
}

cudaError_t wrap_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count, size_t offset, int kind)
{
    uint64_t at;
    if (!from_kind(kind))
        return CUMU_RT(cudaErrorInvalidMemcpyDirection);
    int err = span(symbol, count, offset, &at);
    return err ? CUMU_RT(err) : mu.musaMemcpy(dst, (void *)(uintptr_t)at, count, kind);
}

cudaError_t wrap_cudaMemcpyFromSymbol_ptds(void *dst, const void *symbol, size_t count, size_t offset, int kind)
{
    uint64_t at;
    if (!from_kind(kind))
        return CUMU_RT(cudaErrorInvalidMemcpyDirection);
    int err = span(symbol, count, offset, &at);
    return err ? CUMU_RT(err) : mu.musaMemcpy_ptds(dst, (void *)(uintptr_t)at, count, kind);
}

cudaError_t wrap_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count, size_t offset, int kind,
                                         cudaStream_t stream)
{
    uint64_t at;
    if (!to_kind(kind))
        return CUMU_RT(cudaErrorInvalidMemcpyDirection);
    int err = span(symbol, count, offset, &at);
    return err ? CUMU_RT(err) : mu.musaMemcpyAsync((void *)(uintptr_t)at, src, count, kind, (musaStream_t)stream);
}

cudaError_t wrap_cudaMemcpyToSymbolAsync_ptsz(const void *symbol, const void *src, size_t count, size_t offset,
                                              int kind, cudaStream_t stream)
{
    return wrap_cudaMemcpyToSymbolAsync(symbol, src, count, offset, kind, cumu_ptsz(stream));
}

cudaError_t wrap_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count, size_t offset, int kind,
                                           cudaStream_t stream)
{
    uint64_t at;
    if (!from_kind(kind))
        return CUMU_RT(cudaErrorInvalidMemcpyDirection);
    int err = span(symbol, count, offset, &at);
    return err ? CUMU_RT(err) : mu.musaMemcpyAsync(dst, (void *)(uintptr_t)at, count, kind, (musaStream_t)stream);
}

cudaError_t wrap_cudaMemcpyFromSymbolAsync_ptsz(void *dst, const void *symbol, size_t count, size_t offset, int kind,
                                                cudaStream_t stream)
{
    return wrap_cudaMemcpyFromSymbolAsync(dst, symbol, count, offset, kind, cumu_ptsz(stream));
}

cudaError_t wrap_cudaGetSymbolAddress(void **address, const void *symbol)
{
    uint64_t at;
    if (!address)
        return CUMU_BAD_ARG;
    int err = span(symbol, 0, 0, &at);
    if (err)
        return CUMU_RT(err);
    *address = (void *)(uintptr_t)at;
    return cudaSuccess;
}

cudaError_t wrap_cudaGetSymbolSize(size_t *size, const void *symbol)
{
    if (!size)
        return CUMU_BAD_ARG;
    return cumu_host_var_size(symbol, size) ? CUMU_RT(cudaErrorInvalidSymbol) : cudaSuccess;
}
