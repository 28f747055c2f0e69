# Runs Warp: its own tests of arrays, atomics, tiles, FEM and geometry, on cuda:0.
# package: Warp
# pip: warp-lang numpy
# cuda: 13
# what: its own CUDA tests: reductions, atomics, conditionals, assignments, operators, radix sort, run lengths, structs
# check: warp/bin/warp.so
# cpu: no
# limit: 1200
import unittest

import warp

MODULES = ("array_reduce", "atomic", "conditional", "lvalue", "operators", "radix_sort", "runlength_encode", "struct")


class Lines(unittest.TestResult):
    """Prints a line a module in the words of this folder; skipped tests do not count."""

    def __init__(self):
        super().__init__()
        self.bad = []

    def addError(self, test, err):
        self.bad.append(f"{test.id()}: {type(err[1]).__name__} {err[1]}")

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err:
            self.addError(test, err)


def on_device(suite):
    """The tests of a suite that run on CUDA: Warp ends their names so."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from on_device(test)
        elif test.id().endswith("_cuda_0"):
            yield test


def main():
    warp.config.quiet = True
    warp.init()
    assert warp.is_cuda_available(), "Warp finds no CUDA device"
    for name in MODULES:
        print(f"# running {name}", flush=True)
        result = Lines()
        try:
            suite = unittest.defaultTestLoader.loadTestsFromName(f"warp.tests.test_{name}")
            tests = list(on_device(suite))
        except Exception as error:
            tests, result.bad = [], [str(error)]
        for test in tests:
            test.run(result)
        if result.bad:
            print(f"not ok {name}: {len(result.bad)} of {len(tests)}: {' '.join(result.bad[0].split())[:300]}", flush=True)
        elif tests:
            print(f"ok {name} ({len(tests)})", flush=True)


main()
