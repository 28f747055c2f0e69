# Qiskit Aer: a simulator of quantum circuits, Thrust and kernels of its own, against its CPU back end.
# package: Qiskit Aer
# pip: qiskit-aer-gpu qiskit python-dateutil psutil custatevec-cu12 cutensornet-cu12 cutensor-cu12 nvidia-nvjitlink-cu12
# cuda: 12
# what: random circuits by state vector, density matrix and unitary matrix, double and single precision; expectation values; sampling, with noise too
# check: qiskit_aer/backends/*.so*
# cpu: own
import numpy
from qiskit import QuantumCircuit, transpile
from qiskit.circuit.random import random_circuit
from qiskit.quantum_info import SparsePauliOp
from qiskit_aer import AerSimulator
from qiskit_aer.noise import NoiseModel, depolarizing_error

import steps
from steps import step


def run(device, circuit, shots=1, **options):
    simulator = AerSimulator(device=device, seed_simulator=5, **options)
    result = simulator.run(transpile(circuit, simulator, optimization_level=0), shots=shots).result()
    if not result.success:
        raise RuntimeError(result.status)
    return result


def states(method, qubits, precision):
    def run_states(device, numbers):
        out = ()
        for _ in range(3):
            circuit = random_circuit(qubits, 12, max_operands=3, seed=int(numbers.integers(1 << 30)))
            getattr(circuit, "save_" + method)()
            result = run(device, circuit, method=method, precision=precision)
            out += (numpy.asarray(result.data(0)[method]),)
        return out
    run_states.__name__ = f"{method}_{precision}"
    return step(rtol=0, atol=1e-10 if precision == "double" else 1e-5)(run_states)


for _precision in ("double", "single"):
    states("statevector", 10, _precision)
    states("density_matrix", 5, _precision)
    states("unitary", 6, _precision)


@step(rtol=0, atol=1e-10)
def expectation(device, numbers):
    circuit = random_circuit(6, 8, max_operands=2, seed=11)
    for k, pauli in enumerate(("ZZIIII", "XIYIZI", "IIIIXX")):
        circuit.save_expectation_value(SparsePauliOp(pauli), range(6), label=str(k))
    data = run(device, circuit, method="statevector").data(0)
    return numpy.array([data[str(k)] for k in range(3)])


def counts(result, qubits):
    got = result.get_counts()
    return numpy.array([got.get(format(k, f"0{qubits}b"), 0) for k in range(1 << qubits)])


@step(rtol=0, atol=200)
def sampled(device, numbers):
    circuit = QuantumCircuit(4)
    circuit.h(0)
    for k in range(3):
        circuit.cx(k, k + 1)
    circuit.measure_all()
    return counts(run(device, circuit, 8000, method="statevector"), 4)


@step(rtol=0, atol=200)
def noise(device, numbers):
    model = NoiseModel()
    model.add_all_qubit_quantum_error(depolarizing_error(0.02, 1), ["h", "x"])
    model.add_all_qubit_quantum_error(depolarizing_error(0.05, 2), ["cx"])
    circuit = QuantumCircuit(4)
    circuit.h(0)
    for k in range(3):
        circuit.cx(k, k + 1)
    circuit.measure_all()
    return counts(run(device, circuit, 8000, method="statevector", noise_model=model), 4)


steps.main({"cpu": lambda: "CPU", "cuda": lambda: "GPU"})
