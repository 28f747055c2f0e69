# Cupoch: point clouds by Thrust and its own kernels, whose runtime is linked in; beside NumPy and SciPy.
# package: Cupoch
# pip: cupoch numpy<2 scipy
# cuda: 11
# what: points there and back, voxels, normals, rotation, registration, outliers by distance and by number, clusters
# check: cupoch/cupoch*.so
# cpu: (NumPy, SciPy)
import numpy
from scipy.spatial import cKDTree

import steps
from steps import step

COUNT = 4000


def cuda():
    import cupoch
    return cupoch


def cloud(cupoch, points):
    made = cupoch.geometry.PointCloud()
    made.points = cupoch.utility.Vector3fVector(points)
    return made


def in_order(points, key=None):
    points = numpy.asarray(points)
    return points[numpy.lexsort((points if key is None else key(points)).T)]


def motion():
    to = numpy.eye(4, dtype="f4")
    to[:2, :2] = [[numpy.cos(0.1), -numpy.sin(0.1)], [numpy.sin(0.1), numpy.cos(0.1)]]
    to[:3, 3] = [0.02, -0.01, 0.03]
    return to


@step
def there_and_back(cupoch, numbers):
    points = numbers.random((COUNT, 3)).astype("f4")
    return points if not cupoch else numpy.asarray(cloud(cupoch, points).points.cpu())


@step
def voxels(cupoch, numbers):
    """Coordinates that floats have exactly, so that no cell's border is a matter of rounding."""
    points, size = (numbers.integers(0, 512, (COUNT, 3)) / 512).astype("f4"), 1 / 8

    def cell(p):
        return numpy.floor((p - (points.min(0) - size / 2)) / size).astype(int)

    if cupoch:
        return in_order(cloud(cupoch, points).voxel_down_sample(size).points.cpu(), cell)
    _, which, count = numpy.unique(cell(points), axis=0, return_inverse=True, return_counts=True)
    sums = numpy.zeros((len(count), 3))
    numpy.add.at(sums, which.ravel(), points)
    return in_order((sums / count[:, None]).astype("f4"), cell)


@step(atol=1e-5)
def normals_of_a_plane(cupoch, numbers):
    at = numpy.stack(numpy.meshgrid(*[numpy.linspace(0, 1, 40)] * 2), -1).reshape(-1, 2)
    points = numpy.concatenate([at, at @ [[0.3], [0.1]]], 1).astype("f4")
    if not cupoch:
        return numpy.ones(len(points))
    made = cloud(cupoch, points)
    made.estimate_normals()
    normal = numpy.array([-0.3, -0.1, 1])
    return numpy.abs(numpy.asarray(made.normals.cpu()) @ normal / numpy.linalg.norm(normal))


@step
def moved(cupoch, numbers):
    points, to = numbers.random((COUNT, 3)).astype("f4"), motion()
    if not cupoch:
        return points @ to[:3, :3].T + to[:3, 3]
    made = cloud(cupoch, points)
    made.transform(to)
    return numpy.asarray(made.points.cpu())


@step(atol=1e-4)
def registered(cupoch, numbers):
    points, to = numbers.random((COUNT, 3)).astype("f4"), motion()
    if not cupoch:
        return to
    other = cloud(cupoch, points @ to[:3, :3].T + to[:3, 3])
    how = cupoch.registration.TransformationEstimationPointToPoint()
    found = cupoch.registration.registration_icp(cloud(cupoch, points), other, 0.2, numpy.eye(4, dtype="f4"), how)
    return numpy.asarray(found.transformation)


@step
def outliers(cupoch, numbers):
    """Those whose mean squared distance to 20 neighbours is large, and those with few neighbours nearby."""
    points = numbers.random((COUNT, 3)).astype("f4")
    if cupoch:
        made = cloud(cupoch, points)
        return (in_order(made.remove_statistical_outlier(20, 2.0)[0].points.cpu()),
                in_order(made.remove_radius_outlier(5, 0.06)[0].points.cpu()))
    tree = cKDTree(points)
    mean = (tree.query(points, 20)[0] ** 2).mean(1)
    near = numpy.array([len(k) for k in tree.query_ball_point(points, 0.06)])
    return in_order(points[mean < mean.mean() + 2 * mean.std(ddof=1)]), in_order(points[near > 5])


@step
def clusters(cupoch, numbers):
    """How many there are, and how many points are in none."""
    points, radius, least = numbers.random((COUNT, 3)).astype("f4"), 0.05, 6
    if cupoch:
        label = cloud(cupoch, points).cluster_dbscan(radius, least - 1)
        label = numpy.asarray(label.cpu() if hasattr(label, "cpu") else label)
        return label.max() + 1, (label == -1).sum()
    near = [numpy.array(k) for k in cKDTree(points).query_ball_point(points, radius)]
    label, count = numpy.full(len(points), -1), 0
    for begin in range(len(points)):
        if len(near[begin]) < least or label[begin] >= 0:
            continue
        todo, label[begin] = [begin], count
        while todo:
            for k in near[todo.pop()]:
                if label[k] < 0:
                    label[k] = count
                    if len(near[k]) >= least:
                        todo.append(k)
        count += 1
    return count, (label == -1).sum()


if __name__ == "__main__":
    steps.main({"cpu": lambda: None, "cuda": cuda})
