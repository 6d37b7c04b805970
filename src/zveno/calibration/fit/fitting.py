"""One fit: from campaigns and what people wish to parameters, noise and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...errors import ZvenoError, unknown_name
from ...robot_functions import RobotFunctions
from ..advice.diagnose import check_enough, check_reach, hopeless
from ..identifiability.analysis import Identifiability
from ..measurements.assembly import fit_problem
from ..measurements.campaigns import Campaign
from ..measurements.fit_problem import FitProblem
from ..model.loads import gravity
from ..model.models import Model, redundant_model
from .initial import first_frames
from .prior import USUAL, Prior, alone, learned, prior
from .shared_errors import common_errors
from .solve import Options, Solution, solve, with_columns
from .structure import frame_columns, placed_tools, sees_scale, structure


@dataclass(frozen=True)
class Wish:
    """What people asked of a fit, as in `calibrate`."""

    parameters: str | Sequence[str]
    joint_terms: tuple[str, ...]
    strategy: str | None
    fixed: Sequence[str]
    priors: Mapping[str, float]
    bounds: Mapping[str, tuple[float, float]]
    plausible: tuple[float, float] | str | None
    loss: str
    linear: bool


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit and all it was made from."""

    robot: RobotFunctions
    joint_terms: tuple[str, ...]
    problem: FitProblem
    options: Options
    base: Solution
    whole: Solution
    found: Identifiability
    known: Prior | None
    placed: np.ndarray
    hints: list[str]


def fitted(
    robot: RobotFunctions,
    campaigns: Sequence[Campaign],
    wish: Wish,
    more: tuple[str, ...] = (),
    before: Fitted | None = None,
) -> Fitted:
    """A fit with what people wish, and `more` joint terms that the data ask for.

    First the frames of the nominal robot, then everything, then everything with the sizes found. A fit with fewer
    terms `before` it has found the frames, and is where it starts.
    """
    joint_terms = (*wish.joint_terms, *more)
    frames = list(dict.fromkeys(campaign.measurement.frame for campaign in campaigns))
    model = redundant_model(robot.mechanism, frames if len(frames) > 1 else frames[0], joint_terms)
    problem = fit_problem(model, campaigns, gravity(robot.mechanism) if "compliance" in joint_terms else None)
    base, hints = _nominal(problem) if before is None else (_renumbered(before.base, before.problem, problem), [])
    problem = problem.placed(base.frames)
    chosen = _chosen(model, wish.parameters, wish.fixed)
    placed = placed_tools(problem, base)
    strategy = wish.strategy or ("TJL" if placed.any() else "JL" if sees_scale(problem) else "JTL")
    found = structure(problem, robot.name, strategy, chosen, placed)
    if before is None:
        said = check_enough(problem, found, robot, chosen)
        hints += [said] if said else []
    columns = fit_columns(problem, found)
    options = fit_options(problem, columns, wish.loss, _bounds(model, wish.bounds), wish.linear)
    options = replace(options, extra=_encoder_variance(problem, base))
    given = _by_column(model, wish.priors)
    known = _prior(model, found, wish.plausible, given)
    options = replace(options, prior=alone(given, columns) if known is None else known.rows())
    near = None if before is None else _renumbered(before.whole, before.problem, problem)
    start = np.where(np.isin(np.arange(len(placed)), columns), placed if near is None else near.values, 0.0)
    whole = solve(problem, options, start, base.frames if near is None else near.frames, after=near)
    common = common_errors(problem, whole)
    if common is not None:
        options = replace(options, common=common)
        whole = solve(problem, options, whole.values, whole.frames, after=whole)
    if known is not None and wish.plausible == "estimated" and known.kinds:
        known = learned(problem, options, whole, known)
        options = replace(options, prior=known.rows())
        if wish.linear:
            whole = solve(problem, options, start, base.frames)
        else:
            whole = solve(problem, options, whole.values, whole.frames, after=whole)
    return Fitted(robot, joint_terms, problem, options, base, whole, found, known, placed, hints)


