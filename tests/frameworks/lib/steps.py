"""Steps that a package runs on its CUDA device and on the CPU, and how their results are compared.

A step is a function of (device, random numbers) that returns what is compared: arrays, numbers, or tuples of them. Run as
`NAME.py cpu FOLDER` the results are kept in FOLDER; as `NAME.py cuda FOLDER` each is compared with the one kept. A
line a step: `ok NAME` or `not ok NAME: why`. Behind FOLDER may stand PART/PARTS, every PARTS-th step from the PART-th
on, and the name of a step of it, for those behind that one: what ended the process need not end the rest.
"""
import os
import pickle
import sys
import zlib

import numpy

STEPS = []


def step(function=None, *, rtol=1e-5, atol=1e-6, largest=0):
    """Registers a step under its function's name; rtol and atol as of numpy.allclose, and `largest` is the part of an
    array's largest number that its numbers may be off, as where they are sums of rounded ones."""
    def register(f):
        STEPS.append((f.__name__, f, rtol, atol, largest))
        return f
    return register(function) if function else register


def on_host(value):
    """Arrays of any library as NumPy's."""
    if isinstance(value, (tuple, list)):
        return tuple(on_host(v) for v in value)
    for way in ("detach", "cpu"):
        if hasattr(value, way):
            value = getattr(value, way)()
    if str(getattr(value, "dtype", "")) in ("torch.bfloat16", "bfloat16"):
        value = value.float() if hasattr(value, "float") else value.astype("float32")
    if hasattr(value, "get") and not isinstance(value, dict):
        value = value.get()
    for way in ("to_numpy", "copy_to_host", "numpy"):
        if hasattr(value, way):
            return numpy.array(getattr(value, way)())
    return numpy.array(value)


def difference(got, want, rtol, atol, largest=0):
    """Why two results differ; None if they do not."""
    if isinstance(want, tuple):
        if not isinstance(got, tuple) or len(got) != len(want):
            return "another number of results"
        for i, (g, w) in enumerate(zip(got, want)):
            why = difference(g, w, rtol, atol, largest)
            if why:
                return f"result {i}: {why}"
        return None
    if got.shape != want.shape:
        return f"shape {got.shape}, want {want.shape}"
    if want.dtype.kind in "fc":
        finite = numpy.abs(want[numpy.isfinite(want)])
        atol = max(atol, largest * finite.max()) if finite.size else atol
        same = numpy.isclose(got, want, rtol=rtol, atol=atol, equal_nan=True)
    else:
        same = got == want
    if numpy.all(same):
        return None
    at = numpy.argwhere(~numpy.atleast_1d(same))[0]
    g, w = numpy.atleast_1d(got)[tuple(at)], numpy.atleast_1d(want)[tuple(at)]
    return f"{numpy.count_nonzero(~numpy.atleast_1d(same))} of {want.size} differ, first {g}, want {w}"


def same_on_all(found, rtol, atol):
    """The first of the ranks' results, or exceptions, if all agree."""
    for r, f in enumerate(found):
        if isinstance(f, Exception):
            raise RuntimeError(f"rank {r}: {f}")
        why = difference(f, found[0], rtol, atol)
        if why:
            raise RuntimeError(f"ranks 0 and {r} have other results: {why}")
    return found[0]


def run_step(name, function, device):
    print(f"# running {name}", flush=True)
    numbers = numpy.random.default_rng(zlib.crc32(name.encode()))
    return on_host(function(device, numbers))


def main(devices):
    """devices: what a step gets as its device, by "cpu" and "cuda"; functions without arguments."""
    mode, folder, part, after = (sys.argv[1:] + ["1/1", ""][len(sys.argv) - 3:])[:4]
    number, parts = map(int, part.split("/"))
    kept = os.path.join(folder, f"results.{number}")
    todo = STEPS[number - 1::parts]
    todo = todo[[s[0] for s in todo].index(after) + 1:] if after else todo
    device = devices[mode]()
    want, bad = {}, 0
    if mode == "cuda":
        with open(kept, "rb") as file:
            want = pickle.load(file)
    for name, function, rtol, atol, largest in todo:
        try:
            got = run_step(name, function, device)
            why = difference(got, want[name], rtol, atol, largest) if mode == "cuda" else None
            want.setdefault(name, got)
        except Exception as error:  # whatever a package throws is that step's result
            text = " ".join(str(error).split())
            why = f"{type(error).__name__}: {text[:300]}"
        print(f"not ok {name}: {why}" if why else f"ok {name}", flush=True)
        bad += why is not None
    if mode == "cpu":
        with open(kept, "wb") as file:
            pickle.dump(want, file)
    sys.stdout.flush()
    sys.exit(bad > 0)
