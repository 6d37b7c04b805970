"""Diagnosis of data before a fit: units, columns, signs, and too few postures."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..errors import ZvenoError, ZvenoWarning, first_of
from ..fit.triangle import triangle
from ..io.tables import LENGTHS
from ..robot_functions import RobotFunctions
from ._fit.frames import first_frames
from ._fit.noise import FitOptions
from ._fit.parameters import frame_columns
from ._fit.solve import Solution, solve
from ._identifiability import TOLERANCE, Identifiability, beyond, identifiability, scaled_jacobian
from ._joint_terms import WORDS
from ._kinematics import frame_motion
from ._postures import random_postures
from .measurements._fit_problem import FitProblem, Part
from .models import CalibrationModel

HOPELESS = 0.25
"""Residual, as a share of its size or in radians, beyond which the nominal robot is not the measured one."""
DOUBTFUL = 0.02
"""Residual from which data errors that would explain it are tried."""
POOR = 2e-3
"""Residual of a calibrated robot, as a share of its size, from which they are tried again: ten times the usual."""
TAILS = 2.5
"""Factor of the limit for the root mean square: a joint that hardly moved spoils few rows, but these by much."""
UNITS = {"mm": "millimetres", "cm": "centimetres", "in": "inches", "um": "micrometres"}


def check_reach(problem: FitProblem) -> None:
    """Raise an error if readings spread more than the robot can, such as millimetres read as metres, or if all
    postures are the same."""
    for part, campaign in zip(problem.parts, problem.campaigns, strict=True):
        if len(part.q) > 1 and not any(np.ptp(part.q[:, move.position]) for move in problem.model.moves):
            raise ZvenoError(
                "all postures are the same, which tells nothing about the robot",
                element=campaign.name,
                remedy="Check the joint columns; measure in postures that differ",
            )
        kind = part.measurement
        if kind.implicit and _has_a_point_at_rest(problem, part.frame):
            raise ZvenoError(
                f"all axes meet in a point that never moves, and with {part.frame} there every contact "
                "would be perfect: contacts cannot tell how large the robot is",
                element=campaign.name,
                remedy="Measure positions, distances or poses",
            )
        if kind.implicit or kind.noises[0].unit != "m":
            continue
        lengths = kind.noises[0].rows
        rows = part.known[:, lengths].all(axis=1)
        if rows.sum() > 1:
            T, _ = problem.poses(part, problem.nominal, part.q)
            p = (T[part.posture] @ problem.frames[part.right])[rows, :3, 3]
            read = part.y[rows, lengths]
            _check_spread(problem, campaign.name, _spread(read), _spread(p), exact=read.shape[1] == 3)


def _has_a_point_at_rest(problem: FitProblem, frame: str) -> bool:
    """Return True if a point fixed in a frame stays in place in all postures: R c + p = x for all of them."""
    model = problem.model
    q = random_postures(model.mechanism, 8, np.random.default_rng(0))
    tau = np.zeros((len(q), model.mechanism.n_v))
    T, _ = frame_motion(model, frame, q, np.zeros(len(model.terms)), tau)
    A = np.concatenate([T[:, :3, :3], np.tile(-np.eye(3), (len(q), 1, 1))], axis=2).reshape(-1, 6)
    p = T[:, :3, 3].ravel()
    return bool(np.linalg.norm(A @ np.linalg.lstsq(A, p, rcond=None)[0] - p) < 1e-9 * size(problem))


def _check_spread(problem: FitProblem, name: str, read: float, moved: float, exact: bool):
    """Check the spread of the readings against that of the nominal robot's point. Distances may change less."""
    if not read and moved > 1e-6 * size(problem):
        raise ZvenoError(
            "all readings are the same, and the robot moved",
            element=name,
            remedy="Check the columns; the measuring system may have been stuck",
        )
    reach = 4.0 * size(problem)
    if read > 10.0 * max(moved, reach / 8.0):
        unit = min(UNITS, key=lambda word: abs(np.log(read * LENGTHS[word] / max(moved, 1e-3 * reach))))
        raise ZvenoError(
            f"readings spread over {read:.4g} m, and the robot over {moved:.3g} m (it reaches {reach:.3g} m)",
            element=name,
            remedy=f"They look like {UNITS[unit]}; give metres (of a file: --settings unit={unit})",
        )
    if exact and moved > 0.02 * reach and 0.0 < read < 0.01 * moved:
        raise ZvenoError(
            f"readings spread over {1e3 * read:.3g} mm, and the robot over {1e3 * moved:.4g} mm",
            element=name,
            remedy="They look like metres taken for millimetres; correct the unit (in a file: unit = m), or check "
            "that what was measured is on the robot",
        )


