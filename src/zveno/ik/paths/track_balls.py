"""Following branches of chains with ball joints: in the tangent space, by `integrate`, without angles.

The angles that stand for a ball in a scan have a singularity of their own, where the second is a right angle.
Along a path they would stop a branch that has no reason to stop, so here q moves by velocities: quaternions stay
what they are, and every step is as long as the joint really moves.
"""

from __future__ import annotations

import numpy as np

from ...robot_functions import RobotFunctions
from ...spatial.rotations import log
from ..ik_problem import IkProblem
from .track import NEARLY_SINGULAR, Branch, _interpolated

CORRECTIONS, PIECES = 8, 32
"""Newton steps a pose, and the most pieces that a step between poses is cut into."""
EXACT = 1e-10


class Tangent:
    """The chain of a problem in the robot's own q and velocities.

    Args:
        robot: the robot.
        problem: the chain.
    """

    def __init__(self, robot, problem: IkProblem):
        self.robot = robot if isinstance(robot, RobotFunctions) else RobotFunctions(problem.mechanism)
        self.problem = problem
        mechanism = problem.mechanism
        names = dict.fromkeys(self._leader(step.joint) for step in problem.steps)
        self.columns = np.concatenate([np.arange(mechanism.n_v)[mechanism.v_slices[name]] for name in names])
        units, endless = np.ones(mechanism.n_v), np.zeros(mechanism.n_v, bool)
        for name in names:
            joint, own = mechanism.joint(name), mechanism.v_slices[name]
            units[own] = [problem.length if unit == "m" else 1.0 for unit in _velocity_units(joint)]
            if joint.type.n_q == joint.type.n_v == 1 and joint.type.sigma == 1:
                q = mechanism.q_slices[name]
                endless[own] = np.isinf(mechanism.lower[q]) & np.isinf(mechanism.upper[q])
        self.units, self.endless = units[self.columns], endless[self.columns]

    def _leader(self, name: str) -> str:
        mimic = self.problem.mechanism.joint(name).mimic
        return name if mimic is None else mimic.joint

    def step(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a − b (..., m) of configurations, as a velocity of the chain's joints, in solvers' units."""
        a, b = np.broadcast_arrays(a, b)
        d = self.robot.difference(b, a)[..., self.columns] / self.units
        return d - np.where(self.endless, 2 * np.pi * np.round(d / (2 * np.pi)), 0.0)

    def error(self, q: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Difference (s, r) of the poses at q (s, n_q) from T (4, 4), in T's axes, and its Jacobian (s, r, m)."""
        problem, robot = self.problem, self.robot
        F, J = robot.forward_kinematics(q, frame=problem.frame), robot.jacobian(q, frame=problem.frame)
        J = J[..., self.columns]
        if problem.reference is not None:
            R = robot.forward_kinematics(q, frame=problem.reference)
            other = robot.jacobian(q, frame=problem.reference)[..., self.columns]
            v, w = J[:, :3] - other[:, :3], J[:, 3:] - other[:, 3:]
            arm = (F[:, :3, 3] - R[:, :3, 3])[:, None]
            v = v - np.swapaxes(np.cross(np.swapaxes(other[:, 3:], 1, 2), arm), 1, 2)
            Rt = np.swapaxes(R[:, :3, :3], 1, 2)
            F, J = np.linalg.inv(R) @ F, np.concatenate([Rt @ v, Rt @ w], axis=1)
        turn = T[:3, :3].T
        p = (F[:, :3, 3] - T[:3, 3]) @ turn.T / problem.length
        E = turn @ F[:, :3, :3]
        seen = np.concatenate([turn @ J[:, :3] / problem.length, turn @ J[:, 3:]], axis=1) * self.units
        task = problem.task
        if task.axis:
            a = E[:, :, 2]
            rows = np.stack(
                [seen[:, 4] * a[:, 2:] - seen[:, 5] * a[:, 1:2], seen[:, 5] * a[:, :1] - seen[:, 3] * a[:, 2:]], 1
            )
            rotation, rates = a[:, :2], rows
        else:
            kept = list(task.rotation)
            rotation = np.stack([log(one) for one in E])[:, kept] if kept else np.zeros((len(q), 0))
            rates = seen[:, 3:][:, kept]
        position = list(task.position)
        return np.concatenate([p[:, position], rotation], axis=1), np.concatenate(
            [seen[:, position], rates], axis=1
        )

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q (s, n_q) after a step (s, m) of the chain's joints."""
        v = np.zeros((len(q), self.robot.n_v))
        v[:, self.columns] = step * self.units
        return self.robot.integrate(q, v)


def tracked_q(tangent: Tangent, T: np.ndarray, starts: np.ndarray, largest: float, reachable) -> tuple[Branch, ...]:
    """Branches along poses (N, 4, 4) from all configurations `starts` (b, n_q) of the first; as `track.tracked`."""
    return tuple(_one(tangent, T, start, largest, reachable) for start in starts)


def _one(tangent: Tangent, T: np.ndarray, start: np.ndarray, largest: float, reachable) -> Branch:
    mechanism = tangent.problem.mechanism
    path, crossings = [start], []
    sign = _sign(tangent, start, T[0])
    for k in range(1, len(T)):
        q, reason = _advanced(tangent, path[-1], T[k - 1], T[k], largest)
        if not reason:
            over = np.maximum(mechanism.lower - q, q - mechanism.upper)
            worst = np.flatnonzero(over > 1e-9)
            reason = (
                "limit of " + ", ".join(f"{mechanism.coordinate_names[j]} by {over[j]:.3g}" for j in worst)
                if len(worst)
                else ""
            )
        elif not reachable[k]:
            reason = "the pose has no solution"
        if reason:
            return Branch(np.array(path), k, reason, tuple(crossings))
        now = _sign(tangent, q, T[k])
        if now * sign < 0:
            crossings.append(k)
        sign = now
        path.append(q)
    return Branch(np.array(path), None, "", tuple(crossings))


def _advanced(
    tangent: Tangent, q: np.ndarray, A: np.ndarray, B: np.ndarray, largest: float
) -> tuple[np.ndarray, str]:
    """q at the next pose, or why it cannot get there; in more and more pieces until it can."""
    pieces = 1
    while pieces <= PIECES:
        own, fine = q, True
        for target in _interpolated(A, B, pieces)[1:]:
            before = own
            for _ in range(CORRECTIONS):
                e, J = tangent.error(own[None], target)
                own = tangent.moved(own[None], -(np.linalg.pinv(J[0], rcond=1e-8) @ e[0])[None])[0]
                if np.abs(e).max() < EXACT:
                    break
            arrived = np.abs(tangent.error(own[None], target)[0]).max() < EXACT
            fine = bool(arrived and np.abs(tangent.step(own, before)).max() <= largest / pieces)
            if not fine:
                break
        if fine:
            return own, ""
        pieces *= 2
    least = np.linalg.svd(tangent.error(q[None], A)[1][0], compute_uv=False)[-1]
    if least < NEARLY_SINGULAR * 20:
        return q, f"singularity: the least singular value falls to {least:.2g}"
    return q, "the pose is out of reach of this branch, or too far from the one before"


def singular_poses(tangent: Tangent, T: np.ndarray, q: np.ndarray, threshold: float) -> tuple[int, ...]:
    """Numbers of the poses at which configurations (N, n_q), NaN where there is none, are nearly singular."""
    known = [k for k in range(len(T)) if not np.isnan(q[k]).any()]
    least = [np.linalg.svd(tangent.error(q[k][None], T[k])[1][0], compute_uv=False)[-1] for k in known]
    return tuple(k for k, value in zip(known, least, strict=True) if value < threshold)


def _sign(tangent: Tangent, q: np.ndarray, T: np.ndarray) -> float:
    J = tangent.error(q[None], T)[1][0]
    return float(np.sign(np.linalg.det(J))) if J.shape[0] == J.shape[1] else 1.0


def _velocity_units(joint) -> list[str]:
    kind = joint.type.kind
    if kind == "spherical":
        return ["rad"] * 3
    return ["m"] * 3 + ["rad"] * 3 if kind == "free" else list(joint.type.units)