def _nominal(problem: FitProblem) -> tuple[Solution, list[str]]:
    """The nominal robot with its frames fitted, and what people should know about it."""
    check_reach(problem)
    nominal = problem.nominal
    problem = problem.placed(first_frames(problem, nominal))
    options = with_columns(fit_options(problem, (), "none", None, False), frame_columns(problem))
    base = solve(problem, options, nominal, problem.frames)
    hint = hopeless(problem, base)
    return base, [hint] if hint else []


def _renumbered(solution: Solution, old: FitProblem, new: FitProblem) -> Solution:
    """A solution with its parameters where a model with more terms has them."""
    values = np.zeros(len(new.model.terms))
    values[[new.model.numbers[name] for name in old.model.names]] = solution.values
    return replace(solution, values=values)


def _chosen(model: Model, parameters, fixed) -> str | list[str]:
    if parameters == "all" and not len(fixed):
        return "all"
    gone = set(model.choose(list(fixed))) if len(fixed) else set()
    chosen = [name for name in model.choose(parameters) if name not in gone]
    if not chosen:
        raise ZvenoError("no parameter is left to be estimated", remedy="Fix fewer, or choose another class")
    return chosen


def fit_columns(problem: FitProblem, found: Identifiability) -> tuple[int, ...]:
    """Columns that are estimated: the irreducible model, and every unknown that can be told apart."""
    numbers = {name: k for k, name in enumerate(problem.names)}
    return tuple(sorted(numbers[name] for name in (*found.chosen, *found.unknowns)))


def fit_options(problem: FitProblem, columns, loss, bounds, linear) -> Options:
    """Options with the noise that measurements state; where they state none, it is estimated."""
    sigma, estimated = [], []
    for part in problem.parts:
        given = part.measurement.sigmas()
        for noise in part.measurement.noises:
            value = given[noise.name]
            sigma.append(noise.typical if value is None else value)
            estimated.append(value is None)
    return Options(tuple(columns), np.array(sigma), np.array(estimated), loss, None, bounds, linear)


def _by_column(model: Model, given: Mapping) -> dict:
    return {model.numbers[name]: value for pattern, value in given.items() for name in model.choose(pattern)}


def _bounds(model: Model, given: Mapping) -> dict[int, tuple[float, float]]:
    found = {}
    for pattern, sides in given.items():
        try:
            low, high = (float(side) for side in sides)
        except (TypeError, ValueError):
            low, high = np.nan, np.nan
        if not low <= high:
            raise ZvenoError(f"the bounds of {pattern} are {sides!r}", remedy="Give (lower, upper), m or rad")
        found |= {model.numbers[name]: (low, high) for name in model.choose(pattern)}
    return found


def _prior(model: Model, found: Identifiability, plausible, given: Mapping[int, float]) -> Prior | None:
    if plausible is None:
        return None
    if isinstance(plausible, str):
        if plausible != "estimated":
            raise unknown_name("plausible", plausible, ("estimated",))
        return prior(model, found, USUAL, given)
    return prior(model, found, plausible, given)


def _encoder_variance(problem: FitProblem, base: Solution) -> np.ndarray | None:
    """What encoders add to the variance of every scalar row: Σ_j (∂r/∂q_j)² σ_q²."""
    if not any(part.measurement.sigma_q for part in problem.parts):
        return None
    extra = np.zeros(problem.n_rows)
    own = [(move.own, move.multiplier) for move in problem.model.moves if move.sigma is not None]
    _, J = problem.evaluate(base.values, base.frames, [column for column, _ in own])
    total = np.sum((J * [factor for _, factor in own]) ** 2, axis=1)
    for part in problem.parts:
        first, last = part.first_noise, part.first_noise + len(part.measurement.noises)
        rows = (problem.noise >= first) & (problem.noise < last)
        extra[rows] = total[rows] * part.measurement.sigma_q**2
    return extra
