"""`calibrate`: from measurements to the true geometry, with its accuracy."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import unknown_name
from ..fit.robust import LOSSES
from ..fit.threads import in_one_thread
from ..io.results import hash_of
from ..robot_functions import RobotFunctions
from .advice.next_measurement import advise
from .advice.verdict import verdict
from .fit.broken import explained
from .fit.evidence import Lack, lacking
from .fit.fitting import Fitted, Wish, fitted
from .fit.held_out import errors, held_out
from .fit.solve import Solution, freedom, outlier_limits
from .identifiability.analysis import Identifiability
from .measurements.campaigns import Campaign, prepared
from .measurements.fit_problem import FitProblem, Part
from .model.loads import DENSITY, gravity, has_masses
from .result import Calibration, Outlier
from .use.output import calibrated_mechanism


@in_one_thread
@explained
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
    wish = Wish(parameters, asked, strategy, fixed, priors or {}, bounds or {}, plausible, loss, linear)
    fit = fitted(robot, campaigns, wish)
    notes = [*notes, *fit.hints]
    geometry, evidence, lacks = fit.found, {}, _lacking(fit)
    while lacks and joint_terms == "auto" and parameters == "all" and not linear:
        evidence |= {one.word: one.evidence for one in lacks}
        fit = fitted(robot, campaigns, wish, tuple(evidence), fit)
        lacks = _lacking(fit)
    return _judged(fit, geometry, evidence, lacks, folds, seed, notes, progress)


def _lacking(fit: Fitted) -> list[Lack]:
    return lacking(fit.problem, fit.options, fit.whole, gravity(fit.robot.mechanism), fit.joint_terms)


def _judged(fit: Fitted, geometry: Identifiability, evidence, lacks, folds, seed, notes, progress) -> Calibration:
    robot, problem, options, base, whole, known = (
        fit.robot,
        fit.problem,
        fit.options,
        fit.base,
        fit.whole,
        fit.known,
    )
    if "compliance" in fit.joint_terms and not has_masses(robot.mechanism):
        notes = [*notes, f"{robot.name} has no masses: its links were taken for rods of {DENSITY:g} kg/m"]
    good = whole.weight > 0.05
    kept = np.concatenate([good, [True]])[problem.row]
    unseen = np.full(problem.n_rows, np.nan)
    if folds:
        unseen = held_out(problem, options, whole, folds, seed, progress)
    scored = np.isfinite(unseen)
    if folds and not scored.any():
        notes = [*notes, "there are too few rows to leave any out: errors are those of the rows used"]
    tested = np.zeros(problem.n_data_rows, dtype=bool)
    tested[problem.row[scored & (problem.row >= 0)]] = True
    scored_residual = np.where(scored, unseen, 0.0)
    model = problem.model
    own = [k for k in options.columns if k < len(model.terms)]
    covariance = whole.covariance()
    noises = [f"{campaign}: {name}" for campaign, name, _ in problem.noise_names]
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
        unknowns=problem.labelled(whole.frames),
        unknown_names=tuple(problem.names[k] for k in options.columns if k >= len(model.terms)),
        unknown_std=np.sqrt(np.diag(covariance))[len(own) :],
        sigma=dict(zip(noises, whole.sigma.tolist(), strict=True)),
        common={name: factor for name, factor in zip(noises, common, strict=True) if factor > 1.0},
        plausible={} if known is None else known.sizes,
        identifiability=geometry,
        baseline=errors(problem, base.residual),
        training=errors(problem, whole.residual, good),
        held_out=errors(problem, scored_residual, tested) if folds else (),
        held_out_unflagged=errors(problem, scored_residual, tested & good) if folds else (),
        outliers=_outliers(problem, whole, good),
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
        advice=advise(problem, options, whole, fit.found, known, seed, fit.placed),
        evidence=evidence,
        lacking={one.word: one.share for one in lacks},
        notes=tuple(notes),
        verdict="",
        inputs=_hashed(robot, problem),
    )
    return replace(result, verdict=verdict(result))


def _hashed(robot: RobotFunctions, problem: FitProblem) -> str:
    data = hashlib.sha256()
    for campaign in problem.campaigns:
        data.update(campaign.q.tobytes() + campaign.y.tobytes() + repr(campaign.groups).encode())
    return hash_of(robot.mechanism.fingerprint, data.hexdigest())


def _outliers(problem: FitProblem, whole: Solution, good: np.ndarray) -> tuple[Outlier, ...]:
    limits = outlier_limits(problem, whole.components, freedom(problem, whole.fit, whole.weight))
    found, first = [], 0
    for part, campaign in zip(problem.parts, problem.campaigns, strict=True):
        for k in np.flatnonzero(~good[first : first + len(part.y)]):
            own = problem.row == first + k
            off = {
                f"{name} ({unit})": float(np.linalg.norm(whole.residual[own & (problem.noise == number)]))
                for number, (_, name, unit) in enumerate(problem.noise_names)
                if (own & (problem.noise == number)).any()
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
