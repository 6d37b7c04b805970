"""Identifiability at the measured postures."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...fit.triangle import triangle
from ...spatial.transforms import transform
from .._identifiability.analysis import Identifiability, analyse, beyond, scaled_jacobian
from .._identifiability.counts import counts
from ..measurements.contact import into_contact
from ..measurements.fit_problem import FitProblem
from ..model.models import Model
from ..use.output import deviation
from .errors import errors
from .solve import Solution

FIRM = 1e-2
"""Minimum independence of the columns of a fit, where the strategy leaves a choice."""
CLEAR, FAR = 5.0, 0.05
"""Minimum displacement of a tool to be studied where found, in units of the errors and of the robot's size."""


def structure(
    problem: FitProblem,
    robot: str,
    strategy: str = "JL",
    parameters: str | Sequence[str] = "all",
    values: np.ndarray | None = None,
    fitted: Solution | None = None,
) -> Identifiability:
    """Analyse identifiability at the measured postures; those in contact are moved to the nominal robot's contact.

    A tool that was found (`values`) far from where it is drawn is studied where it was found: a point thought to be
    on the last axis, but beside it, determines more. A robot far from nominal is studied as it was `fitted`.
    """
    frames = (problem if fitted is None else fitted).frames.copy()
    for a, b, distance, _ in problem.constraints:
        apart = frames[b, :3, 3] - frames[a, :3, 3]
        frames[b, :3, 3] = frames[a, :3, 3] + apart * (distance / max(float(np.linalg.norm(apart)), 1e-12))
    single = len(problem.parts) == 1 and parameters == "all"
    groups = problem.campaigns[0].groups
    counted = None
    if single and fitted is None:
        counted = counts(problem.model, problem.parts[0].measurement, groups=groups)
    if values is not None and fitted is None:
        for part in problem.parts:
            moved = moved_tool(problem.model, part.frame, values)
            if moved is not None:
                places = np.unique(part.right)
                frames[places] = moved @ frames[places]
                counted = counts(problem.model, part.measurement, moved, groups) if single else None
    problem = problem.placed(frames)
    robot_values = None if fitted is None else fitted.values
    q = [
        into_contact(problem, k, part.q, values=robot_values, compiled=True)[0]
        if part.measurement.implicit
        else part.q
        for k, part in enumerate(problem.parts)
    ]
    return analyse(problem, robot, strategy, parameters, counted, q, FIRM, compiled=True, values=robot_values)


def frame_columns(problem: FitProblem) -> list[int]:
    """Return the independent columns that place a nominal robot: base, tool and unknowns."""
    model = problem.model
    placing = [model.numbers[name] for name in model.choose("hand_eye")]
    return beyond(triangle(scaled_jacobian(problem, compiled=True)), problem.columns_of() + placing, [])[1]


def sees_scale(problem: FitProblem) -> bool:
    """Return True if any length is known: a reading, a slide, a distance of targets, or a known target.

    Without one, a robot of another size fits as well, and the tool's place determines its size.
    """
    read = any(part.measurement.shows_scale or part.y.any() for part in problem.parts)
    slides = any(move.sigma == 0 for move in problem.model.moves)
    placed = any(not set(part.target.tolist()) <= set(problem.unknown_at) for part in problem.parts)
    return bool(read or slides or placed or problem.constraints)


def placed_tools(problem: FitProblem, base: Solution) -> np.ndarray:
    """Return deviations (P,) of tools that the placed nominal robot clearly shows away from their nominal place.

    Smaller deviations may be errors of the robot itself.
    """
    values = problem.nominal.copy()
    left = [error.rms for error in errors(problem, base.residual) if error.unit == "m"]
    far = max(CLEAR * max(left, default=np.inf), FAR * problem.model.scale)
    for block in problem.model.blocks:
        place = slice(block.first, block.first + 3)
        if block.frame is not None and np.linalg.norm(base.values[place]) > far:
            values[place] = base.values[place]
    return values


def moved_tool(model: Model, frame: str, values: np.ndarray) -> np.ndarray | None:
    """Return the displacement (4, 4) of a frame by deviations of its tool; None if it is below 0.1 mm."""
    block = next(block for block in model.blocks if block.frame == frame)
    moved = transform(None, np.round(deviation(block, values)[:3, 3], 4))
    return moved if moved[:3, 3].any() else None
