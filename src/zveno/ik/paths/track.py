"""Following configurations along a path: q̇ = J⁻¹V integrated with correction, all configurations at once."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ...robot_functions import RobotFunctions
from ...spatial import transforms
from ...spatial.rotations import log
from ..checks.judgement import errors, jacobians, judged
from ..ik_problem import TURN, IkProblem
from ..newton import Lanes, lanes_of, newton
from ..six_revolute.templates import rigid_inverse
from .crossings import LONGEST, Crossing, crossing

HALVINGS = 5
"""A step that fails is halved this many times before it is given up."""
NEARLY_SINGULAR = 1e-3
UNEVEN = 4.0
"""Through a change of the sign of det J, no step may be longer than this times the middle one: steps of a curve
shrink evenly as it is refined, a hop to another branch does not."""
PIECES = 8
"""Pieces of a jump at the ends of which deviations from the path are measured."""
_ACCEPTED = 1e-19
_OFF_PREDICTION = 0.5
"""The corrected point may differ from the predicted one by this fraction of the step, and not by more."""


class Advance(NamedTuple):
    """Configurations followed from one pose to the next."""

    states: np.ndarray
    """(s, d) where they arrived; limits are not looked at."""
    steps: np.ndarray
    """(s, m) joint motion on the way, in radians and lengths of the arm."""
    arrived: np.ndarray
    """(s,) whether they arrived, on the branch they started on."""


class Follower(Protocol):
    """What follows configurations of a chain along given poses. A state is a configuration as it wants it."""

    @property
    def periodic(self) -> np.ndarray:
        """(d,) which numbers of a state may change by whole turns."""
        ...

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) limits of a state, (d,)."""
        ...

    def states(self, q: np.ndarray) -> np.ndarray:
        """States (s, d) of configurations (s, n_q)."""
        ...

    def configurations(self, states: np.ndarray) -> np.ndarray:
        """Configurations (s, n_q) of states (s, d)."""
        ...

    def difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a − b (..., m) of states, as joint motion, whole turns counted."""
        ...

    def advance(self, k: np.ndarray, states: np.ndarray) -> Advance:
        """States (s, d) from their poses k (s,) to the poses k + 1."""
        ...

    def crossing(self, k: int, state: np.ndarray, after: np.ndarray) -> Crossing | None:
        """Which of the states (s, d) of pose k + 1 a state (d,) gets to through a singularity on the way."""
        ...

    def signs(self, k: int, states: np.ndarray) -> np.ndarray:
        """Sign of det J at pose k where J is square, else 1."""
        ...

    def least_singular(self, k: int, states: np.ndarray) -> np.ndarray:
        """Least singular value of J at pose k, lengths relative to the arm's; (s,)."""
        ...


