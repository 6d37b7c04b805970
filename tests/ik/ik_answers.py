"""What tests of inverse kinematics ask of an answer: is a configuration among its solutions or on its continua?"""

from __future__ import annotations

import numpy as np
from ik_arms import Arm

from zveno import ik
from zveno.ik.native.answer import NativeSolver
from zveno.ik.parts import PER_POSE
from zveno.mechanism import Continuous, Frame, Joint, Limits, Link, Revolute, assemble
from zveno.robot import Robot

PI = np.pi
ROUNDING = 1e-9
"""rad: errors of 1e-14 in a pose over the least singular value of 2e-5 from which on a pose is sure."""

ALONG_ARC = 0.02
ARC_ROUNDING = 1e-14
"""m and rad: two ways to compute a pose of a six-joint arm of some metres differ by less."""


def robot_of(arm: Arm, limits: Limits | None = None) -> Robot:
    """The arm as a robot without limits, or with the same for all joints."""
    links = [Link(f"l{i}") for i in range(len(arm.F) + 1)]
    kind, bounds = (Continuous(), Limits()) if limits is None else (Revolute(), limits)
    joints = [Joint(f"j{i + 1}", f"l{i}", f"l{i + 1}", kind, F, limits=bounds) for i, F in enumerate(arm.F)]
    return Robot(assemble(arm.name, links, joints, [Frame("tool", links[-1].name, arm.tool)]))


def wrapped(d: np.ndarray) -> np.ndarray:
    """Differences of angles, whole turns aside."""
    return d - 2 * PI * np.round(d / (2 * PI))


def nearest(q, solutions: np.ndarray) -> float:
    """How far, rad, the nearest of some configurations (s, n) is from q in its worst joint."""
    return float(np.abs(wrapped(solutions - q)).max(axis=1).min(initial=np.inf))


def told(answer, k: int, q) -> bool:
    """Whether q is among the solutions of pose k, or beside the sample of a family."""
    if nearest(q, answer.of(k)) < 1e-3:
        return True
    return any(nearest(q, family.q) < 0.6 for family in answer.self_motions.get(k, ()))


def told_to_rounding(answer, k: int, arm: Arm, q) -> bool:
    """`told`, or a listed solution is joined to q by an arc along which the pose is met to rounding.

    There the pose does not tell which of the arc it was made from: another order of its products is as far off.
    """
    if told(answer, k, q):
        return True
    T, listed = arm.forward(q), answer.of(k)

    def error(x: np.ndarray) -> np.ndarray:
        off = arm.forward(x)
        turn = off[:3, :3] @ T[:3, :3].T
        axis = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2
        return np.concatenate([off[:3, 3] - T[:3, 3], axis])

    for sign in (1.0, -1.0):
        x, way = np.array(q), None
        for _ in range(300):
            tangent = np.linalg.svd(arm.jacobian(x))[2][-1]
            way = sign * tangent if way is None else tangent * np.sign(tangent @ way)
            x = x + ALONG_ARC * way
            for _ in range(3):
                x = x - np.linalg.pinv(arm.jacobian(x), rcond=1e-4) @ error(x)
            if np.abs(error(x)).max() > ARC_ROUNDING:
                break
            if nearest(x, listed) < ALONG_ARC:
                return True
    return False


def in_batches(solver: NativeSolver, T: np.ndarray) -> np.ndarray:
    """The table of a solver's program for poses (k, 4, 4), within the limits of the model."""
    return solver._batches(T, solver.chain.limits)


def same(native: ik.Solutions, careful: ik.Solutions) -> None:
    """Every field of two answers, values of solutions to rounding."""
    for name in PER_POSE:
        np.testing.assert_allclose(getattr(native, name), getattr(careful, name), atol=1e-9, err_msg=name)
    np.testing.assert_array_equal(native.codes, careful.codes)
    assert native.q.shape == careful.q.shape
    np.testing.assert_array_equal(np.isnan(native.q), np.isnan(careful.q))
    # An error of 1e-14 in a pose moves a coordinate by that over the least singular value, and a condition number
    # by that times its square.
    condition = np.maximum(careful.condition, 1e5)
    off = abs(wrapped(native.q - careful.q)).max(axis=-1, initial=0.0)
    assert (off / condition)[np.isfinite(off)].max(initial=0.0) < 1e-14
    np.testing.assert_allclose(native.residual, careful.residual, atol=1e-12)
    off = abs(native.condition - careful.condition) / condition**2
    assert off[careful.condition < 1e6].max(initial=0.0) < 1e-10
    for name in ("method", "inputs_hash", "notes", "batch", "joint_names", "frame", "chain"):
        assert getattr(native, name) == getattr(careful, name)
    assert native.self_motions.keys() == careful.self_motions.keys()


def beside_singular(robot, q: np.ndarray, joint: int, off: float) -> np.ndarray:
    """q with one joint `off` from the first angle at which det J changes its sign along it."""

    def value(angle: float) -> float:
        moved = q.copy()
        moved[joint] = angle
        return float(np.linalg.det(robot.jacobian(moved)))

    grid = np.linspace(-3.0, 3.0, 61)
    signs = np.sign([value(angle) for angle in grid])
    k = int(np.flatnonzero(np.diff(signs))[0])
    low, high = grid[k], grid[k + 1]
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.sign(value(middle)) == signs[k] else (low, middle)
    moved = q.copy()
    moved[joint] = 0.5 * (low + high) + off
    return moved
