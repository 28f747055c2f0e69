# Looks at PyTorch of PyPI, whose kernels are machine code: cumu check says so, and only a pack of PTX makes it run.
# package: PyTorch (PyPI)
# pip: --no-deps torch
# cuda: 13
# what: nothing
# check: torch/lib/libtorch_cuda.so
# cannot: machine code (SASS) only; `cumu pack` takes PTX from another build of the same release, such as Debian's 2.6.0
