# Taichi: kernels of its own compiler, loaded as PTX by the driver, against the same kernels on its CPU back end.
# package: Taichi
# pip: taichi numpy<2
# cuda: driver
# what: fields, arrays, reductions, atomics, matrices, structs, sparse fields, automatic differentiation
# check: taichi/_lib/core/*.so
# cpu: own
import numpy
import taichi as ti

import steps
from steps import step


@step
def fill(arch, numbers):
    x = ti.field(ti.f32, 1000)

    @ti.kernel
    def f():
        for i in x:
            x[i] = i * 0.5 + ti.sin(i * 0.01)
    f()
    return x


@step
def sums(arch, numbers):
    total, top = ti.field(ti.i32, ()), ti.field(ti.i32, ())

    @ti.kernel
    def f(a: ti.types.ndarray()):
        for i in a:
            total[None] += a[i]
            ti.atomic_max(top[None], a[i])
    f(numbers.integers(0, 1000, 5000).astype("i4"))
    return total, top


@step(rtol=1e-4, atol=1e-4)
def matmul(arch, numbers):
    c = ti.field(ti.f32, (48, 48))

    @ti.kernel
    def f(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i, j in c:
            total = 0.0
            for k in range(48):
                total += a[i, k] * b[k, j]
            c[i, j] = total
    f(*(numbers.standard_normal((48, 48)).astype("f4") for _ in range(2)))
    return c


@step(rtol=1e-4, atol=1e-4)
def vectors(arch, numbers):
    m = ti.Matrix.field(3, 3, ti.f32, 64)
    s = ti.Vector.field(3, ti.f32, 64)

    @ti.kernel
    def f(a: ti.types.ndarray()):
        for i in m:
            for r, c in ti.static(ti.ndrange(3, 3)):
                m[i][r, c] = a[i, r, c]
            s[i] = m[i].inverse() @ ti.Vector([1.0, 2.0, 3.0])
    f((numbers.standard_normal((64, 3, 3)) + 4 * numpy.eye(3)).astype("f4"))
    return s


@step
def sparse_field(arch, numbers):
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 64).dense(ti.i, 16)
    block.place(x)
    count = ti.field(ti.i32, ())

    @ti.kernel
    def set_some():
        for i in range(64 * 16):
            if i % 37 == 0:
                x[i] = i

    @ti.kernel
    def f():
        for i in x:
            count[None] += 1 + x[i]
    set_some()
    f()
    return count


@step
def gradient(arch, numbers):
    x = ti.field(ti.f32, 32, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def f():
        for i in x:
            loss[None] += x[i] ** 3
    x.from_numpy(numbers.standard_normal(32).astype("f4"))
    with ti.ad.Tape(loss):
        f()
    return x.grad, loss


@step
def serial_loop(arch, numbers):
    x = ti.field(ti.i64, 50)

    @ti.kernel
    def f():
        ti.loop_config(serialize=True)
        for i in range(2, 50):
            x[i] = x[i - 1] + x[i - 2] + 1
    f()
    return x


@step(atol=0.03)
def random_numbers(arch, numbers):
    total = ti.field(ti.f64, ())

    @ti.kernel
    def f():
        for i in range(20000):
            total[None] += ti.random(ti.f64) / 20000
    f()
    return total


def start(arch):
    ti.init(arch=arch, log_level=ti.ERROR, random_seed=1)
    assert ti.cfg.arch == arch, f"Taichi took {ti.cfg.arch}"
    return arch


steps.main({"cpu": lambda: start(ti.cpu), "cuda": lambda: start(ti.cuda)})
