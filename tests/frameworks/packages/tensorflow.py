# Runs TensorFlow: eager operations, a traced function, gradients and training, against its own CPU back end.
# package: TensorFlow
# pip: tensorflow[and-cuda] numpy
# cuda: 12
# what: elementwise, reductions, matmul, linalg, FFT, sort, gather, gradients, tf.function, XLA, convolution, random
# check: tensorflow/libtensorflow_cc.so.2 tensorflow/libtensorflow_framework.so.2
# cpu: own
# limit: 1800
# env: TF_CPP_MIN_LOG_LEVEL=2 TF_FORCE_GPU_ALLOW_GROWTH=true TF_ENABLE_ONEDNN_OPTS=0
import os
import sys

if sys.argv[1] == "cpu":
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import tensorflow as tf

import steps
from steps import step


def f32(numbers, *shape):
    return tf.constant(numbers.standard_normal(shape).astype("f4"))


@step
def elementwise(_, numbers):
    x = f32(numbers, 1000)
    return tf.tanh(x) * 3 + tf.where(x > 0, x, -x), tf.math.erf(x), tf.cast(x * 10, tf.int32)


@step(rtol=1e-4, atol=1e-4)
def reductions(_, numbers):
    x = f32(numbers, 60, 70)
    return tf.reduce_sum(x, 0), tf.reduce_max(x, 1), tf.argmin(x, 0), tf.nn.softmax(x), tf.cumsum(x, 1)


@step(rtol=1e-3, atol=1e-3)
def matmul(_, numbers):
    return tf.matmul(f32(numbers, 40, 50), f32(numbers, 50, 30)), tf.einsum("bij,bjk->bik", f32(numbers, 3, 8, 9),
                                                                            f32(numbers, 3, 9, 7))


@step(rtol=1e-3, atol=1e-3)
def linalg(_, numbers):
    a = f32(numbers, 12, 12)
    s = a @ tf.transpose(a) + 12 * tf.eye(12)
    return tf.linalg.cholesky(s), tf.linalg.solve(s, a), tf.linalg.eigvalsh(s)


@step(rtol=1e-3, atol=1e-3)
def fft(_, numbers):
    return tf.signal.fft(tf.cast(f32(numbers, 4, 60), tf.complex64))


@step
def sorting(_, numbers):
    x = f32(numbers, 500)
    return tf.sort(x), tf.math.top_k(x, 9)[0], tf.gather(x, tf.constant(numbers.integers(0, 500, 40)))


@step(rtol=1e-3, atol=1e-4)
def gradient(_, numbers):
    w, x = tf.Variable(f32(numbers, 16, 8)), f32(numbers, 32, 16)
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.gelu(x @ w) ** 2)
    return tape.gradient(loss, w), loss


@step(rtol=1e-4, atol=1e-4)
def traced(_, numbers):
    @tf.function
    def f(x):
        for _ in tf.range(3):
            x = tf.sin(x) + 1
        return x
    return f(f32(numbers, 200))


@step(rtol=1e-4, atol=1e-4)
def compiled(_, numbers):
    return tf.function(lambda x: tf.reduce_sum(tf.exp(x) * 2, 1), jit_compile=True)(f32(numbers, 30, 40))


@step
def stateless_random(_, numbers):
    return tf.random.stateless_uniform((100,), (1, 2)), tf.random.stateless_normal((100,), (1, 2))


@step(rtol=1e-3, atol=1e-3)
def convolution(_, numbers):
    return tf.nn.conv2d(f32(numbers, 2, 12, 12, 3), f32(numbers, 3, 3, 3, 4), 1, "SAME")


def start(kind):
    found = tf.config.list_physical_devices(kind)
    assert found, f"TensorFlow finds no {kind}"
    return kind


steps.main({"cpu": lambda: start("CPU"), "cuda": lambda: start("GPU")})
