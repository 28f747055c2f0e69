# PennyLane's lightning.gpu: quantum circuits by cuStateVec, against PennyLane's default.qubit.
# package: PennyLane lightning.gpu
# pip: pennylane-lightning-gpu pennylane
# cuda: 12
# what: states, expectation values of a Hamiltonian, probabilities and variances, gradients by the adjoint method; double and single precision
# check: pennylane_lightning/lightning_gpu_ops*.so
# cpu: own
import numpy
import pennylane as qml

import steps
from steps import step

QUBITS = 9


def device_of(device, kind):
    if device == "cpu":
        return qml.device("default.qubit", wires=QUBITS)
    return qml.device("lightning.gpu", wires=QUBITS, c_dtype=kind)


def operations(kind, atol):
    def weights(numbers):
        return numbers.random(qml.StronglyEntanglingLayers.shape(3, QUBITS))

    def state(device, numbers):
        unitary = numpy.linalg.qr(numbers.standard_normal((4, 4)) + 1j * numbers.standard_normal((4, 4)))[0]

        def circuit(w):
            qml.StronglyEntanglingLayers(w, wires=range(QUBITS))
            qml.IsingXX(0.3, wires=[0, 5])
            qml.Toffoli(wires=[1, 2, 3])
            qml.QubitUnitary(unitary, wires=[2, 7])
            return qml.state()
        return qml.QNode(circuit, device_of(device, kind))(weights(numbers))

    def measured(device, numbers):
        def circuit(w):
            qml.StronglyEntanglingLayers(w, wires=range(QUBITS))
            return qml.probs(wires=[1, 3, 8]), qml.var(qml.Z(2))
        return tuple(qml.QNode(circuit, device_of(device, kind))(weights(numbers)))

    def energy_and_gradient(device, numbers):
        h = qml.Hamiltonian([0.3, 0.5, 0.7], [qml.Z(0) @ qml.X(1), qml.Y(4), qml.X(2) @ qml.Y(7) @ qml.Z(8)])

        def circuit(w):
            qml.StronglyEntanglingLayers(w, wires=range(QUBITS))
            return qml.expval(h)
        node = qml.QNode(circuit, device_of(device, kind), diff_method="backprop" if device == "cpu" else "adjoint")
        w = qml.numpy.array(weights(numbers), requires_grad=True)
        return node(w), qml.grad(node)(w)

    for f in (state, measured, energy_and_gradient):
        f.__name__ += f"_{numpy.dtype(kind).name}"
        step(rtol=0, atol=atol)(f)


operations(numpy.complex128, 1e-10)
operations(numpy.complex64, 1e-5)
steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
