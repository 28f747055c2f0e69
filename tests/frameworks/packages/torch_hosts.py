# Runs distributed training by Debian's PyTorch, 4 ranks on two hosts (network namespaces), against one process.
# package: PyTorch over two hosts (Debian trixie)
# apt: trixie python3-torch-cuda python3-numpy libnvrtc-builtins12.4 libblas3 liblapack3 python3-setuptools libucx0 iproute2
# empty: nvidia-cudnn=9.99 libcuda1=999
# pip: nvidia-cudnn-cu12==9.1.0.70
# cuda: 12.4
# what: collectives, subgroups; DDP, FSDP1, FSDP2, HSDP, DTensor, tensor parallel, 1F1B and interleaved pipelines; 4 ranks
# check: usr/lib/x86_64-linux-gnu/libtorch_cuda.so*
# cpu: own
# env: CUMU_COMPUTE_CAPABILITY=9.0 CUMU_HOST_DEVICES=4 UCX_TLS=tcp LD_LIBRARY_PATH=/opt/pip/nvidia/cudnn/lib:/usr/lib/python3/dist-packages/torch/lib
# limit: 3600
import os
import subprocess
import sys
import tempfile
import time
import traceback

import numpy
import torch
import torch.distributed as dist
import torch.nn as nn

import steps

torch.backends.cudnn.enabled = False
RANKS = 4
WIDTH = 16
SCHEMES = {}


def scheme(tolerance=1e-4):
    """What all ranks do, with `rank` and their device, or one process with rank None on the CPU: the same result."""
    def register(f):
        SCHEMES[f.__name__] = f
        steps.step(rtol=tolerance, atol=tolerance / 10)(named(f.__name__))
        return f
    return register


def named(name):
    def run(device, _):
        return SCHEMES[name](None, "cpu") if device == "cpu" else result(name)
    run.__name__ = name
    return run


# ---- what is trained -------------------------------------------------------------------------------

def numbers(*shape, seed=1):
    return torch.tensor(numpy.random.default_rng(seed).standard_normal(shape), dtype=torch.float32)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(x)))


def network(device, blocks=4):
    layers = nn.Sequential(*(Block() for _ in range(blocks)))
    with torch.no_grad():
        for i, p in enumerate(layers.parameters()):
            p.copy_(numbers(*p.shape, seed=10 + i) * 0.2)
    return layers.to(device)


def batch(rank, device, parts=RANKS):
    """The whole one of one process, or a rank's part of it."""
    x = numbers(16, WIDTH, seed=2)
    return (x if rank is None else x.chunk(parts)[rank % parts]).to(device)


def train(model, x, rounds=3):
    """The losses are means over equal parts, so that their mean is the whole batch's."""
    o = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(rounds):
        o.zero_grad()
        model(x).square().mean().backward()
        o.step()
    return model


def answer(model, device):
    """What the trained model makes of numbers that all ranks have."""
    with torch.no_grad():
        return model(numbers(6, WIDTH, seed=3).to(device))


def alone(device):
    return answer(train(network(device), batch(None, device)), device)


def mesh(*shape, names=None):
    return dist.device_mesh.init_device_mesh("cuda", shape, mesh_dim_names=names)


# ---- collectives -----------------------------------------------------------------------------------

def data(rank, n, seed=20):
    return numbers(n, seed=seed + rank)


@scheme(1e-5)
def all_reduces(rank, device):
    """From some bytes to some megabytes, by two kinds of sum."""
    out = []
    for n in (1, 1000, 70001, 1500007):
        if rank is None:
            x = sum(data(r, n) for r in range(RANKS))
            out += [x[:50], x.sum(), torch.stack([data(r, n) for r in range(RANKS)]).amax(0)[-50:]]
            continue
        x, y = data(rank, n).to(device), data(rank, n).to(device)
        dist.all_reduce(x)
        dist.all_reduce(y, op=dist.ReduceOp.MAX)
        out += [x[:50], x.sum(), y[-50:]]
    return tuple(out)


