"""Stage of a fit: estimated parameters, their noise, bounds and prior, from what the postures determine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ...errors import ZvenoError
from ...fit.triangle import triangle
from ...spatial.transforms import transform
from .._counts import counts
from .._identifiability import Identifiability, analyse, beyond, scaled_jacobian
from .._output import deviation
from .._products import by_coordinates
from ..measurements._contact import into_contact
from ..measurements._fit_problem import FitProblem
from ..models import Model
from .errors import errors
from .noise import Bounds, FitOptions
from .prior import prior
from .solve import Solution
from .state import FitState


def choose_parameters(state: FitState) -> FitState:
    """Choose the parameters that the postures determine, with their noise, bounds and prior."""
    problem, settings, model = state.problem, state.settings, state.problem.model
    tool = placed_tools(problem, state.base)
    strategy = settings.model.strategy or ("TJL" if tool.any() else "JL" if sees_scale(problem) else "JTL")
    fitted = state.near if state.revealed else None
    identifiable = structure(problem, state.robot.name, strategy, chosen_parameters(state), tool, fitted)
    columns = fit_columns(problem, identifiable)
    options = fit_options(problem, columns, settings.loss, _bounds(model, settings.bounds or {}))
    stated = settings.prior if isinstance(settings.prior, Mapping) else {}
    given = {model.numbers[name]: std for key, std in stated.items() for name in model.choose(key)}
    known_before = None if settings.prior is None else prior(model, identifiable, given)
    rows = ((), np.zeros((0, 0))) if known_before is None else known_before.rows()
    options = replace(options, extra=encoder_variance(problem, state.base.values, state.base.frames), prior=rows)
    return replace(state, tool=tool, structure=identifiable, options=options, prior=known_before)


def chosen_parameters(state: FitState) -> str | list[str]:
    """Return the parameters that may deviate: "all", or names."""
    return state.settings.model.choose(state.problem.model)


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


FIRM = 1e-2
"""Minimum independence of the columns of a fit, where the strategy leaves a choice."""
CLEAR, FAR = 5.0, 0.05
"""Minimum displacement of a tool to be studied where found, in units of the errors and of the robot's size."""


def structure(
    problem: FitProblem,
    robot: str,
    strategy: str = "JL",
    parameters: str | Sequence[str] = "all",
    values: np.ndarray | None = None,
    fitted: Solution | None = None,
) -> Identifiability:
    """Analyse identifiability at the measured postures; those in contact are moved to the nominal robot's contact.

    A tool that was found (`values`) far from where it is drawn is studied where it was found: a point thought to be
    on the last axis, but beside it, determines more. A robot far from nominal is studied as it was `fitted`.
    """
    frames = (problem if fitted is None else fitted).frames.copy()
    for a, b, distance, _ in problem.constraints:
        apart = frames[b, :3, 3] - frames[a, :3, 3]
        frames[b, :3, 3] = frames[a, :3, 3] + apart * (distance / max(float(np.linalg.norm(apart)), 1e-12))
    single = len(problem.parts) == 1 and parameters == "all"
    groups = problem.campaigns[0].groups
    counted = None
    if single and fitted is None:
        counted = counts(problem.model, problem.parts[0].measurement, groups=groups)
    if values is not None and fitted is None:
        for part in problem.parts:
            moved = moved_tool(problem.model, part.frame, values)
            if moved is not None:
                places = np.unique(part.right)
                frames[places] = moved @ frames[places]
                counted = counts(problem.model, part.measurement, moved, groups) if single else None
    problem = problem.placed(frames)
    robot_values = None if fitted is None else fitted.values
    q = [
        into_contact(problem, k, part.q, values=robot_values, compiled=True)[0]
        if part.measurement.implicit
        else part.q
        for k, part in enumerate(problem.parts)
    ]
    return analyse(problem, robot, strategy, parameters, counted, q, FIRM, compiled=True, values=robot_values)


def frame_columns(problem: FitProblem) -> list[int]:
    """Return the independent columns that place a nominal robot: base, tool and unknowns."""
    model = problem.model
    placing = [model.numbers[name] for name in model.choose("hand_eye")]
    return beyond(triangle(scaled_jacobian(problem, compiled=True)), problem.columns_of() + placing, [])[1]


def sees_scale(problem: FitProblem) -> bool:
    """Return True if any length is known: a reading, a slide, a distance of targets, or a known target.

    Without one, a robot of another size fits as well, and the tool's place determines its size.
    """
    read = any(part.measurement.shows_scale or part.y.any() for part in problem.parts)
    slides = any(move.sigma == 0 for move in problem.model.moves)
    placed = any(not set(part.target.tolist()) <= set(problem.unknown_at) for part in problem.parts)
    return bool(read or slides or placed or problem.constraints)


def placed_tools(problem: FitProblem, base: Solution) -> np.ndarray:
    """Return deviations (P,) of tools that the placed nominal robot clearly shows away from their nominal place.

    Smaller deviations may be errors of the robot itself.
    """
    values = problem.nominal.copy()
    left = [error.rms for error in errors(problem, base.residual) if error.unit == "m"]
    far = max(CLEAR * max(left, default=np.inf), FAR * problem.model.scale)
    for block in problem.model.blocks:
        place = slice(block.first, block.first + 3)
        if block.frame is not None and np.linalg.norm(base.values[place]) > far:
            values[place] = base.values[place]
    return values


def moved_tool(model: Model, frame: str, values: np.ndarray) -> np.ndarray | None:
    """Return the displacement (4, 4) of a frame by deviations of its tool; None if it is below 0.1 mm."""
    block = next(block for block in model.blocks if block.frame == frame)
    moved = transform(None, np.round(deviation(block, values)[:3, 3], 4))
    return moved if moved[:3, 3].any() else None
