"""What a calibration is asked for, and how far it has come: passed from stage to stage, never changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...robot_functions import RobotFunctions
from ..identifiability.analysis import Identifiability
from ..measurements.campaigns import Campaign
from ..measurements.fit_problem import FitProblem, Split
from .evidence import Lack
from .named import Event, Outlier
from .prior import Prior
from .solve import Solution
from .weighting import FitOptions

if TYPE_CHECKING:
    from ..advice.next_measurement import Advice

_LATER: Any = None
"""What a later stage fills in."""


@dataclass(frozen=True)
class FitSettings:
    """What people asked of a calibration, as in `calibrate`."""

    parameters: str | Sequence[str] = "all"
    joint_terms: tuple[str, ...] = ()
    find_joint_terms: bool = True
    strategy: str | None = None
    fixed: Sequence[str] = ()
    priors: Mapping[str, float] | None = None
    bounds: Mapping[str, tuple[float, float]] | None = None
    plausible: tuple[float, float] | str | None = "estimated"
    loss: str = "auto"
    linear: bool = False
    folds: int = 10
    seed: int = 0
    progress: Callable[[float, float], object] | None = None
    events: str = "named"


@dataclass(frozen=True, eq=False)
class FitState:
    """How far a calibration has come.

    Attributes:
        robot, campaigns, settings: the task; campaigns are prepared.
        notes: what people should know.
        joint_terms: those that were asked for, then those that the data ask for.
        problem: the rows; its frames are those of the nominal robot once they are placed.
        base: the nominal robot with its frames fitted.
        tool: deviations (P,) of tools that were found far from where they are drawn.
        structure: which parameters can be found; `geometry` is that of the first round, without joint terms that
            the data ask for.
        options, prior: how the fit treats noise, and what is known beforehand.
        near: the fit of a round with fewer joint terms, from which this one starts.
        revealed: whether parameters are those that can be found of the robot as it was fitted in the round before,
            where the data show some that the nominal geometry hides.
        loads: under which joints yield: "model" or "rods".
        splits: what moved during campaigns, where that is fitted.
        fit: parameters, frames and noise.
        evidence, lacks: joint terms fitted because the data ask for them, and those that are lacking.
        events: what moved during campaigns.
        outliers: rows that do not belong.
        clean_base: the nominal robot with its frames fitted to the rows that belong.
        unseen: residual (rows,) of every scalar row from a fit without its posture; NaN where there is none.
        advice: what to measure next.
    """

    robot: RobotFunctions
    campaigns: tuple[Campaign, ...]
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
    splits: tuple[Split, ...] = ()
    fit: Solution = _LATER
    evidence: Mapping[str, float] = _LATER
    lacks: tuple[Lack, ...] = ()
    events: tuple[Event, ...] = ()
    outliers: tuple[Outlier, ...] = ()
    clean_base: Solution = _LATER
    unseen: np.ndarray = _LATER
    advice: Advice | None = None

    @property
    def good(self) -> np.ndarray:
        """Which rows of data belong to the fit."""
        return self.fit.weight > 0.05
