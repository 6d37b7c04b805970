"""Accuracy of the calibrated robot: predicted pose with covariance, and its map over the workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...io.results import Result, registered
from ...mechanism import Mechanism
from ..identifiability.postures import random_postures
from ..model.kinematics import frame_motion
from ..model.loads import holding_torques
from ..model.models import Model


@dataclass(frozen=True, eq=False)
class Prediction:
    """Where the calibrated frame is and how well that is known.

    Attributes:
        T_world_frame: (..., 4, 4).
        covariance: of the body twist `[v, w]` in the frame's axes, (..., 6, 6), m² and rad².
    """

    T_world_frame: np.ndarray
    covariance: np.ndarray

    @property
    def sigma_position(self) -> np.ndarray:
        """Standard deviation of the position as a length, (...), m: root of the trace."""
        return np.sqrt(np.trace(self.covariance[..., :3, :3], axis1=-2, axis2=-1))

    @property
    def sigma_rotation(self) -> np.ndarray:
        """Standard deviation of the orientation as an angle, (...), rad."""
        return np.sqrt(np.trace(self.covariance[..., 3:, 3:], axis1=-2, axis2=-1))


@registered
@dataclass(frozen=True, eq=False, repr=False)
class AccuracyMap(Result):
    """Predicted accuracy over the workspace.

    Attributes:
        q: postures, (n, n_q).
        points: where the frame is, (n, 3), m.
        sigma_position, sigma_rotation: (n,), m and rad.
    """

    q: np.ndarray
    points: np.ndarray
    sigma_position: np.ndarray
    sigma_rotation: np.ndarray

    kind = "accuracy map"

    @classmethod
    def over(
        cls,
        mechanism: Mechanism,
        predicted: Callable[[np.ndarray], Prediction],
        postures: int,
        rng: np.random.Generator | int | None,
    ) -> AccuracyMap:
        """The map of predictions at random postures within limits."""
        q = random_postures(mechanism, postures, np.random.default_rng(rng))
        at = predicted(q)
        return cls(q, at.T_world_frame[:, :3, 3], at.sigma_position, at.sigma_rotation)

    @property
    def status(self) -> str:
        """Always "done"."""
        return "done"

    @property
    def summary(self) -> str:
        """A sentence for people."""
        s = self.sigma_position
        where = np.round(self.points[int(np.argmax(s))], 3)
        return (
            f"geometry leaves an uncertainty of {np.median(s) * 1e3:.3g} mm (median) to {s.max() * 1e3:.3g} mm "
            f"(worst, near {where.tolist()} m) over {len(s)} postures"
        )

    def cells(self, size: float = 0.2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cell centres (k, 3), the largest sigma_position in each (k,), and the number of postures (k,)."""
        index = np.floor(self.points / size).astype(int)
        cells, inverse, number = np.unique(index, axis=0, return_inverse=True, return_counts=True)
        worst = np.zeros(len(cells))
        np.maximum.at(worst, inverse.ravel(), self.sigma_position)
        return (cells + 0.5) * size, worst, number


def predict(
    model: Model,
    frame: str,
    q: ArrayLike,
    values: np.ndarray,
    columns: Sequence[int],
    covariance: np.ndarray,
    side: np.ndarray | None = None,
) -> Prediction:
    """Pose of a frame at parameters `values` (P,) of which `columns` have that covariance; joints came from `side`,
    (..., n_v)."""
    q = model.mechanism.checked_q(q)
    T, J = frame_motion(model, frame, q, values, holding_torques(model, q), side)
    J = J[..., columns]
    return Prediction(T, J @ covariance @ np.swapaxes(J, -1, -2))
