# cuda.compute: CUB's device-wide algorithms from Python, compiled at run time with functions written in Python, against NumPy.
# package: cuda-cccl (cuda.compute)
# pip: cuda-cccl[cu12] cupy-cuda12x numpy
# cuda: 12
# what: reductions, scans, sorts by radix and by merging, by segments, histogram, selection, unique keys, partitions, transforms, searches; operators of Python; iterators; 1 to 100,003 items of six types
# check: cuda/compute/cu12/*.so* cuda/compute/cu12/cccl/*.so*
# cpu: (NumPy)
import numpy

import steps
from steps import step

TYPES = ("i4", "u8", "f4", "f8", "i2", "u1")
SIZES = (1, 2047, 100003)


def cuda():
    import cuda.compute
    return cuda.compute


def drawn(numbers):
    """An array of each type and size: whole numbers whose sums are exact in it, but for what wraps."""
    for kind in TYPES:
        for size in SIZES:
            yield numbers.integers(0, 100, size).astype(kind)


def put(x):
    import cupy
    return cupy.asarray(x)


def room(size, kind):
    import cupy
    return cupy.zeros(size, kind)


@step
def reductions(cc, numbers):
    out = ()
    for x in drawn(numbers):
        if cc:
            r = room(2, x.dtype)
            cc.reduce_into(d_in=put(x), d_out=r[:1], op=cc.OpKind.PLUS, num_items=x.size, h_init=x.dtype.type([3]))
            cc.reduce_into(d_in=put(x), d_out=r[1:], op=lambda a, b: a if a > b else b, num_items=x.size,
                           h_init=x.dtype.type([0]))
            out += (r,)
        else:
            out += (numpy.array([x.sum(dtype=x.dtype) + x.dtype.type(3), x.max()], x.dtype),)
    return out


@step
def scans(cc, numbers):
    out = ()
    for x in drawn(numbers):
        if cc:
            a, b, zero = room(x.size, x.dtype), room(x.size, x.dtype), x.dtype.type([0])
            cc.inclusive_scan(d_in=put(x), d_out=a, op=cc.OpKind.PLUS, init_value=zero, num_items=x.size)
            cc.exclusive_scan(d_in=put(x), d_out=b, op=cc.OpKind.PLUS, init_value=zero, num_items=x.size)
            out += (a, b)
        else:
            sums = numpy.cumsum(x, dtype=x.dtype)
            out += (sums, sums - x)
    return out


@step
def sorts(cc, numbers):
    out = ()
    for x in drawn(numbers):
        at = numpy.arange(x.size, dtype="i4")
        if cc:
            k, v, m = room(x.size, x.dtype), room(x.size, "i4"), room(x.size, x.dtype)
            cc.radix_sort(d_in_keys=put(x), d_out_keys=k, d_in_values=put(at), d_out_values=v,
                          order=cc.SortOrder.ASCENDING, num_items=x.size)
            cc.merge_sort(d_in_keys=put(x), d_in_values=None, d_out_keys=m, d_out_values=None,
                          op=lambda a, b: a > b, num_items=x.size)
            out += (k, v, m)
        else:
            out += (numpy.sort(x), numpy.argsort(x, kind="stable").astype("i4"), numpy.sort(x)[::-1])
    return out


@step
def segments(cc, numbers):
    x = numbers.integers(0, 1000, 50000).astype("i4")
    cuts = numpy.concatenate([[0], numpy.sort(numbers.integers(0, x.size, 99)), [x.size]]).astype("i8")
    n = cuts.size - 1
    if not cc:
        parts = [x[a:b] for a, b in zip(cuts[:-1], cuts[1:])]
        return numpy.array([p.sum() for p in parts], "i4"), numpy.concatenate([numpy.sort(p) for p in parts])
    sums, sorted_ = room(n, "i4"), room(x.size, "i4")
    begin, end = put(cuts[:-1]), put(cuts[1:])
    cc.segmented_reduce(d_in=put(x), d_out=sums, num_segments=n, start_offsets_in=begin, end_offsets_in=end,
                        op=cc.OpKind.PLUS, h_init=numpy.int32([0]))
    cc.segmented_sort(d_in_keys=put(x), d_out_keys=sorted_, num_items=x.size, num_segments=n, start_offsets_in=begin,
                      end_offsets_in=end, order=cc.SortOrder.ASCENDING)
    return sums, sorted_


