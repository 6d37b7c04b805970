"""Dynamics of every URDF of the package `example-robot-data`, on a fixed and a floating base, against Pinocchio."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest

from mechanisms import random_state
from pinocchio_oracle import Oracle
from tiers import every
from zveno.algorithms.drives import rotor_matrix, rotor_torque
from zveno.algorithms.energy import kinetic_energy, potential_energy, total_momentum
from zveno.algorithms.forward_dynamics import forward_dynamics
from zveno.algorithms.inverse_dynamics import bias, gravity_torque, inverse_dynamics
from zveno.algorithms.mass_matrix import centroidal_matrix, inverse_mass_matrix, mass_matrix
from zveno.algorithms.regressor import regressor
from zveno.algorithms.singular import refuse_singular
from zveno.errors import ModelError, ZvenoWarning
from zveno.io.urdf import read_urdf
from zveno.mechanism import Mechanism
from zveno.mechanism.base import with_base
from zveno.mechanism.plausibility import rigid_clusters
from zveno.robot import Robot
from zveno.spatial import inertia

ROUNDING = 1e-12
"""Relative to the largest entry of what is compared: a hundred links, 1e-16 a rounding, two orders for large terms
that cancel. What goes through the inverse of the mass matrix may also lose its condition times 1e-15."""

NOT_ROBOTS = {"ur3.urdf", "alex_psyonic_hands.urdf"}
"""Files that no reader can read; tests/io says why."""
SINGULAR = {"romeo", "romeo_laas_small"}
"""Their hands have massless fingers on hinges."""
COMPILED = {"ur5_robot": "fixed", "panda": "fixed", "solo12": "free", "simple_humanoid": "free"}
"""Robots whose compiled functions are compared too, and on which base."""

URDFS = {
    f"{path.parts[-3]}-{path.stem}": path
    for path in sorted(Path(str(file.locate())) for file in files("example-robot-data") or ())
    if path.suffix == ".urdf" and "robots" in path.parts and path.name not in NOT_ROBOTS
}


@cache
def read(name: str) -> Mechanism:
    """The file's mechanism."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ZvenoWarning)
        return read_urdf(URDFS[name])


def on(base: str, mechanism: Mechanism) -> Mechanism:
    """On another base; what cannot move gets no mass, since Pinocchio leaves that out of its totals."""
    mechanism = with_base(mechanism, base)
    grounded = rigid_clusters(mechanism)[0]
    links = [
        replace(link, inertia=np.zeros(10)) if i in grounded else link for i, link in enumerate(mechanism.links)
    ]
    return replace(mechanism, links=tuple(links))


class Theirs:
    """Every function of dynamics by Pinocchio, in our coordinates; rotors are added here."""

    def __init__(self, mechanism: Mechanism, q, v, a):
        oracle = Oracle(mechanism)
        self.mechanism, self.oracle = mechanism, oracle
        self.model, self.data = oracle.model, oracle.data
        self.q, self.v, self.a = oracle.q(q), oracle.v(q, v), oracle.a(q, v, a)
        self.G = oracle.G(q)
        self.rotors, self.rotor_torque = rotor_matrix(mechanism), rotor_torque(mechanism, a)

    def inverse_dynamics(self):
        return self.G.T @ pin.rnea(self.model, self.data, self.q, self.v, self.a) + self.rotor_torque

    def bias(self):
        return self.G.T @ pin.nonLinearEffects(self.model, self.data, self.q, self.v)

    def gravity_torque(self):
        return self.G.T @ pin.computeGeneralizedGravity(self.model, self.data, self.q)

    def mass_matrix(self):
        M = pin.crba(self.model, self.data, self.q)
        return self.G.T @ (np.triu(M) + np.triu(M, 1).T) @ self.G + self.rotors

    def forward_dynamics(self, tau):
        """By the articulated-body algorithm, or with the mass matrix where mimic joints or rotors forbid it."""
        if self.G.shape[0] == self.G.shape[1] and not self.rotors.any():
            return self.G.T @ pin.aba(self.model, self.data, self.q, self.v, self.G @ tau)
        return np.linalg.solve(self.mass_matrix(), tau - self.bias())

    def energies(self):
        kinetic = pin.computeKineticEnergy(self.model, self.data, self.q, self.v)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, self.q)

    def centroidal_matrix(self):
        return pin.computeCentroidalMap(self.model, self.data, self.q) @ self.G

    def regressor(self):
        """Their parameters are of all that is rigid with a joint, about the joint; ours of a link about itself."""
        W = self.G.T @ pin.computeJointTorqueRegressor(self.model, self.data, self.q, self.v, self.a)
        blocks = []
        for link in self.mechanism.links[1:]:
            frame = self.model.frames[self.oracle.frames[link.name]]
            k = frame.parentJoint
            if k == 0:  # fixed to the ground
                blocks.append(np.zeros((len(W), 10)))
                continue
            to_joint = np.stack([inertia.moved(unit, frame.placement.homogeneous) for unit in np.eye(10)], axis=1)
            blocks.append(W[:, 10 * (k - 1) : 10 * k] @ to_joint)
        return np.concatenate(blocks, axis=1)

    def inverse_dynamics_derivatives(self):
        by_q, by_v, _ = pin.computeRNEADerivatives(self.model, self.data, self.q, self.v, self.a)
        return self.G.T @ by_q @ self.G, self.G.T @ by_v @ self.G, self.mass_matrix()

    def forward_dynamics_derivatives(self):
        """At the acceleration a: ∂a/∂x = −M⁻¹ ∂τ/∂x."""
        by_q, by_v, M = self.inverse_dynamics_derivatives()
        inverse = np.linalg.inv(M)
        return -inverse @ by_q, -inverse @ by_v, inverse


