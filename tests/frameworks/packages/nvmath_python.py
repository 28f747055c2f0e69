# nvmath-python: NVIDIA's own Python over cuBLASLt and cuFFT, with arrays of CuPy, against NumPy.
# package: nvmath-python
# pip: nvmath-python[cu12] cupy-cuda12x numpy
# cuda: 12
# what: advanced matmul in five types, batches, vectors, alpha and beta, epilogs; a planned and tuned Matmul; FFTs of one to three dimensions, of complex and real numbers
# check: nvmath/bindings/*.so
# cpu: (NumPy)
import numpy

import steps
from steps import step

SHAPES = ((64, 32), (32, 48)), ((5, 64, 32), (5, 32, 48)), ((33, 17), (17, 9)), ((64,), (64,)), ((64, 32), (32,))
TYPES = {"f2": "f4", "f4": "f8", "f8": "f8", "c8": "c16", "c16": "c16"}


def drawn(numbers, shape, dtype):
    x = numbers.standard_normal(shape)
    return (x + 1j * numbers.standard_normal(shape) if dtype[0] == "c" else x).astype(dtype)


def products(kinds):
    def body(cp, numbers):
        pairs = [(drawn(numbers, a, t), drawn(numbers, b, t)) for t in kinds for a, b in SHAPES]
        if not cp:
            return tuple((a.astype(TYPES[a.dtype.str[1:]]) @ b).astype(a.dtype) for a, b in pairs)
        from nvmath.linalg.advanced import matmul
        return tuple(matmul(cp.asarray(a), cp.asarray(b)) for a, b in pairs)
    return body


@step(rtol=1e-2, atol=1e-2)
def matmul_f16(cp, numbers):
    return products(["f2"])(cp, numbers)


@step(rtol=1e-4, atol=1e-4)
def matmul(cp, numbers):
    return products(["f4", "f8", "c8", "c16"])(cp, numbers)


@step(rtol=1e-4, atol=1e-4)
def alpha_beta(cp, numbers):
    a, b, c = (drawn(numbers, s, "f4") for s in ((64, 32), (32, 48), (64, 48)))
    if not cp:
        return 0.5 * (a @ b) + 2 * c
    from nvmath.linalg.advanced import matmul as product
    return product(cp.asarray(a), cp.asarray(b), cp.asarray(c), alpha=0.5, beta=2.0)


def gelu(x):
    return x * 0.5 * (1 + numpy.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))


@step(rtol=1e-3, atol=1e-3)
def epilogs(cp, numbers):
    a, b, bias = (drawn(numbers, s, "f4") for s in ((64, 32), (32, 48), (64, 1)))
    r = a @ b
    wanted = {"RELU": numpy.maximum(r, 0), "BIAS": r + bias, "RELU_BIAS": numpy.maximum(r + bias, 0),
              "GELU": gelu(r), "GELU_BIAS": gelu(r + bias), "RELU_AUX": numpy.maximum(r, 0), "GELU_AUX": gelu(r)}
    if not cp:
        return tuple(wanted.values())
    from nvmath.linalg.advanced import MatmulEpilog, matmul as product
    results = []
    for name in wanted:
        inputs = {"bias": cp.asarray(bias)} if "BIAS" in name else {}
        out = product(cp.asarray(a), cp.asarray(b), epilog=MatmulEpilog[name], epilog_inputs=inputs)
        results.append(out[0] if "AUX" in name else out)
    return tuple(results)


@step(rtol=1e-4, atol=1e-4)
def planned(cp, numbers):
    a, b = drawn(numbers, (128, 64), "f4"), drawn(numbers, (64, 96), "f4")
    if not cp:
        return a @ b
    from nvmath.linalg.advanced import Matmul
    with Matmul(cp.asarray(a), cp.asarray(b)) as product:
        assert product.plan()
        product.autotune(iterations=2)
        return product.execute()


@step(rtol=1e-4, atol=1e-3)
def transforms(cp, numbers):
    cases = [(drawn(numbers, s, t), axes) for t in ("c8", "c16")
             for s, axes in (((64,), (0,)), ((5, 48), (1,)), ((8, 12, 10), (0, 1, 2)), ((7, 11, 13), (1, 2)))]
    if not cp:
        return tuple(f(x, axes=axes) for x, axes in cases for f in (numpy.fft.fftn, numpy.fft.ifftn))
    from nvmath import fft
    results = []
    for x, axes in cases:
        n = numpy.prod([x.shape[i] for i in axes])
        results += [fft.fft(cp.asarray(x), axes=axes), fft.ifft(cp.asarray(x), axes=axes) / n]
    return tuple(results)


@step(rtol=1e-4, atol=1e-3)
def real_transforms(cp, numbers):
    cases = [drawn(numbers, s, t) for t in ("f4", "f8") for s in ((6, 40), (3, 45), (128,))]
    if not cp:
        return tuple(numpy.fft.rfft(x) for x in cases) + tuple(cases)
    from nvmath import fft
    there = [fft.rfft(cp.asarray(x), axes=(-1,)) for x in cases]
    back = [fft.irfft(y, axes=(-1,), options={"last_axis_parity": "odd" if x.shape[-1] % 2 else "even"}) / x.shape[-1]
            for x, y in zip(cases, there)]
    return tuple(there) + tuple(back)


def cuda():
    import cupy
    return cupy


if __name__ == "__main__":
    steps.main({"cpu": lambda: None, "cuda": cuda})
