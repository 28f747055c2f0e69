# Runs cuVS: searches for nearest neighbours, against NumPy's exact ones.
# package: cuVS
# pip: cuvs-cu12 cupy-cuda12x
# cuda: 12
# what: pairwise distances, brute force, IVF-Flat, IVF-PQ, CAGRA, clusters by k-means
# check: libcuvs/lib64/libcuvs*.so
# cpu: (NumPy)
# limit: 1200
import numpy

import steps
from steps import step


def points(numbers, rows=1000, columns=16):
    """Clouds, so that neighbours are far from others and an approximate search has to find them."""
    centres = numbers.standard_normal((20, columns)).astype("f4") * 8
    return (centres[numbers.integers(0, 20, rows)] + numbers.standard_normal((rows, columns))).astype("f4")


def exact(x, query, k=5):
    d = ((query[:, None].astype("f8") - x[None]) ** 2).sum(-1)
    near = numpy.argsort(d, axis=1, kind="stable")[:, :k]
    return numpy.take_along_axis(d, near, 1).astype("f4"), near


def to_device(x):
    import cupy
    return cupy.asarray(x)


def found(answer):
    import cupy
    return tuple(cupy.asarray(part) for part in answer)


def recall(near, x, query):
    """The part of the true neighbours that was found, as whether it is enough."""
    near, (_, want) = numpy.asarray(near.get()), exact(x, query)
    return sum(len(set(a) & set(b)) for a, b in zip(near, want)) / want.size


@step(rtol=1e-4, atol=1e-3, largest=1e-5)
def distances(kind, numbers):
    x = points(numbers, 200)
    if kind == "cpu":
        return ((x[:, None].astype("f8") - x[None]) ** 2).sum(-1).astype("f4")
    from cuvs.distance import pairwise_distance
    d = to_device(x)
    return found([pairwise_distance(d, d, metric="sqeuclidean")])[0]


@step(rtol=1e-3, atol=1e-2)
def brute_force(kind, numbers):
    x = points(numbers)
    query = x[:50] + 0.01
    if kind == "cpu":
        return exact(x, query)
    from cuvs.neighbors import brute_force
    return found(brute_force.search(brute_force.build(to_device(x), metric="sqeuclidean"), to_device(query), 5))


def approximate(kind, numbers, module, least, build, search):
    x = points(numbers)
    query = x[:50] + 0.01
    if kind == "cpu":
        return True
    import importlib
    index = importlib.import_module(f"cuvs.neighbors.{module}")
    built = index.build(index.IndexParams(**build), to_device(x))
    part = recall(found(index.search(index.SearchParams(**search), built, to_device(query), 5))[1], x, query)
    return True if part >= least else part


@step
def ivf_flat(kind, numbers):
    return approximate(kind, numbers, "ivf_flat", 0.99, {"n_lists": 20}, {"n_probes": 10})


@step
def ivf_pq(kind, numbers):
    return approximate(kind, numbers, "ivf_pq", 0.8, {"n_lists": 20, "pq_dim": 16}, {"n_probes": 10})


@step
def cagra(kind, numbers):
    return approximate(kind, numbers, "cagra", 0.95, {}, {})


@step
def clusters(kind, numbers):
    x = numpy.concatenate([numbers.standard_normal((100, 4)).astype("f4") * 0.1 + i * 5 for i in range(3)])
    if kind == "cpu":
        return numpy.array([x[i * 100:(i + 1) * 100].mean(0)[0].round(1) for i in range(3)])
    from cuvs.cluster import kmeans
    centres = found(kmeans.fit(kmeans.KMeansParams(n_clusters=3), to_device(x))[:1])[0].get()
    return numpy.sort(centres[:, 0]).round(1)


steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
