"""Analysis of the base parameters of a mechanism, and detection of near-degenerate geometry."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ShapeError, ZvenoWarning
from ..io.near_exact import snapped_axis, snapped_rpy
from ..io.results import hash_of
from ..mechanism import Joint, Loop, Mechanism
from ..robot_functions import RobotFunctions
from ..spatial.exact_numbers import NotExact, required_flint
from ..spatial.rotations import from_rpy, to_rpy
from ..spatial.transforms import transform
from . import drives as driving
from ._blocks import NOISE, ROUNDING
from ._exact import exact_obstacle, exact_solution
from ._recursion import FloatingSolution, Problem, Solution, floating_solution
from ._samples import loops_of
from ._views import View, view_named
from .result import BaseParameters

STANDARD_GRAVITY = 9.81
"""Reference value of gravity, m/s²."""


def base_parameters(
    robot: RobotFunctions | Mechanism,
    gravity: ArrayLike | None = None,
    drives: bool | Sequence[str] | None = False,
    *,
    view: str = "inertia",
    massless: Sequence[str] | None = None,
    loops: Sequence[Loop] | None = None,
    q0: ArrayLike | None = None,
    exact: bool | None = None,
) -> BaseParameters:
    """Do what `Robot.base_parameters` documents."""
    mechanism = robot.mechanism if isinstance(robot, RobotFunctions) else robot
    if not isinstance(mechanism, Mechanism):
        raise ModelError(
            f"robot must be a Robot or Mechanism, got {type(robot).__name__}",
            remedy="Give zveno.load(...) or a Mechanism",
        )
    direction = checked_gravity(mechanism, gravity)
    if not np.array_equal(direction, mechanism.gravity):
        mechanism = replace(mechanism, gravity=direction)
    options = {"drives": drives, "massless": massless, "loops": loops_of(mechanism, loops), "q0": q0}
    problem, chosen = Problem(mechanism, **options), view_named(view)
    floating = floating_solution(problem, chosen)
    exactly, why_not = _exactly(problem, chosen, exact, floating)
    alone, tied, _ = problem.frictions()
    sensitive = _faint_gravity(problem, floating, options)
    if exactly is not None and not sensitive:
        sensitive = _sensitive(floating, exactly, len(alone))
    notes = _degeneracy_notes(problem, floating, exactly, sensitive, options)
    for note in notes:
        warnings.warn(note, ZvenoWarning, stacklevel=2)
    # Take the result from one arithmetic: the exact one only if both agree or exact arithmetic is required.
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
        q0=None if q0 is None else np.array(q0, dtype=float),
        length=problem.scale,
        certified=exactly is not None and not sensitive,
        why_not_certified=sensitive or why_not,
        notes=tuple(notes),
        inputs_hash=hash_of(mechanism.fingerprint, view, list(problem.kinds), sorted(problem.massless)),
        exact_drive_grouping=solution.exact_drive_grouping,
    )


def _exactly(
    problem: Problem, view: View, wanted: bool | None, floating: FloatingSolution
) -> tuple[Solution | None, str]:
    """Solve in exact arithmetic; return None and the reason if that is not possible."""
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
    """Describe both ranks if the rank depends on differences below `NOISE` of the mechanism's size."""
    coarse = [block.count(NOISE) for block in floating.solved]
    counts = [len(group.pivots) for group in exactly.groups]
    rank, other = exactly.rank, floating.solution.rank
    if rank == other:
        other += sum(coarse) - sum(len(block.pivots) for block in floating.solved)
    if rank == other and coarse == counts:
        return ""
    return (
        f"{other + frictions} base parameters if differences below {NOISE:g} of the mechanism's size are rounding, "
        f"{rank + frictions} if they are intended"
    )


def _faint_gravity(problem: Problem, floating: FloatingSolution, options) -> str:
    """Describe both ranks if gravity is so small that it may be rounding; only its direction matters."""
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


def _degeneracy_notes(
    problem: Problem, floating: FloatingSolution, exactly: Solution | None, sensitive: str, options
) -> list[str]:
    """Describe near-degenerate geometry, with its cause if found."""
    kept = [block.gap()[0] for block in floating.solved]
    smallest = min(kept, default=1.0)
    dropped = max((block.gap()[1] for block in floating.solved), default=0.0)
    clear = not sensitive and smallest >= NEAR
    if clear and dropped <= ROUNDING:
        return []

    def rank_of(mechanism: Mechanism) -> int:
        solved = floating_solution(Problem(mechanism, **options), view_named("pseudo")).solved
        return sum(len(block.pivots) for block in solved)

    # The rank as typed counts all values above rounding.
    rank = sum(block.count(ROUNDING) for block in floating.solved)
    if exactly is not None:
        rank = sum(len(group.pivots) for group in exactly.groups)
    causes = near_causes(problem.mechanism, rank, rank_of, NOISE if clear else 0.0)
    if causes or sensitive:
        return causes or [sensitive]
    if clear:
        return []
    block = floating.blocks[kept.index(smallest)]
    names = ", ".join(problem.mechanism.link_names[i] for i in block.bodies)
    return [f"near-degenerate geometry at link {names}: the smallest value kept is {smallest:.1e}"]


