# GPU4PySCF: quantum chemistry, integrals by kernels of its own with CuPy around them, against PySCF on the CPU.
# package: GPU4PySCF
# pip: gpu4pyscf-cuda12x gpu4pyscf-libxc-cuda12x pyscf cupy-cuda12x nvidia-cuda-nvrtc-cu12 nvidia-cuda-runtime-cu12
# cuda: 12
# what: energies of water by Hartree-Fock, PBE0, r2SCAN (density fitting), MP2; of O2 unrestricted; gradients, Hessian
# check: gpu4pyscf/lib/*.so
# cpu: (PySCF)
# limit: 1200
import numpy
from pyscf import gto

import steps
from steps import step

WATER = dict(atom="O 0 0 0.1173; H 0 0.7572 -0.4692; H 0 -0.7572 -0.4692", basis="def2-svp", verbose=0)


def package(device, name):
    """A module of PySCF, or its twin."""
    return __import__(("gpu4pyscf." if device == "cuda" else "pyscf.") + name, fromlist=["_"])


def hartree_fock(device, **molecule):
    method = package(device, "scf.hf").RHF(gto.M(**(molecule or WATER)))
    method.conv_tol = 1e-11
    return method


def functional(device, xc):
    method = package(device, "dft.rks").RKS(gto.M(**WATER), xc=xc)
    method.grids.level = 1
    method.conv_tol = 1e-11
    return method


@step(rtol=0, atol=1e-9)
def energy(device, numbers):
    return hartree_fock(device).kernel()


@step(rtol=0, atol=1e-9)
def energy_pbe0(device, numbers):
    return functional(device, "pbe0").kernel()


@step(rtol=0, atol=1e-9)
def energy_r2scan(device, numbers):
    return functional(device, "r2scan").density_fit(auxbasis="def2-universal-jkfit").kernel()


@step(rtol=0, atol=1e-9)
def energy_unrestricted(device, numbers):
    method = package(device, "scf.uhf").UHF(gto.M(atom="O 0 0 0; O 0 0 1.2", basis="def2-svp", spin=2, verbose=0))
    method.conv_tol = 1e-11
    return method.kernel()


@step(rtol=0, atol=1e-8)
def energy_mp2(device, numbers):
    method = hartree_fock(device)  # not fitted: MP2 of PySCF would take its fitting basis, the other package its own
    method.kernel()
    return package(device, "mp.dfmp2").DFMP2(method).kernel()[0]


@step(rtol=0, atol=1e-6)
def gradient(device, numbers):
    method = hartree_fock(device)
    method.kernel()
    return package(device, "grad.rhf").Gradients(method).kernel()


@step(rtol=0, atol=1e-5)
def hessian(device, numbers):
    method = hartree_fock(device)
    method.kernel()
    return numpy.asarray(package(device, "hessian.rhf").Hessian(method).kernel())


steps.main({"cpu": lambda: "cpu", "cuda": lambda: "cuda"})
