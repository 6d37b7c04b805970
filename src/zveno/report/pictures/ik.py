"""Pictures of inverse kinematics: the robot in all its solutions, and joint values along a path."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from ...errors import ZvenoError
from ...ik.paths import JointPath
from ...ik.solutions import Solutions
from ...mechanism.units import coordinate_units
from ..text.columns import shown_units
from .mechanism import draw_mechanism
from .trajectory import draw_lines

MOST_DRAWN = 16
"""Configurations in one picture; more would hide each other."""


def draw_solutions(solutions: Solutions, path: str | PathLike[str], *, pose: int = 0) -> Path:
    """The robot in the solutions of one pose of a batch: the first in full, the others pale; or the nearest one.

    Args:
        solutions: the solutions.
        path: .png or .svg.
        pose: flat number of the pose.
    """
    mechanism = solutions.mechanism
    if mechanism is None:
        raise ZvenoError("the result does not know its robot")
    index = tuple(int(k) for k in np.unravel_index(pose, solutions.batch)) if solutions.batch else ()
    q, summary = solutions.of(*index), solutions.reason(*index)
    if not len(q):
        nearest = solutions.nearest[index]
        return draw_mechanism(mechanism, path, nearest, frames=[solutions.frame], caption=f"nearest: {summary}")
    # The widest spread of configurations is seen where many are left out.
    drawn = q if len(q) <= MOST_DRAWN else q[np.linspace(0, len(q) - 1, MOST_DRAWN).round().astype(int)]
    left_out = f" ({len(drawn)} drawn)" if len(drawn) < len(q) else ""
    caption = f"{mechanism.name}: {summary}{left_out}"
    return draw_mechanism(
        mechanism, path, drawn[0], frames=[solutions.frame], ghosts=list(drawn[:0:-1]), caption=caption
    )


def draw_path(path: JointPath, file: str | PathLike[str], *, degrees: bool = False) -> Path:
    """Joint values over the numbers of the poses; jumps are vertical lines, poses without solution are gaps."""
    factors, units = shown_units(coordinate_units(path.mechanism), degrees)
    panels, names = {}, {}
    for unit in dict.fromkeys(units[k] for k in path.chain):
        chosen = [k for k in path.chain if units[k] == unit]
        title = f"joints, {unit}" if unit else "quaternions"
        panels[title] = path.q[:, chosen] * factors[chosen]
        names[title] = tuple(path.joint_names[k] for k in chosen)
    marks = [k + 0.5 for k in path.jumps]
    caption = f"{path.mechanism.name}, frame {path.frame}: {path.summary}"
    return draw_lines(np.arange(len(path.q)), panels, Path(file), caption, names, x_name="pose", marks=marks)
