# Runs llama.cpp: operators of ggml, as test-backend-ops does, in the libraries that a wheel brings; CUDA against its CPU back end.
# package: llama.cpp (ggml)
# apt: trixie python3-numpy libgomp1 libstdc++6
# pip: --python-version 3.13 --only-binary=:all: llama-cpp-cffi
# cuda: 12.6
# what: matmul (f32, f16, q4_0, q8_0, q4_K), flash attention, softmax, norms, rope, activations, rows, sort, sums
# check: opt/pip/llama/_llama_cpp_cuda*.so
# cpu: own
# limit: 1200
# env: PYTHONPATH=/opt/pip:/opt/frameworks/lib GGML_CUDA_DISABLE_GRAPHS=1
import ctypes
import glob
import importlib.metadata
import os
import sys
from ctypes import c_bool, c_float, c_int, c_int64, c_size_t, c_void_p

import numpy

import steps
from steps import step

F32, F16, Q4_0, Q8_0, Q4_K, I32 = 0, 1, 2, 8, 12, 26


class Parameters(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("buffer", c_void_p), ("no_alloc", c_bool)]


class Ggml:
    """ggml's interface, and a back end of it."""

    def __init__(self, kind):
        folder = [p for p in sys.path if glob.glob(os.path.join(p, "llama", "_llama_cpp_*.so"))][0]
        self.lib = ctypes.CDLL(glob.glob(os.path.join(folder, "llama", f"_llama_cpp_{kind}*.so"))[0])
        self.lib.ggml_init.argtypes = [Parameters]
        self.backend = self.call("ggml_backend_cuda_init", c_int(0)) if kind == "cuda" else self.call("ggml_backend_cpu_init")
        assert self.backend, "ggml has no such back end"

    def call(self, name, *args, result=c_void_p):
        function = getattr(self.lib, name)
        function.restype = result
        return function(*[c_void_p(a) if isinstance(a, int) and a > 1 << 32 else a for a in args])

    def run(self, build):
        """What build(context, inputs) makes, computed: inputs is a function (array, type) -> tensor."""
        self.lib.ggml_init.restype = c_void_p
        context = self.lib.ggml_init(Parameters(16 << 20, None, True))
        given = []

        def put(array, kind=F32):
            shape = [c_int64(n) for n in reversed(array.shape)]
            t = self.call(f"ggml_new_tensor_{len(shape)}d", context, c_int(kind), *shape)
            given.append((t, array, kind))
            return t
        out = build(context, put)
        graph = self.call("ggml_new_graph", context)
        self.call("ggml_build_forward_expand", graph, out)
        buffer = self.call("ggml_backend_alloc_ctx_tensors", context, self.backend)
        for t, array, kind in given:
            size = self.call("ggml_nbytes", t, result=c_size_t)
            data = numpy.zeros(size, "u1")
            if kind in (F32, I32):
                data[:] = numpy.ascontiguousarray(array, "f4" if kind == F32 else "i4").view("u1").reshape(-1)
            elif kind == F16:
                data[:] = numpy.ascontiguousarray(array, "f2").view("u1").reshape(-1)
            else:
                rows = numpy.ascontiguousarray(array, "f4")
                self.call("ggml_quantize_chunk", c_int(kind), rows.ctypes.data, data.ctypes.data, c_int64(0),
                          c_int64(rows.size // rows.shape[-1]), c_int64(rows.shape[-1]), None, result=c_size_t)
            self.call("ggml_backend_tensor_set", t, data.ctypes.data, c_size_t(0), c_size_t(size), result=None)
        status = self.call("ggml_backend_graph_compute", self.backend, graph, result=c_int)
        assert status == 0, f"ggml_backend_graph_compute: {status}"
        got = numpy.zeros(self.call("ggml_nbytes", out, result=c_size_t) // 4, "f4")
        self.call("ggml_backend_tensor_get", out, got.ctypes.data, c_size_t(0), c_size_t(got.nbytes), result=None)
        self.call("ggml_backend_buffer_free", buffer, result=None)
        self.call("ggml_free", context, result=None)
        return got


def one(name, *shape, more=()):
    """A step of one operator of one tensor."""
    def run(g, numbers):
        x = numbers.standard_normal(shape).astype("f4")
        return g.run(lambda c, put: g.call("ggml_" + name, c, put(x), *more))
    run.__name__ = name
    step(rtol=1e-3, atol=1e-3)(run)


for operator in ("silu", "gelu", "relu", "tanh", "sigmoid", "sqr", "neg", "exp"):
    one(operator, 7, 64)
one("soft_max", 9, 100)
one("sum_rows", 9, 100)
one("scale", 9, 100, more=(c_float(2.5),))
one("rms_norm", 5, 128, more=(c_float(1e-5),))
one("norm", 5, 128, more=(c_float(1e-5),))
one("clamp", 5, 128, more=(c_float(-0.5), c_float(0.5)))


def two(name, a, b):
    def run(g, numbers):
        x, y = (numbers.standard_normal(s).astype("f4") for s in (a, b))
        return g.run(lambda c, put: g.call("ggml_" + name, c, put(x), put(y)))
    run.__name__ = name
    step(rtol=1e-4, atol=1e-4)(run)


two("add", (6, 40), (6, 40))
two("mul", (6, 40), (1, 40))
two("div", (6, 40), (6, 40))


def matmul(name, kind, columns):
    def run(g, numbers):
        w, x = numbers.standard_normal((48, 256)).astype("f4"), numbers.standard_normal((columns, 256)).astype("f4")
        return g.run(lambda c, put: g.call("ggml_mul_mat", c, put(w, kind), put(x))) / 16
    run.__name__ = f"mul_mat_{name}_{columns}"
    step(rtol=2e-2, atol=2e-2 if kind in (F32, F16) else 8e-2)(run)  # the back ends round the other operand to 8 bits in their own ways


for name_, kind_ in (("f32", F32), ("f16", F16), ("q4_0", Q4_0), ("q8_0", Q8_0), ("q4_K", Q4_K)):
    matmul(name_, kind_, 1)
    matmul(name_, kind_, 40)


@step
def get_rows(g, numbers):
    x, i = numbers.standard_normal((20, 32)).astype("f4"), numbers.integers(0, 20, 7)
    return g.run(lambda c, put: g.call("ggml_get_rows", c, put(x), put(i, I32)))


@step(rtol=1e-3, atol=1e-3)
def rope(g, numbers):
    x, i = numbers.standard_normal((5, 4, 32)).astype("f4"), numbers.integers(0, 50, 5)
    return g.run(lambda c, put: g.call("ggml_rope", c, put(x), put(i, I32), c_int(32), c_int(0)))


def attention(size, rows):
    def run(g, numbers):
        q = numbers.standard_normal((1, 4, rows, size)).astype("f4")
        k, v = (numbers.standard_normal((1, 4, 256, size)).astype("f4") for _ in range(2))
        return g.run(lambda c, put: g.call("ggml_flash_attn_ext", c, put(q), put(k, F16), put(v, F16), None,
                                           c_float(size ** -0.5), c_float(0), c_float(0)))
    run.__name__ = f"flash_attention_{size}_{rows}"
    step(rtol=1e-2, atol=1e-2)(run)


for size_ in (64, 128):
    for rows_ in (1, 3, 35):
        attention(size_, rows_)

print(f"info version llama-cpp-cffi {importlib.metadata.version('llama-cpp-cffi')}", flush=True)
steps.main({"cpu": lambda: Ggml("cpu"), "cuda": lambda: Ggml("cuda")})
