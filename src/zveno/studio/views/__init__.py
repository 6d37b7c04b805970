"""Views of results in the studio, found by the class of the result."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from ...errors import ZvenoError
from ...report.result import Result
from ..playback import Playback

VIEWS = {
    "Trajectory": "trajectory:show_trajectory",
    "JointPath": "postures:show_path",
    "Solutions": "postures:show_solutions",
    "Configurations": "postures:show_postures",
    "Walk": "trajectory:show_walk",
    "MeasurementPlan": "postures:show_plan",
    "Excitation": "postures:show_excitation",
    "Calibration": "calibration:show_calibration",
    "Identification": "identification:show_identification",
}
"""Functions of (stage, gui, result) by result class; each adds a view and returns its time bar, if any."""


def result_view(result: Result) -> Callable[[Any, Any, Any], Playback | None]:
    """Return the view function of a result."""
    place = VIEWS.get(type(result).__name__)
    if place is None:
        known = ", ".join(VIEWS)
        raise ZvenoError(f"the studio cannot show a {type(result).__name__}", remedy=f"Results with views: {known}")
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f".{module}", __package__), name)
