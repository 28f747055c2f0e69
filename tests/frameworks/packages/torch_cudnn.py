# Runs what PyTorch gives to cuDNN, from its own databases of operators and modules, against its own CPU back end.
# package: PyTorch with cuDNN on (Debian trixie)
# apt: trixie python3-torch-cuda python3-numpy libnvrtc-builtins12.4 libblas3 liblapack3 python3-setuptools libdnnl3.6
# empty: nvidia-cudnn=9.99 libcuda1=999
# pip: nvidia-cudnn-cu12==9.1.0.70
# cuda: 12.4
# what: convolution, normalisation, RNN, CTC, attention, grids: all samples of OpInfo and ModuleInfo, forward and backward, f32, f64, f16, bf16, channels last; kernels interpreted. cuDNN is the facade
# check: usr/lib/x86_64-linux-gnu/libtorch_cuda.so*
# cpu: own
# env: PYTHONHASHSEED=0 CUMU_JIT=0 CUMU_COMPUTE_CAPABILITY=9.0 CUMU_CUDNN=cumu LD_LIBRARY_PATH=/opt/pip/nvidia/cudnn/lib:/usr/lib/python3/dist-packages/torch/lib
# parts: 4
# runs: 1
# limit: 1800
import itertools
import re

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import steps
from opinfo import flat, one_sample, weighted
from steps import step

OPERATORS = re.compile(r"conv|batch_norm|instance_norm|group_norm|layer_norm|local_response|ctc_loss|"
                       r"scaled_dot_product|multi_head|grid_sample|softmax$|pool[123]d$|nn\.functional\.dropout$")
