"""Accuracy of the calibrated robot: predicted pose with covariance, and its map over postures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ZvenoError, unknown_name
from ...fit.rng import seed_of
from ...fit.threads import in_one_thread
from ...io.results import Result, registered
from ...progress import Progress
from ...scale.fold import On, fold
from ...scale.pieces import cut, stream
from ..identifiability.postures import random_postures
from ..model.kinematics import frame_motion
from ..model.loads import holding_torques
from ..model.models import LETTERS, Model

if TYPE_CHECKING:
    from ..result import Calibration

PIECE = 1 << 13
"""Postures that a worker is given at a time: a tenth of a second to a second."""


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


def accuracy_map(
    calibration: Calibration,
    postures: int = 2000,
    rng: np.random.Generator | int | None = 0,
    frame: str | None = None,
    *,
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> AccuracyMap:
    """Accuracy over random postures within limits, before and after calibration; all of them are kept.

    Args:
        calibration: what `calibrate` returned.
        postures: how many.
        rng: generator or seed.
        frame: one of those that were measured; the first if None.
        on: workers, as in `zveno.scale.fold`; this process if None. The result has the same bits for any.
        checkpoint: file that keeps what is done; the same call goes on from there.
        progress: whether a bar is shown, or a function of (done, total).
    """
    work, pieces = Predicted.of(calibration, frame, rng), posture_pieces(postures)
    parts = fold(work, pieces, _added, "here" if on is None else on, checkpoint, progress)
    return AccuracyMap(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def posture_pieces(postures: int) -> list[tuple[int, int]]:
    """Ranges of postures that workers are given."""
    if isinstance(postures, bool) or not isinstance(postures, int | np.integer) or postures < 1:
        raise ZvenoError(f"are {postures!r}", element="postures", remedy="Give a whole number from 1")
    return cut(int(postures), PIECE)


@dataclass(frozen=True, eq=False)
class Predicted:
    """Postures by their numbers: q, positions, standard deviations after, errors before."""

    model: Model
    frame: str
    values: np.ndarray
    columns: tuple[int, ...]
    covariance: np.ndarray
    seed: int

    @classmethod
    def of(cls, calibration: Calibration, frame: str | None, rng: np.random.Generator | int | None) -> Predicted:
        """Predictions of a calibration in postures of a seed."""
        values, columns = calibration.all_values, tuple(calibration.columns)
        return cls(
            calibration.model,
            calibration.checked_frame(frame),
            values,
            columns,
            calibration.covariance,
            seed_of(rng),
        )

    @in_one_thread
    def __call__(self, piece: tuple[int, int]) -> list[tuple[np.ndarray, ...]]:
        """The columns of an `AccuracyMap` for a range of postures, as a list that can be added to others."""
        start, stop = piece
        q = random_postures(self.model.mechanism, stop - start, stream(self.seed, start))
        found = predict(self.model, self.frame, q, self.values, self.columns, self.covariance)
        placed = self.values.copy()
        placed[[k for k, term in enumerate(self.model.terms) if term.role not in ("base", "tool")]] = 0.0
        nominal = predict(self.model, self.frame, q, placed, [], np.zeros((0, 0))).T_world_frame
        points = found.T_world_frame[:, :3, 3]
        before = np.linalg.norm(nominal[:, :3, 3] - points, axis=1)
        return [(q, points, found.sigma_position, found.sigma_rotation, before)]


def _added(first: list, second: list) -> list:
    return first + second
