"""Stage of a fit: choice of the estimated parameters, their noise, bounds and prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...errors import ZvenoError, unknown_name
from .._identifiability.analysis import Identifiability
from ..measurements.fit_problem import FitProblem
from ..model.kinematics import by_coordinates
from ..model.models import Model
from .prior import USUAL, Prior, alone, prior
from .state import FitState
from .structure import placed_tools, sees_scale, structure
from .weighting import Bounds, FitOptions


def choose_parameters(state: FitState) -> FitState:
    """Choose the parameters that the postures determine, with their noise, bounds and prior."""
    problem, settings, model = state.problem, state.settings, state.problem.model
    tool = placed_tools(problem, state.base)
    strategy = settings.strategy or ("TJL" if tool.any() else "JL" if sees_scale(problem) else "JTL")
    fitted = state.near if state.revealed else None
    identifiable = structure(problem, state.robot.name, strategy, chosen_parameters(state), tool, fitted)
    columns = fit_columns(problem, identifiable)
    options = fit_options(problem, columns, settings.loss, _bounds(model, settings.bounds or {}))
    given = {model.numbers[name]: std for key, std in (settings.priors or {}).items() for name in model.choose(key)}
    known_before = _prior(model, identifiable, settings.plausible, given)
    rows = alone(given, columns) if known_before is None else known_before.rows()
    options = replace(options, extra=encoder_variance(problem, state.base.values, state.base.frames), prior=rows)
    return replace(state, tool=tool, structure=identifiable, options=options, prior=known_before)


def chosen_parameters(state: FitState) -> str | list[str]:
    """Return the parameters that may deviate: "all", or names."""
    model, settings = state.problem.model, state.settings
    if settings.parameters == "all" and not len(settings.fixed):
        return "all"
    gone = set(model.choose(list(settings.fixed))) if len(settings.fixed) else set()
    chosen = [name for name in model.choose(settings.parameters) if name not in gone]
    if not chosen:
        raise ZvenoError("no parameter is left to be estimated", remedy="Fix fewer, or choose another class")
    return chosen


def fit_columns(problem: FitProblem, structure: Identifiability) -> tuple[int, ...]:
    """Return the estimated columns: the irreducible model, and every independent unknown."""
    numbers = {name: k for k, name in enumerate(problem.names)}
    return tuple(sorted(numbers[name] for name in (*structure.chosen, *structure.unknowns)))


def fit_options(problem: FitProblem, columns: Sequence[int], loss: str, bounds: Bounds) -> FitOptions:
    """Return options with the noise that measurements state; noise that is not stated is estimated."""
    sigma, estimated = [], []
    for part in problem.parts:
        given = part.measurement.sigmas()
        for noise in part.measurement.noises:
            value = given[noise.name]
            sigma.append(noise.typical if value is None else value)
            estimated.append(value is None)
    return FitOptions(tuple(columns), np.array(sigma), np.array(estimated), loss, None, bounds)


def _bounds(model: Model, given: Mapping[str, tuple[float, float]]) -> dict[int, tuple[float, float]]:
    bounds = {}
    for pattern, sides in given.items():
        try:
            low, high = (float(side) for side in sides)
        except (TypeError, ValueError):
            low, high = np.nan, np.nan
        if not low <= high:
            raise ZvenoError(f"the bounds of {pattern} are {sides!r}", remedy="Give (lower, upper), m or rad")
        bounds |= {model.numbers[name]: (low, high) for name in model.choose(pattern)}
    return bounds


def _prior(model: Model, chosen: Identifiability, plausible, given: Mapping[int, float]) -> Prior | None:
    if plausible is None:
        return None
    if isinstance(plausible, str):
        if plausible != "estimated":
            raise unknown_name("plausible", plausible, ("estimated",))
        return prior(model, chosen, USUAL, given)
    return prior(model, chosen, plausible, given)


def encoder_variance(problem: FitProblem, values: np.ndarray, frames: np.ndarray) -> np.ndarray | None:
    """Return the variance that encoders add to every scalar row, (rows,): Σ_j (∂r/∂q_j)² σ_q²; None if none."""
    if not any(part.measurement.sigma_q for part in problem.parts):
        return None
    extra = np.zeros(problem.n_rows)
    _, J = problem.evaluate(values, frames, problem.model.offset_terms)
    total = np.sum(by_coordinates(problem.model, J) ** 2, axis=1)
    for part in problem.parts:
        first, last = part.first_noise, part.first_noise + len(part.measurement.noises)
        rows = (problem.noise >= first) & (problem.noise < last)
        extra[rows] = total[rows] * part.measurement.sigma_q**2
    return extra
