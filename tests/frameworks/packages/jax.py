# Runs JAX: compiled functions, XLA's kernels and the maths libraries behind it, against its own CPU back end.
# package: JAX
# pip: jax[cuda12] numpy
# cuda: 12
# what: matmul, elementwise and reductions under jit, convolution, linalg, FFT, random, grad, scan, sort, vmap, float64, a profile
# check: jax_plugins/xla_cuda12/xla_cuda_plugin.so
# cpu: own
# limit: 1800
# env: JAX_DEFAULT_MATMUL_PRECISION=highest XLA_PYTHON_CLIENT_PREALLOCATE=false TF_CPP_MIN_LOG_LEVEL=2
import glob
import gzip
import json
import os
import sys
import tempfile

if sys.argv[1] == "cpu":
    os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["JAX_ENABLE_X64"] = "1"

import jax
import jax.numpy as jnp
import numpy

import steps
from profiles import unmatched
from steps import step


def f32(numbers, *shape):
    return jnp.asarray(numbers.standard_normal(shape).astype("f4"))


@step
def elementwise(_, numbers):
    return jax.jit(lambda x: jnp.tanh(x) * 3 + jnp.where(x > 0, x, -x))(f32(numbers, 1000))


@step(rtol=1e-4, atol=1e-4)
def reductions(_, numbers):
    return jax.jit(lambda x: (x.sum(0), x.max(1), jnp.argmin(x, 0), jax.nn.softmax(x)))(f32(numbers, 60, 70))


@step(rtol=1e-3, atol=1e-3)
def matmul(_, numbers):
    a, b = f32(numbers, 48, 64), f32(numbers, 64, 32)
    return jax.jit(jnp.matmul)(a, b), jnp.einsum("ij,jk->ki", a, b)


@step(rtol=3e-2, atol=1e-1)
def matmul_half(_, numbers):
    a, b = f32(numbers, 32, 64), f32(numbers, 64, 32)
    return ((a.astype(jnp.bfloat16) @ b.astype(jnp.bfloat16)).astype("f4"),
            (a.astype("f2") @ b.astype("f2")).astype("f4"))


@step
def float64(_, numbers):
    x = jnp.asarray(numbers.standard_normal((20, 20)))
    return jnp.exp(x) @ x


@step(rtol=1e-3, atol=1e-4)
def gradient(_, numbers):
    w, x = f32(numbers, 16, 8), f32(numbers, 32, 16)
    return jax.jit(jax.grad(lambda w: jnp.mean(jax.nn.gelu(x @ w) ** 2)))(w)


@step
def scan(_, numbers):
    return jax.lax.scan(lambda c, x: (c * 0.5 + x, c), jnp.float32(0), f32(numbers, 50))


@step
def sort(_, numbers):
    x = f32(numbers, 777)
    return jnp.sort(x), jnp.argsort(x), jnp.cumsum(jnp.asarray(numbers.integers(0, 9, 500)))


@step
def gather_scatter(_, numbers):
    x, i = f32(numbers, 100), jnp.asarray(numbers.integers(0, 100, 30))
    return x[i], x.at[i].add(2.0).at[0].set(1.0)


@step
def random_bits(_, numbers):
    key = jax.random.key(3)
    return jax.random.uniform(key, (100,)), jax.random.normal(key, (100,)), jax.random.randint(key, (50,), 0, 99)


@step(rtol=1e-4, atol=1e-4)
def linalg(_, numbers):
    a = jnp.asarray(numbers.standard_normal((12, 12)))
    s = a @ a.T + 12 * jnp.eye(12)
    return jnp.linalg.cholesky(s), jnp.linalg.solve(s, a), jnp.linalg.eigvalsh(s)


@step(rtol=1e-3, atol=1e-3)
def fft(_, numbers):
    return jnp.fft.fft(f32(numbers, 4, 60))


@step
def vmap_while(_, numbers):
    def collatz(n):
        return jax.lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1),
                                                                  s[1] + 1), (n, 0))[1]
    return jax.jit(jax.vmap(collatz))(jnp.arange(1, 40))


@step(rtol=1e-3, atol=1e-3)
def convolution(_, numbers):
    return jax.lax.conv_general_dilated(f32(numbers, 2, 3, 12, 12), f32(numbers, 4, 3, 3, 3), (1, 1), "SAME")


@step
def profile(device, numbers):
    """JAX's profile of three runs, by CUPTI: each kernel belongs to a launch."""
    run = jax.jit(lambda a, b: jnp.tanh(a @ b).sum(0))
    a = f32(numbers, 64, 64)
    result = run(a, a).block_until_ready()
    if device == "gpu":
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder, create_perfetto_trace=True):
                for _ in range(3):
                    numpy.asarray(run(a, a))
            with gzip.open(glob.glob(folder + "/plugins/profile/*/*.trace.json.gz")[0]) as file:
                events = json.load(file)["traceEvents"]
        gpu = {e["pid"] for e in events if e.get("name") == "process_name" and "GPU" in e["args"]["name"]}
        known = [e for e in events if "correlation_id" in e.get("args", {})]
        of = [[(e["args"]["correlation_id"], e["ts"]) for e in known if (e["pid"] in gpu) == on] for on in (True, False)]
        count, wrong = unmatched(*of)
        assert count >= 6 and not wrong, f"{wrong} of {count} records belong to no call"
    return result


def start(platform):
    found = jax.devices()[0].platform
    assert found == platform, f"JAX took {found}"
    return found


steps.main({"cpu": lambda: start("cpu"), "cuda": lambda: start("gpu")})
