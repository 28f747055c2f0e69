"""The all-reduce of PyTorch's Gloo over the hosts of hosts.sh: best round of each size. Usage: gloo.py RANK RANKS
ADDRESS; GLOO_SOCKET_IFNAME says by which interface."""
import datetime
import sys
import time

import torch
import torch.distributed as dist

rank, ranks, address = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.set_num_threads(1)
dist.init_process_group("gloo", f"tcp://{address}:29788", datetime.timedelta(seconds=120), ranks, rank=rank)
for size in (4, 1 << 10, 16 << 10, 32 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20, 64 << 20):
    x = torch.zeros(size // 4)
    calls = 100 if size <= 16 << 10 else 50 if size <= 1 << 20 else 10 if size <= 4 << 20 else 3
    best = float("inf")
    for _ in range(11):
        dist.barrier()
        start = time.monotonic()
        for _ in range(calls):
            dist.all_reduce(x)
        best = min(best, (time.monotonic() - start) / calls)
    if rank == 0:
        print(f"bench mccl.hosts.gloo_allreduce_{size}B_{ranks}ranks {best * 1e6:.2f} us", flush=True)
dist.barrier()
