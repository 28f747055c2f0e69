# Open3D: tensors, point clouds, hash maps and neighbour searches, against its CPU device.
# package: Open3D
# pip: open3d
# cuda: 12
# what: elementwise and reduced tensors, indexing, voxel grids, normals, k nearest neighbours, hash maps
# check: open3d/libOpen3D.so*
# cpu: own
# note: products of matrices call a cuBLAS that is linked in
import numpy
import open3d
import open3d.core as o3c

import steps
from steps import step


def place(device):
    return o3c.Device("CUDA:0" if device == "cuda" else "CPU:0")


def points(device, numbers):
    return o3c.Tensor(numbers.random((1500, 3)).astype("f4"), device=place(device))


@step(rtol=1e-5, atol=1e-5)
def tensors(device, numbers):
    a = o3c.Tensor(numbers.standard_normal((50, 60)).astype("f4"), device=place(device))
    return a.exp().cpu(), a.sum((0,)).cpu(), a.argmin((1,)).cpu(), a[3:20:2, 5].cpu(), a[a > 0.5].cpu()


@step(rtol=1e-5, atol=1e-5)
def voxels(device, numbers):
    cloud = open3d.t.geometry.PointCloud(points(device, numbers)).voxel_down_sample(0.1)
    return numpy.sort(cloud.point.positions.cpu().numpy(), axis=0)


@step(rtol=1e-3, atol=1e-3)
def normals(device, numbers):
    cloud = open3d.t.geometry.PointCloud(points(device, numbers))
    cloud.estimate_normals(max_nn=20, radius=0.2)
    return numpy.abs(cloud.point.normals.cpu().numpy())


@step(rtol=1e-5, atol=1e-6)
def neighbours(device, numbers):
    cloud = points(device, numbers)
    search = o3c.nns.NearestNeighborSearch(cloud)
    search.knn_index()
    index, distance = search.knn_search(cloud[:50], 5)
    return index.cpu(), distance.cpu()


@step
def hash_maps(device, numbers):
    one = o3c.SizeVector([1])
    table = o3c.HashMap(1000, o3c.int64, one, o3c.int64, one, place(device))
    keys = numpy.arange(500).reshape(-1, 1)
    table.insert(o3c.Tensor(keys * 7, device=place(device)), o3c.Tensor(keys, device=place(device)))
    found, there = table.find(o3c.Tensor(keys, device=place(device)))
    return table.size(), there.cpu(), table.value_tensor(0)[found[there].to(o3c.int64)].cpu()


steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
