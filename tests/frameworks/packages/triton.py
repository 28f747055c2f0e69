# Runs Triton: kernels of its tutorials on tensors of Debian's PyTorch, against the CPU's. It runs ptxas, which is cumu's.
# package: Triton
# apt: trixie python3-torch-cuda python3-numpy libnvrtc-builtins12.4 libblas3 liblapack3 python3-setuptools python3-dev g++
# empty: nvidia-cudnn=9.99 libcuda1=999
# pip: --python-version 3.13 --only-binary=:all: triton==3.2.0 nvidia-cudnn-cu12==9.1.0.70
# cuda: 12.4
# what: the tutorials' vector addition, softmax, matmul (f16), dropout, layer norm, libdevice; atomics, scan, sort, device_print
# check: opt/pip/triton/_C/libtriton.so usr/lib/x86_64-linux-gnu/libtorch_cuda.so.2.6.0
# cpu: (PyTorch's CPU back end)
# env: PYTHONPATH=/opt/pip:/opt/frameworks/lib LD_LIBRARY_PATH=/opt/pip/nvidia/cudnn/lib:/usr/lib/python3/dist-packages/torch/lib
# limit: 1500
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

import steps
from steps import step


def tensor(device, numbers, *shape):
    return torch.tensor(numbers.standard_normal(shape), dtype=torch.float32).to(device)


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@step
def vector_addition(device, numbers):
    x, y = tensor(device, numbers, 9001), tensor(device, numbers, 9001)
    if device == "cpu":
        return x + y
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(9001, 1024),)](x, y, out, 9001, BLOCK=1024)
    return out


@triton.jit
def softmax_kernel(x, out, columns, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * columns + i, mask=i < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * columns + i, e / tl.sum(e, axis=0), mask=i < columns)


@step(rtol=1e-4)
def softmax(device, numbers):
    x = tensor(device, numbers, 37, 181)
    if device == "cpu":
        return torch.softmax(x, 1)
    out = torch.empty_like(x)
    softmax_kernel[(37,)](x, out, 181, BLOCK=256)
    return out


@triton.jit
def matmul_kernel(a, b, c, K, N: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m, n = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        kk = k + tl.arange(0, BK)
        total = tl.dot(tl.load(a + m[:, None] * K + kk[None, :]), tl.load(b + kk[:, None] * N + n[None, :]), total)
    tl.store(c + m[:, None] * N + n[None, :], total)


@step(rtol=2e-2, atol=2e-2)
def matmul(device, numbers):
    a, b = tensor(device, numbers, 64, 96).half(), tensor(device, numbers, 96, 64).half()
    if device == "cpu":
        return a.float() @ b.float()
    c = torch.empty((64, 64), device=device)
    matmul_kernel[(2, 2)](a, b, c, 96, N=64, BM=32, BN=32, BK=32)
    return c


@triton.jit
def dropout_kernel(x, out, n, seed, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = tl.rand(seed, i) > 0.5
    tl.store(out + i, tl.where(keep, tl.load(x + i, mask=i < n) * 2, 0.0), mask=i < n)


@step(atol=0.05)
def dropout(device, numbers):
    x = torch.ones(8000, device=device)
    if device == "cpu":
        return x.mean()
    out = torch.empty_like(x)
    dropout_kernel[(8,)](x, out, 8000, 123, BLOCK=1024)
    return out.mean()


@triton.jit
def norm_kernel(x, w, out, N, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * N + i, mask=i < N, other=0.0)
    mean = tl.sum(v, axis=0) / N
    d = tl.where(i < N, v - mean, 0.0)
    y = d / tl.sqrt(tl.sum(d * d, axis=0) / N + 1e-5)
    tl.store(out + row * N + i, y * tl.load(w + i, mask=i < N), mask=i < N)


@step(rtol=1e-4, atol=1e-4)
def layer_norm(device, numbers):
    x, w = tensor(device, numbers, 20, 100), tensor(device, numbers, 100)
    if device == "cpu":
        return torch.nn.functional.layer_norm(x, (100,), w)
    out = torch.empty_like(x)
    norm_kernel[(20,)](x, w, out, 100, BLOCK=128)
    return out


@triton.jit
def libdevice_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, libdevice.asin(tl.load(x + i, mask=i < n)), mask=i < n)


@step(rtol=1e-4, atol=1e-5)
def library(device, numbers):
    x = torch.tensor(numbers.uniform(-1, 1, 500), dtype=torch.float32).to(device)
    if device == "cpu":
        return torch.asin(x)
    out = torch.empty_like(x)
    libdevice_kernel[(1,)](x, out, 500, BLOCK=512)
    return out


@triton.jit
def histogram_kernel(x, bins, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(bins + tl.load(x + i, mask=i < n, other=0), 1, mask=i < n)


@step
def atomics(device, numbers):
    x = torch.tensor(numbers.integers(0, 16, 3000)).to(device)
    if device == "cpu":
        return torch.bincount(x, minlength=16).int()
    bins = torch.zeros(16, dtype=torch.int32, device=device)
    histogram_kernel[(12,)](x, bins, 3000, BLOCK=256)
    return bins


@triton.jit
def scan_kernel(x, sums, ordered, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(sums + i, tl.cumsum(v, 0))
    tl.store(ordered + i, tl.sort(v))


@step
def scan_and_sort(device, numbers):
    x = torch.tensor(numbers.integers(-99, 99, 256), dtype=torch.int32).to(device)
    if device == "cpu":
        return torch.cumsum(x, 0, dtype=torch.int32), torch.sort(x)[0]
    sums, ordered = torch.empty_like(x), torch.empty_like(x)
    scan_kernel[(1,)](x, sums, ordered, BLOCK=256)
    return sums, ordered


@triton.jit
def print_kernel(x):
    tl.device_print("value", tl.load(x))


@step
def printing(device, numbers):
    x = torch.ones(1, dtype=torch.int32, device=device)
    if device != "cpu":
        print_kernel[(1,)](x)
        torch.cuda.synchronize()
    return x


def cuda():
    assert torch.cuda.is_available(), "PyTorch finds no CUDA device"
    return "cuda"


print(f"info version {triton.__version__}", flush=True)
steps.main({"cpu": lambda: "cpu", "cuda": cuda})
