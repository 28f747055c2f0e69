# Runs torch.compile: functions and models through Inductor and Triton on Debian's PyTorch, against its eager CPU back end.
# package: torch.compile
# apt: trixie python3-torch-cuda python3-numpy libnvrtc-builtins12.4 libblas3 liblapack3 python3-setuptools python3-dev g++
# empty: nvidia-cudnn=9.99 libcuda1=999
# pip: --python-version 3.13 --only-binary=:all: triton==3.2.0 nvidia-cudnn-cu12==9.1.0.70
# cuda: 12.4
# what: pointwise fusion, reductions, softmax, matmul with epilogue, a training step, reduce-overhead (graphs), dynamic shapes
# check: opt/pip/triton/_C/libtriton.so usr/lib/x86_64-linux-gnu/libtorch_cuda.so.2.6.0
# cpu: (eager, on its CPU back end)
# env: PYTHONPATH=/opt/pip:/opt/frameworks/lib LD_LIBRARY_PATH=/opt/pip/nvidia/cudnn/lib:/usr/lib/python3/dist-packages/torch/lib TORCHINDUCTOR_COMPILE_THREADS=1
# limit: 1500
import torch

import steps
from steps import step

torch.backends.cudnn.enabled = False


def tensor(device, numbers, *shape):
    return torch.tensor(numbers.standard_normal(shape), dtype=torch.float32).to(device)


def compiled(device, function, **more):
    return function if device == "cpu" else torch.compile(function, **more)


@step(rtol=1e-4, atol=1e-5)
def pointwise(device, numbers):
    return compiled(device, lambda x: torch.sin(x) * torch.exp(-x * x) + torch.relu(x))(tensor(device, numbers, 3000))


@step(rtol=1e-4, atol=1e-4)
def reductions(device, numbers):
    return compiled(device, lambda x: (x.sum(1), x.amax(0), x.var(1), torch.softmax(x, 1)))(tensor(device, numbers, 40, 90))


@step(rtol=1e-3, atol=1e-3)
def matmul(device, numbers):
    return compiled(device, lambda a, b: torch.nn.functional.gelu(a @ b) + 1)(tensor(device, numbers, 40, 50),
                                                                               tensor(device, numbers, 50, 30))


@step(rtol=1e-3, atol=1e-4)
def training(device, numbers):
    layers = torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.GELU(), torch.nn.LayerNorm(30), torch.nn.Linear(30, 5))
    with torch.no_grad():
        for p in layers.parameters():
            p.copy_(torch.tensor(numbers.standard_normal(tuple(p.shape)) * 0.2))
    layers.to(device)
    run, o, losses = compiled(device, layers), torch.optim.AdamW(layers.parameters(), lr=0.01), []
    x = tensor(device, numbers, 16, 20)
    for _ in range(3):
        o.zero_grad()
        loss = run(x).square().mean()
        loss.backward()
        o.step()
        losses.append(loss.item())
    return losses


@step(rtol=1e-4, atol=1e-4)
def reduce_overhead(device, numbers):
    f = compiled(device, lambda x: torch.tanh(x) * 2 + x.mean(), mode="reduce-overhead")
    x = tensor(device, numbers, 500)
    for _ in range(3):
        y = f(x)
    return y.clone()


@step(rtol=1e-4, atol=1e-4)
def dynamic_shapes(device, numbers):
    f = compiled(device, lambda x: (x * 2).cumsum(0), dynamic=True)
    return tuple(f(tensor(device, numbers, n)) for n in (33, 57))


def cuda():
    assert torch.cuda.is_available(), "PyTorch finds no CUDA device"
    return "cuda"


if __name__ == "__main__":
    steps.main({"cpu": lambda: "cpu", "cuda": cuda})
