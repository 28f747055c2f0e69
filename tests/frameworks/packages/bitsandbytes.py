# Runs bitsandbytes: its CUDA library's quantisation, by its C interface: PyPI's PyTorch has machine code only.
# package: bitsandbytes
# pip: --no-deps bitsandbytes numpy
# cuda: 12.8
# what: blockwise quantisation and dequantisation (8 bits, nf4) by the C interface
# check: bitsandbytes/libbitsandbytes_cuda128.so
# cpu: (NumPy)
import ctypes
import glob
import os
import sys

import numpy

import steps
from steps import step

NF4 = numpy.array([-1.0, -0.6961928, -0.52507305, -0.39491749, -0.28444138, -0.18477343, -0.09105004, 0.0, 0.0795803,
                   0.1609302, 0.2461123, 0.33791524, 0.44070983, 0.562617, 0.72295684, 1.0], "f4")
CODE = numpy.sort(numpy.concatenate([numpy.linspace(-1, 1, 255), [0.001]])).astype("f4")


class Library:
    def __init__(self):
        self.cudart = ctypes.CDLL("libcudart.so.12")
        folder = [p for p in sys.path if os.path.isdir(os.path.join(p, "bitsandbytes"))][0]
        self.lib = ctypes.CDLL(glob.glob(os.path.join(folder, "bitsandbytes", "libbitsandbytes_cuda128.so"))[0])

    def put(self, x):
        p = ctypes.c_void_p()
        assert self.cudart.cudaMalloc(ctypes.byref(p), ctypes.c_size_t(x.nbytes)) == 0
        assert self.cudart.cudaMemcpy(p, ctypes.c_void_p(x.ctypes.data), ctypes.c_size_t(x.nbytes), 1) == 0
        return p

    def get(self, p, like):
        x = numpy.empty_like(like)
        assert self.cudart.cudaMemcpy(ctypes.c_void_p(x.ctypes.data), p, ctypes.c_size_t(x.nbytes), 2) == 0
        return x


def round_trip(library, numbers, kind, code):
    """Values after quantisation in blocks of 64 and back: the largest error per block, and the blocks' maxima."""
    x = numbers.standard_normal(4096).astype("f4")
    largest = numpy.abs(x.reshape(-1, 64)).max(axis=1)
    if not library:
        near = code[numpy.abs(x.reshape(-1, 64, 1) / largest[:, None, None] - code).argmin(axis=2)] * largest[:, None]
        return near.reshape(-1), largest
    table, a = library.put(CODE), library.put(x)
    maxima, out, back = (library.put(numpy.zeros(n, t)) for n, t in ((64, "f4"), (4096, "u1"), (4096, "f4")))
    name = f"blockwise_fp32{kind}"
    getattr(library.lib, "cquantize_" + name)(table, a, maxima, out, 64, 4096)
    getattr(library.lib, "cdequantize_" + name)(table, out, maxima, back, 64, 4096, None)
    assert library.cudart.cudaDeviceSynchronize() == 0
    return library.get(back, x), library.get(maxima, largest)


@step(rtol=1e-3, atol=0.03)
def eight_bits(library, numbers):
    return round_trip(library, numbers, "", CODE)


@step(rtol=1e-3, atol=1e-3)
def nf4(library, numbers):
    return round_trip(library, numbers, "_nf4", NF4)


steps.main({"cpu": lambda: None, "cuda": Library})
