"""The analysis from a mechanism to its base parameters."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, ZvenoWarning
from ..io.results import hash_of
from ..mechanism import Loop, Mechanism
from ..robot_functions import RobotFunctions
from ..spatial.exact_numbers import NotExact, required_flint
from . import diagnosis
from . import drives as driving
from .blocks import NOISE, ROUNDING
from .exact_solutions import exact_obstacle, exact_solution
from .loops import loops_of
from .problem import Problem
from .result import BaseParameters
from .solutions import FloatingSolution, Solution, floating_solution
from .views import View, view_named

STANDARD_GRAVITY = 9.81
"""m/s²; gravity is small or large beside it."""


def base_parameters(
    robot: RobotFunctions | Mechanism,
    gravity: ArrayLike | None = None,
    drives: bool | Sequence[str] | None = False,
    *,
    view: str = "inertia",
    massless: Sequence[str] | None = None,
    loops: Sequence[Loop] | None = None,
    start: ArrayLike | None = None,
    exact: bool | None = None,
) -> BaseParameters:
    """The smallest set of parameters that decides a robot's dynamics, and what each is made of.

    Args:
        robot: the robot, or its mechanism.
        gravity: (3,) acceleration of free fall, the robot's own if not given; zeros for none.
        drives: what counts beside the links' parameters. True: rotor inertia, viscous and Coulomb friction and
            offset of every joint with one coordinate, and of joints with several that the model gives a drive; or
            the kinds: ("rotor", "viscous", "coulomb", "offset") and "coupling", what motors that two joints turn
            add (see `coupling_regressor`). None: all that `robot.inverse_dynamics` has, rotor inertia where
            the model has any. By default the links alone, as the literature counts.
        view: how a link's parameters are counted: "inertia", "pseudo" (document 000) or "center".
        massless: names of links without inertia; by default those whose inertia is stated to be zero.
        loops: what closes the mechanism's loops, its own if not given; () leaves them open.
        start: a state on the branch of the loops that is meant; neutral if not given.
        exact: True demands exact arithmetic, False does without; by default it is used where the constants have an
            exact meaning (angles that are multiples of 15°) and python-flint is installed.
    """
    mechanism = robot.mechanism if isinstance(robot, RobotFunctions) else robot
    if not isinstance(mechanism, Mechanism):
        raise ModelError(f"a {type(robot).__name__} is not a robot", remedy="Give zveno.load(...) or a Mechanism")
    direction = checked_gravity(mechanism, gravity)
    if not np.array_equal(direction, mechanism.gravity):
        mechanism = replace(mechanism, gravity=direction)
    options = {"drives": drives, "massless": massless, "loops": loops_of(mechanism, loops), "q0": start}
    problem, chosen = Problem(mechanism, **options), view_named(view)
    floating = floating_solution(problem, chosen)
    exactly, why_not = _exactly(problem, chosen, exact, floating)
    alone, tied, _ = problem.frictions()
    sensitive = _faint_gravity(problem, floating, options)
    if exactly is not None and not sensitive:
        sensitive = _sensitive(floating, exactly, len(alone))
    notes = _second_looks(problem, floating, exactly, sensitive, options)
    for note in notes:
        warnings.warn(note, ZvenoWarning, stacklevel=2)
    # Whole from one arithmetic; from the exact one only where it says what floating point says, or where it must.
    solution = floating.solution if exactly is None or (sensitive and not exact) else exactly
    return BaseParameters(
        mechanism=mechanism,
        view=view,
        groups=solution.groups,
        kinds=problem.kinds,
        drive_columns=np.array(driving.drive_columns(mechanism, problem.kinds) + tied, dtype=int),
        drive_pivots=solution.drive_pivots,
        drive_grouping=solution.drive_grouping,
        friction_columns=np.array(alone, dtype=int),
        massless=tuple(mechanism.link_names[i] for i in sorted(problem.massless)),
        loops=tuple(problem.loops),
        q0=None if start is None else np.array(start, dtype=float),
        length=problem.scale,
        certified=exactly is not None and not sensitive,
        why_not_certified=sensitive or why_not,
        notes=tuple(notes),
        inputs=hash_of(mechanism.fingerprint, view, list(problem.kinds), sorted(problem.massless)),
        exact_drive_grouping=solution.exact_drive_grouping,
    )


def _exactly(
    problem: Problem, view: View, wanted: bool | None, floating: FloatingSolution
) -> tuple[Solution | None, str]:
    """The solution in exact arithmetic, or None and why there is none."""
    why_not = exact_obstacle(problem, wanted)
    if not why_not:
        try:
            return exact_solution(problem, view, floating), ""
        except NotExact as obstacle:
            why_not = str(obstacle)
    if wanted:
        required_flint()
        raise ModelError(f"exact arithmetic cannot be used: {why_not}", remedy="Leave out exact=True")
    return None, why_not


def _sensitive(floating: FloatingSolution, exactly: Solution, frictions: int) -> str:
    """Both counts in words, where the count depends on less than `NOISE` of the mechanism's size."""
    coarse = [block.count(NOISE) for block in floating.solved]
    counts = [len(group.pivots) for group in exactly.groups]
    rank, other = exactly.rank, floating.solution.rank
    if rank == other:
        other += sum(coarse) - sum(len(block.pivots) for block in floating.solved)
    if rank == other and coarse == counts:
        return ""
    return (
        f"{other + frictions} base parameters if differences below {NOISE:g} of the mechanism's size are rounding, "
        f"{rank + frictions} if they were meant"
    )