def checked_gravity(mechanism: Mechanism, gravity: ArrayLike | None) -> np.ndarray:
    """Convert gravity to three finite numbers."""
    if gravity is None:
        return mechanism.gravity
    try:
        vector = np.array(gravity, dtype=float)
    except (TypeError, ValueError):
        vector = np.full(1, np.nan)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise ShapeError(f"must be three finite numbers in m/s², got {gravity!r}", element="gravity")
    return vector


NEAR = 1e-3
"""Singular values, with lengths and gravity scaled to 1, and angles in rad below this are reported."""


def near_causes(
    mechanism: Mechanism, rank: int, rank_of: Callable[[Mechanism], int], least: float = 0.0
) -> list[str]:
    """Describe near-degenerate geometry and the rank without it; empty if the rank does not depend on it.

    Args:
        mechanism: the mechanism as typed.
        rank: rank of the mechanism as typed.
        rank_of: function that computes the rank of a modified mechanism.
        least: angle errors up to this are rounding, rad.
    """
    exact, near = _make_exact(mechanism, least)
    if near and (other := rank_of(exact)) != rank:
        shown = "; ".join(near[:4]) + (f"; and {len(near) - 4} more" if len(near) > 4 else "")
        return [f"{shown}: {rank} parameters as typed, {other} as meant"]
    for text, aligned in _gravity(mechanism, least):
        if (other := rank_of(aligned)) != rank:
            return [f"{text}: {other} parameters if aligned, {rank} if not"]
    return []


def _gravity(mechanism: Mechanism, least: float) -> list[tuple[str, Mechanism]]:
    """Find gravity almost parallel or perpendicular to the axis of a joint on the ground."""
    g = mechanism.gravity
    size = np.linalg.norm(g)
    variants = []
    if not size:
        return variants
    for joint in mechanism.joints:
        if joint.parent != mechanism.links[0].name or "axis" not in joint.type.parameters():
            continue
        axis = joint.T_parent_joint[:3, :3] @ np.asarray(joint.type.parameters()["axis"])
        along, across = abs(axis @ g) / size, np.linalg.norm(np.cross(axis, g)) / size
        number = mechanism.link_number(joint.child)
        if least < across < NEAR:
            aligned = replace(mechanism, gravity=(axis @ g) * axis)
            variants.append((f"gravity is {_short(math.asin(across))} rad off joint {number}'s axis", aligned))
        elif least < along < NEAR:
            aligned = replace(mechanism, gravity=g - (axis @ g) * axis)
            variants.append(
                (f"gravity is {_short(math.asin(along))} rad off the plane across joint {number}'s axis", aligned)
            )
    return variants


def _short(x: float) -> str:
    """Format with one digit: 1e-9, not 1e-09."""
    return re.sub(r"e-0*", "e-", f"{x:.1g}")


def _make_exact(mechanism: Mechanism, least: float) -> tuple[Mechanism, list[str]]:
    """Replace near-exact angles and axes by exact ones; also return a description of each."""
    joints, words = [], []
    for joint in mechanism.joints:
        changed, near = _exact_joint(joint, least)
        joints.append(changed)
        words += [f"joint {joint.name}: {word}" for word in near]
    return replace(mechanism, joints=tuple(joints)), words


def _exact_joint(joint: Joint, least: float) -> tuple[Joint, list[str]]:
    words: list[str] = []
    placements = []
    for T in (joint.T_parent_joint, joint.T_joint_child):
        angles = to_rpy(T[:3, :3]).tolist()
        rpy, near = snapped_rpy(angles)
        words += near if abs(rpy - angles).max() > least else []
        placements.append(transform(from_rpy(rpy), T[:3, 3]) if near else T)
    kind = joint.type
    axis = kind.parameters().get("axis")
    if isinstance(axis, np.ndarray):
        meant, near = snapped_axis(axis)
        words += near if np.linalg.norm(meant - axis) > least else []
        kind = kind.about(meant) if near else kind
    return replace(joint, type=kind, T_parent_joint=placements[0], T_joint_child=placements[1]), words
