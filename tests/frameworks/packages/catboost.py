# Runs CatBoost: gradient boosting on the device against its own CPU back end. Its CUDA runtime is linked in and stripped.
# package: CatBoost
# pip: catboost numpy
# cuda: 11
# what: regression and classes: what the model predicts
# check: _catboost*.so catboost/_catboost*.so
# cpu: own
import numpy

import steps
from steps import step


def fit(kind, loss, x, y):
    import catboost
    model = catboost.CatBoost({"loss_function": loss, "iterations": 5, "depth": 3, "learning_rate": 0.5, "task_type": kind,
                               "random_seed": 1, "bootstrap_type": "No", "allow_writing_files": False,
                               "logging_level": "Silent", "border_count": 32, "boosting_type": "Plain",
                               "score_function": "L2", "devices": "0"} if kind == "GPU" else
                              {"loss_function": loss, "iterations": 5, "depth": 3, "learning_rate": 0.5, "random_seed": 1,
                               "bootstrap_type": "No", "allow_writing_files": False, "logging_level": "Silent",
                               "border_count": 32, "boosting_type": "Plain", "score_function": "L2"})
    model.fit(x, y)
    return model.predict(x)


# The two back ends choose their borders apart: what the models say is compared by how well they fit.
@step(atol=0.1)
def regression(kind, numbers):
    x = numbers.standard_normal((800, 6)).astype("f4")
    y = x[:, 0] * 2 + numpy.sin(x[:, 1] * 2)
    return numpy.sqrt(numpy.mean((fit(kind, "RMSE", x, y) - y) ** 2))


@step(atol=0.05)
def classes(kind, numbers):
    x = numbers.standard_normal((800, 6)).astype("f4")
    y = (x[:, 0] + x[:, 1] > 0).astype(int)
    return numpy.mean((fit(kind, "Logloss", x, y) > 0) == y)


steps.main({"cpu": lambda: "CPU", "cuda": lambda: "GPU"})
