"""How every result is printed and drawn: one table from its class to the functions that do it.

Results are below this package, so they find it by name; `print(result)` and the commands come out the same.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ZvenoError
from .text.console import html_of, text_of

if TYPE_CHECKING:
    from rich.console import Console

    from ..io.results import Result

_PRINTED = {
    "Solutions": "text.ik:print_solutions",
    "JointPath": "text.ik:print_path",
    "Trajectory": "text.trajectory:print_trajectory",
    "Constrained": "text.trajectory:print_constrained",
    "BaseParameters": "text.base_parameters:print_base_parameters",
    "Identifiability": "text.calibration:print_identifiability",
    "Calibration": "text.calibration:print_calibration",
    "Identification": "text.identification:print_identification",
    "Plan": "text.plan:print_plan",
    "Excitation": "text.excitation:print_excitation",
    "Export": "text.export:print_export",
    "IkMap": "text.maps:print_ik_map",
    "WorkspaceMap": "text.maps:print_workspace",
    "Walk": "text.walking:print_walk",
}
"""Class of a result → function of (console, result, degrees=…); others print their summary."""
_DRAWN = {
    "Solutions": "pictures.ik:draw_solutions",
    "JointPath": "pictures.ik:draw_path",
    "Trajectory": "pictures.trajectory:draw_trajectory",
    "BaseParameters": "pictures.base_parameters:draw_base_parameters",
    "Identifiability": "pictures.calibration:draw_identifiability",
    "Calibration": "pictures.calibration:draw_calibration",
    "Identification": "pictures.identification:draw_identification",
    "AccuracyMap": "pictures.calibration:draw_accuracy",
    "AccuracyCells": "pictures.calibration:draw_accuracy",
    "IkMap": "pictures.maps:draw_ik_map",
    "WorkspaceMap": "pictures.maps:draw_workspace",
    "Excitation": "pictures.excitation:draw_excitation",
    "Plan": "pictures.plan:draw_plan",
    "Curve": "pictures.plan:draw_accuracy_curve",
    "Trials": "pictures.plan:draw_trials",
    "Walk": "pictures.walking:draw_walk",
    "WalkPlan": "pictures.walking:draw_plan_of_walk",
}
"""Class of a result → function of (result, path)."""


_REPORTED = {
    "Solutions": "html.ik:solutions_chapter",
    "JointPath": "html.ik:path_chapter",
    "Trajectory": "html.trajectory:trajectory_chapter",
    "BaseParameters": "html.base_parameters:base_chapter",
    "Calibration": "html.calibration:calibration_chapter",
    "Identification": "html.identification:identification_chapter",
    "Plan": "html.plan:plan_chapter",
    "Excitation": "html.excitation:excitation_chapter",
    "AccuracyMap": "html.accuracy:accuracy_chapter",
    "Identifiability": "html.identifiability:identifiability_chapter",
    "Postures": "html.postures:postures_chapter",
    "Trials": "html.trials:trials_chapter",
    "AccuracyCells": "html.accuracy:cells_chapter",
    "Curve": "html.plan:curve_chapter",
    "IkMap": "html.maps:ik_map_chapter",
    "WorkspaceMap": "html.maps:workspace_chapter",
    "Walk": "html.walking:walk_run_chapter",
    "WalkPlan": "html.walking:walk_chapter",
}
"""Class of a result → function of (result) that gives its chapter of a report."""


def print_result(console: Console, result: Result, degrees: bool = False) -> None:
    """A result as its command prints it."""
    show = _function(_PRINTED, result)
    if show is None:
        console.print(result.summary)
    else:
        show(console, result, degrees=degrees)


def result_text(result: Result) -> str:
    """A result as text."""
    return text_of(lambda console: print_result(console, result))


def result_html(result: Result) -> str:
    """A result as HTML for notebooks."""
    return html_of(lambda console: print_result(console, result))


def draw_result(result: Result, path: str | PathLike[str], **options: Any) -> Path:
    """A result as a picture, .png or .svg."""
    draw = _function(_DRAWN, result)
    if draw is None:
        raise ZvenoError(f"there is no picture of a {type(result).__name__}", remedy="print() shows what it holds")
    return draw(result, path, **options)


def animate_result(result: Result, path: str | PathLike[str], **options: Any) -> Path:
    """A motion as a moving picture: .gif, .webp or .mp4."""
    from .pictures.animation import animate_trajectory

    return animate_trajectory(result, path, **options)


def write_report(
    results: Result | Sequence[Result], path: str | PathLike[str], *, title: str | None = None
) -> Path:
    """One offline HTML page about one result or several, in their order; returns the file.

    Args:
        results: of base parameters, inverse kinematics and its maps, simulation, calibration, accuracy, plans,
            their curves and trials, excitation, identification, walks.
        path: an .html file.
        title: of the page; that of the first result if not given.
    """
    from .html.page import checked_report, write_page

    file = checked_report(path)
    chapters = []
    for result in results if isinstance(results, Sequence) else (results,):
        chapter = _function(_REPORTED, result)
        if chapter is None:
            known = ", ".join(_REPORTED)
            raise ZvenoError(f"there is no report of a {type(result).__name__}", remedy=f"Reports exist of {known}")
        chapters.append(chapter(result))
    if not chapters:
        raise ZvenoError("a report needs at least one result")
    return write_page(file, chapters[0].title if title is None else title, chapters)


def _function(table: dict[str, str], result: Result) -> Callable[..., Any] | None:
    place = table.get(type(result).__name__)
    if place is None:
        return None
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f".{module}", __package__), name)