@scheme(1e-5)
def gathers_and_scatters(rank, device):
    n = 5000
    every = [data(r, n * RANKS) for r in range(RANKS)]
    if rank is None:
        return torch.cat([e[:n] for e in every]), sum(every)[n:2 * n], every[2][:n], sum(every)[:n]
    mine = every[rank].to(device)
    gathered = torch.empty(n * RANKS, device=device)
    dist.all_gather_into_tensor(gathered, mine[:n].clone())
    part = torch.empty(n, device=device)
    dist.reduce_scatter_tensor(part, mine)
    sent = mine[:n].clone()
    dist.broadcast(sent, 2)
    total = mine[:n].clone()
    dist.reduce(total, 0)
    parts = [torch.empty_like(part) for _ in range(RANKS)]
    dist.all_gather(parts, part)
    dist.broadcast(total, 0)
    return gathered, parts[1], sent, total


@scheme(1e-6)
def uneven_all_to_all(rank, device):
    """As a mixture of experts has it: rank r sends (r + 1) * (q + 1) * 100 elements to rank q."""
    cut = [[(r + 1) * (q + 1) * 100 for q in range(RANKS)] for r in range(RANKS)]
    every = [data(r, sum(cut[r])) for r in range(RANKS)]
    pieces = [e.split(c) for e, c in zip(every, cut)]
    if rank is None:
        return torch.cat([pieces[r][q] for q in range(RANKS) for r in range(RANKS)])
    got = torch.empty(sum(cut[r][rank] for r in range(RANKS)), device=device)
    dist.all_to_all_single(got, every[rank].to(device), [cut[r][rank] for r in range(RANKS)], cut[rank])
    sizes = [sum(cut[r][q] for r in range(RANKS)) for q in range(RANKS)]
    padded = torch.zeros(max(sizes), device=device)
    padded[:got.numel()] = got
    whole = torch.empty(RANKS, max(sizes), device=device)
    dist.all_gather_into_tensor(whole, padded)
    return torch.cat([w[:s] for w, s in zip(whole, sizes)])


@scheme(1e-6)
def rings_both_ways(rank, device):
    n = 40000
    if rank is None:
        return torch.stack([data((r - 1) % RANKS, n) + data((r + 1) % RANKS, n) for r in range(RANKS)])[:, ::97]
    mine, left, right = data(rank, n).to(device), torch.empty(n, device=device), torch.empty(n, device=device)
    before, after = (rank - 1) % RANKS, (rank + 1) % RANKS
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, mine, after), dist.P2POp(dist.isend, mine, before),
                                        dist.P2POp(dist.irecv, left, before), dist.P2POp(dist.irecv, right, after)]):
        work.wait()
    whole = torch.empty(RANKS, n, device=device)
    dist.all_gather_into_tensor(whole, left + right)
    return whole[:, ::97]


