# implicit: recommendations by alternating least squares and by pairwise ranking, neighbours, with the same beginning.
# package: implicit
# pip: implicit rmm-cu13==26.4.* numpy scipy
# cuda: 13
# what: alternating least squares of 32 to 128 factors, recommendations, similar items, pairwise ranking
# check: implicit/gpu/_cuda*.so
# cpu: implicit's own CPU code
import numpy
import scipy.sparse

import steps
from steps import step


def cpu():
    import implicit.cpu.als
    import implicit.cpu.bpr
    return implicit.cpu, lambda array: array


def cuda():
    import implicit.gpu
    import implicit.gpu.als
    import implicit.gpu.bpr
    if not implicit.gpu.HAS_CUDA:
        raise RuntimeError("implicit finds no CUDA")
    return implicit.gpu, implicit.gpu.Matrix


def ratings(numbers):
    found = scipy.sparse.random(400, 300, density=0.05, random_state=numbers, format="csr", dtype="f4")
    found.data = numpy.ceil(found.data * 5).astype("f4")
    return found


def host(array):
    return numpy.array(array.to_numpy() if hasattr(array, "to_numpy") else array)


def fitted(device, numbers, factors, iterations):
    code, on_device = device
    given = ratings(numbers)
    begin = [numbers.random((n, factors), dtype="f4") * 0.01 for n in given.shape]
    model = code.als.AlternatingLeastSquares(factors=factors, iterations=iterations, regularization=0.05)
    model.user_factors, model.item_factors = (on_device(b) for b in begin)
    model.fit(given, show_progress=False)
    return model, given


def least_squares(factors):
    def run(device, numbers):
        model, _ = fitted(device, numbers, factors, 3)
        return host(model.user_factors) @ host(model.item_factors).T
    run.__name__ = f"least_squares_{factors}"
    step(run, rtol=1e-2, atol=5e-3)


for n in (32, 64, 96, 128):
    least_squares(n)


@step(rtol=1e-2, atol=5e-3)
def recommended(device, numbers):
    model, given = fitted(device, numbers, 64, 3)
    return model.recommend(numpy.arange(60), given[:60], N=10)[1]


@step(rtol=1e-2, atol=5e-3)
def similar(device, numbers):
    model, _ = fitted(device, numbers, 64, 3)
    return model.similar_items(numpy.arange(40), N=6)[1]


@step(atol=0.02)
def pairwise_ranking(device, numbers):
    """What part of the pairs of each user is ranked right: the pairs that are learnt from are drawn."""
    given = ratings(numbers)
    model = device[0].bpr.BayesianPersonalizedRanking(factors=31, iterations=300, random_state=5)
    model.fit(given, show_progress=False)
    score, liked = host(model.user_factors) @ host(model.item_factors).T, given.toarray() > 0
    return numpy.mean([(s[k][:, None] > s[~k][None]).mean() for s, k in zip(score, liked) if k.any()])


if __name__ == "__main__":
    steps.main({"cpu": cpu, "cuda": cuda})
