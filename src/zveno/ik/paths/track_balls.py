"""Following branches of chains with ball joints: in the tangent space, by `integrate`, without angles.

The angles that stand for a ball in a scan have a singularity of their own, where the second is a right angle.
Along a path they would stop a branch that has no reason to stop, so here q moves by velocities: quaternions stay
what they are, and every step is as long as the joint really moves.
"""

from __future__ import annotations

import numpy as np

from ...robot_functions import RobotFunctions
from ...spatial.rotations import log
from ..frame_motion import moving_joints, moving_velocities, pose_and_jacobian
from ..ik_problem import IkProblem
from .crossings import LONGEST, Crossing
from .track import ChainFollower, Follower, PieceFollower, between

CORRECTIONS = 8
"""Newton steps per pose."""
EXACT = 1e-10


class Tangent:
    """The chain of a problem in the robot's own q and velocities.

    Args:
        robot: the robot.
        problem: the chain.
    """

    units: np.ndarray
    endless: np.ndarray

    def __init__(self, robot: RobotFunctions, problem: IkProblem):
        self.robot: RobotFunctions = (
            robot if isinstance(robot, RobotFunctions) else RobotFunctions(problem.mechanism)
        )
        self.problem = problem
        mechanism = problem.mechanism
        self.columns: np.ndarray
        self.columns, self.units = moving_velocities(mechanism, problem)
        endless = np.zeros(mechanism.n_v, bool)
        for name in moving_joints(mechanism, problem):
            joint = mechanism.joint(name)
            if joint.type.n_q == joint.type.n_v == 1 and joint.type.sigma == 1:
                q = mechanism.q_slices[name]
                endless[mechanism.v_slices[name]] = np.isinf(mechanism.lower[q]) & np.isinf(mechanism.upper[q])
        self.endless = endless[self.columns]

    def step(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a − b (..., m) of configurations, as a velocity of the chain's joints, in solvers' units."""
        a, b = np.broadcast_arrays(a, b)
        d = self.robot.difference(b, a)[..., self.columns] / self.units
        return d - np.where(self.endless, 2 * np.pi * np.round(d / (2 * np.pi)), 0.0)

    def error(self, q: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return errors (s, r) of q (s, n_q) from poses T (..., 4, 4), in T's axes, and Jacobians (s, r, m)."""
        problem, robot = self.problem, self.robot
        F, J = pose_and_jacobian(robot, q, problem.frame, problem.reference)
        J = J[..., self.columns]
        turn = np.swapaxes(T[..., :3, :3], -1, -2)
        p = (turn @ (F[:, :3, 3] - T[..., :3, 3])[..., None])[..., 0] / problem.length
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
            rotation = (
                np.stack([log(rotation_error) for rotation_error in E])[:, kept] if kept else np.zeros((len(q), 0))
            )
            rates = seen[:, 3:][:, kept]
        position = list(task.position)
        return np.concatenate([p[:, position], rotation], axis=1), np.concatenate(
            [seen[:, position], rates], axis=1
        )

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return q (s, n_q) after a step (s, m) of the chain's joints."""
        v = np.zeros((len(q), self.robot.n_v))
        v[:, self.columns] = step * self.units
        return self.robot.integrate(q, v)


class BallFollower(PieceFollower):
    """Follows chains with ball joints in their own q; joint motion is a velocity, not a difference of angles.

    Args:
        robot: the robot.
        problem: the chain.
        T: poses (N, 4, 4).
    """

    tangent: Tangent

    def __init__(self, robot: RobotFunctions, problem: IkProblem, T: np.ndarray):
        self.tangent, self.T = Tangent(robot, problem), T
        n_q = problem.mechanism.n_q
        self.names: list[str] = list(problem.mechanism.coordinate_names)
        self.periodic: np.ndarray = np.zeros(n_q, bool)
        self.box: tuple[np.ndarray, np.ndarray] = np.full(n_q, -np.inf), np.full(n_q, np.inf)
        for step in problem.steps:
            if step.index is not None:
                self.box[0][step.index] = problem.lower[step.coordinate]
                self.box[1][step.index] = problem.upper[step.coordinate]

    def states(self, q: np.ndarray) -> np.ndarray:
        """Return q: a state is q itself."""
        return q

    def configurations(self, states: np.ndarray) -> np.ndarray:
        """Return the states: a state is q itself."""
        return states

    def difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the difference as a velocity of the chain's joints."""
        return self.tangent.step(a, b)

    def way(self, k: np.ndarray, pieces: int) -> tuple[np.ndarray, np.ndarray]:
        """Return poses on the way, one piece after the other."""
        numbers, place = np.unique(k, return_inverse=True)
        return np.concatenate([between(self.T[i], self.T[i + 1], pieces) for i in numbers]), place * (pieces + 1)

    def step(self, way: np.ndarray, pose: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Correct by Newton's method until the poses are met; tell if that succeeded within the limits of balls."""
        q, T = x, way[pose]
        for _ in range(CORRECTIONS):
            e, J = self.tangent.error(q, T)
            off = np.abs(e).max(axis=1, initial=0.0) >= EXACT
            if not off.any():
                break
            moved = self.tangent.moved(q, -np.einsum("snm,sm->sn", np.linalg.pinv(J, rcond=1e-8), e))
            q = np.where(off[:, None], moved, q)
        close = np.abs(self.tangent.error(q, T)[0]).max(axis=1, initial=0.0) < EXACT
        short = np.abs(self.difference(q, x)).max(axis=1, initial=0.0) <= LONGEST
        return q, close & short & self.tangent.problem.balls_inside(q)

    def crossing(self, k: int, state: np.ndarray, after: np.ndarray) -> Crossing | None:
        """Return None: a motion through a singularity of a chain with balls is a jump."""
        return None

    def signs_at(self, k: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return the sign of det J if J is square, else 1."""
        if not len(states):
            return np.ones(0)
        J = self.tangent.error(states, self.T[k])[1]
        return np.sign(np.linalg.det(J)) if J.shape[1] == J.shape[2] else np.ones(len(states))

    def least_singular(self, k: int, states: np.ndarray) -> np.ndarray:
        """Return the smallest singular value of the task's Jacobian."""
        return np.linalg.svd(self.tangent.error(states, self.T[k])[1], compute_uv=False)[:, -1]


def follower_for(robot: RobotFunctions, problem: IkProblem, T: np.ndarray) -> Follower:
    """Return the follower of configurations of a chain along poses (N, 4, 4)."""
    return BallFollower(robot, problem, T) if problem.has_balls else ChainFollower(problem, T)
