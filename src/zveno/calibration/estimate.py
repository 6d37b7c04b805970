"""`calibrate`: estimation of the true geometry from measurements, with its accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import ZvenoError, unknown_name
from ..fit.rng import seed_of
from ..fit.threads import in_one_thread
from ..mechanism.loops import for_trees
from ..progress import Progress, ProgressBar
from ..robot_functions import RobotFunctions
from .fit.state import FitSettings, FitState
from .measurements.campaigns import Dataset, prepared
from .outcome import calibration_of
from .result import Calibration
from .stages import STAGES

LOSSES = ("auto", "none")
"""Treatments of outlier rows in a fit."""


@for_trees
@in_one_thread
def calibrate(
    robot: RobotFunctions,
    data: Dataset | Sequence[Dataset],
    *,
    parameters: str | Sequence[str] = "all",
    joint_terms: str | Sequence[str] = "auto",
    strategy: str | None = None,
    fixed: Sequence[str] = (),
    priors: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    plausible: tuple[float, float] | str | None = "estimated",
    loss: str = "auto",
    folds: int = 10,
    rng: np.random.Generator | int | None = 0,
    progress: Progress = None,
) -> Calibration:
    """Do what `Robot.calibrate` documents."""
    if loss not in LOSSES:
        raise unknown_name("loss", loss, LOSSES)
    if isinstance(joint_terms, str) and joint_terms != "auto":
        raise unknown_name("joint_terms", joint_terms, ("auto",))
    campaigns, notes = prepared(data, robot.mechanism)
    bar = ProgressBar("calibrating", progress)
    settings = FitSettings(
        parameters,
        () if isinstance(joint_terms, str) else tuple(joint_terms),
        joint_terms == "auto" and parameters == "all" and plausible is not None,
        strategy,
        fixed,
        priors,
        bounds,
        plausible,
        loss,
        folds,
        seed_of(rng),
        bar,
    )
    with bar:
        return _calibrated(robot, campaigns, settings, notes)


def _calibrated(
    robot: RobotFunctions, campaigns: Sequence[Dataset], settings: FitSettings, notes: Sequence[str]
) -> Calibration:
    """Run all stages; raise an error if a fit ends in a singular matrix or in NaN."""
    state = FitState(robot, tuple(campaigns), settings, tuple(notes), settings.joint_terms)
    broken = ZvenoError(
        "the fit broke down: the data do not belong to this robot",
        remedy="Look at the warnings before; check the order, sign and unit of the joint columns, the kind of "
        "measurement and the frame that was measured",
    )
    try:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            for stage in STAGES:
                state = stage(state)
            calibration = calibration_of(state)
    except np.linalg.LinAlgError as error:
        raise broken from error
    if not (np.isfinite(calibration.values).all() and np.isfinite(calibration.covariance).all()):
        raise broken
    return calibration
