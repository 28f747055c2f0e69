# nvCOMP: its compressors and decompressors, there and back, and Deflate by zlib both ways.
# package: nvCOMP
# pip: nvidia-nvcomp-cu12 numpy
# cuda: 12
# what: LZ4, Snappy, Deflate, GDeflate, Zstandard, Cascaded, Bitcomp, ANS of text, noise, runs and rising numbers
# check: nvidia/libnvcomp/lib64/libnvcomp.so*
# cpu: (zlib)
import zlib

import numpy
from nvidia import nvcomp

import steps
from steps import step


def inputs(numbers):
    return (numpy.frombuffer(b"".join(b"line %d of the text; " % (k * k) for k in range(3000)), "u1"),
            numbers.integers(0, 256, 50001, "u1"),
            numpy.repeat(numbers.integers(0, 9, 2000, "u1"), numbers.integers(1, 60, 2000)),
            numpy.cumsum(numbers.integers(0, 5, 20000)).astype("i4").view("u1"))


def decoded(codec, coded):
    return numpy.asarray(codec.decode(coded).cpu()).view("u1").ravel()


def round_trip(name):
    def run(device, numbers):
        data = inputs(numbers)
        if device == "cpu":
            return data
        codec = nvcomp.Codec(algorithm=name, data_type="|u1")
        return tuple(decoded(codec, codec.encode(nvcomp.as_array(d).cuda())) for d in data)
    run.__name__ = name.lower()
    step(run)


for _name in ("LZ4", "Snappy", "Deflate", "GDeflate", "Zstd", "Cascaded", "Bitcomp", "ANS"):
    round_trip(_name)


@step
def deflate_and_zlib(device, numbers):
    data = [d[:60000] for d in inputs(numbers)]
    if device == "cpu":
        return tuple(data) * 2
    codec = nvcomp.Codec(algorithm="Deflate", bitstream_kind=nvcomp.BitstreamKind.RAW)
    there = [zlib.decompress(bytes(codec.encode(nvcomp.as_array(d).cuda()).cpu()), -15) for d in data]
    packer = [zlib.compressobj(6, zlib.DEFLATED, -15) for _ in data]
    packed = [numpy.frombuffer(p.compress(d.tobytes()) + p.flush(), "u1") for p, d in zip(packer, data)]
    back = [decoded(codec, nvcomp.as_array(p).cuda()) for p in packed]
    return tuple(numpy.frombuffer(t, "u1") for t in there) + tuple(back)


steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
