"""`calibrate`: the stages of a calibration in their order, from rows to a result with its accuracy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ..errors import ZvenoError, refuse_other, unknown_name
from ..fit.rng import seed_of
from ..fit.threads import in_one_thread
from ..io.results import hash_of
from ..progress import Progress, ProgressBar
from ..robot_functions import RobotFunctions
from ._closing import loop_notes
from ._diagnose import check_enough, check_reach, doubt, doubt_of_fit
from ._fit.covariance_factor import FEW_PLACES, covariance_factor
from ._fit.errors import Error, Residuals, errors, residuals
from ._fit.estimate import fit_all_terms_or_none, note_loads
from ._fit.frames import assemble_rows, place_frames, refitted_frames
from ._fit.held_out import held_out
from ._fit.outliers import named_outliers
from ._fit.parameters import choose_parameters, chosen_parameters, sees_scale
from ._fit.spread import spread
from ._fit.state import FitSettings, FitState, noted
from ._fit.tool_moved import find_moved_tool
from ._output import calibrated_mechanism
from ._verdict import verdict
from .measurements.datasets import Dataset, prepared
from .models import REMEDY, CalibrationModel
from .result import Calibration

LOSSES = ("auto", "none")
"""Treatments of outlier rows in a fit."""


@in_one_thread
def calibrate(
    robot: RobotFunctions,
    data: Dataset | Sequence[Dataset],
    *,
    model: CalibrationModel | None = None,
    prior: Literal["estimated"] | Mapping[str, float] | None = "estimated",
    bounds: Mapping[str, tuple[float, float]] | None = None,
    loss: str = "auto",
    folds: int = 10,
    rng: np.random.Generator | int | None = 0,
    progress: Progress = None,
) -> Calibration:
    """Do what `Robot.calibrate` documents."""
    if loss not in LOSSES:
        raise unknown_name("loss", loss, LOSSES)
    if isinstance(prior, str) and prior != "estimated":
        raise unknown_name("prior", prior, ("estimated",))
    model = CalibrationModel() if model is None else model
    refuse_other(model, CalibrationModel, "model", REMEDY)
    campaigns, notes = prepared(data, robot.mechanism)
    bar = ProgressBar("calibrating", progress)
    settings = FitSettings(
        model,
        prior,
        bounds,
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
    notes = (*notes, *loop_notes(robot.mechanism))
    state = FitState(robot, tuple(campaigns), settings, notes, settings.joint_terms)
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


def check_rows(state: FitState) -> FitState:
    """Raise an error for readings that no robot of this size can have given."""
    check_reach(state.problem)
    return state


def check_frames(state: FitState) -> FitState:
    """Note a large residual of the nominal robot, and the data error that would explain it."""
    return _doubted(state, doubt(state.problem, state.base))


def check_fit(state: FitState) -> FitState:
    """Note if the nominal robot without some data error explains the readings better than the calibrated one."""
    return state if state.doubt else _doubted(state, doubt_of_fit(state.problem, state.base, state.fit))


def _doubted(state: FitState, reason: str) -> FitState:
    return noted(replace(state, doubt=reason), reason)


def check_parameters(state: FitState) -> FitState:
    """Raise an error, or note it, if postures determine less than they should."""
    state = replace(state, geometry=state.structure)
    if not sees_scale(state.problem):
        state = noted(state, "no length is known: how large the robot is, and what it touches, is as drawn")
    return noted(state, check_enough(state.problem, state.structure, state.robot, chosen_parameters(state)))


def name_outliers(state: FitState) -> FitState:
    """Name the rows that the fit left out as outliers."""
    return replace(state, outliers=named_outliers(state.problem, state.fit, state.good))


def place_frames_again(state: FitState) -> FitState:
    """Fit the frames of the nominal robot to the rows that belong, to compare the calibrated one with."""
    return replace(state, clean_base=refitted_frames(state) if state.outliers else state.base)


def hold_out(state: FitState) -> FitState:
    """Compute residuals of every posture from a fit without it."""
    settings = state.settings
    unseen = held_out(state.problem, state.options, state.fit, settings.folds, settings.seed, settings.progress)
    return replace(state, unseen=unseen)


def fit_covariance_factor(state: FitState) -> FitState:
    """Compute the factor by which the covariance of predictions holds for held-out postures."""
    settings = state.settings
    factor, n_places = covariance_factor(
        state.problem, state.options, state.fit, state.unseen, settings.folds, settings.seed
    )
    note = f"{n_places} places cannot tell how large errors are at other places: covariances may be too small"
    return noted(replace(state, covariance_factor=factor), note if 0 < n_places <= FEW_PLACES else "")


STAGES: tuple[Callable[[FitState], FitState], ...] = (
    assemble_rows,
    check_rows,
    place_frames,
    check_frames,
    choose_parameters,
    check_parameters,
    fit_all_terms_or_none,
    find_moved_tool,
    note_loads,
    check_fit,
    name_outliers,
    place_frames_again,
    hold_out,
    fit_covariance_factor,
    spread,
)


def calibration_of(state: FitState) -> Calibration:
    """Build the result of a calibration that has passed all its stages."""
    problem, options, whole, prior, folds = (
        state.problem,
        state.options,
        state.fit,
        state.prior,
        state.settings.folds,
    )
    notes, good, unseen = state.notes, state.good, state.unseen
    kept = problem.by_row(good, True)
    scored = np.isfinite(unseen)
    if folds and not scored.any():
        notes = (*notes, "there are too few rows to leave any out: errors are those of the rows used")
    tested = np.zeros(problem.n_data_rows, dtype=bool)
    tested[problem.row[scored & (problem.row >= 0)]] = True
    by_noise = residuals(problem, good, state.base.residual, state.probable.r, unseen)
    model = problem.model
    parameters = [k for k in options.columns if k < len(model.terms)]
    undetermined = tuple(problem.names[k] for k in problem.columns_of() if k not in options.columns)
    if undetermined:
        notes = (*notes, f"the data do not determine {', '.join(undetermined)}: the value given is arbitrary")
    covariance = whole.covariance()
    noises = [f"{campaign}: {name}" for campaign, name, _ in problem.noise_names]
    shared = [1.0] * len(noises) if options.shared is None else options.shared.tolist()
    of_groups = {
        noises[component.noise]: float(np.sqrt(component.ratio) * whole.sigma[component.noise])
        for component in options.components
    }
    result = Calibration(
        nominal=state.robot.mechanism,
        mechanism=calibrated_mechanism(model, state.probable.values),
        data=state.campaigns,
        frames=model.frames,
        joint_terms=state.joint_terms,
        loads=model.loads,
        names=tuple(model.names[k] for k in parameters),
        values=whole.values[parameters],
        units=tuple(model.terms[k].unit for k in parameters),
        deviations=state.probable.values,
        deviation_covariance=state.spread_covariance,
        places=tuple(model.terms[k].place for k in parameters),
        covariance=covariance[: len(parameters), : len(parameters)],
        unknowns=problem.labelled(state.probable.frames),
        undetermined=undetermined,
        unknown_names=tuple(problem.names[k] for k in options.columns if k >= len(model.terms)),
        unknown_std=np.sqrt(np.diag(covariance))[len(parameters) :],
        sigma=dict(zip(noises, whole.sigma.tolist(), strict=True)),
        group_sigma=of_groups,
        shared_error_factor={name: factor for name, factor in zip(noises, shared, strict=True) if factor > 1.0},
        prior_std={} if prior is None else prior.sizes,
        identifiability=state.geometry,
        baseline=_errors(by_noise, "nominal"),
        baseline_unflagged=errors(problem, state.clean_base.residual, tested & good if tested.any() else good),
        training=_errors(by_noise, "calibrated", unflagged=True),
        held_out=_errors(by_noise, "held_out"),
        held_out_unflagged=_errors(by_noise, "held_out", unflagged=True),
        tool_moved=state.tool_moved,
        outliers=state.outliers,
        residuals=by_noise,
        rows=int(problem.n_data_rows),
        scalar_rows=int(kept.sum()),
        condition=whole.factors.condition,
        iterations=whole.fit.iterations,
        converged=whole.fit.converged,
        at_bounds={
            model.names[k]: "upper" if side > 0 else "lower"
            for k, side in zip(options.columns, whole.fit.active, strict=True)
            if side
        },
        evidence=state.evidence,
        covariance_factor=state.covariance_factor,
        notes=notes,
        verdict="",
        inputs_hash=_hashed(state),
        doubt=state.doubt,
    )
    return replace(result, verdict=verdict(result))


def _errors(by_noise: tuple[Residuals, ...], fit: str, unflagged: bool = False) -> tuple[Error, ...]:
    return tuple(error for of_noise in by_noise for error in of_noise.errors(fit, unflagged))


def _hashed(state: FitState) -> str:
    data = hashlib.sha256()
    for campaign in state.campaigns:
        data.update(campaign.q.tobytes() + campaign.y.tobytes() + repr(campaign.groups).encode())
    return hash_of(state.robot.mechanism.fingerprint, data.hexdigest())
