"""What inverse kinematics returns: all solutions of one pose or a batch, and how complete they are.

Solvers return a `Raw` answer in the coordinates of the chain; `zveno.ik.solve` checks it against forward kinematics
and limits and makes `Solutions` of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from ..errors import ShapeError
from ..io.results import Result, registered
from ..mechanism import Mechanism
from .ik_problem import IkProblem
from .task import Question

COMPLETE, FAMILY, UNREACHABLE, EXCLUDED, UNDECIDED, WITHIN, CHOSEN, REJECTED, SAMPLED = range(9)
PROVED, PROVED_UNREACHABLE, PROVED_EXCLUDED, NOT_PROVED = range(9, 13)
STATUSES = (
    "complete",
    "family",
    "unreachable",
    "excluded by limits",
    "undecided",
    "within tolerance",
    "chosen",
    "not accepted",
    "sampled",
    "proved",
    "proved unreachable",
    "proved: limits exclude all",
    "not proved",
)
"""Status of a pose, by code. "Family" lists continua and claims that it lists all; "sampled", with or without
continua, does not: it is what slices and scans give.
The last four are those of method "certified"."""


MOST_NAMED = 6
"""Families that a summary tells one by one."""
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
    """(s,) poses and (s, n) solutions of an answer, without padding."""
    if len(raw.count) == 1:
        x = raw.x[0, : raw.count[0]]
        return np.zeros(len(x), int), x
    there = np.arange(raw.x.shape[1]) < raw.count[:, None]
    return np.repeat(np.arange(len(raw.count)), raw.count), raw.x[there]


def padded(pose: np.ndarray, rows: np.ndarray, count: np.ndarray) -> np.ndarray:
    """(k, m, ...) with each pose's rows (...) first and NaN beyond; `pose` is sorted."""
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
        """Whether the method can solve problems of this kind."""
        ...

    def solve(self, problem: IkProblem, T: np.ndarray) -> Raw:
        """All solutions of `problem.forward(x) = T[i]` for k poses (k, 4, 4), checked rotations."""
        ...

    def explain(self, problem: IkProblem) -> str:
        """One or two sentences on the route it takes for this problem."""
        ...


