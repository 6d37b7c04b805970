"""`calibrate`: from measurements to the true geometry, with its accuracy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import ZvenoError, unknown_name
from ..fit.products import triangle
from ..fit.robust import LOSSES
from ..fit.threads import in_one_thread
from ..io.results import hash_of
from ..robot import Robot
from .advice import advise
from .broken import explained
from .campaigns import Campaign, prepared
from .common import common_errors
from .diagnose import check_enough, check_reach, hopeless
from .evidence import Lack, lacking
from .held_out import errors, held_out
from .identifiability import Identifiability, beyond, scaled_jacobian
from .initial import first_frames
from .loads import DENSITY, gravity, has_masses
from .models import Model, redundant_model
from .output import calibrated_mechanism
from .prior import USUAL, Prior, alone, learned, prior
from .result import Calibration, Outlier
from .solve import FIRST_SIGMA, Options, Solution, freedom, outlier_limits, solve, with_columns
from .structure import placed_tools, sees_scale, structure
from .system import Part, System
from .verdict import verdict


@in_one_thread
@explained
def calibrate(
    robot: Robot,
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
    folds: int = 10,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Calibration:
    """The geometric parameters that explain measurements, their covariance, and the accuracy to expect.

    The complete irreducible model is fitted by Levenberg–Marquardt with all unknown frames and targets. Standard
    deviations that a measurement does not give are estimated, each kind by its own.

    Args:
        robot: the nominal robot.
        data: one or several campaigns, all explained by the same robot.
        parameters: what may deviate: "all", a class ("dh", "controller", "tcp", "base", "hand_eye", "offsets"),
            names or patterns (`Tx*`).
        joint_terms: "gear", "compliance", "eccentricity" and "ovality" add terms to every joint. "auto": those for
            which the data are strong evidence, where all parameters may deviate.
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
        folds: into how many parts postures are dealt for held-out errors; 0 for none.
        seed: of the dealing.
        progress: called with (number, of how many) while folds are fitted.
    """
    if loss not in ("auto", *LOSSES):
        raise unknown_name("loss", loss, ("auto", *LOSSES))
    campaigns, notes = prepared(data, robot.mechanism)
    if isinstance(joint_terms, str) and joint_terms != "auto":
        raise unknown_name("joint_terms", joint_terms, ("auto",))
    asked = () if isinstance(joint_terms, str) else tuple(joint_terms)
    wish = _Wish(parameters, asked, strategy, fixed, priors or {}, bounds or {}, plausible, loss, linear)
    fit = _fitted(robot, campaigns, wish)
    notes = [*notes, *fit.hints]
    geometry, evidence, lacks = fit.found, {}, _lacking(fit)
    while lacks and joint_terms == "auto" and parameters == "all" and not linear:
        evidence |= {one.word: one.evidence for one in lacks}
        fit = _fitted(robot, campaigns, wish, tuple(evidence), fit)
        lacks = _lacking(fit)
    return _judged(fit, geometry, evidence, lacks, folds, seed, notes, progress)


@dataclass(frozen=True)
class _Wish:
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
class _Fit:
    """A fit and all it was made from."""

    robot: Robot
    joint_terms: tuple[str, ...]
    system: System
    options: Options
    base: Solution
    whole: Solution
    found: Identifiability
    known: Prior | None
    placed: np.ndarray
    hints: list[str]


def _fitted(
    robot: Robot,
    campaigns: Sequence[Campaign],
    wish: _Wish,
    more: tuple[str, ...] = (),
    before: _Fit | None = None,
) -> _Fit:
    """A fit with what people wish, and `more` joint terms that the data ask for.

    First the frames of the nominal robot, then everything, then everything with the sizes found. A fit with fewer
    terms `before` it has found the frames, and is where it starts.
    """
    joint_terms = (*wish.joint_terms, *more)
    frames = list(dict.fromkeys(campaign.measurement.frame for campaign in campaigns))
    model = redundant_model(robot.mechanism, frames if len(frames) > 1 else frames[0], joint_terms)
    system = System(model, campaigns, gravity(robot.mechanism) if "compliance" in joint_terms else None)
    base, hints = _nominal(system) if before is None else (_renumbered(before.base, before.system, system), [])
    system.frames = base.frames
    chosen = _chosen(model, wish.parameters, wish.fixed)
    placed = placed_tools(system, base)
    strategy = wish.strategy or ("TJL" if placed.any() else "JL" if sees_scale(system) else "JTL")
    found = structure(system, robot.name, strategy, chosen, placed)
    if before is None:
        said = check_enough(system, found, robot, chosen)
        hints += [said] if said else []
    columns = _columns(system, found)
    options = _options(system, columns, wish.loss, _bounds(model, wish.bounds), wish.linear)
    options = replace(options, extra=_encoder_variance(system, base))
    given = _by_column(model, wish.priors)
    known = _prior(model, found, wish.plausible, given)
    options = replace(options, prior=alone(given, columns) if known is None else known.rows())
    near = None if before is None else _renumbered(before.whole, before.system, system)
    start = np.where(np.isin(np.arange(len(placed)), columns), placed if near is None else near.values, 0.0)
    whole = solve(system, options, start, base.frames if near is None else near.frames, after=near)
    common = common_errors(system, whole)
    if common is not None:
        options = replace(options, common=common)
        whole = solve(system, options, whole.values, whole.frames, after=whole)
    if known is not None and wish.plausible == "estimated" and known.kinds:
        known = learned(system, options, whole, known)
        options = replace(options, prior=known.rows())
        if wish.linear:
            whole = solve(system, options, start, base.frames)
        else:
            whole = solve(system, options, whole.values, whole.frames, after=whole)
    return _Fit(robot, joint_terms, system, options, base, whole, found, known, placed, hints)


def _nominal(system: System) -> tuple[Solution, list[str]]:
    """The nominal robot with its frames fitted, and what people should know about it."""
    check_reach(system)
    nominal = np.zeros(len(system.model.terms))
    system.frames = first_frames(system, nominal)
    options = with_columns(_options(system, (), "none", None, False), _frame_columns(system))
    base = solve(system, options, nominal, system.frames)
    hint = hopeless(system, base)
    return base, [hint] if hint else []


def _renumbered(solution: Solution, old: System, new: System) -> Solution:
    """A solution with its parameters where a model with more terms has them."""
    values = np.zeros(len(new.model.terms))
    values[[new.model.numbers[name] for name in old.model.names]] = solution.values
    return replace(solution, values=values)


def _lacking(fit: _Fit) -> list[Lack]:
    return lacking(fit.system, fit.options, fit.whole, gravity(fit.robot.mechanism), fit.joint_terms)


def _judged(fit: _Fit, geometry: Identifiability, evidence, lacks, folds, seed, notes, progress) -> Calibration:
    robot, system, options, base, whole, known = fit.robot, fit.system, fit.options, fit.base, fit.whole, fit.known
    if "compliance" in fit.joint_terms and not has_masses(robot.mechanism):
        notes = [*notes, f"{robot.name} has no masses: its links were taken for rods of {DENSITY:g} kg/m"]
    good = whole.weight > 0.05
    kept = np.concatenate([good, [True]])[system.row]
    unseen = np.full(system.n_rows, np.nan)
    if folds:
        unseen = held_out(system, options, whole, folds, seed, progress)
    scored = np.isfinite(unseen)
    if folds and not scored.any():
        notes = [*notes, "there are too few rows to leave any out: errors are those of the rows used"]
    tested = np.zeros(system.n_data_rows, dtype=bool)
    tested[system.row[scored & (system.row >= 0)]] = True
    scored_residual = np.where(scored, unseen, 0.0)
    model = system.model
    own = [k for k in options.columns if k < len(model.terms)]
    covariance = whole.covariance()
    noises = [f"{campaign}: {name}" for campaign, name, _ in system.noise_names]
    common = [1.0] * len(noises) if options.common is None else options.common.tolist()
    result = Calibration(
        nominal=robot.mechanism,
        mechanism=calibrated_mechanism(model, whole.values),
        frames=model.frames,
        joint_terms=fit.joint_terms,
        names=tuple(model.names[k] for k in own),
        values=whole.values[own],
        units=tuple(model.terms[k].unit for k in own),
        covariance=covariance[: len(own), : len(own)],
        unknowns={unknown.label: whole.frames[system.frame_number(k)] for k, unknown in enumerate(system.unknowns)},
        unknown_names=tuple(system.names[k] for k in options.columns if k >= len(model.terms)),
        unknown_std=np.sqrt(np.diag(covariance))[len(own) :],
        sigma=dict(zip(noises, whole.sigma.tolist(), strict=True)),
        common={name: factor for name, factor in zip(noises, common, strict=True) if factor > 1.0},
        plausible={} if known is None else known.sizes,
        identifiability=geometry,
        baseline=errors(system, base.residual),
        training=errors(system, whole.residual, good),
        held_out=errors(system, scored_residual, tested) if folds else (),
        held_out_unflagged=errors(system, scored_residual, tested & good) if folds else (),
        outliers=_outliers(system, whole, good),
        rows=int(system.n_data_rows),
        scalar_rows=int(kept.sum()),
        condition=whole.factors.condition,
        iterations=whole.fit.iterations,
        converged=whole.fit.converged,
        at_bounds={
            model.names[k]: "upper" if side > 0 else "lower"
            for k, side in zip(options.columns, whole.fit.active, strict=True)
            if side
        },
        advice=advise(system, options, whole, fit.found, known, seed, fit.placed),
        evidence=evidence,
        lacking={one.word: one.share for one in lacks},
        notes=tuple(notes),
        verdict="",
        inputs=_hashed(robot, system),
    )
    return replace(result, verdict=verdict(result))


def _hashed(robot: Robot, system: System) -> str:
    data = hashlib.sha256()
    for campaign in system.campaigns:
        data.update(campaign.q.tobytes() + campaign.y.tobytes() + repr(campaign.groups).encode())
    return hash_of(robot.mechanism.fingerprint, data.hexdigest())


def _outliers(system: System, whole: Solution, good: np.ndarray) -> tuple[Outlier, ...]:
    limits = outlier_limits(system, whole.components, freedom(system, whole.fit, whole.weight))
    found, first = [], 0
    for part, campaign in zip(system.parts, system.campaigns, strict=True):
        for k in np.flatnonzero(~good[first : first + len(part.y)]):
            own = system.row == first + k
            off = {
                f"{name} ({unit})": float(np.linalg.norm(whole.residual[own & (system.noise == number)]))
                for number, (_, name, unit) in enumerate(system.noise_names)
                if (own & (system.noise == number)).any()
            }
            far = float(whole.distance[first + k]), float(limits[first + k])
            found.append(Outlier(campaign.name, int(part.line[k]), _thing(part, campaign, int(k)), *far, off))
        first += len(part.y)
    return tuple(sorted(found, key=lambda one: -one.distance))


def _thing(part: Part, campaign: Campaign, k: int) -> str:
    """What a row of a part sees, where there are several: the target touched, a point of the tool, a centre."""
    posture = part.posture[k]
    if campaign.groups:
        return campaign.groups[posture]
    kind = part.measurement
    number = int(k - np.flatnonzero(part.posture == posture)[0])
    point, target = divmod(number, len(kind.targets))
    words = [f"point {point + 1}"] if len(kind.right) > 1 else []
    return ", ".join(words + ([f"target {target + 1}"] if len(kind.targets) > 1 else []))


def _chosen(model: Model, parameters, fixed) -> str | list[str]:
    if parameters == "all" and not len(fixed):
        return "all"
    gone = set(model.choose(list(fixed))) if len(fixed) else set()
    chosen = [name for name in model.choose(parameters) if name not in gone]
    if not chosen:
        raise ZvenoError("no parameter is left to be estimated", remedy="Fix fewer, or choose another class")
    return chosen


def _columns(system: System, found: Identifiability) -> tuple[int, ...]:
    """Columns that are estimated: the irreducible model, and every unknown that can be told apart."""
    numbers = {name: k for k, name in enumerate(system.names)}
    return tuple(sorted(numbers[name] for name in (*found.chosen, *found.unknowns)))


def _frame_columns(system: System) -> list[int]:
    """Everything that places a nominal robot: base, tool and unknowns, as far as they can be told apart."""
    model = system.model
    placing = [model.numbers[name] for name in model.choose("hand_eye")]
    return beyond(triangle(scaled_jacobian(system, compiled=True)), system.columns_of() + placing, [])[1]


def _options(system: System, columns, loss, bounds, linear) -> Options:
    sigma, estimated = [], []
    for part in system.parts:
        given = part.measurement.sigmas()
        for noise in part.measurement.noises:
            value = given[noise.name]
            sigma.append(FIRST_SIGMA[noise.unit] if value is None else value)
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


def _encoder_variance(system: System, base: Solution) -> np.ndarray | None:
    """What encoders add to the variance of every scalar row: Σ_j (∂r/∂q_j)² σ_q²."""
    if not any(part.measurement.sigma_q for part in system.parts):
        return None
    extra = np.zeros(system.n_rows)
    own = [(move.own, move.multiplier) for move in system.model.moves if move.sigma is not None]
    _, J = system.evaluate(base.values, base.frames, [column for column, _ in own])
    total = np.sum((J * [factor for _, factor in own]) ** 2, axis=1)
    for part in system.parts:
        first, last = part.first_noise, part.first_noise + len(part.measurement.noises)
        rows = (system.noise >= first) & (system.noise < last)
        extra[rows] = total[rows] * part.measurement.sigma_q**2
    return extra
