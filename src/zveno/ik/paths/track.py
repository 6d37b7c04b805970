"""Following configurations along a path: q̇ = J⁻¹V integrated with correction, all configurations at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Protocol

import numpy as np

from ...robot_functions import RobotFunctions
from ...spatial import transforms
from ...spatial.rotations import log
from ..checks.judgement import errors, jacobians, judged
from ..ik_problem import TURN, IkProblem
from ..newton import Lanes, lanes_of, newton
from ..six_revolute.templates import rigid_inverse
from .crossings import LONGEST, Crossing, crossing

FEWEST, HALVINGS = 2, 5
"""Initial and maximum number of halvings of a step; the initial ones show joint motion between poses."""
NEARLY_SINGULAR = 1e-3
UNEVEN = 4.0
"""Through a change of the sign of det J, no step may be longer than this times the middle one: steps of a curve
shrink evenly as it is refined, a hop to another branch does not."""
NEAR_LIMIT = 0.05
"""Distance to a limit, in radians or lengths; nearer turning points of a joint take smaller pieces."""
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
    """(s,) True if they arrived, on the branch they started on."""
    least: np.ndarray
    """(s, d) the least values on the way, between poses too."""
    greatest: np.ndarray
    """(s, d) the greatest."""


class Follower(Protocol):
    """Interface for following configurations along given poses. A state is a configuration in its own form."""

    @property
    def periodic(self) -> np.ndarray:
        """(d,) True for the numbers of a state that may change by whole turns."""
        ...

    @property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) limits of a state, (d,)."""
        ...

    @property
    def names(self) -> list[str]:
        """Names of the numbers of a state, (d,)."""
        ...

    def states(self, q: np.ndarray) -> np.ndarray:
        """Convert configurations (s, n_q) to states (s, d)."""
        ...

    def configurations(self, states: np.ndarray) -> np.ndarray:
        """Convert states (s, d) to configurations (s, n_q)."""
        ...

    def difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a − b (..., m) of states, as joint motion, whole turns counted."""
        ...

    def advance(self, k: np.ndarray, states: np.ndarray) -> Advance:
        """Follow states (s, d) from their poses k (s,) to the poses k + 1."""
        ...

    def crossing(self, k: int, state: np.ndarray, after: np.ndarray) -> Crossing | None:
        """Return the states of pose k + 1, of (s, d), that a state (d,) reaches through a singularity."""
        ...

    def signs(self, k: int, states: np.ndarray) -> np.ndarray:
        """Return the sign of det J at pose k if J is square, else 1."""
        ...

    def least_singular(self, k: int, states: np.ndarray) -> np.ndarray:
        """Return the smallest singular values (s,) of J at pose k, lengths relative to the arm's."""
        ...


