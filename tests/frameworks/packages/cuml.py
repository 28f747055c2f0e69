# Runs cuML: estimators on the device against scikit-learn's.
# package: cuML
# pip: cuml-cu12 scikit-learn
# cuda: 12
# what: linear and ridge regression, PCA, k-means, nearest neighbours, DBSCAN, scaling
# check: libcuml/lib64/libcuml*.so
# cpu: (scikit-learn)
# limit: 1200
import importlib

import numpy

import steps
from steps import step


def estimator(kind, module, name, **more):
    return getattr(importlib.import_module(f"{'cuml' if kind == 'cuda' else 'sklearn'}.{module}"), name)(**more)


def data(numbers, rows=300):
    x = numbers.standard_normal((rows, 5)).astype("f4")
    return x, (x @ numpy.array([1, -2, 0.5, 3, 0], "f4") + 0.5).astype("f4")


@step(rtol=1e-2, atol=1e-2)
def linear_regression(kind, numbers):
    x, y = data(numbers)
    return estimator(kind, "linear_model", "LinearRegression").fit(x, y).predict(x)


@step(rtol=1e-2, atol=1e-2)
def ridge(kind, numbers):
    x, y = data(numbers)
    return estimator(kind, "linear_model", "Ridge", alpha=1.0).fit(x, y).predict(x)


@step(rtol=1e-2, atol=1e-2)
def principal_components(kind, numbers):
    x, _ = data(numbers)
    return estimator(kind, "decomposition", "PCA", n_components=3).fit(x).explained_variance_


@step(rtol=1e-2, atol=1e-2)
def k_means(kind, numbers):
    x = numpy.concatenate([data(numbers, 100)[0] * 0.1 + i * 5 for i in range(3)])
    found = estimator(kind, "cluster", "KMeans", n_clusters=3, random_state=1, n_init=3).fit(x)
    centres = found.cluster_centers_
    centres = centres.get() if hasattr(centres, "get") else numpy.asarray(centres)
    return centres[numpy.argsort(centres[:, 0])]


@step(rtol=1e-3, atol=1e-3)
def neighbours(kind, numbers):
    x, _ = data(numbers)
    return estimator(kind, "neighbors", "NearestNeighbors", n_neighbors=4).fit(x).kneighbors(x[:20])[0]


@step
def dbscan(kind, numbers):
    x = numpy.concatenate([data(numbers, 80)[0] * 0.1 + i * 5 for i in range(2)])
    return estimator(kind, "cluster", "DBSCAN", eps=1.0, min_samples=4).fit_predict(x)


@step(rtol=1e-4, atol=1e-4)
def scaling(kind, numbers):
    return estimator(kind, "preprocessing", "StandardScaler").fit_transform(data(numbers)[0])


steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
