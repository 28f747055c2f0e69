# KeOps: reductions over matrices that are never formed, whose CUDA source it writes and NVRTC compiles, beside its C++.
# package: KeOps
# pip: pykeops numpy nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12
# cuda: driver
# what: LazyTensor sums, minima and their places, k least, log-sum-exp, a formula with a gradient, a batch
# cpu: own
import numpy

import steps
from steps import step


def lazy(*arrays):
    """Points along the rows (first) and along the columns (the others)."""
    from pykeops.numpy import LazyTensor
    return [LazyTensor(a[:, None, :] if i == 0 else a[None, :, :]) for i, a in enumerate(arrays)]


def points(numbers, n, m, width=3):
    return numbers.standard_normal((n, width)).astype("f4"), numbers.standard_normal((m, width)).astype("f4")


@step(rtol=1e-4, atol=1e-4)
def gaussian_sum(backend, numbers):
    x, y = points(numbers, 500, 700)
    b = numbers.standard_normal((700, 2)).astype("f4")
    i, j, v = lazy(x, y, b)
    return ((-((i - j) ** 2).sum(-1) / 2).exp() * v).sum(1, backend=backend)


@step
def nearest(backend, numbers):
    i, j = lazy(*points(numbers, 300, 1000))
    distance = ((i - j) ** 2).sum(-1)
    return distance.min(1, backend=backend), distance.argmin(1, backend=backend), distance.argKmin(
        5, dim=1, backend=backend)


@step(rtol=1e-4, atol=1e-4)
def log_sum_exp(backend, numbers):
    i, j = lazy(*points(numbers, 400, 300, 7))
    return (i | j).logsumexp(1, backend=backend), (i - j).abs().sum(-1).sum(0, backend=backend)


@step(rtol=1e-10, atol=1e-10)
def float64(backend, numbers):
    x, y = (a.astype("f8") for a in points(numbers, 200, 300))
    i, j = lazy(x, y)
    return (1 / (1 + ((i - j) ** 2).sum(-1)).sqrt()).sum(1, backend=backend)


@step(rtol=1e-4, atol=1e-4)
def gradient(backend, numbers):
    from pykeops.numpy import Genred
    x, y = points(numbers, 300, 400)
    b, e = numbers.standard_normal((400, 1)).astype("f4"), numbers.standard_normal((300, 1)).astype("f4")
    f = Genred("Grad(Exp(-SqDist(x,y))*b, x, e)", ["x = Vi(3)", "y = Vj(3)", "b = Vj(1)", "e = Vi(1)"], axis=1)
    return f(x, y, b, e, backend=backend)


@step(rtol=1e-4, atol=1e-4)
def batch(backend, numbers):
    from pykeops.numpy import LazyTensor
    x, y = (numbers.standard_normal((4, n, 3)).astype("f4") for n in (90, 110))
    i, j = LazyTensor(x[:, :, None, :]), LazyTensor(y[:, None, :, :])
    return (-((i - j) ** 2).sum(-1)).exp().sum(2, backend=backend)


def cuda():
    import pykeops
    assert pykeops.config.gpu_available, "KeOps finds no GPU"
    return "GPU"


if __name__ == "__main__":
    steps.main({"cpu": lambda: "CPU", "cuda": cuda})
