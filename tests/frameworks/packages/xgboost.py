# XGBoost: trees by histograms on the device, predictions and categories, against its own CPU back end.
# package: XGBoost
# pip: xgboost scipy
# cuda: 12
# what: regression, classes, ranking, categories, missing values, prediction, SHAP
# check: xgboost/lib/libxgboost.so
# cpu: own
import numpy
import xgboost

import steps
from steps import step


def train(device, x, y, rounds=5, **more):
    parameters = {"device": device, "tree_method": "hist", "max_depth": 4, "max_bin": 64, **more}
    data = xgboost.QuantileDMatrix(x, y, max_bin=64, **({"feature_types": more.pop("types")} if "types" in more else {}))
    log = {}
    booster = xgboost.train(parameters, data, rounds, [(data, "train")], evals_result=log, verbose_eval=False)
    return booster, data, list(log["train"].values())[0]


def is_on_device(booster, device):
    return device in booster.save_config()


@step(rtol=1e-3, atol=1e-3)
def regression(device, numbers):
    x = numbers.standard_normal((2000, 10)).astype("f4")
    y = x[:, 0] * 2 + numpy.sin(x[:, 1] * 3) + x[:, 2] * x[:, 3]
    booster, data, log = train(device, x, y)
    assert is_on_device(booster, device), "not trained on the device"
    return log, numpy.sqrt(numpy.mean((booster.predict(data) - y) ** 2))


@step(rtol=1e-3, atol=1e-3)
def classes(device, numbers):
    x = numbers.standard_normal((1500, 6)).astype("f4")
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5)
    return train(device, x, y, objective="multi:softprob", num_class=3)[2]


@step(rtol=1e-3, atol=1e-3)
def missing_values(device, numbers):
    x = numbers.standard_normal((1500, 6)).astype("f4")
    y = numpy.nan_to_num(x).sum(axis=1)
    x[numbers.random(x.shape) < 0.2] = numpy.nan
    return train(device, x, y)[2]


@step(rtol=1e-3, atol=1e-3)
def ranking(device, numbers):
    x = numbers.standard_normal((600, 5)).astype("f4")
    y = (x[:, 0] > 0).astype(int)
    data = xgboost.QuantileDMatrix(x, y, qid=numpy.repeat(numpy.arange(20), 30), max_bin=64)
    log = {}
    xgboost.train({"device": device, "objective": "rank:ndcg", "max_bin": 64, "lambdarank_pair_method": "topk"}, data, 3,
                  [(data, "train")], evals_result=log, verbose_eval=False)
    return list(log["train"].values())[0]


@step(rtol=1e-3, atol=1e-3)
def shap_values(device, numbers):
    x = numbers.standard_normal((400, 5)).astype("f4")
    booster, data, _ = train("cpu", x, x[:, 0] * x[:, 1])
    booster.set_param({"device": device})
    return booster.predict(data, pred_contribs=True), booster.inplace_predict(x), booster.predict(data)


steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
