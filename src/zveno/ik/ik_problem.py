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
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..errors import ModelError, ShapeError, ZvenoError, unknown_name
from ..mechanism import Mechanism
from ..mechanism.unit_quaternions import ball_angle, limited_balls
from ..spatial.transforms import inverse
from ..spatial.vectors import real_array
from .steps import Step, rate, steps_between, to_quaternions
from .task import TASKS as TASKS
from .task import Task as Task
from .task import task_named

TURN = 2.0 * math.pi


@dataclass(frozen=True, eq=False)
class IkProblem:
    """A chain between two frames, with a task and limits; the input of every solver.

    Attributes:
        mechanism: its mechanism.
        frame, reference: names of the two frames; None for the world as reference.
        steps: the steps in order from the reference to the frame.
        T_last_frame: C_n, from the last step's moved frame to the requested frame.
        lower, upper: limits of the coordinates x, (n,), ±inf where there are none.
        task: the requested components of the pose.
        held: q (n_q,) of the joints that the chain does not move.
        origin: the problem that was asked, where locked joints have been taken out of it.
        limits_balls: True if the limits of ball joints count.
        model: the same chain with the limits of the model, if these are others; kernels are built from it.
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
    limits_balls: bool = False
    model: IkProblem | None = None

    @property
    def base(self) -> IkProblem:
        """The chain with the limits of the model: one object for any requested limits."""
        return self.model or self

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
        """One letter per step: R revolute, P prismatic, H helical."""
        return "".join(step.kind for step in self.steps)

    @cached_property
    def simple(self) -> bool:
        """True if step i moves by x[i] itself: no mimic joints."""
        return all(s.coordinate == i and s.factor == 1.0 for i, s in enumerate(self.steps)) and (
            len(self.steps) == self.n
        )

    @cached_property
    def whole_turns(self) -> np.ndarray:
        """(n,) 2π for coordinates that it brings back to the same pose, 0 for others."""
        return np.where(self.turning, TURN, 0.0)

    @cached_property
    def has_balls(self) -> bool:
        """True if some angles stand for a quaternion."""
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
        """A power of two, in metres, near the size of the arm; solvers divide lengths by it.

        Strokes count with the limits of the model, so that no number depends on the requested ones.
        """
        if self.model is not None:
            return self.model.length
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
        """(n,) unit of each coordinate inside a solver: `length` for prismatic joints, 1 rad for others."""
        units = np.ones(self.n)
        for step in self.steps:
            if step.kind == "P":
                units[step.coordinate] = self.length
        return units

    @cached_property
    def span(self) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper), finite: search range of solutions. A revolute joint needs at most one turn."""
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
            digest.update(
                repr(
                    (step.kind, step.coordinate, rate(self.steps, step, self.length), step.pitch / self.length)
                ).encode()
            )
        return digest.hexdigest()

    @cached_property
    def end_transforms(self) -> tuple[np.ndarray, np.ndarray]:
        """(C_0⁻¹, C_n⁻¹): T → C_0⁻¹ T C_n⁻¹ is the target of the chain from its first to its last step."""
        return inverse(self.steps[0].T_before), inverse(self.T_last_frame)

    @cached_property
    def tool(self) -> np.ndarray:
        """C_n (3, 4), lengths in units of `length`."""
        tool = self.T_last_frame[:3].copy()
        tool[:, 3] /= self.length
        return tool

    def forward(self, x: Any) -> np.ndarray:
        """Return T_reference_frame of one x (n,), the plain product; entries may be float, complex or traced."""
        T: Any = np.eye(4)
        for step in self.steps:
            T = T @ step.T_before @ step.motion(x)
        return T @ self.T_last_frame

    def to_q(self, x: Any) -> np.ndarray:
        """Convert coordinates x (..., n) to the robot's q (..., n_q)."""
        x = np.asarray(x, dtype=float)
        return x.copy() if self.is_q else to_quaternions(self.mechanism, self.steps, x, self.held)

    @cached_property
    def is_q(self) -> bool:
        """True if x is q itself."""
        return len(self.held) == self.n and all(step.index == step.coordinate for step in self.steps)

    def in_units(self, x: np.ndarray) -> np.ndarray:
        """Convert x (..., n) of the chain to the units of solvers, see `units`."""
        return x / self.units if self._has_slides else x

    def from_units(self, x: np.ndarray) -> np.ndarray:
        """Convert back from the units of solvers."""
        return x * self.units if self._has_slides else x

    @cached_property
    def _has_slides(self) -> bool:
        return bool(np.any(self.units != 1.0))

    @cached_property
    def box(self) -> tuple[np.ndarray, np.ndarray]:
        """(lower, upper) in the units of solvers."""
        return self.lower / self.units, self.upper / self.units

    @cached_property
    def limits(self) -> np.ndarray:
        """(3, n) lower and upper limits, and reference values of revolute joints, in solvers' units."""
        middle = [middle_of(low, high) for low, high in zip(self.lower.tolist(), self.upper.tolist(), strict=True)]
        return self.in_units(np.array([self.lower, self.upper, middle]))

    @cached_property
    def judging(self) -> tuple[np.ndarray, ...]:
        """Limits, reference values of revolute joints, and the length: inputs of the evaluation."""
        return *self.limits, np.array(self.length)

    @cached_property
    def placement(self) -> tuple[np.ndarray, np.ndarray]:
        """C_0⁻¹ (3, 4), and 1/length as an array: they bring a pose into the units of solvers."""
        return np.ascontiguousarray(self.end_transforms[0][:3]), np.array(1.0 / self.length)

    @cached_property
    def identity(self) -> bytes:
        """Hash of the robot, the frames, the limits, the task, and the held joints."""
        of = (self.mechanism.fingerprint, self.frame, self.reference or "", repr(self.task))
        numbers = (part.tobytes() for part in (self.lower, self.upper, self.held))
        return hashlib.sha256("\n".join(of).encode() + b"".join(numbers)).digest()

    def with_limits(self, lower: np.ndarray, upper: np.ndarray, of_balls: bool = True) -> IkProblem:
        """Return the same chain with other limits of x, (n,) each, and without those of balls unless `of_balls`."""
        balls = self.limits_balls and of_balls
        return replace(self, lower=lower, upper=upper, limits_balls=balls, model=self.base)

    def with_held(self, held: np.ndarray) -> IkProblem:
        """Return the same chain with other values q (n_q,) of the joints that it does not move."""
        return replace(self, held=held, model=self.base)

    def without_limits(self) -> IkProblem:
        """Return the same problem with revolute joints free; prismatic ones may go twice as far."""
        span = np.where(np.isfinite(self.upper - self.lower), self.upper - self.lower, 0.0)
        free = self.turning
        return self.with_limits(
            np.where(free, -np.inf, self.lower - span / 2), np.where(free, np.inf, self.upper + span / 2)
        )

    def inside(self, x: Any, tolerance: float = 1e-9) -> np.ndarray:
        """Return True where x (..., n) is within limits, those of ball joints included."""
        slack = tolerance * self.units
        inside = np.all((x >= self.lower - slack) & (x <= self.upper + slack), axis=-1)
        return inside & self.balls_inside(self.to_q(x), tolerance) if self.limits_balls else inside

    def balls_inside(self, q: np.ndarray, tolerance: float = 1e-9) -> np.ndarray:
        """Return True where all ball joints of configurations q (..., n_q) are within their limits."""
        inside = np.ones(q.shape[:-1], bool)
        for place, most in limited_balls(self.mechanism) if self.limits_balls else ():
            inside &= ball_angle(q[..., place]) <= most + tolerance
        return inside

    def wrapped(self, x: Any) -> np.ndarray:
        """Return x (..., n) with revolute joints moved by whole turns, inside limits where a turn can do it.

        Without limits they come out in (−π, π]; with limits, nearest to the middle of them.
        """
        x, middle = np.array(x, dtype=float), self.limits[2]
        k = self.turning
        x[..., k] -= TURN * np.ceil((x[..., k] - middle[k]) / TURN - 0.5)
        return x

    @cached_property
    def as_numbers(self) -> tuple[list[float], list[float], list[int]]:
        """Lower and upper limits and places in q of the coordinates, as plain numbers."""
        return self.lower.tolist(), self.upper.tolist(), self.places.tolist()

    @cached_property
    def places(self) -> np.ndarray:
        """(n,) place in q of every coordinate x, −1 for angles of a ball, which have none."""
        places = np.full(self.n, -1)
        for step in self.steps:
            places[step.coordinate] = -1 if step.index is None else step.index
        return places

    def difference(self, a: Any, b: Any) -> np.ndarray:
        """Return a − b (..., n) the short way round, in radians and in units of `length`."""
        d = np.asarray(a) - b
        k = self.turning
        if k.any():
            d[..., k] -= TURN * np.round(d[..., k] / TURN)
        return d / self.units


