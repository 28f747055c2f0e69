# Dr.Jit: a just-in-time compiler that writes PTX, loaded by the driver, against NumPy.
# package: Dr.Jit
# pip: drjit numpy
# cuda: driver
# what: elementwise, reductions, prefix sums, scatter and gather, compress, symbolic loops, calls through a table, automatic differentiation, float64, random numbers
# check: drjit/*.so*
# cpu: (NumPy)
import numpy

import steps
from steps import step


def cuda():
    import drjit
    import drjit.cuda
    import drjit.cuda.ad
    return drjit


@step(atol=1e-5)
def elementwise(dr, numbers):
    x = numbers.uniform(0, 10, 1000).astype("f4")
    if not dr:
        return numpy.sin(x) * numpy.exp(-x) + numpy.sqrt(x), numpy.where(x > 5, x // 2, -x)
    v = dr.cuda.Float(x)
    return dr.sin(v) * dr.exp(-v) + dr.sqrt(v), dr.select(v > 5, dr.floor(v / 2), -v)


@step
def reductions(dr, numbers):
    x = numbers.integers(0, 1000, 5000).astype("u4")
    if not dr:
        return x.sum(), x.max(), x.min(), numpy.cumsum(x), (x > 998).any()
    v = dr.cuda.UInt(x)
    return dr.sum(v)[0], dr.max(v)[0], dr.min(v)[0], dr.cumsum(v), dr.any(v > 998)[0]


@step
def scatter_gather(dr, numbers):
    x, at = numbers.integers(0, 100, 4000).astype("u4"), numbers.integers(0, 64, 4000).astype("u4")
    if not dr:
        return numpy.bincount(at, x, 64).astype("u4"), x[at], numpy.flatnonzero(x == 7)
    v, i, to = dr.cuda.UInt(x), dr.cuda.UInt(at), dr.zeros(dr.cuda.UInt, 64)
    dr.scatter_reduce(dr.ReduceOp.Add, to, v, i)
    return to, dr.gather(dr.cuda.UInt, v, i), dr.compress(v == 7)


@step
def symbolic_loop(dr, numbers):
    n = numbers.integers(1, 200, 300).astype("u4")
    if not dr:
        def length(k):
            steps_ = 0
            while k > 1:
                k, steps_ = (k // 2 if k % 2 == 0 else 3 * k + 1), steps_ + 1
            return steps_
        return numpy.array([length(int(k)) for k in n], "u4")
    u = dr.cuda.UInt
    return dr.while_loop((u(n), u(0)), lambda k, s: k > 1,
                         lambda k, s: (dr.select((k & 1) == 0, k >> 1, 3 * k + 1), s + 1))[1]


@step(atol=1e-5)
def calls(dr, numbers):
    x, which = numbers.uniform(-1, 1, 500).astype("f4"), numbers.integers(0, 3, 500).astype("u4")
    if not dr:
        return numpy.choose(which, [x + 1, x * x, -x])
    return dr.switch(dr.cuda.UInt(which), [lambda v: v + 1, lambda v: v * v, lambda v: -v], dr.cuda.Float(x))


@step(rtol=1e-4, atol=1e-4)
def gradients(dr, numbers):
    x = numbers.uniform(-2, 2, 200).astype("f4")
    if not dr:
        return 2 * x * numpy.sin(x) + x * x * numpy.cos(x)
    v = dr.cuda.ad.Float(x)
    dr.enable_grad(v)
    dr.backward(dr.sum(v * v * dr.sin(v)))
    return dr.grad(v)


@step(rtol=1e-12, atol=1e-12)
def double(dr, numbers):
    x = numbers.uniform(0.1, 3, 500)
    if not dr:
        return numpy.exp(x), numpy.log(x) + numpy.cos(x), x ** 1.5
    v = dr.cuda.Float64(x)
    return dr.exp(v), dr.log(v) + dr.cos(v), v ** 1.5


@step(rtol=1e-4, atol=1e-4)
def matrices(dr, numbers):
    a, b = (numbers.standard_normal((3, 3, 64)).astype("f4") for _ in range(2))
    if not dr:
        return numpy.einsum("ijn,jkn->ikn", a, b)

    def matrix(x):
        return dr.cuda.Matrix3f(*[dr.cuda.Float(x[r, c]) for r in range(3) for c in range(3)])
    return matrix(a) @ matrix(b)


@step(atol=0.02)
def random_numbers(dr, numbers):
    if not dr:
        return numpy.float32(0.5)
    rng = dr.cuda.PCG32(100000)
    return dr.mean(rng.next_float32())[0]


steps.main({"cpu": lambda: None, "cuda": cuda})