MODULES = re.compile(r"Conv|BatchNorm|InstanceNorm|RNN|LSTM|GRU|CTC|Multihead|Transformer")
SAMPLES = 40  # of an operator, at most
# What is compared is f32 of the CPU with the numbers rounded to the type: halves are computed with f32's sums.
TYPES = {torch.float32: 1e-4, torch.float64: 1e-9, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def short(dtype):
    return str(dtype).rsplit(".", maxsplit=1)[-1]


def rounded(value, dtype, to):
    """The numbers of `dtype` in a sample, in the type `to` in which they are computed with."""
    if isinstance(value, torch.Tensor):
        if not value.is_floating_point():
            return value
        return value.detach().to(dtype).to(to).requires_grad_(value.requires_grad)
    return value


def operator(op, dtype, device, last):
    torch.manual_seed(7)
    results = []
    to = torch.float32 if device == "cpu" and dtype in (torch.float16, torch.bfloat16) else dtype
    sampled = torch.float64 if dtype == torch.float64 else torch.float32
    samples = op.sample_inputs("cpu", sampled, requires_grad=True)
    for sample in itertools.islice(samples, SAMPLES):
        sample = sample.transform(lambda v: rounded(v, dtype, to))
        if last and isinstance(sample.input, torch.Tensor) and sample.input.dim() == 4:
            sample.input = sample.input.detach().contiguous(memory_format=torch.channels_last).requires_grad_()
        results += one_sample(op, sample, device)
    return tuple(r.astype("float32") if r.dtype == "float16" else r for r in results)


def add_operators():
    from torch.testing._internal.common_methods_invocations import op_db
    for op in op_db:
        if not OPERATORS.search(op.name):
            continue
        name = op.name + ("_" + op.variant_test_name if op.variant_test_name else "")
        for dtype, off in TYPES.items():
            if dtype not in op.dtypesIfCUDA or torch.float32 not in op.dtypes:
                continue
            if "grid_sample" in op.name and dtype in (torch.float16, torch.bfloat16):
                continue  # rounded coordinates fall into other cells
            for last in (False, True) if dtype in (torch.float32, torch.float16) and "conv" in name else (False,):
                def run(device, _, op=op, dtype=dtype, last=last):
                    return operator(op, dtype, device, last)
                run.__name__ = f"{name} {short(dtype)}" + (" channels last" if last else "")
                step(rtol=off, atol=off, largest=off)(run)


def module(info, dtype, device, training):
    torch.manual_seed(7)
    results = []
    for sample in info.module_inputs_func(info, device="cpu", dtype=dtype, requires_grad=True, training=training):
        if sample.forward_input is None:
            continue
        m = info.module_cls(*sample.constructor_input.args, **sample.constructor_input.kwargs).to(dtype)
        m.train(training)
        m = m.to(device)
        for part in m.modules():
            if hasattr(part, "dropout") and isinstance(part.dropout, float):
                part.dropout = 0.0
            if isinstance(part, nn.Dropout):
                part.p = 0.0
        leaves = list(m.parameters())

        def move(t, leaves=leaves):
            if isinstance(t, (tuple, list)):
                return type(t)(map(move, t))
            if isinstance(t, torch.nn.utils.rnn.PackedSequence):
                return t.to(device)
            if not isinstance(t, torch.Tensor):
                return t
            t = t.detach().to(device).requires_grad_(t.requires_grad)
            leaves.extend([t] if t.requires_grad else [])
            return t
        args = [move(a) for a in sample.forward_input.args]
        kwargs = {k: move(v) for k, v in sample.forward_input.kwargs.items()}
        try:
            out = m(*args, **kwargs)
            out = tuple(nested(out))
            results += flat(out)
            total = weighted(out)
            if isinstance(total, torch.Tensor) and training:  # cuDNN's layers have no backward in evaluation
                total.backward()
                results += [a for t in leaves if t.grad is not None for a in flat(t.grad)]
        except RuntimeError as error:
            print(f"# {info.name}: {' '.join(str(error).split())[:300]}", flush=True)
            results += flat([float("nan")]) if device == "cpu" else []
    return tuple(results)


def nested(out):
    """The tensors of tuples in tuples; of a packed sequence its data."""
    if isinstance(out, torch.nn.utils.rnn.PackedSequence):
        return [out.data]
    return [t for o in out for t in nested(o)] if isinstance(out, (tuple, list)) else [out]


def add_modules():
    from torch.testing._internal.common_modules import module_db
    for info in module_db:
        if not MODULES.search(info.name) or "Lazy" in info.name:  # which draw their weights on the device
            continue
        for dtype in (torch.float32, torch.float64):
            for training in (True, False):
                def run(device, _, info=info, dtype=dtype, training=training):
                    return module(info, dtype, device, training)
                run.__name__ = f"{info.name} {short(dtype)} {'training' if training else 'evaluation'}"
                step(rtol=TYPES[dtype], atol=TYPES[dtype], largest=TYPES[dtype])(run)


def add_recurrent():
    """Layers and directions, projections, packed sequences of several lengths, halves: what the databases lack."""
    for kind, layers, both, proj, packed, dtype in itertools.product(
            (nn.LSTM, nn.GRU, nn.RNN), (1, 2), (False, True), (0, 3), (False, True), (torch.float32, torch.float16)):
        if proj and kind is not nn.LSTM:
            continue

        def run(device, numbers, kind=kind, layers=layers, both=both, proj=proj, packed=packed, dtype=dtype):
            torch.manual_seed(7)
            to = torch.float32 if device == "cpu" else dtype
            more = {"proj_size": proj} if proj else {}
            m = kind(5, 7, layers, bidirectional=both, **more).to(dtype).to(to).to(device)
            x = torch.tensor(numbers.standard_normal((6, 4, 5))).to(dtype).to(to).to(device).requires_grad_()
            given = nn.utils.rnn.pack_padded_sequence(x, [6, 4, 4, 1]) if packed else x
            out, state = m(given)
            out = out.data if packed else out
            all_of = [out, *nested(state)]
            weighted(tuple(all_of)).backward()
            return tuple(t.detach().float() for t in all_of) + tuple(p.grad.float() for p in m.parameters()) + (
                x.grad.float(),)
        run.__name__ = (f"{kind.__name__} {layers} layers{' both ways' if both else ''}{' projected' if proj else ''}"
                        f"{' packed' if packed else ''} {short(dtype)}")
        step(rtol=TYPES[dtype], atol=TYPES[dtype], largest=TYPES[dtype])(run)


def add_attention():
    """By cuDNN's own back end, which PyTorch does not choose by itself everywhere."""
    shapes = (((2, 4, 64, 64), (2, 4, 64, 64), 64), ((2, 4, 32, 64), (2, 4, 96, 64), 32), ((1, 2, 128, 128), (1, 2, 128, 128), 128))
    for (q, k, v), causal, masked, dtype in itertools.product(
            shapes, (False, True), (False, True), (torch.float16, torch.bfloat16)):
        if causal and (masked or q != k):
            continue

        def run(device, numbers, q=q, k=k, v=v, causal=causal, masked=masked, dtype=dtype):
            to = torch.float32 if device == "cpu" else dtype
            made = [torch.tensor(numbers.standard_normal(s)).to(dtype).to(to).to(device).requires_grad_()
                    for s in (q, k, (*k[:3], v))]
            mask = None
            if masked:
                mask = torch.tensor(numbers.standard_normal((*q[:3], k[2]))).to(dtype).to(to).to(device)
            with sdpa_kernel([SDPBackend.MATH if device == "cpu" else SDPBackend.CUDNN_ATTENTION]):
                out = F.scaled_dot_product_attention(*made, attn_mask=mask, is_causal=causal)
            weighted(out).backward()
            return tuple(t.detach().float() for t in (out, *(m.grad for m in made)))
        run.__name__ = (f"attention {q[2]} by {k[2]}, {q[3]}{' causal' if causal else ''}{' masked' if masked else ''} "
                        f"{short(dtype)}")
        step(rtol=TYPES[dtype], atol=TYPES[dtype], largest=TYPES[dtype])(run)


@step
def is_on(device, _):
    return device == "cpu" or torch.backends.cudnn.is_acceptable(torch.zeros(1, device=device))


@step(rtol=1e-3, atol=1e-4)
def ctc_loss_of_the_host(device, numbers):
    return ctc(device, numbers, lambda v: v)


@step(rtol=1e-3, atol=1e-4)
def ctc_loss_of_the_device(device, numbers):
    return ctc(device, numbers, lambda v: torch.tensor(v, dtype=torch.int32).to(device))


def ctc(device, numbers, lengths):
    """As PyTorch gives it to cuDNN: targets of all sequences in one row, int32, and full inputs."""
    x = torch.tensor(numbers.standard_normal((50, 3, 20)), dtype=torch.float32).to(device).requires_grad_()
    targets = torch.tensor(numbers.integers(1, 20, 36), dtype=torch.int32).to(device)
    loss = F.ctc_loss(x.log_softmax(2), targets, lengths([50, 50, 50]), lengths([10, 25, 1]), reduction="none")
    weighted(loss).backward()
    return loss, x.grad


def cuda():
    assert torch.cuda.is_available(), "PyTorch finds no CUDA device"
    return "cuda"


if __name__ == "__main__":
    torch.set_num_threads(2)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    add_operators()
    add_modules()
    add_recurrent()
    add_attention()
    steps.main({"cpu": lambda: "cpu", "cuda": cuda})
