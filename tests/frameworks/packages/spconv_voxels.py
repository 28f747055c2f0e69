# spconv: what its library does without PyTorch: arrays on the device, and points that become voxels by a hash table.
# package: spconv (without PyTorch)
# pip: spconv-cu120 numpy<2
# cuda: 12
# what: tensors to the device and back; Point2VoxelGPU3d: voxels, their points, how many there are
# check: cumm/core_cc*.so spconv/core_cc*.so
# cpu: (NumPy)
import numpy

import steps
from steps import step


def cuda():
    from cumm import tensorview
    return tensorview


@step
def there_and_back(tv, numbers):
    arrays = [numbers.standard_normal((n, 4)).astype(t) for n in (1, 1000) for t in ("f4", "f8", "i4")]
    return tuple(arrays) if not tv else tuple(tv.from_numpy(a).cuda().cpu().numpy() for a in arrays)


def in_order(voxels, places, counts):
    """Voxels come in any order, and so do the points of one; those are compared by their sums."""
    keys = [tuple(p) for p in places.tolist()]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return places[order], counts[order], voxels.sum(1)[order]


@step(rtol=1e-4, atol=1e-4)
def voxels(tv, numbers):
    size, grid, most = 0.25, 16, 40
    points = numbers.uniform(0, 4, (3000, 3)).astype("f4")
    if not tv:
        cells = (points // numpy.float32(size)).astype("i4")[:, ::-1]
        places, which = numpy.unique(cells, axis=0, return_inverse=True)
        filled = numpy.zeros((len(places), most, 3), "f4")
        counts = numpy.zeros(len(places), "i4")
        for p, w in zip(points, which.ravel()):
            filled[w, counts[w]] = p
            counts[w] += 1
        return in_order(filled, places, counts)
    from spconv.utils import Point2VoxelGPU3d
    maker = Point2VoxelGPU3d([size] * 3, [0, 0, 0, grid * size, grid * size, grid * size], 3, grid ** 3, most)
    out = [t.cpu().numpy() for t in maker.point_to_voxel_hash(tv.from_numpy(points).cuda())]
    return in_order(*out)


if __name__ == "__main__":
    steps.main({"cpu": lambda: None, "cuda": cuda})
