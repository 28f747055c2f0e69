# cuPyNumeric: NumPy's functions over Legate, Legion and Realm, against NumPy.
# package: cuPyNumeric (Legate)
# pip: nvidia-cupynumeric
# cuda: 13
# what: products, sums, sort, FFT, solve, QR, prefix sums, indexing, einsum
# check: cupynumeric/lib64/libcupynumeric.so
# env: LEGATE_AUTO_CONFIG=0 CUDA_LAUNCH_BLOCKING=1
# cpu: (NumPy)
# note: CUDA_LAUNCH_BLOCKING=1, as it frees what its kernels still use; complex products and solves are cuTENSOR's, without PTX
import os

import numpy

import steps
from steps import step

os.environ.setdefault("LEGATE_CONFIG", "--gpus 1 --cpus 1 --utility 1 --fbmem 1500 --sysmem 1000 --zcmem 64")


def library(device):
    if device == "cpu":
        return numpy
    import cupynumeric
    return cupynumeric


def operation(function):
    """A step of one array function: of NumPy there, of cuPyNumeric here."""
    def run(device, numbers):
        np = library(device)
        result = function(np, *(np.array(numbers.standard_normal(shape)) for shape in ((60, 60), (60, 40), (500,))))
        return tuple(numpy.asarray(r) for r in result)
    run.__name__ = function.__name__
    step(rtol=1e-9, atol=1e-9)(run)


@operation
def products(np, a, b, v):
    return a @ b, np.dot(v, v), np.outer(v[:20], v[20:50])


@operation
def sums(np, a, b, v):
    return a.sum(axis=0), b.mean(axis=1), v.var(), np.cumsum(a, axis=1), np.prod(v[:9])


@operation
def order(np, a, b, v):
    return np.sort(a, axis=0), np.argsort(v), np.argmax(b, axis=1), np.unique(np.floor(v * 2))


@operation
def transforms(np, a, b, v):
    return np.fft.fft2(a), np.fft.rfft(v), np.convolve(v, v[:9], mode="same")


@operation
def systems(np, a, b, v):
    q, r = np.linalg.qr(b)
    return np.linalg.solve(a, b), q @ r, np.linalg.svd(b, full_matrices=False)[1]


@operation
def indices(np, a, b, v):
    return a[a > 0.5], v[7:90], np.where(b > 0, b, 0), a[np.array([3, 1, 4, 1, 5])], np.bincount(np.abs(v * 3).astype(int))


@operation
def functions(np, a, b, v):
    return np.exp(a) + np.sin(a), np.arctan2(b, b * b), np.maximum(v, 0) ** 1.5, np.einsum("ij,jk->ik", a, b)


steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
