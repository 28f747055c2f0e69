# CuPy: elementwise operations, reductions, kernels made by NVRTC, and the maths libraries behind it, against NumPy.
# package: CuPy
# pip: cupy-cuda12x nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12
# cuda: 12
# what: elementwise, reductions, sort, scatter, RawKernel, matmul, linalg, FFT, sparse, random
# check: cupy/_core/core.*.so cupy_backends/cuda/libs/cublas.*.so cupy/cuda/cub.*.so cupy/cuda/thrust.*.so
# cpu: (NumPy)
import numpy

import steps
from steps import step


def cuda():
    import cupy
    return cupy


@step
def elementwise(xp, numbers):
    x = xp.asarray(numbers.standard_normal(10000).astype("f4"))
    return xp.exp(-x * x) + xp.sin(x) * 3, xp.where(x > 0, x, -x).astype("f8")


@step
def broadcast_integers(xp, numbers):
    a = xp.asarray(numbers.integers(-1000, 1000, (64, 1, 33)))
    b = xp.asarray(numbers.integers(1, 50, (1, 17, 33)))
    return a // b, a % b, a ^ b, a << (b % 8)


@step(rtol=1e-4, atol=1e-4)
def reductions(xp, numbers):
    x = xp.asarray(numbers.standard_normal((100, 333)).astype("f4"))
    return x.sum(), x.sum(axis=0), x.mean(axis=1), x.max(axis=1), x.argmin(axis=0), x.std()


@step
def scans(xp, numbers):
    x = xp.asarray(numbers.integers(0, 9, 40000))
    return xp.cumsum(x), xp.diff(x), xp.bincount(x)


@step
def sorting(xp, numbers):
    x = xp.asarray(numbers.standard_normal(30000).astype("f4"))
    k = xp.asarray(numbers.integers(0, 500, 30000))
    return xp.sort(x), xp.unique(k), xp.searchsorted(xp.sort(k), k[:99]), xp.partition(x, 100)[100], xp.argsort(x)[:9]


@step
def indexing(xp, numbers):
    x = xp.asarray(numbers.standard_normal((200, 50)))
    i = xp.asarray(numbers.integers(0, 200, 77))
    return x[i], x[:, ::-3], x[x > 1], xp.take(x, i, axis=0).sum(), xp.nonzero(x > 2)[0]


@step
def half(xp, numbers):
    x = xp.asarray(numbers.standard_normal(1000).astype("f2"))
    return (x * 2 + 1).astype("f4"), xp.isnan(x / x * 0)


@step
def raw_kernel(xp, numbers):
    x = numbers.standard_normal(5000).astype("f4")
    if xp is numpy:
        return x * 2 + numpy.arange(5000, dtype="f4")
    kernel = xp.RawKernel(r"""extern "C" __global__ void f(const float *x, float *y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * 2 + i; }""", "f")
    d, y = xp.asarray(x), xp.empty(5000, "f4")
    kernel((40,), (128,), (d, y, numpy.int32(5000)))
    return y


@step(rtol=1e-4, atol=1e-3)
def matmul(xp, numbers):
    a, b = (xp.asarray(numbers.standard_normal((96, 96)).astype("f4")) for _ in range(2))
    z = a.astype("c16") * (1 + 2j)
    return a @ b, xp.einsum("ij,kj->ik", a, b), xp.tensordot(a, b, 1), z @ z.T


@step(rtol=1e-6, atol=1e-6)
def linalg(xp, numbers):
    a = xp.asarray(numbers.standard_normal((40, 40)))
    s = a @ a.T + 40 * xp.eye(40)
    return xp.linalg.solve(s, a), xp.linalg.cholesky(s), xp.linalg.eigvalsh(s), xp.linalg.svd(a)[1], xp.linalg.inv(s)


@step(rtol=1e-4, atol=1e-3)
def fft(xp, numbers):
    x = xp.asarray(numbers.standard_normal((8, 600)))
    return xp.fft.fft(x), xp.fft.irfft(xp.fft.rfft(x)), xp.fft.fft2(x), xp.fft.fftshift(x)


@step(rtol=1e-6)
def sparse(xp, numbers):
    dense = numbers.standard_normal((80, 80)) * (numbers.random((80, 80)) < 0.1)
    v = numbers.standard_normal(80)
    if xp is numpy:
        return dense @ v, dense @ dense, dense.T
    from cupyx.scipy.sparse import csr_matrix
    m = csr_matrix(xp.asarray(dense))
    return m @ xp.asarray(v), (m @ m).toarray(), m.T.toarray()


@step(atol=0.05)
def random_moments(xp, numbers):
    r = xp.random.RandomState(3) if xp is not numpy else numpy.random.RandomState(3)
    return r.standard_normal(20000).mean(), r.uniform(size=20000).mean(), r.poisson(4.0, 20000).mean() / 4


steps.main({"cpu": lambda: numpy, "cuda": cuda})