def middle_of(low: float, high: float) -> float:
    """Return the reference value that a revolute joint with these limits is brought nearest to."""
    if low == -math.inf:
        return 0.0 if high == math.inf else high - math.pi
    return low + math.pi if high == math.inf else (low + high) / 2


def problem_of(
    robot: Any,
    frame: str | None = None,
    relative_to: str | None = None,
    limits: Any = True,
    task: Any = "pose",
    held: Any = None,
) -> IkProblem:
    """Return the inverse problem of a robot.

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
    steps, T_last = steps_between(mechanism, target.name, relative_to)
    if not steps:
        raise ModelError(
            f"no joint moves frame {target.name!r} relative to {relative_to or 'the world'!r}",
            element=mechanism.name,
            remedy="Choose another frame. Frames: " + ", ".join(mechanism.frame_names[:40]),
        )
    lower, upper = _model_limits(mechanism, steps)
    held_q = mechanism.neutral() if held is None else held_configuration(mechanism, held)
    chain = IkProblem(mechanism, target.name, relative_to, steps, T_last, lower, upper, task_named(task), held_q)
    if limited_balls(mechanism):
        chain = replace(chain, limits_balls=True)
    if limits is True:
        return chain
    lower, upper = chain.from_units(narrowed_limits(chain, limits)[:2])
    return chain.with_limits(lower, upper, limits is not False)


@lru_cache(maxsize=64)
def chain_between(mechanism: Mechanism, frame: str | None, relative_to: str | None, task: Any) -> IkProblem:
    """Return the problem with the model's limits, cached; the task must be hashable."""
    return problem_of(mechanism, frame, relative_to, True, task)


