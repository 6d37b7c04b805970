"""Accuracy of the calibrated robot: predicted pose with covariance, and its map over postures."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ..._executor import cut, map_pieces, stream
from ...errors import ZvenoError, unknown_name
from ...fit.rng import seed_of
from ...fit.threads import in_one_thread
from ...io.results import registered
from ...progress import Progress
from ...report.description import Description
from ...report.result import Result
from .._identifiability.postures import random_postures
from ..model.kinematics import frame_motion
from ..model.loads import holding_torques
from ..model.models import LETTERS, Model

if TYPE_CHECKING:
    from ..result import Calibration

PIECE = 1 << 13
"""Number of postures per task of a worker: a tenth of a second to a second."""


@dataclass(frozen=True, eq=False)
class Prediction:
    """Predicted pose of the calibrated frame and its covariance.

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
        points: positions of the frame, (n, 3), m.
        sigma_position, sigma_rotation: standard deviations after calibration, (n,), m and rad.
        nominal_error: distance of the nominal robot, with base and tool as found, from the calibrated one,
            (n,), m: the error before. It is known to `sigma_position`.
    """

    q: np.ndarray
    points: np.ndarray
    sigma_position: np.ndarray
    sigma_rotation: np.ndarray
    nominal_error: np.ndarray

    kind = "accuracy map"

    @property
    def status(self) -> str:
        """Always "done"."""
        return "done"

    @property
    def summary(self) -> str:
        """One-sentence summary."""
        s, before = self.sigma_position, self.nominal_error
        where = np.round(self.points[int(np.argmax(s))], 3)
        return (
            f"geometry leaves an uncertainty of {np.median(s) * 1e3:.3g} mm (median) to {s.max() * 1e3:.3g} mm "
            f"(worst, near {where.tolist()} m) over {len(s)} postures; before, it was off by "
            f"{np.sqrt(np.mean(before**2)) * 1e3:.3g} mm rms, {before.max() * 1e3:.3g} mm at worst"
        )

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from .._describe import describe_accuracy_map

        return describe_accuracy_map(self)

    def slices(self, axis: str = "z", n: int = 4, cells: int = 12) -> tuple[MapSlice, ...]:
        """Cut the map across an axis into slices with as many postures each, and these into square cells.

        Args:
            axis: "x", "y" or "z", across which it is cut.
            n: number of slices.
            cells: along the longer side of the workspace.
        """
        if axis not in LETTERS:
            raise unknown_name("axis", axis, LETTERS)
        if n < 1 or cells < 1:
            raise ZvenoError(f"{n} slices of {cells} cells are not a map", remedy="Give positive numbers")
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
        """Return cell centres (k, 3), the largest sigma_position in each (k,), and the number of postures (k,)."""
        index = np.floor(self.points / size).astype(int)
        cells, inverse, number = np.unique(index, axis=0, return_inverse=True, return_counts=True)
        worst = np.zeros(len(cells))
        np.maximum.at(worst, inverse.ravel(), self.sigma_position)
        return (cells + 0.5) * size, worst, number


@dataclass(frozen=True, eq=False)
class MapSlice:
    """Cells of an accuracy map between two heights.

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
        """Cells (k,) in which the robot is certainly better than before: the error was twice the remaining one."""
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
    """Predict the pose of a frame at parameters `values` (P,) of which `columns` have that covariance; joints came
    from `side`, (..., n_v)."""
    q = model.mechanism.checked_q(q)
    T, J = frame_motion(model, frame, q, values, holding_torques(model, q), side)
    J = J[..., columns]
    return Prediction(T, J @ covariance @ np.swapaxes(J, -1, -2))


def accuracy_map(
    calibration: Calibration,
    postures: int = 2000,
    rng: np.random.Generator | int | None = 0,
    frame: str | None = None,
    *,
    executor: Executor | None = None,
    progress: Progress = None,
) -> AccuracyMap:
    """Compute accuracy over random postures within limits, before and after calibration; all of them are kept.

    Args:
        calibration: result of `calibrate`.
        postures: number of postures.
        rng: generator or seed.
        frame: one of those that were measured; the first if None.
        executor: workers that share the postures: any `concurrent.futures.Executor`; this process if None. The
            result has the same bits for any.
        progress: whether a bar is shown, or a function of (done, total).
    """
    work, pieces = Predicted.of(calibration, frame, rng), posture_pieces(postures)
    parts = map_pieces(work, pieces, executor=executor, progress=progress)
    return AccuracyMap(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def posture_pieces(postures: int) -> list[tuple[int, int]]:
    """Return the ranges of postures given to workers."""
    if isinstance(postures, bool) or not isinstance(postures, int | np.integer) or postures < 1:
        raise ZvenoError(f"are {postures!r}", element="postures", remedy="Give a whole number from 1")
    return cut(int(postures), PIECE)


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictor of postures by number: q, positions, standard deviations after, errors before."""

    model: Model
    frame: str
    values: np.ndarray
    columns: tuple[int, ...]
    covariance: np.ndarray
    seed: int

    @classmethod
    def of(cls, calibration: Calibration, frame: str | None, rng: np.random.Generator | int | None) -> Predicted:
        """Build the predictor of a calibration for the postures of a seed."""
        values, columns = calibration.deviations, tuple(calibration.columns)
        return cls(
            calibration.model,
            calibration.checked_frame(frame),
            values,
            columns,
            calibration.covariance_factor * calibration.covariance,
            seed_of(rng),
        )

    @in_one_thread
    def __call__(self, piece: tuple[int, int]) -> tuple[np.ndarray, ...]:
        """Return the columns of an `AccuracyMap` for a range of postures."""
        start, stop = piece
        q = random_postures(self.model.mechanism, stop - start, stream(self.seed, start))
        found = predict(self.model, self.frame, q, self.values, self.columns, self.covariance)
        placed = self.values.copy()
        placed[[k for k, term in enumerate(self.model.terms) if term.role not in ("base", "tool")]] = 0.0
        nominal = predict(self.model, self.frame, q, placed, [], np.zeros((0, 0))).T_world_frame
        points = found.T_world_frame[:, :3, 3]
        before = np.linalg.norm(nominal[:, :3, 3] - points, axis=1)
        return q, points, found.sigma_position, found.sigma_rotation, before
