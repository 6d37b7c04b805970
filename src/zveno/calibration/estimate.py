"""`calibrate`: from measurements to the true geometry, with its accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import ZvenoError, unknown_name
from ..fit.rng import seed_of
from ..fit.robust import LOSSES
from ..fit.threads import in_one_thread
from ..io.units import ERRORS
from ..progress import Progress, ProgressBar
from ..robot_functions import RobotFunctions
from .fit.state import FitSettings, FitState
from .measurements.campaigns import Campaign, prepared
from .outcome import calibration_of
from .result import Calibration
from .stages import STAGES

EVENTS = ("named", "fit", "ignored")
"""What may be done about things that moved."""


@in_one_thread
def calibrate(
    robot: RobotFunctions,
    data: Campaign | Sequence[Campaign],
    *,
    parameters: str | Sequence[str] = "all",
    joint_terms: str | Sequence[str] = "auto",
    strategy: str | None = None,
    fixed: Sequence[str] = (),
    priors: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    plausible: tuple[float, float] | str | None = "estimated",
    loss: str = "auto",
    linear: bool = False,
    events: str = "named",
    folds: int = 10,
    rng: np.random.Generator | int | None = 0,
    progress: Progress = None,
) -> Calibration:
    """The geometric parameters that explain measurements, their covariance, and the accuracy to expect.

    The complete irreducible model is fitted by Levenberg–Marquardt with all unknown frames and targets. Standard
    deviations that a measurement does not give are estimated, each kind by its own.

    Args:
        robot: the nominal robot.
        data: one or several campaigns, all explained by the same robot.
        parameters: what may deviate: "all", a class ("dh", "controller", "tcp", "base", "hand_eye", "offsets"),
            names or patterns (`Tx*`).
        joint_terms: "gear", "compliance", "eccentricity", "ovality" and "hysteresis" add terms to every joint.
            "auto": those for which the data are strong evidence, where all parameters may deviate.
        strategy: which of dependent parameters stand for the others, as in `identifiability`. By default "JL";
            "TJL" where the measured point is clearly elsewhere than drawn: the tool is then what is off; and "JTL"
            where no length is known: the tool is not drawn so well that it could say how large the robot is.
        fixed: names or patterns that stay nominal.
        priors: name or pattern → standard deviation about nominal, m or rad.
        bounds: name or pattern → (lower, upper) deviation from nominal; −inf and inf for none. The fit is the best
            inside them; `at_bounds` says which hold.
        plausible: how far the true robot is off before anything is measured, which matters for what the data hardly
            determine. "estimated": links, joint offsets and joint terms each by what the data suggest. Or standard
            deviations, m and rad, of links; ten times as much for joint offsets, base and tool. None for no such
            bound.
        loss: "auto" fits least squares to all rows but those that clearly do not belong, which are named; "none" to
            all rows; "huber", "cauchy" and "tukey" weigh rows down.
        linear: one linearised step (19) instead of iterations.
        events: what moved during a campaign (tool, reference, target, the zero of a joint), found as a change in
            the order of rows, is "named" in the verdict, or "fit" with the rest, or "ignored".
        folds: into how many parts postures are dealt for held-out errors; 0 for none.
        rng: generator or seed of the dealing.
        progress: whether a bar is shown, by default on a terminal; or a function of (done, total).
    """
    if loss not in ("auto", *LOSSES):
        raise unknown_name("loss", loss, ("auto", *LOSSES))
    if isinstance(joint_terms, str) and joint_terms != "auto":
        raise unknown_name("joint_terms", joint_terms, ("auto",))
    if events not in EVENTS:
        raise unknown_name("events", events, EVENTS)
    campaigns, notes = prepared(data, robot.mechanism)
    bar = ProgressBar("calibrating", progress)
    settings = FitSettings(
        parameters,
        () if isinstance(joint_terms, str) else tuple(joint_terms),
        joint_terms == "auto" and parameters == "all" and not linear,
        strategy,
        fixed,
        priors,
        bounds,
        plausible,
        loss,
        linear,
        folds,
        seed_of(rng),
        bar,
        events,
    )
    with bar:
        calibration = _calibrated(robot, campaigns, settings, notes)
    if calibration.status == "worse" and parameters != "all":
        remedy = _wider(robot, campaigns, settings, notes)
        return replace(calibration, verdict=f"{calibration.verdict}\n{remedy}")
    return calibration


def _calibrated(
    robot: RobotFunctions, campaigns: Sequence[Campaign], settings: FitSettings, notes: Sequence[str]
) -> Calibration:
    """All stages; a fit that ends in a singular matrix, or in numbers that are none, is refused."""
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


def _wider(
    robot: RobotFunctions, campaigns: Sequence[Campaign], settings: FitSettings, notes: Sequence[str]
) -> str:
    """Which parameters, beside those that were asked for, make a calibration better than the nominal robot."""
    asked = (settings.parameters,) if isinstance(settings.parameters, str) else tuple(settings.parameters)
    for more in (("tcp",), ("base",), ("tcp", "base"), ("offsets", "tcp", "base")):
        wider = replace(settings, parameters=(*asked, *more), folds=0, progress=None)
        try:
            calibration = _calibrated(robot, campaigns, wider, notes)
        except ZvenoError:
            continue
        if calibration.status == "calibrated" and calibration.improvement < 0.95:
            shown = ", ".join(
                f"{after.rms * ERRORS[after.unit][0]:.3g} {ERRORS[after.unit][1]}"
                for _, after in calibration.compared
            )
            return f"With the parameters {' '.join((*asked, *more))} the errors are {shown} on the postures used."
    return "No other restriction that was tried is better; leave the choice of parameters out."
