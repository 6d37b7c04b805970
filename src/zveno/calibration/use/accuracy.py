"""Accuracy of the calibrated robot: predicted pose with covariance, and its map over the workspace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ZvenoError, unknown_name
from ...io.results import Result, registered
from ...mechanism import Mechanism
from ..identifiability.postures import random_postures
from ..model.kinematics import frame_motion
from ..model.loads import holding_torques
from ..model.models import LETTERS, Model


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
    """Predicted accuracy over the workspace, before and after calibration.

    Attributes:
        q: postures, (n, n_q).
        points: where the frame is, (n, 3), m.
        sigma_position, sigma_rotation: what parameters leave after calibration, (n,), m and rad.
        nominal_error: how far the nominal robot, with base and tool as they were found, is from the calibrated one,
            (n,), m: the error before. It is known to `sigma_position`.
    """

    q: np.ndarray
    points: np.ndarray
    sigma_position: np.ndarray
    sigma_rotation: np.ndarray
    nominal_error: np.ndarray

    kind = "accuracy map"

    @classmethod
    def over(
        cls,
        mechanism: Mechanism,
        predicted: Callable[[np.ndarray], Prediction],
        nominal: Callable[[np.ndarray], np.ndarray],
        postures: int,
        rng: np.random.Generator | int | None,
    ) -> AccuracyMap:
        """The map of predictions at random postures within limits, and of poses (n, 4, 4) of the nominal robot."""
        q = random_postures(mechanism, postures, np.random.default_rng(rng))
        at = predicted(q)
        points = at.T_world_frame[:, :3, 3]
        before = np.linalg.norm(nominal(q)[:, :3, 3] - points, axis=1)
        return cls(q, points, at.sigma_position, at.sigma_rotation, before)

    @property
    def status(self) -> str:
        """Always "done"."""
        return "done"

    @property
    def summary(self) -> str:
        """A sentence for people."""
        s, before = self.sigma_position, self.nominal_error
        where = np.round(self.points[int(np.argmax(s))], 3)
        return (
            f"geometry leaves an uncertainty of {np.median(s) * 1e3:.3g} mm (median) to {s.max() * 1e3:.3g} mm "
            f"(worst, near {where.tolist()} m) over {len(s)} postures; before, it was off by "
            f"{np.sqrt(np.mean(before**2)) * 1e3:.3g} mm rms, {before.max() * 1e3:.3g} mm at worst"
        )

    def slices(self, axis: str = "z", n: int = 4, cells: int = 12) -> tuple[MapSlice, ...]:
        """The map cut across an axis into slices with as many postures each, and these into square cells.

        Args:
            axis: "x", "y" or "z", across which it is cut.
            n: how many slices.
            cells: along the longer side of the workspace.
        """
        if axis not in LETTERS:
            raise unknown_name("axis", axis, LETTERS)
        if n < 1 or cells < 1:
            raise ZvenoError(f"{n} slices of {cells} cells are no map", remedy="Give positive numbers")
        k = LETTERS.index(axis)
        across = [i for i in range(3) if i != k]
        height = self.points[:, k]
        edges = np.quantile(height, np.linspace(0.0, 1.0, n + 1))
        size = max(float(np.ptp(self.points[:, across], axis=0).max()) / cells, 1e-9)
        number = np.clip(np.searchsorted(edges, height, side="right") - 1, 0, n - 1)
        return tuple(self._slice(number == i, across, size, (edges[i], edges[i + 1])) for i in range(n))

    def _slice(self, inside: np.ndarray, across: list[int], size: float, limits: tuple[float, float]) -> MapSlice:
        index = np.floor(self.points[inside][:, across] / size).astype(int)
        cells, place, number = np.unique(index, axis=0, return_inverse=True, return_counts=True)
        before, after = (
            np.sqrt(np.bincount(place.ravel(), error[inside] ** 2, len(cells)) / number)
            for error in (self.nominal_error, self.sigma_position)
        )
        return MapSlice(*limits, size, (cells + 0.5) * size, before, after, number)

    def cells(self, size: float = 0.2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cell centres (k, 3), the largest sigma_position in each (k,), and the number of postures (k,)."""
        index = np.floor(self.points / size).astype(int)
        cells, inverse, number = np.unique(index, axis=0, return_inverse=True, return_counts=True)
        worst = np.zeros(len(cells))
        np.maximum.at(worst, inverse.ravel(), self.sigma_position)
        return (cells + 0.5) * size, worst, number


@dataclass(frozen=True, eq=False)
class MapSlice:
    """Cells of a map of accuracy between two heights.

    Attributes:
        low, high: the heights, m.
        size: side of the square cells, m.
        centres: of the cells, (k, 2), m.
        before: root mean square error of the nominal robot in each, (k,), m, known to `after`.
        after: standard deviation that the calibration leaves, (k,), m.
        number: postures in each, (k,).
    """

    low: float
    high: float
    size: float
    centres: np.ndarray
    before: np.ndarray
    after: np.ndarray
    number: np.ndarray

    @property
    def sure(self) -> np.ndarray:
        """Cells (k,) in which the robot is better than before beyond doubt: the error was twice what is left."""
        return self.before > 2.0 * self.after


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
