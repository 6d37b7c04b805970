"""The inverse problem of one chain: from two frames of a robot to a product of screws, a task and limits.

Every joint between the two frames becomes one or several steps about or along the z axis of its own frame:

    T_reference_frame = C_0 Z_1 C_1 Z_2 … Z_n C_n,   Z_i = Rz(v) Tz(pitch · v) or Tz(v), v = factor · x[k]

so that solvers know three kinds of step and nothing else of mechanisms. x are the coordinates of the chain; `to_q`
puts them into the robot's q.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import ModelError, ShapeError, ZvenoError, unknown_name
from ..mechanism import Mechanism
from ..spatial.transforms import inverse
from .steps import Step, steps_between, to_quaternions
from .task import TASKS as TASKS
from .task import Task as Task
from .task import task_named

TURN = 2.0 * math.pi


@dataclass(frozen=True, eq=False)
class IkProblem:
    """A chain between two frames, with a task and limits; what every solver is given.

    Attributes:
        mechanism: where it comes from.
        frame, reference: names of the two frames; None for the world as reference.
        steps: the steps in order from the reference to the frame.
        T_last_frame: C_n, from the last step's moved frame to the frame asked for.
        lower, upper: limits of the coordinates x, (n,), ±inf where there are none.
        task: what is asked for.
        held: q (n_q,) of the joints that the chain does not move.
        origin: the problem that was asked, where locked joints have been taken out of it.
    """

    mechanism: Mechanism
    frame: str
    reference: str | None
    steps: tuple[Step, ...]
    T_last_frame: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    task: Task
    held: np.ndarray
    origin: IkProblem | None = None

    @property
    def n(self) -> int:
        """Number of coordinates x."""
        return len(self.lower)

    @property
    def redundancy(self) -> int:
        """Coordinates beyond the number of equations."""
        return max(0, self.n - self.task.n_rows)

    @cached_property
    def chain(self) -> tuple[int, ...]:
        """Places in q of the coordinates that move the chain."""
        slices = [self.mechanism.q_slices[name] for name in {step.joint for step in self.steps}]
        return tuple(sorted({k for coordinates in slices for k in range(coordinates.start, coordinates.stop)}))

    @cached_property
    def constants(self) -> np.ndarray:
        """C_0 … C_n, (number of steps + 1, 4, 4)."""
        return np.stack([*(step.T_before for step in self.steps), self.T_last_frame])

    @cached_property
    def kinds(self) -> str:
        """One letter a step: R revolute, P prismatic, H helical."""
        return "".join(step.kind for step in self.steps)

    @cached_property
    def simple(self) -> bool:
        """Whether step i moves by x[i] itself: no mimic joints."""
        return all(s.coordinate == i and s.factor == 1.0 for i, s in enumerate(self.steps)) and (
            len(self.steps) == self.n
        )

    @cached_property
    def has_balls(self) -> bool:
        """Whether some angles stand for a quaternion."""
        return any(step.index is None for step in self.steps)

    @cached_property
    def turning(self) -> np.ndarray:
        """(n,) booleans: x[k] + 2π is the same pose."""
        turning = np.ones(self.n, bool)
        for step in self.steps:
            turning[step.coordinate] &= step.kind == "R" and float(step.factor).is_integer()
        return turning

    @cached_property
    def length(self) -> float:
        """A power of two, in metres, near the size of the arm; solvers divide lengths by it."""
        sizes = [float(np.linalg.norm(step.T_before[:3, 3])) for step in self.steps[1:]]
        spans = [s.pitch * TURN for s in self.steps] + [
            abs(step.factor) * (self.upper - self.lower)[step.coordinate]
            for step in self.steps
            if step.kind == "P" and np.isfinite(self.upper - self.lower)[step.coordinate]
        ]
        total = sum(sizes) + sum(abs(span) for span in spans)
        if total == 0.0:
            total = float(np.linalg.norm(self.T_last_frame[:3, 3]))
        return 2.0 ** round(math.log2(total)) if total > 0.0 else 1.0

    @cached_property
    def units(self) -> np.ndarray:
        """(n,) what one unit of a coordinate is inside a solver: `length` for sliding ones, 1 rad for others."""
        units = np.ones(self.n)
        for step in self.steps:
            if step.kind == "P":
                units[step.coordinate] = self.length
        return units

    @cached_property
    def span(self) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper), finite: where to look for solutions. A turning coordinate needs at most one turn."""
        lower, upper = self.lower.copy(), self.upper.copy()
        reach = np.where(self.turning, math.pi, np.where(self.units == 1.0, TURN, self.length * 2.0))
        both = np.isinf(lower) & np.isinf(upper)
        lower, upper = np.where(both, -reach, lower), np.where(both, reach, upper)
        lower = np.where(np.isinf(lower), upper - 2 * reach, lower)
        upper = np.where(np.isinf(upper), lower + 2 * reach, upper)
        wide = self.turning & (upper - lower > TURN)
        middle = np.round((lower + upper) / 2 / TURN) * TURN
        return np.where(wide, middle - math.pi, lower), np.where(wide, middle + math.pi, upper)

    @cached_property
    def fingerprint(self) -> str:
        """Determines every kernel that depends on the geometry between the first and last step, and on the task.

        Lengths are relative to `length`; the base, the tool and the limits do not take part.
        """
        digest = hashlib.sha256(repr((self.task, self.n)).encode())
        for i, step in enumerate(self.steps):
            T = step.T_before.copy() if i else np.eye(4)
            T[:3, 3] /= self.length
            digest.update(T.tobytes())
            digest.update(repr((step.kind, step.coordinate, step.factor, step.pitch / self.length)).encode())
        return digest.hexdigest()

    @cached_property
    def end_transforms(self) -> tuple[np.ndarray, np.ndarray]:
        """(C_0⁻¹, C_n⁻¹): T → C_0⁻¹ T C_n⁻¹ is the target of the chain from its first to its last step."""
        return inverse(self.steps[0].T_before), inverse(self.T_last_frame)

    @cached_property
    def tool(self) -> np.ndarray:
        """C_n (3, 4), lengths over `length`."""
        tool = self.T_last_frame[:3].copy()
        tool[:, 3] /= self.length
        return tool

    def forward(self, x: Any) -> np.ndarray:
        """T_reference_frame of one x (n,); entries may be float, complex or traced. The plain product."""
        T: Any = np.eye(4)
        for step in self.steps:
            T = T @ step.T_before @ step.motion(x)
        return T @ self.T_last_frame

    def to_q(self, x: Any) -> np.ndarray:
        """The robot's q (..., n_q) from coordinates x (..., n)."""
        x = np.asarray(x, dtype=float)
        return x.copy() if self.is_q else to_quaternions(self.mechanism, self.steps, x, self.held)

    @cached_property
    def is_q(self) -> bool:
        """Whether x is q itself."""
        return len(self.held) == self.n and all(step.index == step.coordinate for step in self.steps)

    def in_units(self, x: np.ndarray) -> np.ndarray:
        """x (..., n) of the chain in the units of solvers, see `units`."""
        return x / self.units if self._has_slides else x

    def from_units(self, x: np.ndarray) -> np.ndarray:
        """Back from the units of solvers."""
        return x * self.units if self._has_slides else x

    @cached_property
    def _has_slides(self) -> bool:
        return bool(np.any(self.units != 1.0))

    @cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) in the units of solvers."""
        return self.lower / self.units, self.upper / self.units

    @cached_property
    def judging(self) -> tuple[np.ndarray, ...]:
        """Limits, what turning coordinates are brought nearest to, and the length: what judging needs."""
        return *self.box, self._middle / self.units, np.array(self.length)

    @cached_property
    def placement(self) -> tuple[np.ndarray, np.ndarray]:
        """C_0⁻¹ (3, 4), and 1/length as an array: what brings a pose into the units of solvers."""
        return np.ascontiguousarray(self.end_transforms[0][:3]), np.array(1.0 / self.length)

    @cached_property
    def identity(self) -> bytes:
        """Hash of the robot, the frames, the limits, the task, and what is held."""
        of = (self.mechanism.fingerprint, self.frame, self.reference or "", repr(self.task))
        numbers = (part.tobytes() for part in (self.lower, self.upper, self.held))
        return hashlib.sha256("\n".join(of).encode() + b"".join(numbers)).digest()

    def without_limits(self) -> IkProblem:
        """The same problem with turning coordinates free; sliding ones may go twice as far."""
        span = np.where(np.isfinite(self.upper - self.lower), self.upper - self.lower, 0.0)
        free = self.turning
        return replace(
            self,
            lower=np.where(free, -np.inf, self.lower - span / 2),
            upper=np.where(free, np.inf, self.upper + span / 2),
        )

    def inside(self, x: Any, tolerance: float = 1e-9) -> np.ndarray:
        """Whether x (..., n) is within limits."""
        slack = tolerance * self.units
        return np.all((x >= self.lower - slack) & (x <= self.upper + slack), axis=-1)

    def wrapped(self, x: Any) -> np.ndarray:
        """x (..., n) with turning coordinates moved by whole turns, inside limits where a turn can do it.

        Without limits they come out in (−π, π]; with limits, nearest to the middle of them.
        """
        x, middle = np.array(x, dtype=float), self._middle
        k = self.turning
        x[..., k] -= TURN * np.ceil((x[..., k] - middle[k]) / TURN - 0.5)
        return x

    @cached_property
    def _middle(self) -> np.ndarray:
        """What turning coordinates are brought nearest to."""
        below, above = np.isinf(self.lower), np.isinf(self.upper)
        low, high = np.where(below, 0.0, self.lower), np.where(above, 0.0, self.upper)
        half = np.where(below, high - math.pi, np.where(above, low + math.pi, (low + high) / 2))
        return np.where(below & above, 0.0, half)

    def difference(self, a: Any, b: Any) -> np.ndarray:
        """a − b (..., n) the short way round, in radians and in units of `length`."""
        d = np.asarray(a) - b
        k = self.turning
        if k.any():
            d[..., k] -= TURN * np.round(d[..., k] / TURN)
        return d / self.units


def problem_of(
    robot: Any,
    frame: str | None = None,
    relative_to: str | None = None,
    limits: Any = True,
    task: Any = "pose",
    held: Any = None,
) -> IkProblem:
    """The inverse problem of a robot.

    Args:
        robot: a robot or mechanism.
        frame: the frame to be placed; the default one if not given.
        relative_to: the frame in which its pose is given; the world if not given.
        limits: True for the model's, False for none, or {joint: (lower, upper)}, or (lower, upper) arrays (n_q,),
            which narrow the model's ("expert limits").
        task: "pose", "position", "position+axis", "rotation", or a mask of six.
        held: q of the joints outside the chain; neutral if not given.
    """
    mechanism: Mechanism = getattr(robot, "mechanism", robot)
    target = mechanism.frame(frame)
    if relative_to is not None:
        mechanism.frame(relative_to)
    held = mechanism.neutral() if held is None else mechanism.checked_q(held, "held").astype(float)
    if held.ndim != 1 or not np.isfinite(held).all():
        raise ShapeError("must be one finite configuration", element="held")
    steps, T_last = steps_between(mechanism, target.name, relative_to)
    if not steps:
        raise ModelError(
            f"no joint moves frame {target.name!r} relative to {relative_to or 'the world'!r}",
            element=mechanism.name,
            remedy="Choose another frame. Frames: " + ", ".join(mechanism.frame_names[:40]),
        )
    lower, upper = _limits(mechanism, steps, limits)
    return IkProblem(mechanism, target.name, relative_to, steps, T_last, lower, upper, task_named(task), held)


def _limits(mechanism: Mechanism, steps: tuple[Step, ...], limits) -> tuple[np.ndarray, np.ndarray]:
    n = 1 + max(step.coordinate for step in steps)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    for k in _middle_angles(steps):
        # Rz(a) Ry(b) Rx(c) has every rotation twice; with b in the right half plane, once.
        lower[k], upper[k] = -math.pi / 2, math.pi / 2
    if limits is False:
        return lower, upper
    low, high = mechanism.lower.copy(), mechanism.upper.copy()
    if limits is not True:
        own_low, own_high = given_limits(mechanism, limits)
        low, high = np.maximum(low, own_low), np.minimum(high, own_high)
    for step in steps:
        if step.index is not None:
            k = step.coordinate
            lower[k], upper[k] = low[step.index], high[step.index]
            if lower[k] > upper[k]:
                raise ZvenoError(
                    f"its limits are empty: {lower[k]:g} > {upper[k]:g}",
                    element=f"joint {step.joint}",
                    remedy="Give a lower limit that is not above the upper one, inside the model's limits",
                )
    return lower, upper


def _middle_angles(steps: tuple[Step, ...]) -> list[int]:
    """Coordinates that are the second of the three angles of a ball."""
    angles: dict[str, list[int]] = {}
    for step in steps:
        if step.index is None:
            angles.setdefault(step.joint, []).append(step.coordinate)
    return [sorted(three)[1] for three in angles.values()]


def given_limits(mechanism: Mechanism, limits: Any) -> tuple[np.ndarray, np.ndarray]:
    """(lower, upper) of q (n_q,) from {joint: (lower, upper)} or two arrays."""
    n_q, by_name = mechanism.n_q, limits if isinstance(limits, Mapping) else {}
    low, high = np.full(n_q, -np.inf), np.full(n_q, np.inf)
    for name in by_name.keys() - set(mechanism.joint_names):
        raise unknown_name("joint with coordinates", name, mechanism.joint_names)
    try:
        for name, pair in by_name.items():
            low[mechanism.q_slices[name]], high[mechanism.q_slices[name]] = pair
        if by_name is not limits:
            low, high = (np.broadcast_to(np.asarray(part, float), (n_q,)) for part in limits)
    except (TypeError, ValueError):
        raise ShapeError(
            f"{limits!r} holds no pair of numbers a joint, and is no pair of arrays of {n_q}",
            element="limits",
            remedy="Give True, False, {joint: (lower, upper)} or (lower, upper)",
        ) from None
    if np.isnan(low).any() or np.isnan(high).any():
        raise ShapeError("hold NaN", element="limits")
    return low, high
