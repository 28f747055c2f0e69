"""One sample of PyTorch's database of operators (OpInfo) on a device: its results and gradients, as what is compared."""
import re

import numpy
import torch

# What these give is random or not initialised: only its shape is compared.
RANDOM = re.compile(r"(^|\.|_)(rand\w*|normal|bernoulli|cauchy|exponential|geometric|log_normal|uniform|multinomial|empty\w*|"
                    r"\w*dropout\d?d?|fractional_\w+|rrelu|\w*lowrank|resize_\w*|lobpcg)$")
# Vectors of these have a sign, or with equal values a direction, of the library's choice: compared are absolute values.
SIGNS = re.compile(r"svd|eig|qr|ormqr|householder|lstsq")
# Their statistics are empty on the CPU where the saved ones are used, and not on CUDA.
FIRST = re.compile(r"native_batch_norm|batch_norm_legit")
# Their tensors of indices have to be on the CPU.
INDICES = {"tensor_split"}


def flat(value):
    """The tensors in a result, as the CPU's arrays."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        value = value.clone() if value._is_zerotensor() else value  # which has no memory to look at
        if value.is_nested:
            return [a for v in value.unbind() for a in flat(v)]
        value = value.to_dense() if value.layout != torch.strided else value
        if value.is_quantized:
            value = value.dequantize()
        value = torch.view_as_real(value.resolve_conj()) if value.is_complex() else value
        value = value.float() if value.dtype == torch.bfloat16 else value
        return [value.resolve_neg().numpy()]
    if isinstance(value, (tuple, list)):
        return [a for v in value for a in flat(v)]
    return [numpy.array(value)] if isinstance(value, (bool, int, float)) else []


def weighted(out):
    """A number that depends on every element of a result in its own way, so that its gradient does."""
    total = 0
    for t in out if isinstance(out, (tuple, list)) else [out]:
        if isinstance(t, torch.Tensor) and t.requires_grad and t.layout == torch.strided and t.numel():
            t = torch.view_as_real(t) if t.is_complex() else t
            w = torch.round(64 * torch.linspace(0.5, 1.5, t.numel())) / 64  # the same in every type
            total = total + (t * w.reshape(t.shape).to(t)).sum()
    return total


def one_sample(op, sample, device):
    """Results of one call, and the gradients; an error is a result, too, and to be the CPU's."""
    leaves = []

    def move(t):
        if isinstance(t, torch.Tensor):
            t = t.detach().to(device, copy=True).requires_grad_(t.requires_grad)  # samples share what is written
            leaves.extend([t] if t.requires_grad else [])
        return t
    try:
        args = sample.args
        sample = sample.transform(move)
        sample.args = args if op.name in INDICES else sample.args
        if "attention" in op.name:  # without dropout its values can be compared, not its shapes alone
            off = {"training": False, "dropout_p": 0.0}
            sample.kwargs.update((k, v) for k, v in off.items() if k in sample.kwargs)
        out = op(sample.input, *sample.args, **sample.kwargs)
        out = out[0] if FIRST.search(op.name) else out
        results = flat(out)
        if RANDOM.search(op.name):
            return tuple(numpy.array(r.shape) for r in results)
        if SIGNS.search(op.name):
            return tuple(abs(r) for r in results)
        total = weighted(out)
        if isinstance(total, torch.Tensor):
            total.backward()
            results += [a for t in leaves if t.grad is not None for a in flat(t.grad)]
        return tuple(results)
    except Exception as error:  # of whatever kind
        print(f"# {op.name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
        return (numpy.array("fails"),)