def agree(ours, theirs, what: str, tolerance: float = ROUNDING):
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape, what
    size = max(abs(theirs).max(initial=0.0), 1e-12)
    assert abs(ours - theirs).max(initial=0.0) / size < tolerance, what


def conditioned(M) -> float:
    return ROUNDING + 1e-15 * np.linalg.cond(M)


@pytest.mark.laws(after=3)
@pytest.mark.parametrize("base", ["fixed", "free"])
@pytest.mark.parametrize("name", every(URDFS, 8))
def test_every_file(name, base):
    mechanism = read(name)
    mechanism = on(base, mechanism)
    if mechanism.n_v == 0:
        pytest.skip("nothing in it moves")
    q, v, a = random_state(mechanism, 7)
    theirs = Theirs(mechanism, q, v, a)
    tau = inverse_dynamics(mechanism, q, v, a)
    agree(tau, theirs.inverse_dynamics(), "inverse dynamics")
    agree(bias(mechanism, q, v), theirs.bias(), "bias")
    agree(gravity_torque(mechanism, q), theirs.gravity_torque(), "gravity")
    M = mass_matrix(mechanism, q)
    agree(M, theirs.mass_matrix(), "mass matrix")
    agree(regressor(mechanism, q, v, a), theirs.regressor(), "regressor")
    kinetic, potential = theirs.energies()
    agree(kinetic_energy(mechanism, q, v), kinetic + 0.5 * v @ rotor_torque(mechanism, v), "kinetic energy")
    agree(potential_energy(mechanism, q), potential, "potential energy")
    A = theirs.centroidal_matrix()
    agree(centroidal_matrix(mechanism, q), A, "centroidal matrix")
    agree(total_momentum(mechanism, q, v)[:3], (A @ v)[:3], "momentum")
    if URDFS[name].stem in SINGULAR:
        with pytest.raises(ModelError, match="mass matrix is singular"):
            refuse_singular(mechanism)
        return
    refuse_singular(mechanism)
    agree(forward_dynamics(mechanism, q, v, tau), theirs.forward_dynamics(tau), "forward dynamics", conditioned(M))
    agree(inverse_mass_matrix(mechanism, q), np.linalg.inv(theirs.mass_matrix()), "inverse", conditioned(M))


def named(stem: str) -> str:
    (name,) = [name for name, path in URDFS.items() if path.stem == stem]
    return name


ALL = ("inverse_dynamics", "bias", "gravity_torque", "mass_matrix", "centroidal_matrix", "regressor")
COSTLY = ("inverse_dynamics", "mass_matrix")
"""Enough for a humanoid, whose regressor alone takes ten seconds to build."""
ARGUMENTS = {"inverse_dynamics": "qva", "bias": "qv", "regressor": "qva"}


@pytest.mark.parametrize("stem", COMPILED)
def test_compiled_functions(stem):
    mechanism = on(COMPILED[stem], read(named(stem)))
    robot = Robot(mechanism)
    states = [random_state(mechanism, seed) for seed in range(3)]
    q, v, a = (np.stack(parts) for parts in zip(*states, strict=True))
    given = {"q": q, "v": v, "a": a}
    computed = {
        name: getattr(robot, name)(*(given[letter] for letter in ARGUMENTS.get(name, "q")))
        for name in (COSTLY if mechanism.n_v > 30 else ALL)
    }
    kinetic, potential = robot.energy(q, v)
    tau = computed["inverse_dynamics"]
    ours_a, ours_inverse = robot.forward_dynamics(q, v, tau), robot.inverse_mass_matrix(q)
    for k in range(len(q)):
        theirs = Theirs(mechanism, q[k], v[k], a[k])
        for name, ours in computed.items():
            agree(ours[k], getattr(theirs, name)(), name)
        agree([kinetic[k], potential[k]], theirs.energies(), "energy")
        M = theirs.mass_matrix()
        agree(ours_a[k], theirs.forward_dynamics(tau[k]), "forward dynamics", conditioned(M))
        agree(ours_inverse[k], np.linalg.inv(M), "inverse of the mass matrix", conditioned(M))


@pytest.mark.parametrize("stem", ["ur5_robot", "panda", "solo12"])
def test_compiled_derivatives(stem):
    mechanism = on(COMPILED[stem], read(named(stem)))
    robot = Robot(mechanism)
    q, v, a = random_state(mechanism, 5)
    theirs = Theirs(mechanism, q, v, a)
    for ours, one in zip(
        robot.inverse_dynamics_derivatives(q, v, a), theirs.inverse_dynamics_derivatives(), strict=True
    ):
        agree(ours, one, "inverse dynamics")
    tolerance = 10 * conditioned(theirs.mass_matrix())
    for ours, one in zip(
        robot.forward_dynamics_derivatives(q, v, robot.inverse_dynamics(q, v, a)),
        theirs.forward_dynamics_derivatives(),
        strict=True,
    ):
        agree(ours, one, "forward dynamics", tolerance)
