# Runs cuDF: tables on the device against pandas.
# package: cuDF
# pip: cudf-cu12
# cuda: 12
# what: arithmetic, group by, merge, sort, strings, dates, windows, missing values, CSV
# check: libcudf/lib64/libcudf.so
# cpu: (pandas)
# limit: 1200
import io

import numpy
import pandas

import steps
from steps import step


def cuda():
    import cudf
    return cudf


def table(m, numbers, rows=2000):
    return m.DataFrame({"k": numbers.integers(0, 20, rows), "x": numbers.standard_normal(rows),
                        "y": numbers.integers(-50, 50, rows)})


def values(frame):
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    return frame.to_numpy()


@step
def arithmetic(m, numbers):
    d = table(m, numbers)
    return values(d["x"] * d["y"] + 1), values(d["x"].abs().sqrt() if hasattr(d["x"], "sqrt") else numpy.sqrt(d["x"].abs()))


@step
def group_by(m, numbers):
    return values(table(m, numbers).groupby("k").agg({"x": "sum", "y": "max"}).sort_index())


@step
def merge(m, numbers):
    a, b = table(m, numbers, 500), m.DataFrame({"k": list(range(0, 20, 2)), "z": list(range(10))})
    return values(a.merge(b, on="k").sort_values(["k", "x"])[["k", "x", "z"]])


@step
def sort(m, numbers):
    return values(table(m, numbers).sort_values(["k", "x"], ascending=[True, False]))


@step
def strings(m, numbers):
    s = m.Series([f"Row {i % 13}-{i}" for i in range(300)])
    return values(s.str.len()), values(s.str.contains("1-")), values(s.str.upper().str.replace("ROW", "x").str.len())


@step
def missing(m, numbers):
    s = m.Series([1.0, None, 3.0, None, 5.0])
    return values(s.fillna(0.0)), values(s.isna()), s.sum()


@step
def dates(m, numbers):
    d = m.Series(numpy.arange("2024-01-01", "2024-04-01", dtype="datetime64[D]").astype("datetime64[ns]"))
    return values(d.dt.month), values(d.dt.dayofweek)


@step
def windows(m, numbers):
    return values(table(m, numbers)["x"].rolling(7, min_periods=1).mean()), values(table(m, numbers)["y"].cumsum())


@step
def csv(m, numbers):
    text = "a,b\n" + "\n".join(f"{i},{i * 0.5}" for i in range(200))
    return values(m.read_csv(io.StringIO(text)))


steps.main({"cpu": lambda: pandas, "cuda": cuda})
