# Devices that Python and a CUDA extension exchange: usage: devices.py STAND-IN-FOR-TORCH_MUSA FOLDER-OF-THE-MODULE
import ctypes
import sys

import torch

ctypes.CDLL(sys.argv[1])
sys.path.insert(0, sys.argv[2])
import devices  # noqa: E402

CUDA, CPU = 1, 0


def expect(name, good):
    print(("ok" if good else "not ok") + " torch/" + name)


musa = torch.device("privateuseone", 1)
expect("python-device-comes-as-cuda", devices.seen(musa) == CUDA * 100 + 1)
expect("python-device-by-keyword", devices.seen(device=musa) == CUDA * 100 + 1)
expect("python-device-among-others", devices.seen("x", None, musa) == CUDA * 100 + 1)
expect("python-cuda-stays", devices.seen(torch.device("cuda:1")) == CUDA * 100 + 1)
expect("python-cpu-stays", devices.seen(torch.device("cpu", 0)) == CPU and devices.seen(device=3) == -1)
expect("python-arguments-are-not-changed", musa.type == "privateuseone")
expect("device-returns-as-musa", devices.made(CUDA, 1) == musa)
expect("device-of-cpu-returns", devices.made(CPU, 0) == torch.device("cpu", 0))
for _ in range(100000):  # a reference too few or too many would show
    devices.seen(musa, device=musa)
expect("python-references", sys.getrefcount(musa) < 10)
