"""A chain in exact numbers: the constants between its joints, in balls of the precision of the moment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb, ctx

from ...errors import ZvenoError
from ...spatial.exact_numbers import decimal
from ..ik_problem import IkProblem
from ..redundant.locked_joints import LOCKED
from ..steps import factors_between
from .balls import Rigid, identity, inverse, product, turned
from .exact_readings import Angle, angle_meant, transform_meant

LESS = {
    3: 'Ask for task="position", or for "rotation"',
    4: 'Ask for task="position" and hold one joint, such as limits={"joint1": (0.4, 0.4)}',
    5: 'Ask for task="position+axis"',
}
"""Remedies by number of joints: tasks for which such a chain can be proved."""


@dataclass(frozen=True, eq=False)
class ExactChain:
    """Joints that move, the constants between them, and the limits of their coordinates, all exact.

    Joints that their limits hold at one value are constants. For a task of position and axis a virtual last joint
    turns about the tool's axis, so that the whole pose is asked for; its coordinate is None.

    Attributes:
        problem: the chain in floats.
        kinds: one letter per joint, R or P.
        coordinates: the place in x of each joint's value, None for the virtual one.
        locked: value by coordinate.
    """

    problem: IkProblem
    kinds: str
    coordinates: tuple[int | None, ...]
    locked: dict[int, Angle]

    def __post_init__(self) -> None:
        object.__setattr__(self, "_by_precision", {})

    def constants(self) -> list[Rigid]:
        """Return C_0 … C_n: the frame is at C_0 Z_1 C_1 … Z_n C_n."""
        known: dict[int, list[Rigid]] = self.__dict__["_by_precision"]
        if ctx.prec not in known:
            known[ctx.prec] = self._multiplied()
        return known[ctx.prec]

    def _multiplied(self) -> list[Rigid]:
        constants = [identity()]
        for i, factors in enumerate(self._factors):
            for T, inverted in factors:
                balls = transform_meant(T).balls()
                constants[-1] = product(constants[-1], inverse(balls) if inverted else balls)
            if i == len(self.problem.steps):
                break
            step = self.problem.steps[i]
            if step.coordinate not in self.locked:
                constants.append(identity())
            elif step.kind == "R":
                constants[-1] = turned(constants[-1], self.locked[step.coordinate].pair())
            else:
                slide = identity()
                slide[2][3] = self.locked[step.coordinate].ball()
                constants[-1] = product(constants[-1], slide)
        return constants if None not in self.coordinates else [*constants, identity()]

    @cached_property
    def _factors(self):
        problem = self.problem
        return factors_between(problem.mechanism, problem.frame, problem.reference)

    @cached_property
    def floats(self) -> np.ndarray:
        """The constants in floats, (n + 1, 4, 4)."""
        rows = [[[float(x.mid()) for x in row] for row in C] for C in self.constants()]
        return np.array([[*C, [0.0, 0.0, 0.0, 1.0]] for C in rows])

    @cached_property
    def bounds(self) -> list[tuple[Angle | None, Angle | None]]:
        """Limits of the joints that move, None where there is none."""
        lower, upper, sliding = self.problem.lower, self.problem.upper, self.kinds
        limits = []
        for kind, k in zip(sliding, self.coordinates, strict=True):
            pair = (-np.inf, np.inf) if k is None else (float(lower[k]), float(upper[k]))
            limits.append(tuple(_bound(x, kind) if np.isfinite(x) else None for x in pair))
        return limits

    @cached_property
    def meaning(self) -> str:
        """Exact meaning of the model's numbers, in a sentence."""
        transforms = [transform_meant(T) for factors in self._factors for T, _ in factors]
        nearest = sum(T.rotation is None for T in transforms)
        floats = sum(T.n_floats for T in transforms)
        rotations = "rotations as multiples of 15°"
        if nearest:
            rotations += f" except {nearest}, taken as the rotation nearest to the float matrix"
        lengths = "lengths as decimals" + (f" except {floats}, taken as the floats they are" if floats else "")
        return f"the model's {rotations}; {lengths}"


def _bound(x: float, kind: str) -> Angle:
    return angle_meant(x) if kind == "R" else Angle(None, decimal(x))


def bound_ball(bound: Angle | None) -> arb | None:
    """Return a limit as a ball."""
    return None if bound is None else bound.ball()


def exact_chain(problem: IkProblem) -> ExactChain:
    """Return the chain of a problem; raise an error that names an alternative if there is no such proof."""
    if not problem.simple or problem.has_balls:
        raise _refused("mimic and ball joints are not proved", 'Use method "auto"')
    if "H" in problem.kinds:
        raise _refused("helical joints are not proved", 'Use method "auto"')
    lower, upper = problem.box
    held = [int(k) for k in np.flatnonzero(upper - lower <= LOCKED)] if problem.redundancy else []
    locked = {
        k: _bound(float(problem.lower[k] + problem.upper[k]) / 2, problem.kinds[k])
        for k in held[: problem.redundancy]
    }
    moving = tuple(k for k in range(problem.n) if k not in locked)
    rows = problem.task.n_rows
    if len(moving) > rows:
        first = problem.mechanism.coordinate_names[problem.chain[0]]
        raise _refused(
            f"a chain of {len(moving)} joints has more than the {rows} equations, so its solutions are continua",
            f'Hold {len(moving) - rows} of its joints at a value, such as limits={{"{first}": (0.4, 0.4)}}',
        )
    if len(moving) < rows:
        raise _refused(
            f"a chain of {len(moving)} joints has fewer of them than its task has equations, {rows}",
            LESS.get(len(moving), 'Three joints are proved for task="position", five for "position+axis"'),
        )
    kinds = "".join(problem.kinds[k] for k in moving)
    if problem.task.axis:
        return ExactChain(problem, kinds + "R", (*moving, None), locked)
    return ExactChain(problem, kinds, moving, locked)


def _refused(what: str, remedy: str) -> ZvenoError:
    return ZvenoError(what, element='method "certified"', remedy=remedy)
