# Symmetric memory of Debian's PyTorch: 4 ranks on one host, whose kernels read and write each other's buffers, and
# multicast objects. One process on the CPU does the same sums by plain loops.
# package: PyTorch's symmetric memory (Debian trixie)
# apt: trixie python3-torch-cuda python3-numpy libnvrtc-builtins12.4 libblas3 liblapack3 python3-setuptools libucx0 iproute2
# empty: nvidia-cudnn=9.99 libcuda1=999
# pip: nvidia-cudnn-cu12==9.1.0.70
# cuda: 12.4
# what: all-reduce by multimem, in one shot and in two; peers' buffers, barriers, signals; products overlapped with gathers and scatters; 4 ranks
# check: usr/lib/x86_64-linux-gnu/libtorch_cuda.so*
# cpu: own
# env: CUMU_COMPUTE_CAPABILITY=9.0 CUMU_HOST_DEVICES=4 LD_LIBRARY_PATH=/opt/pip/nvidia/cudnn/lib:/usr/lib/python3/dist-packages/torch/lib
# limit: 1800
import os
import tempfile
import traceback

import numpy
import torch
import torch.distributed as dist

import steps

torch.backends.cudnn.enabled = False
RANKS = 4
SCHEMES = {}


def scheme(tolerance=0.0):
    """What all ranks do, with `rank` and their device, or one process with rank None on the CPU: the same result."""
    def register(f):
        SCHEMES[f.__name__] = f

        def run(device, _):
            return f(None, "cpu") if device == "cpu" else result(f.__name__)
        run.__name__ = f.__name__
        steps.step(rtol=tolerance, atol=tolerance)(run)
        return f
    return register


def whole_numbers(rank, shape, dtype=torch.float32, most=9):
    """Small enough for every sum of them to be exact, in any order."""
    drawn = numpy.random.default_rng(70 + rank).integers(-most, most + 1, size=shape)
    return torch.tensor(drawn).to(dtype)


def symmetric(shape, dtype, device):
    """A tensor that all ranks have at the same place, and what reaches the others' ones."""
    import torch.distributed._symmetric_memory as memory
    memory.enable_symm_mem_for_group(dist.group.WORLD.group_name)
    t = memory.empty(*shape, dtype=dtype, device=device)
    return t, memory.rendezvous(t, group=dist.group.WORLD.group_name)


def all_reduce(rank, device, how):
    """Of sums that are multiples of 16 bytes for each rank, and none."""
    out = []
    for dtype in (torch.float32, torch.bfloat16):
        for n in (1024, 4096, 40000):
            if rank is None:
                out.append(sum(whole_numbers(r, n, torch.float32) for r in range(RANKS)))
                continue
            t, _ = symmetric((n,), dtype, device)
            t.copy_(whole_numbers(rank, n, dtype))
            out.append(getattr(torch.ops.symm_mem, how)(t, "sum", dist.group.WORLD.group_name).float().clone())
    return tuple(out)


@scheme()
def multimem_all_reduce(rank, device):
    return all_reduce(rank, device, "multimem_all_reduce_")


@scheme()
def multimem_one_shot_all_reduce(rank, device):
    return all_reduce(rank, device, "multimem_one_shot_all_reduce")


@scheme()
def one_shot_all_reduce(rank, device):
    return all_reduce(rank, device, "one_shot_all_reduce")


@scheme()
def two_shot_all_reduce(rank, device):
    return all_reduce(rank, device, "two_shot_all_reduce_")


@scheme()
def peers_buffers(rank, device):
    """Each rank reads the next one's, and adds to the one before; barriers of the kernels' keep the order."""
    n = 3000
    if rank is None:
        every = [whole_numbers(r, n) for r in range(RANKS)]
        return torch.stack([every[r] + every[(r + 2) % RANKS] for r in range(RANKS)])
    t, handle = symmetric((n,), torch.float32, device)
    t.copy_(whole_numbers(rank, n))
    handle.barrier(channel=0)
    read = handle.get_buffer((rank + 1) % RANKS, (n,), torch.float32).clone()
    handle.barrier(channel=1)
    handle.get_buffer((rank - 1) % RANKS, (n,), torch.float32).add_(read)
    handle.barrier(channel=0)
    whole = torch.empty(RANKS, n, device=device)
    dist.all_gather_into_tensor(whole, t.clone())
    return whole