@registered
@dataclass(frozen=True, eq=False)
class Family:
    """A continuum of solutions: the arm can move while the pose stays.

    Attributes:
        dimension: of the self-motion.
        q: a sample (s, n_q), in order along the curve where the dimension is 1.
        closed: whether the curve returns to its start, whole turns of joints aside.
        joint: name of the sliced joint; empty where only samples of the curve are known.
        interval: least and greatest value of that joint on the curve.
        ends: what ends a curve that is not closed, at its first and at its last point.
        turns: (t, n_q) those of q at which the sliced joint turns.
    """

    dimension: int
    q: np.ndarray
    closed: bool = False
    joint: str = ""
    interval: tuple[float, float] = (math.nan, math.nan)
    ends: tuple[str, ...] = ()
    turns: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))

    def __str__(self) -> str:
        if not self.joint:
            return f"one of dimension {self.dimension} with {len(self.q)} points"
        ends = "closed" if self.closed else " and ".join(self.ends)
        return f"{self.joint} from {self.interval[0]:.4g} to {self.interval[1]:.4g} ({ends})"


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Solutions(Result):
    """Solutions of inverse kinematics for one pose or a batch of poses of shape `batch`.

    Attributes:
        q: (*batch, m, n_q), solutions of each pose in its first `count` rows, NaN beyond.
        count: (*batch) number of solutions; for one pose a NumPy integer.
        codes: (*batch) status codes, see `statuses`.
        residual: (*batch, m) error of forward kinematics, the greater of metres and radians.
        condition: (*batch, m) condition number of the task's Jacobian, lengths relative to the arm's size.
        method: what solved it.
        density: (*batch) numbers scanned, 0 for methods that do not scan.
        nearest: (*batch, n_q) the configuration that comes nearest, where there is no solution; else NaN.
        distance: (*batch, 2) metres and radians by which the nearest misses; 0 where there are solutions.
        objective: the measure by which the nearest is nearest, see `zveno.ik.objectives`.
        value: (*batch) that measure of the nearest; 0 where there are solutions.
        exceeded: (*batch, n_q) how far each coordinate of the best solution is outside limits, where there are
            solutions outside them and none is known inside; else 0.
        families: by flat pose number, the continua among the solutions.
        notes: by flat pose number, what there is to say of singular solutions.
        joint_names: coordinate names, in the order of q.
        batch: shape of the batch, () for one pose.
        inputs: hash of what it was computed from.
        mechanism, frame: the robot and the frame that was placed.
        chain: places in q of the coordinates that move the frame.
        target: (*batch, 4, 4) the poses asked for.
        question: the task, the limits and what else was asked.
        radius: (*batch, m) of method "certified": the exact solution is no further than this from q in any joint.
        unique: (*batch, m) of method "certified": no other solution is so near to q in every joint.
        exact_problem: of method "certified": what the numbers of the model and the poses were taken to mean.
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
    exceeded: np.ndarray
    joint_names: tuple[str, ...]
    batch: tuple[int, ...] = field(default_factory=tuple)
    families: dict[int, tuple[Family, ...]] = field(default_factory=dict)
    inputs: str = field(default_factory=str)
    objective: str = field(default_factory=lambda: "squares")
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
        """An answer whose fields are made when they are first asked for: that takes longer than solving.

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

    def __len__(self) -> int:
        """Number of solutions, of all poses together."""
        return int(np.sum(self.count))

    def of(self, *pose: int) -> np.ndarray:
        """Solutions (count, n_q) of one pose of a batch, without padding."""
        self._check_pose(pose)
        return self.q[pose][: int(self.count[pose])]

    @property
    def found(self) -> np.ndarray:
        """(*batch) whether there is a solution."""
        return self.count > 0

    @property
    def status(self) -> Any:
        """A word for one pose, an array of words for a batch."""
        return np.array(STATUSES, dtype=object)[self.codes] if self.batch else STATUSES[int(self.codes)]

    @property
    def summary(self) -> str:
        """What came out, in a sentence or two."""
        if not self.batch:
            return self._of_one(())
        total = int(np.prod(self.batch))
        parts = [
            f"{int(np.sum(self.codes == k))} {word}" for k, word in enumerate(STATUSES) if np.any(self.codes == k)
        ]
        return f"{total} poses by {self.method}: {', '.join(parts)}; {len(self)} solutions, {self._worst()}"

    def reason(self, *pose: int) -> str:
        """Why a pose of a batch has the status it has."""
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
            return f"Unreachable ({route}), {why}: the nearest pose misses by {self._miss(pose)}"
        if code == EXCLUDED:
            return f"Limits exclude all solutions ({route}); {self._excess(pose)}"
        note = f", {self.notes[flat]}" if flat in self.notes else ""
        if code == SAMPLED and flat not in self.families:
            return f"{n} solution{'s' * (n != 1)}{note}, sampled: more starts found no other ({route})"
        if code in (FAMILY, SAMPLED):
            families = self.families[flat]
            kinds = ", ".join(map(str, families[:MOST_NAMED]))
            if len(families) > MOST_NAMED:
                kinds += f", and {len(families) - MOST_NAMED} others"
            more = "; there may be others" if code == SAMPLED else ""
            return f"{n} configurations, among them families of solutions ({route}): {kinds}{note}{more}"
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
            if np.any(self.exceeded[pose]):
                text += f"; outside the limits {self._excess(pose)}"
            return text + "; undecided"
        word = {COMPLETE: "complete", CHOSEN: "chosen"}.get(code, "completeness undecided")
        return f"{n} solution{'s' * (n != 1)}{note}, {word} ({route})"

    def _miss(self, pose: tuple[int, ...]) -> str:
        """How far the nearest pose is away, in both units of angles: the sentence stands in files too."""
        metres, radians = self.distance[pose]
        return f"{metres:.4g} m and {radians:.4g} rad ({np.rad2deg(radians):.3g}°)"

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
        over = self.exceeded[pose]
        which = ", ".join(f"{self.joint_names[k]} by {over[k]:.4g}" for k in np.flatnonzero(over))
        return f"the solution nearest to the limits exceeds {which}"