@step
def histogram(cc, numbers):
    x = numbers.uniform(-1, 11, 60000).astype("f4")
    if not cc:
        return numpy.histogram(x[(x >= 0) & (x < 10)], 20, (0, 10))[0].astype("i4")
    out = room(20, "i4")
    cc.histogram_even(d_samples=put(x), d_histogram=out, num_output_levels=21, lower_level=numpy.float32(0),
                      upper_level=numpy.float32(10), num_samples=x.size)
    return out


@step
def selection(cc, numbers):
    x = numbers.integers(0, 1000, 70000).astype("i4")
    keys = numpy.sort(numbers.integers(0, 5000, 70000)).astype("i4")
    if not cc:
        first = numpy.concatenate([[True], keys[1:] != keys[:-1]])
        even = x[x % 2 == 0]
        return even, keys[first], x[first], x[x < 100], x[x > 900], x[(x >= 100) & (x <= 900)]
    n = x.size
    even, k, v, low, high, rest = (room(n, "i4") for _ in range(6))
    counts = [room(2, "i8") for _ in range(3)]
    cc.select(d_in=put(x), d_out=even, d_num_selected_out=counts[0], cond=lambda a: a % 2 == 0, num_items=n)
    cc.unique_by_key(d_in_keys=put(keys), d_in_items=put(x), d_out_keys=k, d_out_items=v,
                     d_out_num_selected=counts[1], op=cc.OpKind.EQUAL_TO, num_items=n)
    cc.three_way_partition(d_in=put(x), d_first_part_out=low, d_second_part_out=high, d_unselected_out=rest,
                           d_num_selected_out=counts[2], select_first_part_op=lambda a: a < 100,
                           select_second_part_op=lambda a: a > 900, num_items=n)
    some, unique, (a, b) = int(counts[0][0]), int(counts[1][0]), (int(c) for c in counts[2])
    return even[:some], k[:unique], v[:unique], low[:a], high[:b], rest[:n - a - b]


@step
def transforms(cc, numbers):
    out = ()
    for x in drawn(numbers):
        y = x[::-1].copy()
        if cc:
            a, b = room(x.size, x.dtype), room(x.size, x.dtype)
            cc.unary_transform(d_in=put(x), d_out=a, op=lambda v: v + v, num_items=x.size)
            cc.binary_transform(d_in1=put(x), d_in2=put(y), d_out=b, op=cc.OpKind.PLUS, num_items=x.size)
            out += (a, b)
        else:
            out += (x + x, x + y)
    return out


@step
def searches(cc, numbers):
    x, want = numpy.sort(numbers.integers(0, 3000, 5000)).astype("i4"), numbers.integers(-5, 3005, 4000).astype("i4")
    if not cc:
        return numpy.searchsorted(x, want).astype("u8"), numpy.searchsorted(x, want, "right").astype("u8")
    low, high = room(want.size, "u8"), room(want.size, "u8")
    cc.lower_bound(d_data=put(x), num_items=x.size, d_values=put(want), num_values=want.size, d_out=low)
    cc.upper_bound(d_data=put(x), num_items=x.size, d_values=put(want), num_values=want.size, d_out=high)
    return low, high


@step
def iterators(cc, numbers):
    n = 40000
    if not cc:
        i = numpy.arange(n, dtype="i8")
        return numpy.array([(i * i % 7).sum()], "i8"), (i[::-1] * 3)
    out, back = room(1, "i8"), room(n, "i8")
    squares = cc.TransformIterator(cc.CountingIterator(numpy.int64(0)), lambda v: v * v % 7)
    cc.reduce_into(d_in=squares, d_out=out, op=cc.OpKind.PLUS, num_items=n, h_init=numpy.int64([0]))
    cc.unary_transform(d_in=cc.CountingIterator(numpy.int64(0)), d_out=cc.ReverseIterator(back), op=lambda v: v * 3,
                       num_items=n)
    return out, back


steps.main({"cpu": lambda: None, "cuda": cuda})
