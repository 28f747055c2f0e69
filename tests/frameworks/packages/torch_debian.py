# Runs PyTorch of Debian: the stock CUDA build with PTX in all its modules, against its own CPU back end.
# package: PyTorch (Debian trixie)
# apt: trixie python3-torch-cuda python3-numpy libnvrtc-builtins12.4 libblas3 liblapack3 python3-setuptools
# empty: nvidia-cudnn=9.99 libcuda1=999
# pip: nvidia-cudnn-cu12==9.1.0.70
# cuda: 12.4
# what: autograd, convolution, attention, LSTM, AMP, optimisers, streams, graphs, jiterator; DDP and FSDP on 2 ranks. cuDNN off
# check: usr/lib/x86_64-linux-gnu/libtorch_cuda.so*
# cpu: own
# env: CUMU_COMPUTE_CAPABILITY=9.0 CUMU_HOST_DEVICES=2 LD_LIBRARY_PATH=/opt/pip/nvidia/cudnn/lib:/usr/lib/python3/dist-packages/torch/lib
# limit: 2400
import os
import tempfile

import numpy
import torch
import torch.nn as nn
import torch.nn.functional as F

import steps
from steps import step

torch.backends.cudnn.enabled = False


def tensor(device, numbers, *shape, grad=False):
    return torch.tensor(numbers.standard_normal(shape), dtype=torch.float32).to(device).requires_grad_(grad)


def model(layers, numbers):
    """The model with weights that are the same on every device."""
    with torch.no_grad():
        for p in layers.parameters():
            p.copy_(torch.tensor(numbers.standard_normal(tuple(p.shape)) * 0.2))
    return layers


def train(device, layers, numbers, x, optimiser=torch.optim.AdamW, rounds=3):
    layers = model(layers, numbers).to(device)
    o = optimiser(layers.parameters(), lr=0.01)
    losses = []
    for _ in range(rounds):
        o.zero_grad()
        loss = layers(x).square().mean()
        loss.backward()
        o.step()
        losses.append(loss.item())
    return losses, [p for p in layers.parameters()][0]


@step(rtol=1e-3, atol=1e-4)
def linear_layers(device, numbers):
    return train(device, nn.Sequential(nn.Linear(20, 30), nn.GELU(), nn.LayerNorm(30), nn.Linear(30, 5)), numbers,
                 tensor(device, numbers, 16, 20))


@step(rtol=1e-3, atol=1e-4)
def convolution(device, numbers):
    return train(device, nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                                       nn.Conv2d(8, 4, 3, groups=2)), numbers, tensor(device, numbers, 4, 3, 16, 16),
                 torch.optim.SGD)


@step(rtol=1e-3, atol=1e-4)
def lstm(device, numbers):
    layers = model(nn.LSTM(6, 8, 2), numbers).to(device)
    out, (h, c) = layers(tensor(device, numbers, 5, 3, 6))
    return out, h, c


@step(rtol=1e-3, atol=1e-4)
def attention(device, numbers):
    q, k, v = (tensor(device, numbers, 2, 4, 33, 16, grad=True) for _ in range(3))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    out.square().sum().backward()
    return out, q.grad, k.grad, v.grad


@step(rtol=1e-3, atol=1e-4)
def transformer(device, numbers):
    layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
    return train(device, nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), numbers,
                 tensor(device, numbers, 3, 9, 16))


@step(rtol=2e-2, atol=2e-2)
def mixed_precision(device, numbers):
    layers = model(nn.Linear(32, 32), numbers).to(device)
    with torch.autocast(torch.device(device).type, dtype=torch.bfloat16):
        return layers(tensor(device, numbers, 8, 32)).float()


@step(rtol=1e-4, atol=1e-5)
def embedding(device, numbers):
    table = model(nn.Embedding(50, 8), numbers).to(device)
    i = torch.tensor(numbers.integers(0, 50, (4, 7))).to(device)
    table(i).square().sum().backward()
    return table.weight.grad


