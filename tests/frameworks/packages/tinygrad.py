# tinygrad: kernels as CUDA C++ for NVRTC, loaded by the driver, against NumPy.
# package: tinygrad
# pip: tinygrad numpy nvidia-cuda-nvrtc-cu12
# cuda: driver, NVRTC 12
# what: elementwise, matmul (f32, f16), softmax, convolution, sort, scan, gradients and an optimiser's steps, TinyJit, random numbers
# check: nvidia/cuda_nvrtc/lib/libnvrtc.so.12
# cpu: (NumPy)
import os

import numpy

import steps
from steps import step


def cuda():
    os.environ["DEV"] = "CUDA"
    import tinygrad
    assert tinygrad.Device.DEFAULT == "CUDA", tinygrad.Device.DEFAULT
    return tinygrad


def floats(numbers, *shape):
    return numbers.standard_normal(shape).astype("f4")


@step(rtol=1e-4, atol=1e-5)
def elementwise(tg, numbers):
    x = floats(numbers, 1000)
    if not tg:
        return numpy.exp(x) * numpy.sin(x), numpy.maximum(x, 0), 1 / (1 + numpy.exp(-x))
    t = tg.Tensor(x)
    return t.exp() * t.sin(), t.relu(), t.sigmoid()


@step(rtol=1e-4, atol=1e-4)
def matmul(tg, numbers):
    a, b = floats(numbers, 64, 128), floats(numbers, 128, 48)
    return tg.Tensor(a) @ tg.Tensor(b) if tg else a @ b


@step(rtol=1e-2, atol=3e-2)
def matmul_half(tg, numbers):
    a, b = floats(numbers, 64, 128), floats(numbers, 128, 64)
    return (tg.Tensor(a).half() @ tg.Tensor(b).half()).float() if tg else a @ b


@step(rtol=1e-4, atol=1e-5)
def softmax_norm(tg, numbers):
    x = floats(numbers, 32, 100)
    if not tg:
        e = numpy.exp(x - x.max(1, keepdims=True))
        return e / e.sum(1, keepdims=True), (x - x.mean(1, keepdims=True)) / numpy.sqrt(x.var(1, keepdims=True) + 1e-5)
    return tg.Tensor(x).softmax(), tg.Tensor(x).layernorm()


@step(rtol=1e-3, atol=1e-3)
def convolution(tg, numbers):
    x, w = floats(numbers, 2, 3, 12, 12), floats(numbers, 4, 3, 3, 3)
    if not tg:
        windows = numpy.lib.stride_tricks.sliding_window_view(x, (3, 3), (2, 3))
        return numpy.einsum("nchwij,ocij->nohw", windows, w)
    return tg.Tensor(x).conv2d(tg.Tensor(w))


@step(rtol=1e-4, atol=1e-4)
def sort_and_scan(tg, numbers):
    x = floats(numbers, 16, 64)
    return (tg.Tensor(x).sort(1)[0], tg.Tensor(x).cumsum(1)) if tg else (numpy.sort(x, 1), x.cumsum(1))


@step(rtol=1e-3, atol=1e-4)
def training(tg, numbers):
    x, y, w = floats(numbers, 64, 8), floats(numbers, 64, 1), floats(numbers, 8, 1)
    if not tg:
        for _ in range(5):
            w = w - 0.1 * (2 / 64) * x.T @ (x @ w - y)
        return w
    t = tg.Tensor(w)
    tx, ty = tg.Tensor(x), tg.Tensor(y)
    for _ in range(5):
        grad = ((tx @ t - ty) ** 2).mean().gradient(t)[0]
        t = (t - 0.1 * grad).realize()
    return t


@step(rtol=1e-4, atol=1e-5)
def jit(tg, numbers):
    inputs = [floats(numbers, 64) for _ in range(4)]
    if not tg:
        return tuple(numpy.tanh(x) * 2 + 1 for x in inputs)

    @tg.TinyJit
    def f(t):
        return (t.tanh() * 2 + 1).realize()
    return tuple(f(tg.Tensor(x).realize()).numpy() for x in inputs)


@step(atol=0.02)
def random_numbers(tg, numbers):
    return tg.Tensor.rand(20000).mean() if tg else numpy.float32(0.5)


steps.main({"cpu": lambda: None, "cuda": cuda})
