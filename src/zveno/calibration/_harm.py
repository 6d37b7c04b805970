"""Probability that a use of a calibration makes the robot worse than nominal.

The calibrated model is an estimate. A correction that improves the estimated robot may still harm the real one
where the measurements do not determine the correction, for example orientations measured by positions.
Robots are drawn from the posterior of all deviations, and nominal and corrected errors are compared for each, as on
as many other postures: which of two nearly equal errors is larger differs between sets of postures.

Base and tool are placed by users. Parts that a correction does not set are as found in every drawn robot,
and errors are compared apart from the base pose. Parts that it sets are drawn with the rest, since the data often
determine both only together (the tool and the last link); but for what they say nothing of, as the orientation of a
tool of which one point is measured: that stays as drawn in the model with and without the correction.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from ._kinematics import frame_motion
from ._loads import holding_torques
from .models import Model

DRAWS = 400
"""Number of robots drawn from the posterior."""
MOST_HARM = 0.01
"""Maximum share of drawn robots that may become worse in position or in orientation."""
ROUNDING = 1e-9
"""Share of the nominal error by which the corrected one must be larger to be worse: another base changes none."""
UNRELATED = 1e-6
"""Correlation below which the data do not relate a term to others."""
UNDETERMINED = "rests on {}, which the data do not determine"
"""Doubt about a correction where a frame that belongs to it stays where it was first placed."""
REMEDY = (
    "Measure poses, or several points of the tool; or say what is known: fixed=['tcp'] where the tool is where the "
    "model has it"
)


def doubt(
    model: Model,
    frame: str,
    values: np.ndarray,
    covariance: np.ndarray,
    corrected: np.ndarray,
    nominal: np.ndarray,
    q: np.ndarray,
    sets: Collection[str] = (),
    left: np.ndarray | None = None,
) -> str:
    """Report errors that a correction increases in more than `MOST_HARM` of the robots that the data allow; "" if
    none. Errors are as on other postures than `q`.

    Args:
        model, frame: the model, and the frame that is corrected.
        values, covariance: posterior mean (P,) and covariance (P, P) of the deviations of all terms.
        corrected, nominal: deviations (P,) that the corrected and the nominal robot assume.
        q: postures (n, n_q) over which errors are taken.
        sets: "base" and "tool" if the correction places these.
        left: twists (n, 6) in world axes that the correction of the estimated robot leaves, as where an arm has too
            few joints; none if not given.
    """
    T, J = frame_motion(model, frame, q, values, holding_torques(model, q))
    R = T[:, :3, :3]
    drawn = _draws(model, covariance, sets)
    # mean of other n postures, minus that of these, in standard deviations of one posture
    chance = np.sqrt(2.0 / len(q)) * np.random.default_rng(1).normal(size=DRAWS)
    harmed = []
    for part, by_base in enumerate((_base_motions(T[:, :3, 3]), np.tile(np.eye(3), (len(q), 1)))):
        some = slice(3 * part, 3 * part + 3)
        rows = (R @ J[:, some]).reshape(3 * len(q), -1)  # in world axes
        kept = np.zeros((3 * len(q), 1)) if left is None else left[:, some].reshape(-1, 1)
        errors = [rows @ ((values - at)[:, None] + drawn) + off for at, off in ((corrected, kept), (nominal, 0.0))]
        if "base" not in sets:
            errors = [error - by_base @ np.linalg.lstsq(by_base, error, rcond=None)[0] for error in errors]
        squares = [np.sum(error.reshape(len(q), 3, -1) ** 2, axis=1) for error in errors]
        excess = squares[0] - (1.0 + ROUNDING) ** 2 * squares[1]
        harmed.append(float(np.mean(excess.mean(axis=0) + chance * excess.std(axis=0) > 0.0)))
    if max(harmed) <= MOST_HARM:
        return ""
    quantity = ("positions", "orientations")[int(np.argmax(harmed))]
    text = f"may make {quantity} worse (probability {100 * max(harmed):.0f} %): the data do not determine them"
    return text + ", or too few joints or parameters correct them"


def _draws(model: Model, covariance: np.ndarray, sets: Collection[str]) -> np.ndarray:
    """Draw deviations (P, DRAWS) about their mean; base and tool stay if they are not set, or not measured."""
    std = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
    related = abs(covariance / np.outer(std, std)) * (1.0 - np.eye(len(std))) > UNRELATED
    placed = np.array([term.role in ("base", "tool") for term in model.terms])
    kept = np.array([term.role in sets for term in model.terms]) & related.any(axis=1)
    stays = placed & ~kept
    S = np.where(stays[:, None] | stays, 0.0, covariance)
    w, V = np.linalg.eigh(S)
    return (V * np.sqrt(np.maximum(w, 0.0))) @ np.random.default_rng(0).normal(size=(len(S), DRAWS))


def _base_motions(p: np.ndarray) -> np.ndarray:
    """Return the displacements (3n, 6) of points (n, 3) by small motions of the base."""
    n = len(p)
    turns = np.stack([np.cross(axis, p) for axis in np.eye(3)], axis=2)
    return np.concatenate([np.tile(np.eye(3), (n, 1)), turns.reshape(3 * n, 3)], axis=1)