def _spread(points: np.ndarray) -> float:
    """Return the median distance from the median point, which ignores single gross outliers."""
    return float(np.median(np.linalg.norm(points - np.median(points, axis=0), axis=1)))


def doubt(problem: FitProblem, base: Solution) -> str:
    """Return the data error that would explain a large residual of the nominal robot; empty if there is none."""
    now = miss(problem, base.residual)
    if now < DOUBTFUL and miss(problem, base.residual, rms=True) < TAILS * DOUBTFUL:
        return ""
    cure, best = likely_mistake(problem)
    text = f"the nominal robot misses the readings by {now:.2g} of its size even with all frames fitted"
    if cure and best < (0.5 if now > HOPELESS else 0.25) * now:
        text += f"; it would be {best:.2g} if {cure}"
    elif now > HOPELESS:
        text += f"; check {_to_check(problem)}"
    else:
        return ""
    warnings.warn(text, ZvenoWarning, stacklevel=3)
    return text


def doubt_of_fit(problem: FitProblem, base: Solution, whole: Solution) -> str:
    """Return the data error without which the residual of the nominal robot is far smaller than with it, and than
    that of the fitted one, or that the fit explains little of a large residual; empty if there is neither."""
    fitted = miss(problem, whole.residual)
    now = min(miss(problem, base.residual), fitted)
    noisy = any(part.measurement.sigma is not None for part in problem.parts)  # as stated
    # A joint that moves some readings only, such as distances from one of two centres, leaves the median as it is.
    worse = miss(problem, whole.residual, share=0.75)
    unexplained = not noisy and worse > DOUBTFUL and 2.0 * worse > miss(problem, base.residual, share=0.75)
    if now < POOR and not unexplained:
        return ""
    cure, best = likely_mistake(problem)
    text = f"the calibrated robot misses the readings by {fitted:.2g} of its size; "
    if cure and best <= 0.5 * now:
        text += f"the nominal one would by {best:.2g} if {cure}"
    elif unexplained:
        text += f"a quarter of them by more than {worse:.2g}, which no geometry near the nominal one explains: "
        text += f"check {_to_check(problem)}"
    else:
        return ""
    warnings.warn(text, ZvenoWarning, stacklevel=3)
    return text


def _to_check(problem: FitProblem) -> str:
    """Return the most frequent data errors of these kinds of measurement."""
    columns = "the order, sign and unit of the joint columns, and the frame that was measured"
    if any(part.measurement.implicit for part in problem.parts):
        return f"which target each posture touches (column group), {columns}"
    return columns


def check_enough(
    problem: FitProblem, structure: Identifiability, robot: RobotFunctions, parameters: str | Sequence[str]
) -> str:
    """Raise an error if there are too few postures to determine what the measurement could; return a note if they
    are on a singular manifold, or the measurement says nothing about the request. Empty if all is well."""
    rows, needed = problem.n_rows, structure.rank + len(structure.unknowns)
    lost = _lost(problem, structure, robot, parameters)
    if not lost and rows >= needed:
        return "" if structure.chosen else _nothing(structure)
    a_posture = max(1.0, rows / max(problem.n_postures, 1))
    enough = int(np.ceil((needed + len(lost)) / a_posture))
    if problem.n_postures < enough or rows < needed:
        counted = f"{problem.n_postures} postures give" if problem.n_postures > 1 else "1 posture gives"
        raise ZvenoError(
            f"{counted} {rows} equations, too few for {needed + len(lost)} unknowns",
            element=", ".join(campaign.name for campaign in problem.campaigns),
            remedy=f"Measure at least {enough} postures, better {2 * enough}; or estimate fewer parameters: "
            'parameters="controller" (--parameters controller). Not determined now: '
            f"{first_of(lost, 10) or 'nothing'}",
        )
    text = (
        f"the postures measured do not tell {first_of(lost, 10)} apart from the others, which this kind of "
        f"measurement could: they lie on a singular manifold{_stuck(problem)}. These stay nominal"
    )
    warnings.warn(text, ZvenoWarning, stacklevel=3)
    return text


def _nothing(structure: Identifiability) -> str:
    text = (
        f"a {structure.measurement} measurement of {structure.robot_name} cannot find any of the parameters; "
        "only frames and targets were fitted"
    )
    warnings.warn(text, ZvenoWarning, stacklevel=4)
    return text


