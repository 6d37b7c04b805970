"""Results of inverse kinematics: all solutions of one pose or a batch, and their completeness.

Solvers return a `Raw` answer in the coordinates of the chain; `zveno.ik.solve` checks it against forward kinematics
and limits and makes `Solutions` of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..clearance import Clearance
from ..clearance.capsules import acceptance
from ..errors import ShapeError, ZvenoError, unknown_name
from ..io.results import registered
from ..kernels.compile import compiled
from ..kernels.ops import floor
from ..mechanism import Joint, Mechanism
from ..mechanism.unit_quaternions import ball_angle, limited_balls
from ..report.description import Description
from ..report.result import Result
from .accept import Accept, asked
from .ik_problem import TURN, IkProblem, chain_between
from .task import Question

if TYPE_CHECKING:
    from .proof import Proof

COMPLETE, FAMILY, UNREACHABLE, EXCLUDED, UNDECIDED, WITHIN, REJECTED, SAMPLED = range(8)
PROVED, PROVED_UNREACHABLE, PROVED_EXCLUDED, NOT_PROVED = range(8, 12)
SolutionStatus = Literal[
    "complete",
    "self-motion",
    "unreachable",
    "excluded by limits",
    "undecided",
    "within tolerance",
    "rejected",
    "sampled",
    "proved",
    "proved unreachable",
    "proved: limits exclude all",
    "not proved",
]
STATUSES: tuple[SolutionStatus, ...] = get_args(SolutionStatus)
"""Status of a pose, by code. "Self-motion" lists continua and claims that it lists all; "sampled", with or without
continua, does not: it is what slices and scans give.
The last four are those of method "certified"."""


SortKey = Literal["condition", "limit distance"]
SORT_KEYS: tuple[str, ...] = get_args(SortKey)
_ROWS = ("q", "residual", "condition", "radius", "unique")
"""Fields with one row per solution."""
_PER_POSE = (*_ROWS, "count", "codes", "density", "nearest", "distance", "value", "limit_excess", "target")
"""Fields with the axes of the batch in front."""
_NEAR_LIMIT = 1e-12
"""Distance from a limit, rad, at which rounding may put a winding on either side."""
_PROOFS = (PROVED, PROVED_UNREACHABLE, PROVED_EXCLUDED, NOT_PROVED)


class Continuum(NamedTuple):
    """A closed curve of solutions of one pose, sampled in order, limits disregarded."""

    pose: int
    x: np.ndarray
    """(s, n) in the coordinates of the chain."""


class Raw(NamedTuple):
    """A solver's answer for k poses, in the coordinates of the chain, before limits and checks.

    Turning coordinates may be off by whole turns, solutions may repeat or lie outside limits: `solve` sorts it out.
    """

    x: np.ndarray
    """(k, m, n), the first `count[i]` rows of pose i are solutions."""
    count: np.ndarray
    """(k,) integers."""
    complete: np.ndarray
    """(k,) booleans: nothing can be missing, as far as the method can tell."""
    curves: tuple[Continuum, ...] = ()
    """Continua that the method knows as such; their points are not among the solutions x."""
    density: np.ndarray | None = None
    """(k,) numbers scanned for each pose, for methods that scan."""


def flat(raw: Raw) -> tuple[np.ndarray, np.ndarray]:
    """Return poses (s,) and solutions (s, n) of an answer, without padding."""
    if len(raw.count) == 1:
        x = raw.x[0, : raw.count[0]]
        return np.zeros(len(x), int), x
    there = np.arange(raw.x.shape[1]) < raw.count[:, None]
    return np.repeat(np.arange(len(raw.count)), raw.count), raw.x[there]


def padded(pose: np.ndarray, rows: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Return an array (k, m, ...) with each pose's rows (...) first and NaN beyond; `pose` is sorted."""
    k, most = len(count), int(count.max(initial=0))
    if len(pose) == k * most:
        return rows.reshape(k, most, *rows.shape[1:])
    out = np.full((k, most, *rows.shape[1:]), np.nan)
    start = np.cumsum(count) - count
    out[pose, np.arange(len(pose)) - start[pose]] = rows
    return out


class Solver(Protocol):
    """A method of inverse kinematics: a module-level object named `solver` in its module."""

    @property
    def name(self) -> str:
        """The method's name."""
        ...

    def applies(self, problem: IkProblem) -> bool:
        """Return True if the method can solve problems of this type."""
        ...

    def solve(self, problem: IkProblem, T: np.ndarray) -> Raw:
        """Find all solutions of `problem.forward(x) = T[i]` for k poses (k, 4, 4), checked rotations."""
        ...

    def explain(self, problem: IkProblem) -> str:
        """Describe the route for this problem in one or two sentences."""
        ...