def _faint_gravity(problem: Problem, floating: FloatingSolution, options) -> str:
    """Both counts in words, where gravity is so small that it may be rounding; only its direction counts."""
    size = float(np.linalg.norm(problem.mechanism.gravity))
    if not 0.0 < size < NOISE * STANDARD_GRAVITY:
        return ""
    without = floating_solution(
        Problem(replace(problem.mechanism, gravity=np.zeros(3)), **options), view_named("pseudo")
    )
    rank, other = (sum(len(group.pivots) for group in solved.solution.groups) for solved in (floating, without))
    if rank == other:
        return ""
    return f"gravity is {size:.1g} m/s²: {other} parameters of links without it, {rank} with it"


def _second_looks(
    problem: Problem, floating: FloatingSolution, exactly: Solution | None, sensitive: str, options
) -> list[str]:
    """Sentences about near-degenerate geometry, with its cause where it is found."""
    kept = [block.gap()[0] for block in floating.solved]
    smallest = min(kept, default=1.0)
    dropped = max((block.gap()[1] for block in floating.solved), default=0.0)
    clear = not sensitive and smallest >= diagnosis.NEAR
    if clear and dropped <= ROUNDING:
        return []

    def rank_of(mechanism: Mechanism) -> int:
        solved = floating_solution(Problem(mechanism, **options), view_named("pseudo")).solved
        return sum(len(block.pivots) for block in solved)

    # The count as typed, where even the smallest values that are not rounding count.
    rank = sum(block.count(ROUNDING) for block in floating.solved)
    if exactly is not None:
        rank = sum(len(group.pivots) for group in exactly.groups)
    causes = diagnosis.causes(problem.mechanism, rank, rank_of, NOISE if clear else 0.0)
    if causes or sensitive:
        return causes or [sensitive]
    if clear:
        return []
    block = floating.blocks[kept.index(smallest)]
    names = ", ".join(problem.mechanism.link_names[i] for i in block.bodies)
    return [f"near-degenerate geometry at link {names}: the smallest value kept is {smallest:.1e}"]


def checked_gravity(mechanism: Mechanism, gravity: ArrayLike | None) -> np.ndarray:
    """Gravity as three finite numbers."""
    if gravity is None:
        return mechanism.gravity
    try:
        vector = np.array(gravity, dtype=float)
    except (TypeError, ValueError):
        vector = np.full(1, np.nan)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ShapeError(f"is {gravity!r}", element="gravity", remedy="Give three finite numbers, m/s²")
    return vector