@scheme()
def signals(rank, device):
    """A token goes round: each rank waits for the one before it, adds itself, and signals the next."""
    rounds = 5
    if rank is None:
        return torch.tensor(float(rounds * sum(range(1, RANKS + 1))))
    t, handle = symmetric((4,), torch.float32, device)
    t.zero_()
    handle.barrier(channel=0)
    after, before = (rank + 1) % RANKS, (rank - 1) % RANKS
    for turn in range(rounds):
        if turn or rank:
            handle.wait_signal(before, channel=2)
        handle.get_buffer(after, (4,), torch.float32).copy_(t + (rank + 1))
        handle.put_signal(after, channel=2)
    if rank == 0:
        handle.wait_signal(before, channel=2)
    handle.barrier(channel=0)
    total = t[0].clone()
    dist.broadcast(total, 0)
    return total


@scheme()
def gather_and_multiply(rank, device):
    """Parts of the left factor arrive while products with those before them are made."""
    rows, inner, columns = 64, 32, 48
    left = [whole_numbers(r, (rows, inner), most=3) for r in range(RANKS)]
    right = [whole_numbers(9 + k, (inner, columns), most=3) for k in range(2)]
    if rank is None:
        whole = torch.cat(left)
        return (whole,) + tuple(whole @ b for b in right)
    import torch.distributed._symmetric_memory as memory
    memory.enable_symm_mem_for_group(dist.group.WORLD.group_name)
    whole, products = torch.ops.symm_mem.fused_all_gather_matmul(
        left[rank].to(device), [b.to(device) for b in right], gather_dim=0, group_name=dist.group.WORLD.group_name)
    return (whole,) + tuple(products)


@scheme()
def multiply_and_scatter(rank, device):
    rows, inner, columns = 64 * RANKS, 32, 48
    left = [whole_numbers(r, (rows, inner), most=3) for r in range(RANKS)]
    right = [whole_numbers(20 + r, (inner, columns), most=3) for r in range(RANKS)]
    if rank is None:
        return sum(a @ b for a, b in zip(left, right))
    import torch.distributed._symmetric_memory as memory
    memory.enable_symm_mem_for_group(dist.group.WORLD.group_name)
    part = torch.ops.symm_mem.fused_matmul_reduce_scatter(
        left[rank].to(device), right[rank].to(device), "sum", scatter_dim=0, group_name=dist.group.WORLD.group_name)
    whole = torch.empty(rows, columns, device=device)
    dist.all_gather_into_tensor(whole, part.contiguous())
    return whole


# ---- ranks ---------------------------------------------------------------------------------------------

def rank_main(rank, folder):
    """One rank: all schemes one after the other. What fails on one fails the scheme."""
    os.environ.update({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29533", "RANK": str(rank), "LOCAL_RANK": str(rank),
                       "WORLD_SIZE": str(RANKS), "USE_LIBUV": "0"})
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=RANKS)
    out = {}
    for name, f in SCHEMES.items():
        try:
            out[name] = steps.on_host(f(rank, f"cuda:{rank}"))
        except Exception as error:  # whatever it is, it is that scheme's result
            traceback.print_exc()
            out[name] = error
        dist.barrier()
    torch.save(out, os.path.join(folder, str(rank)))
    dist.destroy_process_group()


KEPT = []  # by rank: the results of all schemes, or why there are none


def result(name):
    """Rank 0's, if those of the others are the same."""
    if not KEPT:
        folder = tempfile.mkdtemp()
        try:
            torch.multiprocessing.spawn(rank_main, (folder,), RANKS)
            KEPT.extend(torch.load(os.path.join(folder, str(r)), weights_only=False) for r in range(RANKS))
        except Exception as error:  # of the ranks as a whole: no scheme has a result
            traceback.print_exc()
            KEPT.append({scheme_name: error for scheme_name in SCHEMES})
    return steps.same_on_all([of_rank[name] for of_rank in KEPT], 0, 0)


def cuda():
    assert torch.cuda.is_available(), "PyTorch finds no CUDA device"
    return "cuda"


if __name__ == "__main__":
    torch.set_num_threads(1)
    steps.main({"cpu": lambda: "cpu", "cuda": cuda})