def checked_miss(tolerance: Any) -> tuple[float, float]:
    """Return (metres, radians) as two floats from 0; anything else raises."""
    try:
        metres, radians = (float(value) for value in tolerance)
    except (TypeError, ValueError):
        metres = radians = float("nan")
    if not (metres >= 0.0 and radians >= 0.0):
        raise ShapeError(
            f"{tolerance!r} is not two numbers from 0", element="tolerance", remedy="Give (metres, radians)"
        )
    return metres, radians


@lru_cache(maxsize=64)
def _turning_within(chain: IkProblem, question: Question) -> tuple[Any, ...] | None:
    """Return kernels that count and make the whole turns within limits, and these limits; None if there is no room.

    The first gives (2 k + 1,) of a configuration q, limits lower and upper: least number of turns of k coordinates,
    how many numbers there are of each, and of all. The second turns q by these and one of those numbers, and gives
    its first coordinate in steps of 1e-6.
    """
    turning, lower, upper = turning_places(chain, question)
    span = upper - lower
    ended = np.flatnonzero(np.isfinite(span) & (span > 0.99 * TURN))
    if not len(ended):
        return None
    places, k, q = tuple(turning[ended].tolist()), len(ended), (len(chain.held),)
    first = int(chain.places[0]), 1e6 / float(chain.units[0])
    count = compiled(_turns, {"q": q, "lower": (k,), "upper": (k,)}, constants=(places,), name="ik_turns")
    inputs = {"q": q, "turns": (2 * k + 1,), "number": ()}
    turn = compiled(_turned, inputs, constants=(places, first), name="ik_turned")
    return count, turn, lower[ended], upper[ended]


def _turns(places: tuple[int, ...], q: Any, lower: Any, upper: Any) -> Any:
    x = np.array([q[k] for k in places])
    low = -floor((x - lower) * (1.0 / TURN) + 1e-9)
    times = floor((upper - x) * (1.0 / TURN) + 1e-9) - low + 1.0
    return np.array([*low, *times, math.prod(times)])


def _turned(places: tuple[int, ...], first: tuple[int, float], q: Any, turns: Any, number: Any) -> Any:
    k, turned = len(places), list(q)
    for j in reversed(range(k)):
        rest = floor((number + 0.5) / turns[k + j])
        turned[places[j]] = q[places[j]] + TURN * (turns[j] + number - turns[k + j] * rest)
        number = rest
    place, steps = first
    return np.array(turned), floor(turned[place] * steps + 0.5)


def turning_places(chain: IkProblem, question: Question) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return places in q of all coordinates that whole turns do not change, and their limits as asked for."""
    own = chain.turning & (chain.places >= 0)
    others, lower, upper = question.others
    return (
        np.concatenate([chain.places[own], others.astype(int)]),
        np.concatenate([question.lower[own], lower]),
        np.concatenate([question.upper[own], upper]),
    )


@lru_cache(maxsize=64)
def _are_angles(joint: Joint) -> list[bool]:
    """Return True for angles among a joint's coordinates, including quaternions, which have no limits."""
    units = list(joint.type.units)
    return [unit == "rad" for unit in units + ["rad"] * (joint.type.n_q - len(units))]


