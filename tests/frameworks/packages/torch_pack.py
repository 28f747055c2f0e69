# Runs PyTorch of PyPI, whose kernels are machine code, with a pack of PTX from Debian's build of the same release. A kernel
# that the pack lacks ends the process, by its name: the step fails, and those behind it run in another process.
# package: PyTorch (PyPI) with a pack
# pip: torch==2.6.0 numpy
# cuda: 12.4
# what: the steps of Debian's on one device
# check: torch/lib/libtorch_cuda.so torch/lib/libtorch_cuda_linalg.so
# pack: root-trixie/usr/lib/x86_64-linux-gnu/libtorch_cuda.so.2.6.0
# cpu: own
# parts: 2
# runs: 1
# note: Debian's build holds another CUB, 2.2.0, whose kernels sort and scan
import importlib.util
import os

import steps

spec = importlib.util.spec_from_file_location("torch_debian", os.path.join(os.path.dirname(__file__), "torch_debian.py"))
debian = importlib.util.module_from_spec(spec)
spec.loader.exec_module(debian)
steps.STEPS[:] = [s for s in steps.STEPS if s[0] not in ("ddp", "fsdp")]  # which start processes of their own

if __name__ == "__main__":
    debian.torch.set_num_threads(2)
    steps.main({"cpu": lambda: "cpu", "cuda": debian.cuda})
