"""Settings and state of a calibration: immutable, passed from stage to stage."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...robot_functions import RobotFunctions
from .._identifiability import Identifiability
from ..measurements._fit_problem import FitProblem
from ..measurements.datasets import Dataset
from ..models import CalibrationModel
from .findings import Outlier, ToolMove
from .noise import FitOptions
from .prior import Prior
from .solve import FitPoint, Solution

_LATER: Any = None
"""Placeholder for a value that a later stage fills in."""


@dataclass(frozen=True)
class FitSettings:
    """Arguments of a calibration, as in `calibrate`."""

    model: CalibrationModel = CalibrationModel()  # noqa: RUF009  (frozen)
    prior: str | Mapping[str, float] | None = "estimated"
    bounds: Mapping[str, tuple[float, float]] | None = None
    loss: str = "auto"
    folds: int = 10
    seed: int = 0
    progress: Callable[[float, float], object] | None = None

    @property
    def joint_terms(self) -> tuple[str, ...]:
        """Joint terms that are requested by name."""
        return self.model.terms

    @property
    def find_joint_terms(self) -> bool:
        """True if the data decide on joint terms."""
        free = self.model.joint_terms is None and self.model.parameters == "all"
        return free and self.prior is not None


@dataclass(frozen=True, eq=False)
class FitState:
    """State of a calibration.

    Attributes:
        robot, campaigns, settings: the task; campaigns are prepared.
        notes: remarks for the user.
        joint_terms: those requested, or that the data show.
        problem: the rows; its frames are those of the nominal robot once they are placed.
        base: the nominal robot with its frames fitted.
        tool: deviations (P,) of tools that were found far from where they are drawn.
        structure: which parameters can be found; `geometry` is that without joint terms that the data show.
        options, prior: treatment of noise, and prior knowledge.
        near: a fit with other terms, from which this one starts.
        revealed: whether parameters are those that can be found of the robot as it was fitted before, where the
            data show some that the nominal geometry hides.
        loads: under which joints yield: "model" or "rods".
        fit: parameters, frames and noise.
        evidence: log evidence of all joint terms together, against none, where the data show them.
        tool_moved: displacement of the tool during a campaign.
        outliers: rows that do not belong to the fit.
        clean_base: the nominal robot with its frames fitted to the rows that belong.
        unseen: residual (rows,) of every scalar row from a fit without its posture; NaN where there is none.
        covariance_factor: factor of the covariance of predictions.
        probable: the most probable deviations of all terms, with the frames that belong to them.
        spread_covariance: posterior covariance (P, P) of these deviations.
        doubt: reason why the data seem not to belong to the robot; empty if they do.
    """

    robot: RobotFunctions
    campaigns: tuple[Dataset, ...]
    settings: FitSettings
    notes: tuple[str, ...]
    joint_terms: tuple[str, ...]
    problem: FitProblem = _LATER
    base: Solution = _LATER
    tool: np.ndarray = _LATER
    structure: Identifiability = _LATER
    geometry: Identifiability = _LATER
    options: FitOptions = _LATER
    prior: Prior | None = None
    near: Solution | None = None
    revealed: bool = False
    loads: str = "model"
    fit: Solution = _LATER
    evidence: float | None = None
    tool_moved: ToolMove | None = None
    outliers: tuple[Outlier, ...] = ()
    clean_base: Solution = _LATER
    unseen: np.ndarray = _LATER
    covariance_factor: float = 1.0
    doubt: str = ""
    probable: FitPoint = _LATER
    spread_covariance: np.ndarray = _LATER

    @property
    def good(self) -> np.ndarray:
        """Data rows that belong to the fit, booleans."""
        return self.fit.weight > 0.05


def noted(state: FitState, note: str) -> FitState:
    """Return the state with one more note, if there is one."""
    return replace(state, notes=(*state.notes, note)) if note else state
