# CUDA-Q: kernels of quantum programs by its cuStateVec back ends, against its CPU back end.
# package: CUDA-Q
# pip: cuda-quantum-cu12
# cuda: 12
# what: states, expectation values and samples of a circuit with controlled gates, single and double precision
# check: lib/libnvqir-custatevec-fp32.so
# cpu: own
import cudaq
import numpy

import steps
from steps import step


@cudaq.kernel
def circuit(qubits: int, angle: float):
    q = cudaq.qvector(qubits)
    h(q[0])
    for i in range(1, qubits):
        x.ctrl(q[0], q[i])
        ry(angle * i, q[i])
        rz(0.3 * i, q[0])


def choose(device, precision):
    if device == "cpu":
        cudaq.set_target("qpp-cpu")
    else:
        cudaq.set_target("nvidia", option=precision)


def operations(precision, atol):
    def state(device, numbers):
        choose(device, precision)
        return numpy.array(cudaq.get_state(circuit, 9, float(numbers.random()))).astype("c16")

    def energy(device, numbers):
        choose(device, precision)
        term = cudaq.spin.z(0) * cudaq.spin.x(1) + 0.5 * cudaq.spin.y(2)
        return cudaq.observe(circuit, term, 5, float(numbers.random())).expectation()

    def samples(device, numbers):
        choose(device, precision)
        counts = cudaq.sample(circuit, 3, float(numbers.random()), shots_count=20000)
        return numpy.array([counts.count(f"{k:03b}") for k in range(8)], float) / 20000

    for f, off in ((state, atol), (energy, atol), (samples, 0.02)):
        f.__name__ += f"_{precision}"
        step(rtol=0, atol=off)(f)


operations("fp64", 1e-10)
operations("fp32", 1e-5)
steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