class ChainFollower:
    """Follows chains whose coordinates are plain numbers, in the chain's units.

    Args:
        problem: the chain.
        T: poses (N, 4, 4).
    """

    problem: IkProblem
    lanes: Lanes
    periodic: np.ndarray
    box: tuple[np.ndarray, np.ndarray]

    def __init__(self, problem: IkProblem, T: np.ndarray):
        self.problem, self.T, self.lanes = problem, T, lanes_of(problem, T)
        self.periodic, self.box = problem.turning, problem.box
        self._index = np.zeros(problem.n, int)
        for step in problem.steps:
            if step.index is not None:
                self._index[step.coordinate] = step.index

    def states(self, q: np.ndarray) -> np.ndarray:
        """Chain coordinates (s, n)."""
        return self.problem.in_units(q[..., self._index])

    def configurations(self, states: np.ndarray) -> np.ndarray:
        """Configurations (s, n_q)."""
        return self.problem.to_q(self.problem.from_units(states))

    def difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """The plain difference."""
        return a - b

    def advance(self, k: np.ndarray, states: np.ndarray) -> Advance:
        """All at once; those that fail again in twice as many pieces."""
        ends, arrived = states.copy(), np.zeros(len(states), bool)
        todo = np.arange(len(states))
        before = self._signs(k, states)
        for halvings in range(HALVINGS + 1):
            way, begin = self._way(k[todo], 2**halvings)
            x, fine = states[todo], np.ones(len(todo), bool)
            lengths = []
            for piece in range(1, 2**halvings + 1):
                after, good = self.step(way, begin + piece, x)
                lengths.append(np.max(np.abs(after - x), axis=1, initial=0.0))
                x, fine = after, fine & good
            turned = self._signs(k[todo] + 1, x) * before[todo] < 0
            even = np.max(lengths, axis=0) <= UNEVEN * np.median(lengths, axis=0) + 1e-9
            fine &= ~turned | (even if halvings == HALVINGS else False)
            ends[todo[fine]], arrived[todo[fine]] = x[fine], True
            todo = todo[~fine]
            if not len(todo):
                break
        return Advance(ends, ends - states, arrived)

    def _way(self, k: np.ndarray, pieces: int) -> tuple[Lanes, np.ndarray]:
        """Poses from the poses k (s,) to the next ones in pieces, and where among them each begins, (s,)."""
        if pieces == 1:
            return self.lanes, k
        numbers, place = np.unique(k, return_inverse=True)
        poses = [between(self.T[i], self.T[i + 1], pieces) for i in numbers]
        return lanes_of(self.problem, np.concatenate(poses)), place * (pieces + 1)

    def step(self, way: Lanes, pose: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Prediction by the Jacobian towards the poses, then correction; and whether that went well."""
        J, e = jacobians(self.problem, x, way, pose), errors(self.problem, x, way, pose)
        predicted = x - np.einsum("snm,sm->sn", np.linalg.pinv(J, rcond=1e-8), e)
        corrected, squared = newton(self.problem, predicted, way.targets[pose], way.tool, 12)
        size = np.max(np.abs(corrected - x), axis=1, initial=0.0)
        off = np.max(np.abs(corrected - predicted), axis=1, initial=0.0)
        good = (squared < _ACCEPTED) & (size <= LONGEST) & (off <= _OFF_PREDICTION * size + 1e-6)
        return np.where(np.isfinite(corrected), corrected, x), good

    def crossing(self, k: int, state: np.ndarray, after: np.ndarray) -> Crossing | None:
        """By `crossings.crossing` where J is square."""
        square = self.problem.n == self.problem.task.n_rows
        return crossing(self, k, state, after) if square else None

    def signs(self, k: int, states: np.ndarray) -> np.ndarray:
        """Sign of det J where J is square, else 1."""
        return self._signs(np.full(len(states), k), states)

    def _signs(self, k: np.ndarray, states: np.ndarray) -> np.ndarray:
        if self.problem.n != self.problem.task.n_rows or not len(states):
            return np.ones(len(states))
        return np.sign(np.linalg.det(jacobians(self.problem, states, self.lanes, k)))

    def least_singular(self, k: int, states: np.ndarray) -> np.ndarray:
        """As the checks of solutions judge it."""
        return judged(self.problem, states, self.lanes, np.full(len(states), k)).least


def between(A: np.ndarray, B: np.ndarray, pieces: int) -> np.ndarray:
    """Poses from A to B by a constant twist, (pieces + 1, 4, 4)."""
    if pieces == 1:
        return np.stack([A, B])
    D = transforms.inverse(A) @ B
    twist = transforms.log(log(D[:3, :3]), D[:3, 3])
    return np.stack([A, *(A @ transforms.exp(twist * (j / pieces)) for j in range(1, pieces)), B])


def jump_deviations(
    robot: RobotFunctions,
    problem: IkProblem,
    T: np.ndarray,
    follower: Follower,
    jumps: tuple[int, ...],
    states: np.ndarray,
) -> np.ndarray:
    """(jumps, 2) metres and radians off the path if all joints move evenly from one pose to the next.

    Args:
        robot: the robot.
        problem: the chain.
        T: poses (N, 4, 4).
        follower: of the chain.
        jumps: numbers of the poses after which the motion is not continuous.
        states: (N, d) the configurations chosen, NaN where there is none.
    """
    worst = np.zeros((len(jumps), 2))
    for row, k in enumerate(jumps):
        after = k + 1 + int(np.argmin(np.isnan(states[k + 1 :, 0])))
        q, end = follower.configurations(states[[k, after]])
        step = np.linspace(0.0, 1.0, PIECES + 1)[:, None] * robot.difference(q, end)
        poses = _poses(robot, problem, robot.integrate(np.broadcast_to(q, (len(step), len(q))), step))
        off = rigid_inverse(between(T[k], T[after], PIECES)) @ poses
        if len(problem.task.position) == 3:
            worst[row, 0] = np.linalg.norm(off[:, :3, 3], axis=1).max()
        if len(problem.task.rotation) == 3:
            chord = np.linalg.norm(off[:, :3, :3] - np.eye(3), axis=(1, 2)).max() / np.sqrt(8.0)
            worst[row, 1] = 2.0 * np.arcsin(min(1.0, chord))
    return worst


def _poses(robot: RobotFunctions, problem: IkProblem, q: np.ndarray) -> np.ndarray:
    """Poses (s, 4, 4) of the frame seen from the reference at q (s, n_q)."""
    T = robot.forward_kinematics(q, frame=problem.frame)
    if problem.reference is None:
        return T
    return rigid_inverse(robot.forward_kinematics(q, frame=problem.reference)) @ T


def whole_turns(periodic: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Whole turns (..., d) in differences of states, 0 for numbers that are not periodic."""
    return np.where(periodic, np.round(d / TURN), 0.0)