@registered
@dataclass(frozen=True, eq=False)
class SelfMotion:
    """A continuum of solutions: the arm can move while the pose stays.

    Attributes:
        dimension: of the self-motion.
        q: a sample (s, n_q), in order along the curve where the dimension is 1.
        closed: True if the curve returns to its start, modulo 2π.
        joint: name of the sliced joint; empty where only samples of the curve are known.
        interval: least and greatest value of that joint on the curve.
        ends: causes of the ends of an open curve, at its first and at its last point.
        turns: (t, n_q) those of q at which the sliced joint turns.
    """

    dimension: int
    q: np.ndarray
    closed: bool = False
    joint: str = ""
    interval: tuple[float, float] = (math.nan, math.nan)
    ends: tuple[str, ...] = ()
    turns: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def followed(self) -> bool:
        """True if the curve is known between its points: it was followed from end to end, and not filtered."""
        return self.closed or bool(self.joint)

    def where(self, accept: Accept) -> list[SelfMotion]:
        """Return the runs of its points that a function accepts, none of which is known between its points."""
        good = asked(accept, self.q)
        if not good.any():
            return []
        first = int(np.argmin(good)) if self.closed else 0
        q, good = np.roll(self.q, -first, axis=0), np.roll(good, -first)
        runs = np.split(np.arange(len(q)), np.flatnonzero(np.diff(good)) + 1)
        return [SelfMotion(self.dimension, q[run]) for run in runs if good[run[0]]]

    def __str__(self) -> str:
        if not self.joint:
            return f"one of dimension {self.dimension} with {len(self.q)} points"
        ends = "closed" if self.closed else " and ".join(self.ends)
        return f"{self.joint} from {self.interval[0]:.4g} to {self.interval[1]:.4g} ({ends})"


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Solutions(Result):
    """Solutions of inverse kinematics for one pose or a batch of poses of shape `batch`.

    For one pose, `len`, `solutions[i]` and iteration go over the configurations (n_q,); for a batch they go over
    the poses, each a `Solutions`.

    Attributes:
        q: (*batch, m, n_q), solutions of each pose in its first `count` rows, NaN beyond.
        count: (*batch) number of solutions; for one pose a NumPy integer.
        codes: (*batch) status codes, see `statuses`.
        residual: (*batch, m) error of forward kinematics, the greater of metres and radians.
        condition: (*batch, m) condition number of the task's Jacobian, lengths relative to the arm's size.
        method: name of the solver.
        density: (*batch) numbers scanned, 0 for methods that do not scan.
        nearest: (*batch, n_q) the configuration that comes nearest, where there is no solution; else NaN. It is not
            known where the chain moves closed loops.
        distance: (*batch, 2) metres and radians by which the nearest misses; 0 where there are solutions.
        value: (*batch) the minimum that the nearest attains, 0 where there are solutions: the sum of squares of the
            position error over the arm's length and of the rotation vector between the frames.
        limit_excess: (*batch, n_q) excess of each coordinate of the best solution over limits, where there are
            solutions outside them and none is known inside; else 0.
        self_motions: by flat pose number, the continua among the solutions.
        notes: by flat pose number, notes on singular solutions.
        joint_names: coordinate names, in the order of q.
        batch: shape of the batch, () for one pose.
        inputs_hash: hash of the inputs.
        mechanism, frame: the robot and the frame that was placed.
        chain: places in q of the coordinates that move the frame, and of those that follow through closed loops.
        target: (*batch, 4, 4) the requested poses.
        question: the task, the limits and the rest of the request.
        radius: (*batch, m) of method "certified": the exact solution is within this of q in every joint.
        unique: (*batch, m) of method "certified": no other solution is so near to q in every joint.
        exact_problem: of method "certified": exact meaning of the numbers of the model and the poses.
    """

    kind: ClassVar[str] = "inverse kinematics"

    q: np.ndarray
    count: np.ndarray
    codes: np.ndarray
    residual: np.ndarray
    condition: np.ndarray
    method: str
    density: np.ndarray
    nearest: np.ndarray
    distance: np.ndarray
    limit_excess: np.ndarray
    joint_names: tuple[str, ...]
    batch: tuple[int, ...] = field(default_factory=tuple)
    self_motions: dict[int, tuple[SelfMotion, ...]] = field(default_factory=dict)
    inputs_hash: str = field(default_factory=str)
    value: np.ndarray = field(default_factory=lambda: np.zeros(()))
    notes: dict[int, str] = field(default_factory=dict)
    mechanism: Mechanism | None = field(default_factory=lambda: None)
    frame: str = field(default_factory=str)
    chain: tuple[int, ...] = field(default_factory=tuple)
    target: np.ndarray = field(default_factory=lambda: np.zeros((0, 4, 4)))
    question: Question | None = field(default_factory=lambda: None)
    radius: np.ndarray | None = field(default_factory=lambda: None)
    unique: np.ndarray | None = field(default_factory=lambda: None)
    exact_problem: str = field(default_factory=str)

    @classmethod
    def deferred(cls, make: Callable[[str], dict[str, Any]]) -> Solutions:
        """Return an answer whose fields are made when they are first read: that takes longer than solving.

        `make` gives the field of a name, and others with it if it likes. No field has a default in the class, so
        that what has not been made is missing.
        """
        answer = object.__new__(cls)
        answer.__dict__["_make"] = make
        return answer

    def __getattr__(self, name: str) -> Any:
        make = self.__dict__.get("_make")
        if make is None or name not in self.__dataclass_fields__:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        made = make(name)
        for key, value in made.items():
            self.__dict__.setdefault(key, value)
        return self.__dict__[name]

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "kind"}

    # --- operations: answers with fewer, more, or other rows

    def where(self, accept: Accept | Clearance | np.ndarray) -> Solutions:
        """Return the solutions that a function accepts: (s, n_q) → (s,) booleans, or that keep a `Clearance`.

        A mask (*batch, m) does the same as a function where no solution belongs to a self-motion.

        A complete answer stays complete: all solutions that are accepted. Where none is, the pose is "rejected"
        if the answer was complete, and undecided if it was a sample. Of a continuum those runs of its points are
        left that are accepted, and between points nothing is known: the answer is a sample then.
        """
        rows = self._rows()
        if not isinstance(accept, np.ndarray):
            accept = self._test(accept)
        if isinstance(accept, np.ndarray):
            if accept.dtype != bool or accept.shape != self.q.shape[:-1] or self.self_motions:
                raise ShapeError(
                    f"has shape {accept.shape} and type {accept.dtype}",
                    element="mask",
                    remedy=f"Give booleans {self.q.shape[:-1]}, or a function if there are self-motions",
                )
            good = accept.reshape(-1)[rows]
        else:
            good = asked(accept, self._flat("q").take(rows, axis=0))
        some, no_motions = np.count_nonzero(good), not self.self_motions
        if some == len(rows) and no_motions:
            return self
        kept = rows[good]
        if not self.batch and some and no_motions:
            return self._with_rows(kept, notes={0: f"{len(rows) - some} of {len(rows)} not accepted"})
        k, width = self._sizes()
        count, codes = np.reshape(self.count, k).tolist(), np.reshape(self.codes, k).tolist()
        left = np.bincount(kept // max(width, 1), minlength=k).tolist() if self.batch else [len(kept)]
        notes, self_motions = dict(self.notes), {}
        for i, curves in self.self_motions.items():
            parts = (
                [] if isinstance(accept, np.ndarray) else [part for curve in curves for part in curve.where(accept)]
            )
            if parts:
                self_motions[i] = tuple(parts)
            codes[i] = SAMPLED if parts or left[i] else UNDECIDED
        for i in range(k):
            if left[i] == count[i]:
                continue
            notes[i] = f"{count[i] - left[i]} of {count[i]} not accepted"
            if not left[i]:
                codes[i] = REJECTED if codes[i] in (COMPLETE, PROVED) else UNDECIDED
            elif codes[i] in (FAMILY, SAMPLED) and i in self.self_motions and i not in self_motions:
                codes[i] = UNDECIDED
        return self._with_rows(
            kept, codes=np.array(codes).reshape(self.batch), notes=notes, self_motions=self_motions
        )

    def windings(self) -> Solutions:
        """Add every solution with whole turns of its joints, wherever limits allow them.

        A joint without limits has no end of turns, and stays where it is. A pose is "not proved" any more if a
        winding is as near to a limit as its solution is known.
        """
        chain = self._chain()
        turning = _turning_within(chain, self._question())
        if turning is None:
            return self
        proved = self._without_proofs_at_limits()
        count_turns, turn, *limits = turning
        rows = self._rows()
        q = self._flat("q").take(rows, axis=0)
        turns = count_turns(q, *limits)
        total = turns[:, -1].astype(int)
        of_row = np.arange(len(rows)).repeat(total)
        if len(of_row) == len(rows):
            return proved
        number = np.arange(float(len(of_row))) - (total.cumsum() - total).repeat(total)
        q, first = turn(q.take(of_row, axis=0), turns.take(of_row, axis=0), number)
        rows = rows.take(of_row)
        order = np.lexsort((first, rows // max(self._sizes()[1], 1)) if self.batch else (first,))
        return proved._with_rows(rows.take(order), q.take(order, axis=0))

    def _without_proofs_at_limits(self) -> Solutions:
        """Return the answer, not proved where a winding is as near to a limit as its solution is known."""
        if self.radius is None:
            return self
        places, lower, upper = turning_places(self._chain(), self._question())
        rows = self._rows()
        x = self._flat("q")[rows][:, places]
        with np.errstate(invalid="ignore"):  # where there are no limits
            turns = np.concatenate([lower - x, upper - x], axis=1) / TURN
            off = TURN * np.where(np.isfinite(turns), abs(turns - np.rint(turns)), np.inf).min(
                axis=1, initial=np.inf
            )
        doubtful = np.unique(rows[off <= self._flat("radius")[rows] + _NEAR_LIMIT] // max(self._sizes()[1], 1))
        if not len(doubtful):
            return self
        codes = np.array(self.codes).reshape(-1)
        codes[doubtful] = NOT_PROVED
        notes = self.notes | dict.fromkeys(doubtful.tolist(), "a winding is at a limit")
        return self._changed(codes=codes.reshape(self.batch), notes=notes)

    def within(self, metres: float, radians: float) -> Solutions:
        """Return the nearest configuration as a solution where there is none, if its pose error is at most this."""
        metres, radians = checked_miss((metres, radians))
        if not self.batch and self.count:
            return self
        count = np.reshape(self.count, -1)
        if count.all():
            return self
        distance = np.reshape(self.distance, (-1, 2))
        near = (count == 0) & (distance[:, 0] <= metres) & (distance[:, 1] <= radians)
        if not near.any():
            return self
        k, width = self._sizes()
        codes, wider = np.array(self.codes).reshape(k), max(width, 1)
        codes[near] = WITHIN
        fields: dict[str, Any] = {"codes": codes.reshape(self.batch)}
        for name in _ROWS:
            values = getattr(self, name)
            if values is not None:
                old = values.reshape(k, width, *values.shape[len(self.batch) + 1 :])
                fields[name] = np.full((k, wider, *old.shape[2:]), np.nan)
                fields[name][:, :width] = old
        nearest = np.reshape(self.nearest, (k, -1))
        fields["q"][near, 0] = nearest[near]
        fields["residual"][near, 0] = distance[near].max(axis=1)
        fields["condition"][near, 0] = self._conditions(nearest[near])
        for name in _ROWS:
            if name in fields:
                fields[name] = fields[name].reshape(*self.batch, *fields[name].shape[1:])
        return self._changed(**fields, count=(count + near).reshape(self.batch))

    def nearest_to(self, q: ArrayLike, *, weights: ArrayLike = 1.0) -> np.ndarray:
        """Return the solution nearest to q for each pose, (*batch, n_q); NaN where there is none.

        Nearest has the least weighted sum of squared differences. Joints are first moved by whole turns, as near to
        q as their limits allow. Of a self-motion the nearest point between its samples is found, by descent along
        the curve within limits.

        Args:
            q: (n_q,) or (*batch, n_q).
            weights: of the coordinates, a number or (n_q,).
        """
        goal, weights = np.asarray(q, dtype=float), np.asarray(weights, dtype=float)
        rows, (k, width) = self._rows(), self._sizes()
        nearest = np.full((k, self.q.shape[-1]), np.nan)
        if len(rows):
            pose, candidates = rows // width, self._flat("q")[rows]
            if goal.ndim > 1:
                goal = np.broadcast_to(goal, (*self.batch, goal.shape[-1])).reshape(k, -1)[pose]
            candidates = self._turned_towards(goal, candidates)
            cost = (weights * (candidates - goal) ** 2).sum(axis=1)
            best = np.lexsort((cost, pose))[np.diff(pose, prepend=-1) != 0]  # poses are in order
            nearest[pose[best]] = candidates[best]
        goals = np.broadcast_to(q, (*self.batch, nearest.shape[-1])).reshape(k, -1) if self.self_motions else ()
        for i, curves in self.self_motions.items():
            nearest[i] = self._nearest_on_curves(i, curves, nearest[i], goals[i], weights)
        return nearest.reshape(*self.batch, -1)

    def _nearest_on_curves(
        self, pose: int, curves: tuple[SelfMotion, ...], nearest: np.ndarray, goal: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """Return the point of whole self-motions nearest to a goal (n_q,), if it is nearer than the nearest row."""
        from .derivatives import nearest_on_self_motion
        from .newton import lanes_of

        chain = self._chain()
        if chain.has_balls:
            return nearest
        lanes = lanes_of(chain, self.target.reshape(-1, 4, 4)[pose : pose + 1])
        question = self._question()
        chain = chain.with_limits(question.lower, question.upper)
        places, own = chain.places, np.broadcast_to(weights, goal.shape)[chain.places]
        points = [nearest[None]]
        for curve in curves:
            if curve.followed:
                # A short piece inside limits may lie between samples beyond them: descents begin there, too.
                q = np.concatenate([self._turned_towards(goal, curve.q, bound) for bound in (True, False)])
                x = nearest_on_self_motion(chain, lanes, q[:, places], goal[places], own, curve.dimension)
                q[:, places] = x
                points.append(q[chain.inside(x)])
        q = np.concatenate(points)
        return q[np.nanargmin((weights * (q - goal) ** 2).sum(axis=1))]

    def derivatives(self) -> np.ndarray:
        """Return dq/dT of each solution, (*batch, m, n_v, 6): joint velocities for a velocity of the target.

        The last axis is the twist [v, w] of the target at its origin, in the axes of the world or of `relative_to`.
        `derivatives() @ twist` are joint velocities (*batch, m, n_v) that keep the frame on the moving target.
        Rows without a solution are NaN.

        Raises:
            ZvenoError: a solution is singular or belongs to a self-motion, so that it has no derivative.
        """
        from .derivatives import pose_derivatives

        rows, (k, width) = self._rows(), self._sizes()
        chain = self._chain()
        assert self.mechanism is not None
        D = np.full((k * width, self.mechanism.n_v, 6), np.nan)
        D[rows] = pose_derivatives(self, chain, rows, rows // max(width, 1))
        return D.reshape(*self.batch, width, *D.shape[1:])

    def tangents(self, *pose: int) -> list[np.ndarray]:
        """Return unit tangents (s, n_q) at the points of each self-motion of a pose, in the order of its points."""
        from .derivatives import self_motion_tangents
        from .newton import lanes_of

        self._check_pose(pose)
        i = int(np.ravel_multi_index(pose, self.batch)) if self.batch else 0
        chain = self._chain()
        lanes = lanes_of(chain, self.target.reshape(-1, 4, 4)[i : i + 1])
        return [self_motion_tangents(chain, lanes, curve) for curve in self.self_motions.get(i, ())]

    def sorted_by(self, key: SortKey | Callable[[np.ndarray], ArrayLike]) -> Solutions:
        """Sort the solutions of each pose, best first.

        Args:
            key: "condition": least condition number first; "limit distance": farthest from its nearest limit first,
                of the model or as asked for, relative to the joint's range; or a function (s, n_q) → (s,) of costs,
                least first.
        """
        rows = self._rows()
        if isinstance(key, str):
            if key not in SORT_KEYS:
                raise unknown_name("key", key, SORT_KEYS)
            costs = self._flat("condition")[rows] if key == "condition" else self._limit_costs(rows)
        else:
            costs = np.asarray(key(self._flat("q")[rows]), dtype=float) if len(rows) else np.zeros(0)
        if costs.shape != (len(rows),):
            raise ShapeError(
                f"returned shape {costs.shape} for {len(rows)} configurations",
                element="key",
                remedy="Take (s, n_q) and return (s,) numbers",
            )
        return self._with_rows(rows[np.lexsort((costs, rows // max(self._sizes()[1], 1)))])

    def _limit_costs(self, rows: np.ndarray) -> np.ndarray:
        """Return minus the relative distances from the nearest limit, (s,).

        Where a joint is limited at one end, the distance is relative to a turn or two metres, and that of a ball
        joint to twice its angle.
        """
        question, places = self._question(), self._chain().places
        mechanism, q = self.mechanism, self._flat("q")[rows]
        assert mechanism is not None
        lower, upper = mechanism.lower.copy(), mechanism.upper.copy()
        own = places >= 0
        others = question.others[0].astype(int)
        for at, low, high in (
            (places[own], question.lower[own], question.upper[own]),
            (others, question.others[1], question.others[2]),
        ):
            lower[at], upper[at] = np.maximum(lower[at], low), np.minimum(upper[at], high)
        angles = np.concatenate([_are_angles(mechanism.joint(name)) for name in mechanism.joint_names])
        both = np.isfinite(lower) & np.isfinite(upper)
        span = np.where(
            both, np.subtract(upper, lower, where=both, out=np.ones_like(upper)), np.where(angles, TURN, 2.0)
        )
        movable = upper > lower
        margin = np.where(movable, np.minimum(q - lower, upper - q) / np.where(movable, span, 1.0), np.inf)
        least = np.min(margin, axis=-1)
        for place, most in limited_balls(mechanism):
            least = np.minimum(least, (most - ball_angle(q[..., place])) / (2.0 * most))
        return -least

    def prove(self, *, tolerance: float = 1e-7) -> Proof:
        """Compare the listed answer with all solutions in exact arithmetic; needs the extra [exact].

        Args:
            tolerance: radians and metres by which a listed configuration may miss the exact solution.
        """
        from .proof import prove

        return prove(self, tolerance=tolerance)

    def _sizes(self) -> tuple[int, int]:
        """Return the number of poses, and of rows per pose."""
        return math.prod(self.batch), self.q.shape[-2]

    def _rows(self) -> np.ndarray:
        """Return the indices (s,) of all solutions among the rows of all poses, in order."""
        k, width = self._sizes()
        if not self.batch:
            return np.arange(int(self.count))
        return np.flatnonzero(np.arange(width) < np.reshape(self.count, (k, 1)))

    def _flat(self, name: str) -> np.ndarray:
        """Return a field with one row per solution, the rows of all poses one after the other."""
        values, lead = getattr(self, name), len(self.batch) + 1
        return values.reshape(-1, *values.shape[lead:]) if lead > 1 else values

    def _with_rows(self, rows: np.ndarray, q: np.ndarray | None = None, **fields: Any) -> Solutions:
        """Return an answer with these rows, in order of poses, with another q if given; other fields are shared."""
        pose, count = rows, np.array(len(rows))
        if self.batch:
            k, width = self._sizes()
            pose = rows // max(width, 1)
            count = np.bincount(pose, minlength=k)

        def shaped(values: np.ndarray) -> np.ndarray:
            if not self.batch:
                return values
            return padded(pose, values, count).reshape(*self.batch, int(count.max(initial=0)), *values.shape[1:])

        def make(name: str) -> dict[str, Any]:
            if name not in _ROWS or getattr(self, name) is None:
                return {name: getattr(self, name)}
            return {name: shaped(self._flat(name).take(rows, axis=0))}

        answer = Solutions.deferred(make)
        answer.__dict__.update(
            fields,
            q=shaped(self._flat("q").take(rows, axis=0) if q is None else q),
            count=count.reshape(self.batch),
        )
        answer.__dict__["batch"] = self.batch
        return answer

    def _changed(self, **fields: Any) -> Solutions:
        """Return the same answer with other fields."""
        answer = Solutions.deferred(lambda name: {name: getattr(self, name)})
        answer.__dict__.update(fields, batch=self.batch)
        return answer

    def _question(self) -> Question:
        if self.question is None or self.mechanism is None:
            raise ZvenoError(
                "the answer does not hold what was asked",
                element="solutions",
                remedy="Solve again with this version and keep what robot.ik returns",
            )
        return self.question

    def _test(self, accept: Accept | Clearance) -> Accept:
        """Return the function of configurations that `where` was given, or that a clearance means."""
        if callable(accept) and not isinstance(accept, Clearance):
            return accept
        self._question()
        assert self.mechanism is not None
        test = acceptance(self.mechanism, accept)
        assert test is not None
        return test

    def _chain(self) -> IkProblem:
        question = self._question()
        assert self.mechanism is not None
        return chain_between(self.mechanism, self.frame, question.reference, question.task)

    def _conditions(self, q: np.ndarray) -> np.ndarray:
        """Compute the condition numbers (s,) of configurations (s, n_q) as those of solutions."""
        from ._judge import judged
        from .newton import lanes_of

        chain = self._chain()
        if chain.has_balls:
            return np.full(len(q), np.nan)
        x = chain.in_units(q[:, chain.places])
        lanes = lanes_of(chain, np.eye(4)[None])
        return judged(chain, x, lanes, np.zeros(len(x), int)).condition

    def _turned_towards(self, goal: np.ndarray, q: np.ndarray, within_limits: bool = True) -> np.ndarray:
        """Return configurations (s, n_q) moved by whole turns towards a goal, within limits if these count."""
        chain, question = self._chain(), self._question()
        places, lower, upper = turning_places(chain, question)
        x = q[:, places]
        low = np.ceil((lower - x) / TURN - 1e-9)
        high = np.floor((upper - x) / TURN + 1e-9)
        wanted = np.round((np.broadcast_to(goal, q.shape)[:, places] - x) / TURN)
        turned = q.copy()
        bounded = np.maximum(np.minimum(wanted, high), np.minimum(low, 0.0))
        turned[:, places] += TURN * (bounded if within_limits else wanted)
        return turned

    def __len__(self) -> int:
        """Return the number of solutions of one pose, or the length of the first axis of a batch."""
        return self.batch[0] if self.batch else int(self.count)

    def __getitem__(self, index: Any) -> Any:
        """Return a configuration (n_q,) of one pose, or the `Solutions` of some poses of a batch."""
        if not self.batch:
            return self.q[: int(self.count)][index]
        poses = np.arange(math.prod(self.batch)).reshape(self.batch)[index]
        rows = slice(None) if np.ndim(poses) else slice(int(np.reshape(self.count, -1)[poses]))

        def make(name: str) -> dict[str, Any]:
            values = getattr(self, name)
            if values is None or name not in _PER_POSE:
                return {name: values}
            values = values[index]
            return {name: values[rows] if name in _ROWS else np.asarray(values)}

        def picked(by_pose: dict[int, Any]) -> dict[int, Any]:
            return {k: by_pose[pose] for k, pose in enumerate(np.ravel(poses).tolist()) if pose in by_pose}

        answer = Solutions.deferred(make)
        answer.__dict__.update(
            batch=np.shape(poses), self_motions=picked(self.self_motions), notes=picked(self.notes)
        )
        return answer

    def __iter__(self) -> Iterator[Any]:
        """Yield the configurations of one pose, or the `Solutions` of each pose of a batch."""
        return (self[k] for k in range(len(self)))

    def of(self, *pose: int) -> np.ndarray:
        """Return solutions (count, n_q) of one pose of a batch, without padding."""
        self._check_pose(pose)
        return self.q[pose][: int(self.count[pose])]

    @property
    def found(self) -> np.ndarray:
        """(*batch) True where there is a solution."""
        return self.count > 0

    @property
    def status(self) -> SolutionStatus | np.ndarray:
        """A word for one pose, an array of words for a batch."""
        return np.array(STATUSES, dtype=object)[self.codes] if self.batch else STATUSES[int(self.codes)]

    @property
    def summary(self) -> str:
        """Summarize the result in a sentence or two."""
        if not self.batch:
            return self._of_one(())
        total = int(np.prod(self.batch))
        parts = [
            f"{int(np.sum(self.codes == k))} {word}" for k, word in enumerate(STATUSES) if np.any(self.codes == k)
        ]
        solutions = f"{int(np.sum(self.count))} solutions, {self._worst()}"
        return f"{total} poses by {self.method}: {', '.join(parts)}; {solutions}"

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from ._describe import describe_solutions

        return describe_solutions(self)

    def reason(self, *pose: int) -> str:
        """Explain the status of a pose of a batch."""
        self._check_pose(pose)
        return self._of_one(pose)

    def _check_pose(self, pose: tuple[int, ...]) -> None:
        if len(pose) != len(self.batch) or any(not -n <= k < n for k, n in zip(pose, self.batch, strict=True)):
            poses = f"the batch of poses is {self.batch}" if self.batch else "there is one pose, without a number"
            raise ShapeError(f"{poses}; asked for {pose}", element="pose", remedy="Give one number an axis of it")

    def _worst(self) -> str:
        known = self.residual[np.isfinite(self.residual)]
        return f"worst residual {known.max():.1e}" if known.size else "none to check"

    def _of_one(self, pose: tuple[int, ...]) -> str:
        code, n = int(self.codes[pose]), int(self.count[pose])
        scanned = int(self.density[pose])
        route = f"{self.method}, {scanned} numbers" if scanned else self.method
        flat = int(np.ravel_multi_index(pose, self.batch)) if self.batch else 0
        if code in _PROOFS:
            return self._proof(pose, code, n, self.notes.get(flat, ""))
        if code == UNREACHABLE:
            why = self.notes.get(flat, "no solution")
            known = not np.isnan(self.distance[pose]).any()
            return f"Unreachable ({route}), {why}" + f": the nearest pose misses by {self._miss(pose)}" * known
        if code == EXCLUDED:
            return f"Limits exclude all solutions ({route}); {self._excess(pose)}"
        note = f", {self.notes[flat]}" if flat in self.notes else ""
        if code == SAMPLED and flat not in self.self_motions:
            return f"{n} solution{'s' * (n != 1)}{note}, sampled: more starts found no other ({route})"
        if code in (FAMILY, SAMPLED):
            curves = len(self.self_motions[flat])
            more = "; there may be others" if code == SAMPLED else ""
            return f"{n} configurations, {curves} self-motion{'s' * (curves != 1)}{note}{more} ({route})"
        if code == WITHIN and not np.any(self.distance[pose]):
            many = f"{n} local nearest configuration{'s' * (n != 1)}"
            return f"{many} within the tolerance{note} ({route}); more may exist"
        if code == WITHIN:
            return f"No exact solution ({route}); the nearest misses by {self._miss(pose)}"
        if code == REJECTED:
            return f"None of the solutions is accepted{note} ({route})"
        if code == UNDECIDED and not n and np.isnan(self.distance[pose]).any():
            return f"Undecided{note} ({route})"
        if code == UNDECIDED and not n:
            text = f"None found{note} ({route}), the nearest misses by {self._miss(pose)}"
            if np.any(self.limit_excess[pose]):
                text += f"; outside the limits {self._excess(pose)}"
            return text + "; undecided"
        word = "complete" if code == COMPLETE else "completeness undecided"
        return f"{n} solution{'s' * (n != 1)}{note}, {word} ({route})"

    def _miss(self, pose: tuple[int, ...]) -> str:
        """Return the distance of the nearest pose in words; `--deg` writes radians as degrees."""
        metres, radians = self.distance[pose]
        return f"{metres:.4g} m and {radians:.4g} rad"

    def _proof(self, pose: tuple[int, ...], code: int, n: int, note: str) -> str:
        problem = f" ({self.exact_problem})" if self.exact_problem else ""
        if code == PROVED:
            assert self.radius is not None
            widest = f", known to {self.radius[pose][:n].max():.0e}" if n else ""
            return f"Proved: {n} solution{'s' * (n != 1)} and no other{widest}{'; ' * bool(note)}{note}{problem}"
        if code == PROVED_EXCLUDED:
            return f"Proved: limits exclude all solutions, {note}; {self._excess(pose)}{problem}"
        if code == PROVED_UNREACHABLE:
            return f"Proved unreachable: there is no solution, limits or not{problem}"
        return f"Not proved: {note}{problem}"

    def _excess(self, pose: tuple[int, ...]) -> str:
        over = self.limit_excess[pose]
        which = ", ".join(f"{self.joint_names[k]} by {over[k]:.4g}" for k in np.flatnonzero(over))
        return f"the solution nearest to the limits exceeds {which}"
