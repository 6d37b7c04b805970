"""Torques predicted by an identified model, with a band from held-out residuals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ShapeError, ZvenoError

if TYPE_CHECKING:
    from .result import Identification


@dataclass(frozen=True, eq=False)
class Prediction:
    """Torques of a motion.

    Attributes:
        tau: (..., n) N·m or N.
        std: (..., n) standard deviation of a measured torque in the band: held-out residual and parameters.
        parameter_std: (..., n) standard deviation from the uncertainty of the parameters alone.
        lower, upper: (..., n) band that covers a share `level` of measured torques in the band.
    """

    tau: np.ndarray
    std: np.ndarray
    parameter_std: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    level: float


def predicted(result: Identification, q: ArrayLike, v: ArrayLike, a: ArrayLike, level: float) -> Prediction:
    """Predict torques as described in `Identification.predict`."""
    n = len(result.joint_names)
    try:
        states = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (q, v, a)))
    except ValueError:
        raise ShapeError("q, v and a do not fit each other", remedy=f"Give (..., {n}) each") from None
    if states[0].shape[-1:] != (n,):
        raise ShapeError(f"q, v and a have shape {states[0].shape}", remedy=f"Give (..., {n}): the recorded joints")
    if not all(np.isfinite(x).all() for x in states):
        raise ZvenoError("q, v and a hold numbers that are not finite")
    levels, quantiles = np.array(result.validation.levels), result.validation.quantiles
    if not levels[0] <= level <= levels[-1]:
        raise ZvenoError(f"is {level}", element="level", remedy=f"Give {levels[0]} to {levels[-1]}")
    shape = states[0].shape
    q, v, a = (np.ascontiguousarray(x).reshape(-1, n) for x in states)
    model = result.model
    W = model.dense(model.packed(q, v, a, result.load[:, None]))
    tau = W @ result.values
    C = np.where(np.isfinite(result.covariance), result.covariance, 0.0)
    parameters = np.maximum(np.einsum("mjp,pq,mjq->mj", W, C, W), 0.0)
    std = np.sqrt(result.validation.rms**2 + parameters)
    half = np.array([np.interp(level, levels, quantiles[:, j]) for j in range(n)]) * std
    tau, std, spread, half = (x.reshape(shape) for x in (tau, std, np.sqrt(parameters), half))
    return Prediction(tau, std, spread, tau - half, tau + half, level)
