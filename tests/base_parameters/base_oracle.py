"""Sampled regressors: what the derived base parameters are compared with."""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from pinocchio_oracle import Oracle
from zveno.algorithms.energy import kinetic_energy, potential_energy
from zveno.algorithms.regressor import drive_regressor
from zveno.mechanism import Mechanism
from zveno.mechanism.edit import with_inertia
from zveno.spatial import inertia


def sampled(mechanism: Mechanism, drives: bool = False) -> np.ndarray:
    """Pinocchio's regressor at random states of every coordinate, limits ignored, in our parameters.

    The columns are those of `robot.regressor`, and of `drive_regressor` behind them if `drives`.
    """
    oracle = Oracle(mechanism)
    model, data, n = oracle.model, oracle.data, mechanism.n_v
    rng = np.random.default_rng(7)
    to_joint = np.zeros((10 * (model.njoints - 1), 10 * len(mechanism.joints)))
    for i, link in enumerate(mechanism.links[1:]):
        frame = model.frames[oracle.frames[link.name]]
        if frame.parentJoint:
            T = frame.placement.homogeneous
            rows = slice(10 * (frame.parentJoint - 1), 10 * frame.parentJoint)
            to_joint[rows, 10 * i : 10 * i + 10] = np.array([inertia.moved(unit, T) for unit in np.eye(10)]).T
    rows = []
    for _ in range(15 * len(mechanism.joints) // max(n, 1) + 20):
        q = mechanism.integrate(mechanism.neutral(), rng.uniform(-2.0, 2.0, n))
        v, a = rng.normal(size=(2, n)) * 2.0
        there = (oracle.q(q), oracle.v(q, v), oracle.a(q, v, a))
        W = oracle.G(q).T @ pin.computeJointTorqueRegressor(model, data, *there).reshape(model.nv, -1) @ to_joint
        rows.append(np.concatenate([W, drive_regressor(mechanism, v, a)], axis=1) if drives else W)
    return np.concatenate(rows)


def rank_of(W: np.ndarray, tolerance: float = 1e-9) -> int:
    """Rank by singular values of the matrix with columns of length 1."""
    size = np.linalg.norm(W, axis=0)
    if not W.size or not size.any():
        return 0
    used = size > 1e-11 * size.max()
    s = np.linalg.svd(np.linalg.qr(W[:, used] / size[used], mode="r"), compute_uv=False)
    return int((s > tolerance * s[0]).sum())


def residual(W: np.ndarray, base) -> float:
    """How far the base columns, grouped, are from the whole regressor, over the parameters that are counted."""
    counted = list(base.counted)
    left = W[:, counted] - W[:, base.columns] @ base.matrix[:, counted]
    return float(np.linalg.norm(left) / max(np.linalg.norm(W[:, counted]), 1e-12))


def energy_rows(mechanism: Mechanism, states, reference) -> np.ndarray:
    """Lagrangian at (q, v) less that at rest in the reference, for unit parameters of every link."""
    columns = []
    for link in mechanism.links[1:]:
        for unit in np.eye(10):
            others = {one.name: np.zeros(10) for one in mechanism.links}
            model = with_inertia(mechanism, others | {link.name: unit})
            rest = potential_energy(model, reference)
            columns.append([kinetic_energy(model, q, v) - potential_energy(model, q) + rest for q, v in states])
    return np.array(columns).T


def merging_rotors(mechanism: Mechanism, tolerance: float = 1e-9) -> set[int]:
    """The rule in words, for trees of revolute and prismatic joints without coupling: links whose rotor merges.

    The rotor of a revolute joint merges with the link's inertia about its axis if that inertia is never seen
    otherwise: there is no revolute joint before it, or all of them are parallel to one another and perpendicular to
    it. The rotor of a prismatic joint merges with the mass it carries if all revolute joints before it are parallel
    to it, all prismatic ones perpendicular, and gravity too.
    """
    R, turning, sliding = {0: np.eye(3)}, {0: []}, {0: []}
    found = set()
    for i, f, joint in mechanism.outward():
        R_joint = R[f] @ joint.T_parent_joint[:3, :3]
        R[i] = R_joint @ joint.T_joint_child[:3, :3]
        turning[i], sliding[i] = list(turning[f]), list(sliding[f])
        axis = joint.type.parameters().get("axis")
        if axis is None:
            continue
        z = R_joint @ np.asarray(axis)
        if joint.type.sigma:
            merges = all(abs(x @ z) < tolerance and _parallel(x, turning[f][0], tolerance) for x in turning[f])
            turning[i].append(z)
        else:
            across = [*sliding[f], mechanism.gravity]
            merges = all(_parallel(x, z, tolerance) for x in turning[f]) and all(
                abs(x @ z) < tolerance for x in across
            )
            sliding[i].append(z)
        if merges:
            found.add(i)
    return found


def _parallel(x, y, tolerance: float) -> bool:
    return float(np.linalg.norm(np.cross(x, y))) < tolerance