@scheme(1e-5)
def hierarchical_all_reduce(rank, device):
    """Groups within the hosts, and across them."""
    n = 30000
    if rank is None:
        return sum(data(r, n) for r in range(RANKS))
    near = [dist.new_group([0, 1]), dist.new_group([2, 3])][rank // 2]
    far = [dist.new_group([0, 2]), dist.new_group([1, 3])][rank % 2]
    x = data(rank, n).to(device)
    part = torch.empty(n // 2, device=device)
    dist.reduce_scatter_tensor(part, x, group=near)
    dist.all_reduce(part, group=far)
    dist.all_gather_into_tensor(x, part, group=near)
    return x


# ---- data parallel ---------------------------------------------------------------------------------

@scheme()
def ddp(rank, device):
    if rank is None:
        return alone(device)
    model = nn.parallel.DistributedDataParallel(network(device), device_ids=[rank], bucket_cap_mb=0.01)
    return answer(train(model, batch(rank, device)), device)


@scheme()
def fsdp1(rank, device):
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    if rank is None:
        return alone(device)
    model = FullyShardedDataParallel(network(device), device_id=rank, auto_wrap_policy=ModuleWrapPolicy({Block}))
    return answer(train(model, batch(rank, device)), device)


@scheme()
def fsdp1_hybrid(rank, device):
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    if rank is None:
        return alone(device)
    model = FullyShardedDataParallel(network(device), device_id=rank, device_mesh=mesh(2, 2, names=("out", "in")),
                                     sharding_strategy=ShardingStrategy.HYBRID_SHARD)
    return answer(train(model, batch(rank, device)), device)


def sharded(rank, device, over):
    from torch.distributed.fsdp import fully_shard
    if rank is None:
        return alone(device)
    model = network(device)
    for block in model:
        fully_shard(block, mesh=over())
    fully_shard(model, mesh=over())
    return answer(train(model, batch(rank, device)), device)


@scheme()
def fsdp2(rank, device):
    return sharded(rank, device, lambda: mesh(4))


@scheme()
def hsdp(rank, device):
    return sharded(rank, device, lambda: mesh(2, 2, names=("replicate", "shard")))


# ---- tensors and stages ------------------------------------------------------------------------------

@scheme()
def dtensor(rank, device):
    """Matrix products in all layouts of a 2 x 2 mesh."""
    a, b = numbers(48, 32, seed=5), numbers(32, 40, seed=6)
    if rank is None:
        return tuple(a @ b for _ in range(6)) + ((a @ b).sum(0),)
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    grid, out = mesh(2, 2), []
    layouts = [([Shard(0), Replicate()], [Replicate(), Shard(1)]), ([Replicate(), Shard(1)], [Replicate(), Shard(0)]),
               ([Shard(1), Shard(1)], [Shard(0), Shard(0)]), ([Shard(0), Shard(1)], [Replicate(), Shard(0)]),
               ([Replicate(), Replicate()], [Shard(1), Shard(1)]), ([Shard(0), Shard(0)], [Replicate(), Replicate()])]
    for x, y in layouts:
        c = distribute_tensor(a.to(device), grid, x) @ distribute_tensor(b.to(device), grid, y)
        out.append(c.full_tensor())
    turned = c.redistribute(grid, [Shard(1), Shard(0)])
    return tuple(out) + (turned.sum(0).full_tensor(),)


def tensor_parallel_of(device, grid):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    model = network(device)
    for block in model:
        parallelize_module(block, grid, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return model


@scheme()
def tensor_parallel(rank, device):
    if rank is None:
        return alone(device)
    return answer(train(tensor_parallel_of(device, mesh(4)), batch(None, device)), device)


@scheme()
def tensor_and_data_parallel(rank, device):
    """Tensor parallel within a host, sharded data parallel across."""
    if rank is None:
        return alone(device)
    from torch.distributed.fsdp import fully_shard
    grid = mesh(2, 2, names=("dp", "tp"))
    model = tensor_parallel_of(device, grid["tp"])
    fully_shard(model, mesh=grid["dp"])
    return answer(train(model, batch(rank // 2, device, 2)), device)


def pipeline(rank, device, interleaved):
    """One step of a pipeline: the loss, a sum over all rows, and the sums of every stage's gradients."""
    x, want = numbers(16, WIDTH, seed=2), numbers(16, WIDTH, seed=4)
    stages = 2 * RANKS if interleaved else RANKS
    model = network("cpu", stages)
    if rank is None:
        loss = (model(x) - want).square().sum()
        loss.backward()
        return (loss,) + tuple(torch.stack([p.grad.sum() for p in block.parameters()]) for block in model)
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B
    parts = 8

    def loss_of(y, t):
        return (y - t).square().sum()
    mine = range(rank, stages, RANKS)
    held = [PipelineStage(model[i].to(device), i, stages, torch.device(device)) for i in mine]
    run = ScheduleInterleaved1F1B(held, parts, loss_fn=loss_of) if interleaved else Schedule1F1B(held[0], parts,
                                                                                                 loss_fn=loss_of)
    losses, last = [], stages - 1 in mine
    run.step(*([x.to(device)] if rank == 0 else []), **({"target": want.to(device), "losses": losses} if last else {}))
    table = torch.zeros(stages, 4, device=device)
    for i in mine:
        table[i] = torch.stack([p.grad.sum() for p in model[i].parameters()])
    loss = torch.stack(losses).sum() if last else torch.zeros((), device=device)
    dist.all_reduce(table)
    dist.all_reduce(loss)
    return (loss,) + tuple(table)


@scheme()
def pipeline_1f1b(rank, device):
    return pipeline(rank, device, False)


@scheme()
def pipeline_interleaved(rank, device):
    return pipeline(rank, device, True)


# ---- two hosts -----------------------------------------------------------------------------------------

def make_hosts():
    """Two processes, each in a network namespace of its own, joined by a pair of veth."""
    hold = "import os, sys; os.unshare(os.CLONE_NEWNET); print(flush=True); sys.stdin.read()"
    hosts = [subprocess.Popen([sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
             for _ in range(2)]
    for h in hosts:
        h.stdout.readline()
    subprocess.run(["ip", "link", "add", "eth7", "netns", str(hosts[0].pid), "type", "veth", "peer", "name", "eth7",
                    "netns", str(hosts[1].pid)], check=True)
    for i, h in enumerate(hosts):
        for words in (["addr", "add", f"10.174.0.{i + 1}/24", "dev", "eth7"], ["link", "set", "eth7", "up"],
                      ["link", "set", "lo", "up"]):
            go_to = "import os, sys; os.setns(os.open(f'/proc/{sys.argv[1]}/ns/net', 0)); os.execvp('ip', sys.argv[2:])"
            subprocess.run([sys.executable, "-c", go_to, str(h.pid), "ip", *words], check=True)
    return hosts


def enter_host(pid):
    """UCX looks for interfaces in /sys, which shows those of the namespace that it was mounted in."""
    os.setns(os.open(f"/proc/{pid}/ns/net", os.O_RDONLY))
    os.unshare(os.CLONE_NEWNS)
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)


def rank_main(rank, folder, hosts):
    """One rank: all schemes one after the other. What fails on one fails the scheme, and what comes after a rank was
    lost is not tried."""
    enter_host(hosts[rank // 2])
    os.environ.update({"MASTER_ADDR": "10.174.0.1", "MASTER_PORT": "29517", "RANK": str(rank), "LOCAL_RANK": str(rank),
                       "WORLD_SIZE": str(RANKS), "NCCL_SOCKET_IFNAME": "eth7", "USE_LIBUV": "0"})
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=RANKS)
    out = {}
    for name, f in SCHEMES.items():
        start = time.monotonic()
        try:
            out[name] = steps.on_host(f(rank, f"cuda:{rank}"))
        except Exception as error:  # whatever it is, it is that scheme's result
            traceback.print_exc()
            out[name] = error
        if rank == 0:
            print(f"# {name}: {time.monotonic() - start:.1f} s", flush=True)
    torch.save(out, os.path.join(folder, str(rank)))
    dist.destroy_process_group()


KEPT = []  # by rank: the results of all schemes, or why there are none


def result(name):
    """Rank 0's, if those of the others are the same."""
    if not KEPT:
        folder, hosts = tempfile.mkdtemp(), make_hosts()
        try:
            torch.multiprocessing.spawn(rank_main, (folder, [h.pid for h in hosts]), RANKS)
            KEPT.extend(torch.load(os.path.join(folder, str(r)), weights_only=False) for r in range(RANKS))
        except Exception as error:  # of the ranks as a whole: no scheme has a result
            traceback.print_exc()
            KEPT.append({scheme_name: error for scheme_name in SCHEMES})
        finally:
            for h in hosts:
                h.stdin.close()
                h.wait()
    return steps.same_on_all([of_rank[name] for of_rank in KEPT], 1e-6, 1e-7)


def cuda():
    assert torch.cuda.is_available(), "PyTorch finds no CUDA device"
    return "cuda"


if __name__ == "__main__":
    torch.set_num_threads(1)
    steps.main({"cpu": lambda: "cpu", "cuda": cuda})