def held_configuration(mechanism: Mechanism, held: Any) -> np.ndarray:
    """Return q (n_q,) of the joints outside a chain, from q or {joint: value}; anything else raises."""
    if isinstance(held, Mapping):
        held = mechanism.pack(held)
    held = mechanism.checked_q(held, "fixed").astype(float)
    if held.ndim != 1 or not np.isfinite(held).all():
        raise ShapeError("must be one finite configuration", element="fixed")
    return held


def narrowed_limits(chain: IkProblem, limits: Any) -> np.ndarray:
    """Return limits (3, n) as `IkProblem.limits`: none for False, else those of the model and those given.

    Plain numbers, since there are few, and this is done anew for every pose that is asked alone.
    """
    model_lower, model_upper, places = chain.base.as_numbers
    free = limits is False
    low, high = ((), ()) if free else given_limits(chain.mechanism, limits)
    lower, upper = model_lower.copy(), model_upper.copy()
    for k, place in enumerate(places):
        if place < 0:
            continue
        if free:
            lower[k], upper[k] = -math.inf, math.inf
            continue
        least, greatest = low[place], high[place]
        if least > lower[k]:
            lower[k] = least
        if greatest < upper[k]:
            upper[k] = greatest
        if lower[k] > upper[k]:
            raise ZvenoError(
                f"its limits are empty: {lower[k]:g} > {upper[k]:g}",
                element=f"joint {next(step.joint for step in chain.steps if step.coordinate == k)}",
                remedy="Give a lower limit that is not above the upper one, inside the model's limits",
            )
    middle = list(map(middle_of, lower, upper))
    return chain.in_units(np.array(lower + upper + middle).reshape(3, -1))


def _model_limits(mechanism: Mechanism, steps: tuple[Step, ...]) -> tuple[np.ndarray, np.ndarray]:
    n = 1 + max(step.coordinate for step in steps)
    lower, upper = np.full(n, -np.inf), np.full(n, np.inf)
    for k in _middle_angles(steps):
        # Rz(a) Ry(b) Rx(c) has every rotation twice; with b in the right half plane, once.
        lower[k], upper[k] = -math.pi / 2, math.pi / 2
    for step in steps:
        if step.index is not None:
            lower[step.coordinate], upper[step.coordinate] = (
                mechanism.lower[step.index],
                mechanism.upper[step.index],
            )
    return lower, upper


def _middle_angles(steps: tuple[Step, ...]) -> list[int]:
    """Return coordinates that are the second of the three angles of a ball."""
    angles: dict[str, list[int]] = {}
    for step in steps:
        if step.index is None:
            angles.setdefault(step.joint, []).append(step.coordinate)
    return [sorted(three)[1] for three in angles.values()]


def given_limits(mechanism: Mechanism, limits: Any) -> tuple[list[float], list[float]]:
    """Return lower and upper limits of q, n_q numbers each, from {joint: (lower, upper)} or two arrays."""
    n_q, slices = mechanism.n_q, mechanism.q_slices
    low, high = [-math.inf] * n_q, [math.inf] * n_q
    try:
        if isinstance(limits, Mapping):
            for name, (lower, upper) in limits.items():
                if name not in slices or name not in mechanism.joint_names:
                    raise unknown_name("joint with coordinates", name, mechanism.joint_names)
                count = slices[name].stop - slices[name].start
                low[slices[name]], high[slices[name]] = _numbers(lower, count), _numbers(upper, count)
        else:
            lower, upper = limits
            low, high = _numbers(lower, n_q), _numbers(upper, n_q)
    except (TypeError, ValueError):
        raise ShapeError(
            f"{limits!r} holds no pair of numbers per joint, and is not a pair of arrays of {n_q}",
            element="limits",
            remedy="Give True, False, {joint: (lower, upper)} or (lower, upper)",
        ) from None
    if any(map(math.isnan, low)) or any(map(math.isnan, high)):
        raise ShapeError("hold NaN", element="limits")
    return low, high


def _numbers(given: Any, count: int) -> list[float]:
    """Return one number per coordinate, from as many numbers or one for all."""
    if type(given) is float or type(given) is int:
        return [float(given)] * count
    values = real_array(given)
    return values.tolist() if values.shape == (count,) else np.broadcast_to(values, (count,)).tolist()
