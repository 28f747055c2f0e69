# Runs PyTorch's own database of operators (OpInfo) on Debian's CUDA build, against its own CPU back end.
# package: PyTorch OpInfo (Debian trixie)
# apt: trixie python3-torch-cuda python3-numpy libnvrtc-builtins12.4 libblas3 liblapack3 python3-setuptools
# empty: nvidia-cudnn=9.99 libcuda1=999
# pip: nvidia-cudnn-cu12==9.1.0.70
# cuda: 12.4
# what: all operators of the database, the first 3 samples of each, forward and backward, f32 (int64 or bool where there is no f32); kernels interpreted. cuDNN off
# check: usr/lib/x86_64-linux-gnu/libtorch_cuda.so*
# cpu: own
# env: PYTHONHASHSEED=0 CUMU_JIT=0 CUMU_COMPUTE_CAPABILITY=9.0 LD_LIBRARY_PATH=/opt/pip/nvidia/cudnn/lib:/usr/lib/python3/dist-packages/torch/lib
# parts: 6
# runs: 1
# limit: 1800
import itertools
import re

import torch

import steps
from opinfo import one_sample
from steps import step

torch.backends.cudnn.enabled = False  # before PyTorch's tests are imported, which forbid it

SAMPLES = 3  # of an operator
# CUDA alone; the CPU alone; what lies around a view, which a copy to a device does not take along.
ONE_SIDED = re.compile(r"^jiterator|^sparse\.mm_reduce$|_partial_views$")


def operator(op, dtype, device):
    torch.manual_seed(7)
    samples = op.sample_inputs("cpu", dtype, requires_grad=op.supports_autograd and dtype == torch.float32)
    return tuple(one_sample(op, s, device) for s in itertools.islice(samples, SAMPLES))


def add_operators():
    from torch.testing._internal.common_methods_invocations import op_db
    for op in op_db:
        # There are operators of complex numbers alone.
        dtypes = [t for t in (torch.float32, torch.int64, torch.bool) if t in op.dtypes and t in op.dtypesIfCUDA]
        name = op.name + ("_" + op.variant_test_name if op.variant_test_name else "")
        if not dtypes or ONE_SIDED.search(name):
            continue

        def run(device, _, op=op, dtype=dtypes[0]):
            return operator(op, dtype, device)
        run.__name__ = name
        step(rtol=1e-3, atol=1e-3)(run)


def cuda():
    assert torch.cuda.is_available(), "PyTorch finds no CUDA device"
    return "cuda"


if __name__ == "__main__":
    torch.set_num_threads(2)
    add_operators()
    steps.main({"cpu": lambda: "cpu", "cuda": cuda})
