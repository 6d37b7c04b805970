"""Conversion of the last state of a fit to its result."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from ..io.results import hash_of
from .advice.verdict import verdict
from .fit.errors import Error, Residuals, errors, residuals
from .fit.state import FitState
from .result import Calibration
from .use.output import calibrated_mechanism


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
    covariance = whole.covariance()
    noises = [f"{campaign}: {name}" for campaign, name, _ in problem.noise_names]
    shared = [1.0] * len(noises) if options.shared is None else options.shared.tolist()
    of_groups = {
        noises[one.noise]: float(np.sqrt(one.ratio) * whole.sigma[one.noise]) for one in options.components
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
        unknown_names=tuple(problem.names[k] for k in options.columns if k >= len(model.terms)),
        unknown_std=np.sqrt(np.diag(covariance))[len(parameters) :],
        sigma=dict(zip(noises, whole.sigma.tolist(), strict=True)),
        group_sigma=of_groups,
        shared_error_factor={name: factor for name, factor in zip(noises, shared, strict=True) if factor > 1.0},
        plausible={} if prior is None else prior.sizes,
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