def _stuck(problem: FitProblem) -> str:
    """Return joints that never move, and pairs that always move together, in brackets."""
    mechanism = problem.model.mechanism
    moved = sorted({move.position.start for move in problem.model.axes})
    names = [mechanism.coordinate_names[k] for k in moved]
    q = np.concatenate([part.q for part in problem.parts])[:, moved]
    q = q - q.mean(axis=0)
    size = np.linalg.norm(q, axis=0)
    still = size <= 1e-4 * np.sqrt(len(q))
    words = [f"{name} never moves" for name, rests in zip(names, still, strict=True) if rests]
    together = abs(q.T @ q) > 0.9999 * np.outer(size, size)
    words += [
        f"{names[a]} always moves with {names[b]}"
        for a, b in np.argwhere(np.triu(together, 1))
        if not still[a] and not still[b]
    ]
    for campaign in problem.campaigns:
        never = np.asarray(np.isnan(campaign.y).all(axis=(0, 1)))
        if len(never) == len(campaign.measurement.columns):
            words += [f"{campaign.measurement.columns[k]} was never read" for k in np.flatnonzero(never)]
    return f" ({', '.join(words[:4])})" if words else ""


def _lost(problem: FitProblem, structure: Identifiability, robot: RobotFunctions, parameters) -> list[str]:
    """Return parameters that random postures would determine beyond those of the measured ones."""
    kinds = {type(part.measurement): part.measurement for part in problem.parts}
    proved = structure.counts is not None and structure.counts.proved == structure.rank
    if proved or len(kinds) > 1 or problem.n_postures >= 4 * len(problem.model.terms):
        return []
    if parameters == "all" and _as_good_as_random(problem, structure):
        return []
    terms = [word for word in WORDS if any(term.role == word for term in problem.model.terms)]
    could = identifiability(
        robot, problem.parts[0].measurement, model=CalibrationModel(parameters, terms, structure.strategy)
    )
    missing = could.rank - structure.rank
    if missing <= 0:
        return []
    lost = [name for name in could.chosen if name not in structure.chosen]
    return lost[-missing:] if len(lost) >= missing else lost


def _as_good_as_random(problem: FitProblem, structure: Identifiability) -> bool:
    """Return True if random postures, read as the measured ones were, would determine no more."""
    if any(part.measurement.implicit or not part.known.all() for part in problem.parts):
        return False
    rng = np.random.default_rng(0)
    times = int(np.ceil(2.0 * problem.n_columns / problem.n_rows)) + 1
    draws = [
        [random_postures(problem.model.mechanism, len(part.q), rng) for part in problem.parts] for _ in range(times)
    ]
    A = triangle(np.concatenate([scaled_jacobian(problem, q, compiled=True) for q in draws]))
    columns = [*range(len(problem.model.terms)), *problem.columns_of(True)]
    s = np.linalg.svd(beyond(A, problem.columns_of(False), columns)[0], compute_uv=False)
    return int((s > TOLERANCE * s[0]).sum()) <= structure.rank


BEST = 4
"""Number of data errors that are examined closely, with frames fitted."""
IMAGE = 1000.0
"""Approximate size of an image, px."""


@dataclass(frozen=True, eq=False)
class Mistake:
    """Possible data error, and the function that removes it from a campaign's rows."""

    words: str
    undone: Callable[[Part], Part]


def likely_mistake(problem: FitProblem) -> tuple[str, float]:
    """Return the data error whose removal minimizes the residual of the nominal robot, and that residual."""
    tried = []
    for number, mistake in enumerate(mistakes(problem)):
        other = _without(problem, mistake)
        residual, _ = other.evaluate(other.nominal, first_frames(other, other.nominal), ())
        tried.append((miss(other, residual) / shrinking(problem, other), number, mistake))
    best, words = np.inf, ""
    # Some come to the same, such as signs and half turns in a wrist: the more usual one comes first and is meant.
    for _, _, mistake in sorted(sorted(tried, key=lambda trial: trial[:2])[:BEST], key=lambda trial: trial[1]):
        other = _without(problem, mistake)
        fitted = _fitted_miss(other) / shrinking(problem, other)
        if fitted < 0.99 * best:
            best, words = fitted, mistake.words
    return words, best


def miss(problem: FitProblem, residual: np.ndarray, rms: bool = False, share: float = 0.5) -> float:
    """Return the residual that a share of them is below (or the root mean square), of the worst noise; lengths in
    units of the robot's size, pixels in those of an image."""
    misses = []
    for k, (*_, unit) in enumerate(problem.noise_names):
        residuals = residual[problem.noise == k]
        if len(residuals):
            typical = np.sqrt(np.mean(residuals**2)) if rms else np.quantile(abs(residuals), share)
            misses.append(float(typical) / {"m": size(problem), "px": IMAGE}.get(unit, 1.0))
    return max(misses, default=0.0)