@step(rtol=1e-3, atol=1e-3)
def decompositions(device, numbers):
    a = tensor(device, numbers, 24, 24)
    s = a @ a.T + 24 * torch.eye(24, device=device)
    return torch.linalg.cholesky(s), torch.linalg.eigvalsh(s), torch.linalg.solve(s, a), torch.linalg.svdvals(a)


@step(rtol=1e-4, atol=1e-3)
def spectra(device, numbers):
    x = tensor(device, numbers, 4, 120)
    return torch.view_as_real(torch.fft.rfft(x)), torch.fft.irfft(torch.fft.rfft(x))


@step
def sorting(device, numbers):
    x = tensor(device, numbers, 3000)
    k = torch.tensor(numbers.integers(0, 99, 3000)).to(device)
    return torch.sort(x)[0], torch.unique(k), torch.topk(x, 20)[0], torch.nonzero(x > 1), torch.cumsum(k, 0)


@step
def streams(device, numbers):
    x = tensor(device, numbers, 1000)
    if device == "cpu":
        return x * 2 + 1
    s, e = torch.cuda.Stream(), torch.cuda.Event()
    s.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(s):
        y = x * 2
        e.record(s)
    e.wait()
    return y + 1


@step
def graph(device, numbers):
    x = tensor(device, numbers, 500)
    if device == "cpu":
        return torch.relu(x + 1) * 3
    still = torch.zeros_like(x)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = torch.relu(still + 1) * 3
    still.copy_(x)
    g.replay()
    return y


@step
def jiterator(device, numbers):
    x, y = tensor(device, numbers, 300), tensor(device, numbers, 300)
    if device == "cpu":
        return x * 2 + y
    f = torch.cuda.jiterator._create_jit_fn("template <typename T> T f(T x, T y) { return x * T(2) + y; }")
    return f(x, y)


def rank(number, kind, folder, x):
    """One of two processes: half of the batch each; both end with the weights of the whole one."""
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29517"})
    torch.cuda.set_device(number)
    torch.distributed.init_process_group("nccl", init_method=f"file://{folder}/meet", rank=number, world_size=2)
    layers = model(nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 4)), numpy.random.default_rng(5)).cuda()
    if kind == "ddp":
        from torch.nn.parallel import DistributedDataParallel
        wrapped = DistributedDataParallel(layers, device_ids=[number])
    else:
        from torch.distributed.fsdp import FullyShardedDataParallel
        wrapped = FullyShardedDataParallel(layers, device_id=number)
    o = torch.optim.SGD(wrapped.parameters(), lr=0.1)
    for _ in range(3):
        o.zero_grad()
        wrapped(x[number * 8:number * 8 + 8].cuda()).square().mean().backward()
        o.step()
    out = wrapped(x.cuda())
    if number == 0:
        torch.save(out.detach().cpu(), os.path.join(folder, "out"))
    torch.distributed.destroy_process_group()


def on_two_ranks(device, numbers, kind):
    x = tensor("cpu", numbers, 16, 12)
    if device == "cpu":
        layers = model(nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 4)), numpy.random.default_rng(5))
        o = torch.optim.SGD(layers.parameters(), lr=0.1)
        for _ in range(3):
            o.zero_grad()
            layers(x).square().mean().backward()
            o.step()
        return layers(x)
    folder = tempfile.mkdtemp()
    torch.multiprocessing.spawn(rank, (kind, folder, x), 2)
    return torch.load(os.path.join(folder, "out"))


@step(rtol=1e-4, atol=1e-5)
def ddp(device, numbers):
    return on_two_ranks(device, numbers, "ddp")


@step(rtol=1e-4, atol=1e-5)
def fsdp(device, numbers):
    return on_two_ranks(device, numbers, "fsdp")


def cuda():
    assert torch.cuda.is_available(), "PyTorch finds no CUDA device"
    return "cuda"


if __name__ == "__main__":
    torch.set_num_threads(2)
    steps.main({"cpu": lambda: "cpu", "cuda": cuda})
