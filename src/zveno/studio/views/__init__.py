"""How results are shown in the studio: one module a kind, found by the class of the result."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ...errors import ZvenoError
from ...io.results import Result
from ..playback import Playback

VIEWS = {
    "Trajectory": "trajectory:show_trajectory",
    "JointPath": "postures:show_path",
    "Solutions": "postures:show_solutions",
    "Postures": "postures:show_postures",
    "Walk": "trajectory:show_walk",
    "WalkPlan": "trajectory:show_planned_walk",
    "Plan": "postures:show_plan",
    "Excitation": "postures:show_excitation",
    "Calibration": "calibration:show_calibration",
    "Identification": "identification:show_identification",
}
"""Class of a result → function of (stage, gui, result) that adds it and returns its time bar, if it has one."""


def result_view(result: Result) -> Callable[[Any, Any, Any], Playback | None]:
    """What shows a result."""
    place = VIEWS.get(type(result).__name__)
    if place is None:
        known = ", ".join(VIEWS)
        raise ZvenoError(f"there is no view of a {type(result).__name__}", remedy=f"Views exist of {known}")
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f".{module}", __package__), name)