def shrinking(problem: FitProblem, other: FitProblem) -> float:
    """Return the factor by which points in contact move less with other joint values, at most 1.

    A robot that hardly moves, as one whose radians are taken for degrees, stays near any target: its residual is
    small because its motion is small, and not because it is right.
    """
    shares = [1.0]
    for part, changed in zip(problem.parts, other.parts, strict=True):
        if part.measurement.implicit:
            before, after = (_spread(_points(problem, p)) for p in (part, changed))
            shares.append(after / max(before, 1e-300))
    return max(min(shares), 1e-12)


def _points(problem: FitProblem, part: Part) -> np.ndarray:
    """Return the measured points of the nominal robot, (rows, 3)."""
    T, _ = problem.poses(part, problem.nominal, part.q)
    return T[part.posture][:, :3, 3]


def size(problem: FitProblem) -> float:
    """Return half the reach of the robot, m, with prismatic joints as far as they moved."""
    travel = sum(
        float(np.ptp(part.q[:, move.position.start]))
        for part in problem.parts
        for move in problem.model.moves
        if move.sigma == 0
    )
    return problem.model.scale + 0.5 * travel / len(problem.parts)


def mistakes(problem: FitProblem) -> Iterator[Mistake]:
    """Generate plausible data errors in joint values and readings."""
    if not problem.model.mechanism.loops:  # other joint values need not close them
        yield from _of_joints(problem)
    yield from _of_readings(problem)


def _of_joints(problem: FitProblem) -> Iterator[Mistake]:
    names, n = problem.model.mechanism.coordinate_names, problem.model.mechanism.n_q
    moves = [move for move in problem.model.axes if move.joint.mimic is None]
    turning = sorted({move.position.start for move in moves if move.sigma})
    used = sorted({move.position.start for move in moves})

    def joints(words: str, function: Callable[[np.ndarray], np.ndarray]) -> Mistake:
        return Mistake(words, lambda part: replace(part, q=function(part.q)))

    def scaled(which: Sequence[int], factor: float):
        factors = np.ones(n)
        factors[list(which)] = factor
        return lambda q: q * factors

    if turning:
        yield joints("joint values were degrees", scaled(turning, np.pi / 180.0))
        yield joints("joint values were radians and taken for degrees", scaled(turning, 180.0 / np.pi))
    for k in used:
        yield joints(f"joint {names[k]} had the opposite sign", scaled([k], -1.0))
    for i, a in enumerate(used):
        for b in used[i + 1 :]:
            order = np.arange(n)
            order[[a, b]] = [b, a]
            yield joints(f"columns {names[a]} and {names[b]} were swapped", lambda q, order=order: q[:, order])
    for a, b in pairwise(turning):
        for sign, word in ((1.0, "plus"), (-1.0, "less")):
            coupling = np.eye(n)
            coupling[a, b] = sign
            words = f"joint {names[b]} was counted from the one before ({names[b]} {word} {names[a]}, as with a "
            yield joints(words + "parallelogram)", lambda q, coupling=coupling: q @ coupling)
    for k in turning:
        for degrees in (90, -90, 180):
            shift = np.deg2rad(degrees) * (np.arange(n) == k)
            words = f"joint {names[k]} counted from elsewhere, {degrees}° off"
            yield joints(words, lambda q, shift=shift: q - shift)


def _of_readings(problem: FitProblem) -> Iterator[Mistake]:
    kinds = [part.measurement for part in problem.parts]
    for words in dict.fromkeys(words for kind in kinds for words, _ in kind.mistakes()):
        yield Mistake(words, lambda part, words=words: _undone(part, words))
    if any(not kind.implicit for kind in kinds):
        for step, word in ((1, "next"), (-1, "previous")):
            yield Mistake(f"readings belonged to the {word} posture", lambda part, step=step: _shifted(part, step))


def _undone(part: Part, words: str) -> Part:
    """Return a campaign's rows without a data error of its kind."""
    undo = dict(part.measurement.mistakes()).get(words)
    return part if undo is None else replace(part, y=undo(part.y))


def _shifted(part: Part, step: int) -> Part:
    """Return the readings shifted by `step` postures, cyclically."""
    if part.measurement.implicit:
        return part
    things = len(part.y) // len(part.q)
    return replace(part, y=np.roll(part.y, step * things, axis=0), known=np.roll(part.known, step * things, axis=0))


def _without(problem: FitProblem, mistake: Mistake) -> FitProblem:
    return problem.with_parts([mistake.undone(part) for part in problem.parts])


def _fitted_miss(problem: FitProblem) -> float:
    problem = problem.placed(first_frames(problem, problem.nominal))
    columns = frame_columns(problem)
    sigma = np.array([noise.typical for part in problem.parts for noise in part.measurement.noises])
    options = FitOptions(tuple(columns), sigma, np.zeros(len(sigma), dtype=bool), "none")
    return miss(problem, solve(problem, options, problem.nominal, problem.frames).residual)
