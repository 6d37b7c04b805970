"""Following configurations along a path in the tangent space of q, all at once, with correction.

A step is a velocity of the chain's joints, so ball joints have no angles that could become singular, and every step
is as long as the joints really move.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...fit.gauss_newton import damped_steps
from ...mechanism.unit_quaternions import ball_angle, limited_balls
from ...robot_functions import RobotFunctions
from ...spatial import transforms
from ...spatial.rotations import log
from ..frame_motion import moving_velocities, pose_and_jacobian
from ..ik_problem import TURN, IkProblem
from ..newton import CONVERGED, DAMPING, LEAST_DAMPING
from ..six_revolute.templates import rigid_inverse

FEWEST, HALVINGS = 2, 5
"""Initial and maximum number of halvings of a step; the initial ones show joint motion between poses."""
NEARLY_SINGULAR = 1e-3
UNEVEN = 4.0
"""Through a change of the sign of det J, no step may be longer than this times the middle one: steps of a curve
shrink evenly as it is refined, a hop to another branch does not."""
DETOUR = 2.0
"""A motion to a given configuration may be this many times as long as the straight way; a longer one is a jump."""
NEAR_LIMIT = 0.05
"""Distance to a limit, in radians or lengths; nearer turning points of a joint take smaller pieces."""
LONGEST = 0.5
"""Longest joint motion, in radians or lengths of the arm, that one step may make."""
PIECES = 8
"""Pieces of a jump at the ends of which deviations from the path are measured."""
CORRECTIONS = 12
"""Newton steps per pose at most."""
ON_POSE = 1e-19
"""Largest squared error of a configuration of a pose, in lengths of the arm and radians."""
_OFF_PREDICTION = 0.5
"""The corrected point may differ from the predicted one by this fraction of the step, and not by more."""


class Advance(NamedTuple):
    """Configurations followed from one pose to the next."""

    states: np.ndarray
    """(s, n_q) where they arrived; limits are not looked at."""
    steps: np.ndarray
    """(s, m) joint motion on the way, in radians and lengths of the arm."""
    arrived: np.ndarray
    """(s,) True if they arrived, on the branch they started on."""
    least: np.ndarray
    """(s, d) the least values on the way of what limits hold, between poses too."""
    greatest: np.ndarray
    """(s, d) the greatest."""


class Follower:
    """Follows configurations q of a chain along given poses.

    Limits hold the coordinates of the chain and the angles of ball joints: see `limited`.

    Args:
        robot: the robot.
        problem: the chain.
        T: poses (N, 4, 4).

    Attributes:
        periodic: (n_q,) True for coordinates that may change by whole turns.
        box: (lower, upper) of what limits hold, (d,).
        names: of it, (d,).
        columns, units: places in v of the chain's joints, and their units in solvers, (m,).
        square: True if the task has as many equations as the chain has joints.
    """

    def __init__(self, robot: RobotFunctions, problem: IkProblem, T: np.ndarray):
        self.robot, self.problem, self.T = robot, problem, T
        mechanism = problem.mechanism
        self.columns, self.units = moving_velocities(mechanism, problem)
        self.square: bool = len(self.columns) == problem.task.n_rows
        self._balls = limited_balls(mechanism) if problem.limits_balls else ()
        plain = problem.places >= 0
        places, n = problem.places[plain], mechanism.n_q
        self.periodic: np.ndarray = np.isin(np.arange(n), places[problem.turning[plain]])
        lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
        lower[places], upper[places] = problem.lower[plain], problem.upper[plain]
        most = [angle for _, angle in self._balls]
        self.box: tuple[np.ndarray, np.ndarray] = (
            np.concatenate([lower, np.full(len(most), -np.inf)]),
            np.concatenate([upper, most]),
        )
        balls = [mechanism.coordinate_names[place.start].split(".")[0] for place, _ in self._balls]
        self.names: list[str] = [*mechanism.coordinate_names, *balls]

    def limited(self, q: np.ndarray) -> np.ndarray:
        """Return what limits hold at q (..., n_q): the coordinates, and the angles of ball joints, (..., d)."""
        if not self._balls:
            return q
        return np.concatenate([q, *(ball_angle(q[..., place])[..., None] for place, _ in self._balls)], axis=-1)

    def of_chain(self, q: np.ndarray) -> np.ndarray:
        """Return q (n_q,) with the joints that the chain does not move at their values."""
        chain, state = list(self.problem.chain), self.problem.held.copy()
        state[chain] = q[chain]
        return state

    def difference(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return a − b (..., m) as a velocity of the chain's joints, whole turns counted, in solvers' units."""
        a, b = np.broadcast_arrays(a, b)
        return self.robot.difference(b, a)[..., self.columns] / self.units

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return q (s, n_q) after a step (s, m) of the chain's joints."""
        v = np.zeros((len(q), self.robot.n_v))
        v[:, self.columns] = step * self.units
        return self.robot.integrate(q, v)

    def error(self, q: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return errors (s, r) of q (s, n_q) from poses T (..., 4, 4), in T's axes, and Jacobians (s, r, m)."""
        problem, task = self.problem, self.problem.task
        F, J = pose_and_jacobian(self.robot, q, problem.frame, problem.reference)
        turn = np.swapaxes(T[..., :3, :3], -1, -2)
        p = (turn @ (F[:, :3, 3] - T[..., :3, 3])[..., None])[..., 0] / problem.length
        J = J[..., self.columns] * self.units
        E, spin = turn @ F[:, :3, :3], turn @ J[:, 3:]
        if task.axis:
            a = E[:, :, 2]
            rotation, rates = a[:, :2], np.cross(spin, a[:, :, None], axis=1)[:, :2]
        else:
            kept = list(task.rotation)
            w = np.sqrt(np.maximum(1.0 + np.trace(E, axis1=1, axis2=2), 1e-6))
            sines = np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
            rotation, rates = (sines / w[:, None])[:, kept], spin[:, kept]
        position = list(task.position)
        e = np.concatenate([p[:, position], rotation], axis=1)
        return e, np.concatenate([(turn @ J[:, :3])[:, position] / problem.length, rates], axis=1)

    def corrected(self, q: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return q (s, n_q) moved to poses T (s, 4, 4) by damped Newton steps.

        Also the squared errors (s,) before the last step, which squares them again.
        """
        q, squared, left = q.copy(), np.full(len(q), np.inf), np.arange(len(q))
        for _ in range(CORRECTIONS):
            e, J = self.error(q[left], T[left])
            squared[left] = off = np.sum(e * e, axis=1)
            damping = LEAST_DAMPING + DAMPING * off
            q[left] = self.moved(q[left], -damped_steps(J, e, damping))
            left = left[off >= CONVERGED]  # False where it is not a number
            if not len(left):
                break
        return q, squared

    def advance(self, k: np.ndarray, states: np.ndarray, towards: np.ndarray | None = None) -> Advance:
        """Follow states (s, n_q) from their poses k (s,) to the poses k + 1, by least joint motion.

        Those that fail, or turn back near a limit, are repeated in twice as many pieces.

        Args:
            k: numbers of poses.
            states: configurations there.
            towards: (s, n_q) configurations of the next poses that the motion leads to, evenly.
        """
        ends, arrived = states.copy(), np.zeros(len(states), bool)
        least, greatest = self.limited(states).copy(), self.limited(states).copy()
        todo = np.arange(len(states))
        before = self.signs_at(k, states)
        for halvings in range(FEWEST, HALVINGS + 1):
            if not len(todo):
                break
            goal = None if towards is None else towards[todo]
            places, fine = self.places(k[todo], states[todo], 2**halvings, goal)
            x = places[-1]
            lengths = np.max(np.abs(self.difference(places[1:], places[:-1])), axis=2, initial=0.0)
            turned = self.signs_at(k[todo] + 1, x) * before[todo] < 0
            even = np.max(lengths, axis=0) <= UNEVEN * np.median(lengths, axis=0) + 1e-9
            fine &= ~turned | (even if halvings == HALVINGS else False)
            if goal is not None:
                straight = np.max(np.abs(self.difference(goal, states[todo])), axis=1, initial=0.0)
                fine &= lengths.sum(axis=0) <= DETOUR * straight + 1e-9
            low, high = extremes(self.limited(places))
            if halvings < HALVINGS:
                fine &= ~self._turns_near_limits(self.limited(places[[0, -1]]), low, high)
            ends[todo[fine]], arrived[todo[fine]] = x[fine], True
            least[todo[fine]], greatest[todo[fine]] = low[fine], high[fine]
            todo = todo[~fine]
        return Advance(ends, self.difference(ends, states), arrived, least, greatest)

    def places(
        self, k: np.ndarray, states: np.ndarray, pieces: int, towards: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return configurations (pieces + 1, s, n_q) on the way of states as in `advance`; True if none failed."""
        numbers, own = np.unique(k, return_inverse=True)
        way = np.array([between(self.T[i], self.T[i + 1], pieces) for i in numbers])
        x, fine, places = states, np.ones(len(k), bool), [states]
        for piece in range(1, pieces + 1):
            wanted = None if towards is None else self.difference(towards, x) / (pieces + 1 - piece)
            x, good = self.step(way[own, piece], x, wanted)
            places.append(x)
            fine &= good
        if towards is not None:
            size, off = (abs(self.difference(x, other)).max(axis=1, initial=0.0) for other in (places[-2], towards))
            fine &= off <= _OFF_PREDICTION * size + 1e-6
            places[-1] = towards
        return np.array(places), fine

    def step(self, T: np.ndarray, x: np.ndarray, wanted: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return states (s, n_q) moved to poses T (s, 4, 4) by least motion, and True where that succeeded, (s,).

        Of motions `wanted` (s, m), they make what the poses leave free.
        """
        with np.errstate(all="ignore"):  # a row that diverges does not concern the others
            e, J = self.error(x, T)
            if wanted is None or J.shape[1] >= J.shape[2]:
                ahead = -damped_steps(J, e, LEAST_DAMPING)
            else:
                ahead = wanted - damped_steps(J, e + (J @ wanted[..., None])[..., 0], LEAST_DAMPING)
            predicted = self.moved(x, ahead)
            corrected, squared = self.corrected(predicted, T)
            size = np.max(np.abs(self.difference(corrected, x)), axis=1, initial=0.0)
            off = np.max(np.abs(self.difference(corrected, predicted)), axis=1, initial=0.0)
            good = (squared < ON_POSE) & (size <= LONGEST) & (off <= _OFF_PREDICTION * size + 1e-6)
        return np.where(np.all(np.isfinite(corrected), axis=1, keepdims=True), corrected, x), good

    def _turns_near_limits(self, both: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return True (s,) if a joint turns back on the way so near to a limit that its place must be refined."""
        lower, upper = self.box
        below, above = low - lower, upper - high
        n = len(self.periodic)
        with np.errstate(invalid="ignore"):
            for room in (below, above):
                room[:, :n] = np.where(self.periodic, (room[:, :n] + np.pi) % TURN - np.pi, room[:, :n])
        back = np.logical_and(low < both.min(axis=0) - 1e-9, abs(below) < NEAR_LIMIT)
        ahead = np.logical_and(high > both.max(axis=0) + 1e-9, abs(above) < NEAR_LIMIT)
        return np.any(np.logical_or(back, ahead), axis=1)

    def signs_at(self, k: np.ndarray, states: np.ndarray) -> np.ndarray:
        """Return the sign of det J (s,) at poses k (s,) if J is square, else 1."""
        if not self.square or not len(states):
            return np.ones(len(states))
        return np.sign(np.linalg.det(self.error(states, self.T[k])[1]))

    def signs(self, k: int, states: np.ndarray) -> np.ndarray:
        """Return the sign of det J at one pose if J is square, else 1."""
        return self.signs_at(np.full(len(states), k), states)

    def least_singular(self, k: int, states: np.ndarray) -> np.ndarray:
        """Return the smallest singular values (s,) of J at pose k, lengths relative to the arm's."""
        return np.linalg.svd(self.error(states, self.T[k])[1], compute_uv=False)[:, -1]


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


def jump_deviations(follower: Follower, jumps: tuple[int, ...], states: np.ndarray) -> np.ndarray:
    """Return deviations (jumps, 2) from the path, m and rad, if all joints move evenly from one pose to the next.

    Args:
        follower: of the chain.
        jumps: numbers of the poses after which the motion is not continuous.
        states: (N, n_q) the configurations chosen, NaN where there is none.
    """
    robot, problem, T, worst = follower.robot, follower.problem, follower.T, np.zeros((len(jumps), 2))
    for row, k in enumerate(jumps):
        after = k + 1 + int(np.argmin(np.isnan(states[k + 1 :, 0])))
        step = np.linspace(0.0, 1.0, PIECES + 1)[:, None] * robot.difference(states[k], states[after])
        q = robot.integrate(np.broadcast_to(states[k], (len(step), states.shape[1])), step)
        poses = pose_and_jacobian(robot, q, problem.frame, problem.reference)[0]
        off = rigid_inverse(between(T[k], T[after], PIECES)) @ poses
        if len(problem.task.position) == 3:
            worst[row, 0] = np.linalg.norm(off[:, :3, 3], axis=1).max()
        if len(problem.task.rotation) == 3:
            chord = np.linalg.norm(off[:, :3, :3] - np.eye(3), axis=(1, 2)).max() / np.sqrt(8.0)
            worst[row, 1] = 2.0 * np.arcsin(min(1.0, chord))
    return worst


def whole_turns(periodic: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return the number of whole turns (..., n_q) in differences of states, 0 for nonperiodic coordinates."""
    return np.where(periodic, np.round(d / TURN), 0.0)
