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
from .track import FEWEST, HALVINGS, Advance, ChainFollower, Follower, between, extremes

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
        """Return errors (s, r) of the poses at q (s, n_q) from T (4, 4), in T's axes, and Jacobians (s, r, m)."""
        problem, robot = self.problem, self.robot
        F, J = pose_and_jacobian(robot, q, problem.frame, problem.reference)
        J = J[..., self.columns]
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


class BallFollower:
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

    def advance(self, k: np.ndarray, states: np.ndarray) -> Advance:
        """Follow states one by one, in more and more pieces until it works."""
        ends, arrived = states.copy(), np.zeros(len(states), bool)
        least, greatest = states.copy(), states.copy()
        for i, (number, q) in enumerate(zip(k, states, strict=True)):
            way = self._advanced(q, self.T[number], self.T[number + 1])
            if len(way):
                ends[i], arrived[i] = way[-1], True
                least[i], greatest[i] = extremes(way)
        return Advance(ends, self.difference(ends, states), arrived, least, greatest)

    def _advanced(self, q: np.ndarray, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return configurations (p, n_q) on the way from pose A to pose B; none if not found."""
        for halvings in range(FEWEST, HALVINGS + 1):
            way, fine = [q], True
            for target in between(A, B, 2**halvings)[1:]:
                now = self._corrected(way[-1], target)
                close = np.abs(self.tangent.error(now[None], target)[0]).max() < EXACT
                short = np.abs(self.tangent.step(now, way[-1])).max() <= LONGEST / 2**halvings
                fine = bool(close and short and self.tangent.problem.balls_inside(now))
                way.append(now)
                if not fine:
                    break
            if fine:
                return np.array(way)
        return np.zeros((0, len(q)))

    def _corrected(self, q: np.ndarray, target: np.ndarray) -> np.ndarray:
        for _ in range(CORRECTIONS):
            e, J = self.tangent.error(q[None], target)
            q = self.tangent.moved(q[None], -(np.linalg.pinv(J[0], rcond=1e-8) @ e[0])[None])[0]
            if np.abs(e).max() < EXACT:
                break
        return q

    def crossing(self, k: int, state: np.ndarray, after: np.ndarray) -> Crossing | None:
        """Return None: a motion through a singularity of a chain with balls is a jump."""
        return None

    def signs(self, k: int, states: np.ndarray) -> np.ndarray:
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