class PieceFollower(ABC):
    """Following in pieces: the algorithm that followers share, whatever their states are."""

    periodic: np.ndarray
    box: tuple[np.ndarray, np.ndarray]
    names: list[str]

    @abstractmethod
    def difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a − b (..., m) of states, as joint motion."""

    @abstractmethod
    def way(self, k: np.ndarray, pieces: int) -> tuple[Any, np.ndarray]:
        """Return poses from the poses k (s,) to the next ones in pieces, and the index of each first one, (s,)."""

    @abstractmethod
    def step(self, way: Any, pose: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return states (s, d) moved to poses of a way, and True where that succeeded, (s,)."""

    @abstractmethod
    def signs_at(self, k: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return the sign of det J (s,) at poses k (s,) if J is square, else 1."""

    def advance(self, k: np.ndarray, states: np.ndarray) -> Advance:
        """Follow all states at once; repeat those that fail, or turn back near a limit, in twice as many pieces."""
        ends, arrived = states.copy(), np.zeros(len(states), bool)
        least, greatest = states.copy(), states.copy()
        todo = np.arange(len(states))
        before = self.signs_at(k, states)
        for halvings in range(FEWEST, HALVINGS + 1):
            if not len(todo):
                break
            way, begin = self.way(k[todo], 2**halvings)
            x, fine = states[todo], np.ones(len(todo), bool)
            places = [x]
            for piece in range(1, 2**halvings + 1):
                after, good = self.step(way, begin + piece, x)
                places.append(after)
                x, fine = after, fine & good
            motion = self.difference(np.array(places[1:]), np.array(places[:-1]))
            lengths = np.max(np.abs(motion), axis=2, initial=0.0)
            turned = self.signs_at(k[todo] + 1, x) * before[todo] < 0
            even = np.max(lengths, axis=0) <= UNEVEN * np.median(lengths, axis=0) + 1e-9
            fine &= ~turned | (even if halvings == HALVINGS else False)
            low, high = extremes(np.array(places))
            if halvings < HALVINGS:
                fine &= ~self._turns_near_limits(states[todo], x, low, high)
            ends[todo[fine]], arrived[todo[fine]] = x[fine], True
            least[todo[fine]], greatest[todo[fine]] = low[fine], high[fine]
            todo = todo[~fine]
        return Advance(ends, self.difference(ends, states), arrived, least, greatest)

    def _turns_near_limits(self, start: np.ndarray, end: np.ndarray, low: np.ndarray, high: np.ndarray):
        """Return True (s,) if a joint turns back on the way so near to a limit that its place must be refined."""
        lower, upper = self.box
        below, above = low - lower, upper - high
        with np.errstate(invalid="ignore"):
            below, above = (np.where(self.periodic, (room + np.pi) % TURN - np.pi, room) for room in (below, above))
        back = low < np.minimum(start, end) - 1e-9, high > np.maximum(start, end) + 1e-9
        return ((back[0] & (abs(below) < NEAR_LIMIT)) | (back[1] & (abs(above) < NEAR_LIMIT))).any(axis=1)

    def signs(self, k: int, states: np.ndarray) -> np.ndarray:
        """Return the sign of det J at one pose if J is square, else 1."""
        return self.signs_at(np.full(len(states), k), states)


class ChainFollower(PieceFollower):
    """Follows chains whose coordinates are plain numbers, in the chain's units.

    Args:
        problem: the chain.
        T: poses (N, 4, 4).
    """

    problem: IkProblem
    lanes: Lanes

    def __init__(self, problem: IkProblem, T: np.ndarray):
        self.problem, self.T, self.lanes = problem, T, lanes_of(problem, T)
        self.names = [problem.mechanism.coordinate_names[place] for place in problem.places.tolist()]
        self.periodic, self.box = problem.turning, problem.box
        self._index = np.zeros(problem.n, int)
        for step in problem.steps:
            if step.index is not None:
                self._index[step.coordinate] = step.index

    def states(self, q: np.ndarray) -> np.ndarray:
        """Return the chain coordinates (s, n)."""
        return self.problem.in_units(q[..., self._index])

    def configurations(self, states: np.ndarray) -> np.ndarray:
        """Return the configurations (s, n_q)."""
        return self.problem.to_q(self.problem.from_units(states))

    def difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the plain difference."""
        return a - b

    def way(self, k: np.ndarray, pieces: int) -> tuple[Lanes, np.ndarray]:
        """Return poses from the poses k (s,) to the next ones in pieces, and the index of each first one, (s,)."""
        numbers, place = np.unique(k, return_inverse=True)
        poses = [between(self.T[i], self.T[i + 1], pieces) for i in numbers]
        return lanes_of(self.problem, np.concatenate(poses)), place * (pieces + 1)

    def step(self, way: Lanes, pose: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Predict by the Jacobian towards the poses, then correct; tell if that succeeded."""
        J, e = jacobians(self.problem, x, way, pose), errors(self.problem, x, way, pose)
        predicted = x - np.einsum("snm,sm->sn", np.linalg.pinv(J, rcond=1e-8), e)
        corrected, squared = newton(self.problem, predicted, way.targets[pose], way.tool, 12)
        size = np.max(np.abs(corrected - x), axis=1, initial=0.0)
        off = np.max(np.abs(corrected - predicted), axis=1, initial=0.0)
        good = (squared < _ACCEPTED) & (size <= LONGEST) & (off <= _OFF_PREDICTION * size + 1e-6)
        return np.where(np.isfinite(corrected), corrected, x), good

    def crossing(self, k: int, state: np.ndarray, after: np.ndarray) -> Crossing | None:
        """Find the crossing by `crossings.crossing` if J is square."""
        square = self.problem.n == self.problem.task.n_rows
        return crossing(self, k, state, after) if square else None

    def signs_at(self, k: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return the sign of det J if J is square, else 1."""
        if self.problem.n != self.problem.task.n_rows or not len(states):
            return np.ones(len(states))
        return np.sign(np.linalg.det(jacobians(self.problem, states, self.lanes, k)))

    def least_singular(self, k: int, states: np.ndarray) -> np.ndarray:
        """Return the smallest singular values as the checks of solutions compute them."""
        return judged(self.problem, states, self.lanes, np.full(len(states), k)).least


def extremes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return least and greatest values (...) along curves through equally spaced values (p, ...), by parabolas.

    Where the parabola through three neighbours turns between them, so does the curve, nearly.
    """
    least, greatest = values.min(axis=0), values.max(axis=0)
    if len(values) > 2:
        slope, bend = 0.5 * (values[2:] - values[:-2]), values[2:] - 2.0 * values[1:-1] + values[:-2]
        turns = abs(slope) < abs(bend)
        at = values[1:-1] - np.where(turns, slope**2 / np.where(turns, 2.0 * bend, 1.0), 0.0)
        least, greatest = np.minimum(least, at.min(axis=0)), np.maximum(greatest, at.max(axis=0))
    return least, greatest


def between(A: np.ndarray, B: np.ndarray, pieces: int) -> np.ndarray:
    """Return poses from A to B by a constant twist, (pieces + 1, 4, 4)."""
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
    """Return deviations (jumps, 2) from the path, m and rad, if all joints move evenly from one pose to the next.

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
    """Return poses (s, 4, 4) of the frame seen from the reference at q (s, n_q)."""
    T = robot.forward_kinematics(q, frame=problem.frame)
    if problem.reference is None:
        return T
    return rigid_inverse(robot.forward_kinematics(q, frame=problem.reference)) @ T


def whole_turns(periodic: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the number of whole turns (..., d) in differences of states, 0 for nonperiodic coordinates."""
    return np.where(periodic, np.round(d / TURN), 0.0)
