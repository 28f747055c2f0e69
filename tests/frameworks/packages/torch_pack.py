# Runs PyTorch of PyPI, whose kernels are machine code, with a pack of PTX from Debian's build of the same release. A kernel
# that the pack lacks ends the process, by its name: the step fails, and those behind it run in another process.
# package: PyTorch (PyPI) with a pack
# pip: torch==2.6.0 numpy
# cuda: 12.4
# what: the steps of Debian's on one device, and a profile
# check: torch/lib/libtorch_cuda.so torch/lib/libtorch_cuda_linalg.so
# pack: root-trixie/usr/lib/x86_64-linux-gnu/libtorch_cuda.so.2.6.0
# cpu: own
# parts: 2
# runs: 1
# note: Debian's build holds another CUB, 2.2.0, whose kernels sort and scan
import importlib.util
import json
import os
import tempfile

import steps
from profiles import unmatched

spec = importlib.util.spec_from_file_location("torch_debian", os.path.join(os.path.dirname(__file__), "torch_debian.py"))
debian = importlib.util.module_from_spec(spec)
spec.loader.exec_module(debian)
steps.STEPS[:] = [s for s in steps.STEPS if s[0] not in ("ddp", "fsdp")]  # which start processes of their own



@steps.step
def profile(device, numbers):
    """Kineto's profile, by CUPTI, which Debian's build lacks: each kernel and copy belongs to a call."""
    torch = debian.torch
    x, y = torch.tensor(numbers.standard_normal((64, 64)), device=device), torch.empty(64, 64)

    def work():
        y.copy_((x + 1).relu() * 2 + torch.zeros_like(x).copy_(x))

    work()
    if device == "cuda":
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with tempfile.TemporaryDirectory() as folder:
            with torch.profiler.profile(activities=activities) as p:
                for _ in range(5):
                    work()
                torch.cuda.synchronize()
            p.export_chrome_trace(folder + "/trace.json")
            with open(folder + "/trace.json", encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
        kinds = ("kernel", "gpu_memcpy", "gpu_memset"), ("cuda_runtime", "cuda_driver")
        count, wrong = unmatched(*([(e["args"]["correlation"], e["ts"]) for e in events
                                    if e.get("cat") in k and "correlation" in e.get("args", {})] for k in kinds))
        assert count >= 25 and not wrong, f"{wrong} of {count} records belong to no call"
    return y


if __name__ == "__main__":
    debian.torch.set_num_threads(2)
    steps.main({"cpu": lambda: "cpu", "cuda": debian.cuda})
