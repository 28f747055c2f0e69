# numba-cuda: kernels in Python, compiled by its own LLVM to PTX and linked by nvJitLink, against NumPy.
# package: numba-cuda
# pip: numba-cuda[cu12]
# cuda: 12
# what: kernels, shared memory, atomics, reduce, ufuncs, fast maths, streams, cooperative groups' grid sync
# check: numba_cuda/numba/cuda/*.so cuda/bindings/*.so
# cpu: (NumPy)
import math

import numpy

import steps
from steps import step


def cuda():
    from numba import cuda as module
    assert module.is_available(), "numba finds no CUDA device"
    return module


@step
def saxpy(cuda, numbers):
    x, y = numbers.standard_normal(3000), numbers.standard_normal(3000)
    if not cuda:
        return 2.5 * x + y

    @cuda.jit
    def kernel(a, x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a * x[i] + y[i]
    out = cuda.device_array(3000)
    kernel[24, 128](2.5, cuda.to_device(x), cuda.to_device(y), out)
    return out


@step
def shared_matmul(cuda, numbers):
    a, b = numbers.standard_normal((64, 64)), numbers.standard_normal((64, 64))
    if not cuda:
        return a @ b
    from numba import float64

    @cuda.jit
    def kernel(a, b, c):
        sa, sb = cuda.shared.array((16, 16), float64), cuda.shared.array((16, 16), float64)
        x, y = cuda.grid(2)
        i, j = cuda.threadIdx.x, cuda.threadIdx.y
        total = 0.0
        for k in range(4):
            sa[i, j] = a[x, j + k * 16]
            sb[i, j] = b[i + k * 16, y]
            cuda.syncthreads()
            for m in range(16):
                total += sa[i, m] * sb[m, j]
            cuda.syncthreads()
        c[x, y] = total
    c = cuda.device_array((64, 64))
    kernel[(4, 4), (16, 16)](cuda.to_device(a), cuda.to_device(b), c)
    return c


@step
def atomics(cuda, numbers):
    x = numbers.integers(0, 32, 5000).astype("i4")
    if not cuda:
        return numpy.bincount(x, minlength=32).astype("i4"), x.max()

    @cuda.jit
    def kernel(x, bins, top):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(bins, x[i], 1)
            cuda.atomic.max(top, 0, x[i])
    bins, top = cuda.to_device(numpy.zeros(32, "i4")), cuda.to_device(numpy.zeros(1, "i4"))
    kernel[40, 128](cuda.to_device(x), bins, top)
    return bins, top.copy_to_host()[0]


@step
def reduction(cuda, numbers):
    x = numbers.standard_normal(10000)
    if not cuda:
        return x.sum()
    return cuda.reduce(lambda a, b: a + b)(cuda.to_device(x))


@step(rtol=1e-5)
def ufunc(cuda, numbers):
    x = numbers.standard_normal(2000).astype("f4")
    if not cuda:
        return numpy.exp(x) * numpy.sin(x)
    from numba import vectorize

    @vectorize(["float32(float32)"], target="cuda")
    def f(v):
        return math.exp(v) * math.sin(v)
    return f(x)


@step(rtol=1e-3, atol=1e-4)
def fast_maths(cuda, numbers):
    x = numbers.random(1000).astype("f4") + 0.5
    if not cuda:
        return numpy.cos(x) / numpy.sqrt(x)

    @cuda.jit(fastmath=True)
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = math.cos(x[i]) / math.sqrt(x[i])
    out = cuda.device_array(1000, "f4")
    kernel[8, 128](cuda.to_device(x), out)
    return out


@step
def warp_and_local(cuda, numbers):
    x = numbers.integers(0, 1000, 256).astype("i4")
    if not cuda:
        return x.reshape(8, 32).sum(axis=1), x.reshape(8, 32)[:, ::-1].reshape(-1)
    from numba import int32

    @cuda.jit
    def kernel(x, sums, turned):
        i = cuda.threadIdx.x
        v = x[i]
        spill = cuda.local.array(4, int32)
        for k in range(4):
            spill[k] = v + k
        turned[i] = cuda.shfl_sync(0xffffffff, spill[0], 31 - i % 32)
        for d in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xffffffff, v, d)
        if i % 32 == 0:
            sums[i // 32] = v
    sums, turned = cuda.device_array(8, "i4"), cuda.device_array(256, "i4")
    kernel[1, 256](cuda.to_device(x), sums, turned)
    return sums.copy_to_host().astype("i8"), turned


@step
def streams_and_events(cuda, numbers):
    x = numbers.standard_normal(4000)
    if not cuda:
        return x + 3

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1
    stream = cuda.stream()
    d = cuda.to_device(x, stream=stream)
    for _ in range(3):
        kernel[32, 128, stream](d)
    host = d.copy_to_host(stream=stream)
    stream.synchronize()
    return host


@step
def grid_sync(cuda, numbers):
    x = numbers.integers(0, 100, 512)
    if not cuda:
        return numpy.roll(numpy.roll(x, 1), 1)

    @cuda.jit
    def kernel(a, b):
        g = cuda.cg.this_grid()
        i = cuda.grid(1)
        b[(i + 1) % a.size] = a[i]
        g.sync()
        a[(i + 1) % a.size] = b[i]
    a, b = cuda.to_device(x), cuda.device_array_like(x)
    kernel[4, 128](a, b)
    return a


steps.main({"cpu": lambda: None, "cuda": cuda})
