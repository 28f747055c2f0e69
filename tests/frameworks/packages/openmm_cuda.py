# OpenMM: molecular dynamics, kernels by NVRTC in a context of its own, FFTs by cuFFT, against its reference platform.
# package: OpenMM
# pip: OpenMM-CUDA-12 OpenMM numpy nvidia-cuda-nvrtc-cu12==12.9.86
# cuda: driver, NVRTC 12
# what: energies, forces and 20 steps of 216 particles with bonds, angles, torsions and a force of a formula: PME, cut-off, Ewald, LJPME, open; mixed, single and double precision; Langevin and Brownian steps, constraints, barostat, minimisation
# check: OpenMM.libs/lib/plugins/*CUDA*.so*
# cpu: own
import numpy
import openmm as mm

import steps
from steps import step

SIDE, N = 2.4, 216


def system(how, numbers, constraints=False):
    """N particles of five charges on a disturbed grid with forces of all common kinds, and where they are (nm)."""
    s = mm.System()
    s.setDefaultPeriodicBoxVectors((SIDE, 0, 0), (0, SIDE, 0), (0, 0, SIDE))
    grid = numpy.linspace(0, SIDE, 6, endpoint=False)
    at = numpy.array([(x, y, z) for x in grid for y in grid for z in grid]) + numbers.normal(0, 0.02, (N, 3))
    pairs = mm.NonbondedForce()
    pairs.setNonbondedMethod(getattr(pairs, how))
    pairs.setCutoffDistance(1.0)
    formula = mm.CustomNonbondedForce("2*exp(-r*3)*q1*q2")
    formula.addPerParticleParameter("q")
    formula.setNonbondedMethod(formula.NoCutoff if how == "NoCutoff" else formula.CutoffPeriodic)
    formula.setCutoffDistance(1.0)
    bonds, angles, torsions = mm.HarmonicBondForce(), mm.HarmonicAngleForce(), mm.PeriodicTorsionForce()
    for i in range(N):
        s.addParticle(12 + i % 3)
        pairs.addParticle((-1) ** i * 0.3, 0.3, 0.5)
        formula.addParticle([0.1 * (i % 5)])
    for i in range(0, N - 3, 4):
        bonds.addBond(i, i + 1, 0.35, 1000)
        angles.addAngle(i, i + 1, i + 2, 1.9, 50)
        torsions.addTorsion(i, i + 1, i + 2, i + 3, 2, 0.3, 4)
        pairs.addException(i, i + 1, 0, 0.3, 0)
        formula.addExclusion(i, i + 1)
        if constraints:
            s.addConstraint(i + 2, i + 3, numpy.linalg.norm(at[i + 2] - at[i + 3]))
    for force in (pairs, formula, bonds, angles, torsions):
        s.addForce(force)
    return s, at


def context(om, s, at, integrator, precision="mixed"):
    platform = mm.Platform.getPlatformByName("CUDA" if om else "Reference")
    c = mm.Context(s, integrator, platform, {"Precision": precision} if om else {})
    c.setPositions(at)
    return c


def numbers_of(c, energy=True, forces=True):
    state = c.getState(getEnergy=True, getForces=True, getPositions=True)
    out = (numpy.array(state.getPositions(asNumpy=True)._value),)
    out += (numpy.array(state.getForces(asNumpy=True)._value),) if forces else ()
    return out + ((state.getPotentialEnergy()._value,) if energy else ())


def trajectory(om, numbers, how, precision="mixed", **more):
    s, at = system(how, numbers, **more)
    velocities = numbers.normal(0, 0.3, (N, 3))
    integrator = mm.VerletIntegrator(0.0005)
    c = context(om, s, at, integrator, precision)
    c.setVelocities(velocities)
    c.applyConstraints(1e-7)
    before = numbers_of(c)
    integrator.step(20)
    return before + numbers_of(c)


for _how in ("PME", "CutoffPeriodic", "Ewald", "LJPME", "NoCutoff"):
    for _precision in ("mixed", "double", "single"):
        def run(om, numbers, how=_how, precision=_precision):
            return trajectory(om, numbers, how, precision)
        run.__name__ = f"{_how}_{_precision}"
        step(rtol=2e-4, atol=1e-4, largest=1e-3)(run)


@step(rtol=2e-4, atol=1e-4, largest=1e-3)
def constraints(om, numbers):
    return trajectory(om, numbers, "CutoffPeriodic", constraints=True)


@step(rtol=0.1)
def langevin(om, numbers):
    """Random numbers are the platform's: the temperature (K) that they lead to, within a tenth."""
    s, at = system("CutoffPeriodic", numbers)
    integrator = mm.LangevinMiddleIntegrator(300, 20, 0.002)
    integrator.setRandomNumberSeed(7)
    c = context(om, s, at, integrator)
    mm.LocalEnergyMinimizer.minimize(c, 100, 50)
    integrator.step(100)
    kinetic = []
    for _ in range(40):
        integrator.step(5)
        kinetic.append(c.getState(getEnergy=True).getKineticEnergy()._value)
    return numpy.mean(kinetic) / (1.5 * N * 0.00831446)


@step(rtol=0.02)
def minimised(om, numbers):
    s, at = system("CutoffPeriodic", numbers)
    c = context(om, s, at, mm.VerletIntegrator(0.001))
    mm.LocalEnergyMinimizer.minimize(c, 0.1, 0)
    return numbers_of(c)[2]


@step
def barostat(om, numbers):
    """The box changes and the energy stays a number."""
    s, at = system("PME", numbers)
    s.addForce(mm.MonteCarloBarostat(1.0, 300, 5))
    integrator = mm.LangevinMiddleIntegrator(300, 5, 0.001)
    c = context(om, s, at, integrator)
    mm.LocalEnergyMinimizer.minimize(c, 100, 50)
    integrator.step(100)
    state = c.getState(getEnergy=True)
    volume = state.getPeriodicBoxVolume()._value
    return volume != SIDE ** 3, numpy.isfinite(state.getPotentialEnergy()._value), 0.5 < volume / SIDE ** 3 < 2


steps.main({"cpu": lambda: None, "cuda": lambda: mm})
