"""Accuracy of the calibrated robot: predictions with covariance, maps over postures, errors on other data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._executor import cut, map_pieces, stream
from ..errors import ZvenoError, unknown_name
from ..fit.rng import seed_of
from ..fit.threads import in_one_thread
from ..io.results import hash_of, registered
from ..progress import Progress
from ..report.description import Description
from ..report.result import Result
from ._closing import checked_closed
from ._fit.errors import Error, errors
from ._fit.frames import first_frames
from ._fit.noise import FitOptions
from ._fit.solve import solve
from ._kinematics import frame_motion
from ._loads import holding_torques
from ._postures import random_postures
from .measurements._fit_problem import fit_problem
from .measurements.datasets import Dataset, prepared
from .models import LETTERS, Model

if TYPE_CHECKING:
    from .result import Calibration

MOST_POSTURES = 10**9
"""Maximum number of postures of a map, hours of work."""
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


MapStatus = Literal["computed"]


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
    def status(self) -> MapStatus:
        """Always "computed"."""
        return "computed"

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
        from ._describe import describe_accuracy_map

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
    q = checked_closed(model.mechanism, model.mechanism.checked_q(q))
    T, J = frame_motion(model, frame, q, values, holding_torques(model, q), side)
    open_ = np.isnan(T).any(axis=(-2, -1))
    if open_.any() and np.isfinite(q).all():
        raise ZvenoError(
            f"the loops of the calibrated robot do not close in {np.sum(open_)} of {open_.size} postures",
            element="q",
            remedy="Leave out postures at the edge of the reach of the loops",
        )
    J = J[..., columns]
    return Prediction(T, J @ covariance @ np.swapaxes(J, -1, -2))


def accuracy_map(
    calibration: Calibration,
    postures: int,
    rng: np.random.Generator | int | None,
    frame: str | None,
    *,
    executor: Executor | None,
    progress: Progress,
) -> AccuracyMap:
    """Do what `Calibration.accuracy_map` documents."""
    work, pieces = Predicted.of(calibration, frame, rng), posture_pieces(postures)
    parts = map_pieces(work, pieces, executor=executor, progress=progress)
    return AccuracyMap(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def posture_pieces(postures: int) -> list[tuple[int, int]]:
    """Return the ranges of postures given to workers."""
    whole = isinstance(postures, int | np.integer) and not isinstance(postures, bool)
    if not (whole and 1 <= postures <= MOST_POSTURES):
        raise ZvenoError(
            f"are {postures!r}", element="postures", remedy=f"Give a whole number, 1 to {MOST_POSTURES}"
        )
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
        if self.model.mechanism.loops:  # at the edge of the nominal reach, the calibrated loops may not close
            tau = holding_torques(self.model, q)
            q = q[np.isfinite(frame_motion(self.model, self.frame, q, self.values, tau)[0]).all(axis=(1, 2))]
        calibrated = predict(self.model, self.frame, q, self.values, self.columns, self.covariance)
        placed = self.values.copy()
        placed[[k for k, term in enumerate(self.model.terms) if term.role not in ("base", "tool")]] = 0.0
        nominal = predict(self.model, self.frame, q, placed, [], np.zeros((0, 0))).T_world_frame
        points = calibrated.T_world_frame[:, :3, 3]
        before = np.linalg.norm(nominal[:, :3, 3] - points, axis=1)
        return q, points, calibrated.sigma_position, calibrated.sigma_rotation, before


def accuracy_cells(
    calibration: Calibration,
    postures: int = 100_000,
    cell: float = 0.1,
    rng: np.random.Generator | int | None = 0,
    frame: str | None = None,
    *,
    executor: Executor | None = None,
    progress: Progress = None,
) -> AccuracyCells:
    """Compute accuracy summed in cells of the workspace: memory grows with the cells, not with the postures.

    Args:
        calibration, postures, rng, frame: as in `accuracy_map`; equal seeds give equal first postures.
        cell: side of the cells, m.
        executor, progress: as in `accuracy_map`.
    """
    if not (isinstance(cell, int | float | np.number) and np.isfinite(cell) and cell > 0):
        raise ZvenoError(f"is {cell!r}", element="cell", remedy="Give a positive length, m")
    predicted, pieces = Predicted.of(calibration, frame, rng), posture_pieces(postures)
    work = _Summed(predicted, float(cell))
    sums = reduce(CellSums.merged, map_pieces(work, pieces, executor=executor, progress=progress))
    return AccuracyCells(
        float(cell),
        sums.index,
        sums.number,
        np.sqrt(sums.before / sums.number),
        np.sqrt(sums.after / sums.number),
        sums.worst_before,
        sums.worst_after,
        hash_of(calibration.inputs_hash, predicted.values, predicted.frame, predicted.seed, postures, float(cell)),
    )


@dataclass(frozen=True, eq=False)
class CellSums:
    """Sums over the postures in every cell, in increasing order of cells.

    Attributes:
        index: (k, 3) whole numbers, floor of the position by the size of cells.
        number: (k,) postures.
        before, after: (k,) sums of squares of `nominal_error` and `sigma_position`, m².
        worst_before, worst_after: (k,) the greatest of them, m.
    """

    index: np.ndarray
    number: np.ndarray
    before: np.ndarray
    after: np.ndarray
    worst_before: np.ndarray
    worst_after: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, before: np.ndarray, after: np.ndarray, cell: float) -> CellSums:
        """Sum over postures with points (n, 3), errors before and standard deviations after (n,)."""
        index = np.floor(points / cell).astype(int)
        each = cls(index, np.ones(len(index), int), before**2, after**2, before, after)
        return cls.merged(cls(np.zeros((0, 3), int), np.zeros(0, int), *np.zeros((4, 0))), each)

    @classmethod
    def merged(cls, first: CellSums, second: CellSums) -> CellSums:
        """Merge both sums; the cells of the first are added first."""
        index, place = np.unique(np.concatenate([first.index, second.index]), axis=0, return_inverse=True)
        place = place.ravel()
        sums = [np.zeros(len(index), int), *np.zeros((4, len(index)))]
        adders = [np.add, np.add, np.add, np.maximum, np.maximum]
        for total, add, name in zip(sums, adders, _SUMMED, strict=True):
            add.at(total, place, np.concatenate([getattr(first, name), getattr(second, name)]))
        return cls(index, *sums)


_SUMMED = ("number", "before", "after", "worst_before", "worst_after")


@dataclass(frozen=True, eq=False)
class _Summed:
    predicted: Predicted
    cell: float

    def __call__(self, piece: tuple[int, int]) -> CellSums:
        _, points, after, _, before = self.predicted(piece)
        return CellSums.of(points, before, after, self.cell)


@registered
@dataclass(frozen=True, eq=False, repr=False)
class AccuracyCells(Result):
    """Predicted accuracy in cells of the workspace, before and after calibration.

    Attributes:
        cell: side of the cells, m.
        index: (k, 3) of the cells that some posture came to: floor of the position by `cell`.
        number: (k,) postures in each.
        before: (k,) root mean square distance of the nominal robot, with base and tool as they were found, from
            the calibrated one, m. It is known to `after`.
        after: (k,) standard deviation of the position that the calibration leaves, root mean square, m.
        worst_before, worst_after: (k,) the greatest among the postures, m.
        inputs_hash: hash of its inputs.
    """

    cell: float
    index: np.ndarray
    number: np.ndarray
    before: np.ndarray
    after: np.ndarray
    worst_before: np.ndarray
    worst_after: np.ndarray
    inputs_hash: str = ""

    kind = "accuracy in cells"

    @property
    def centres(self) -> np.ndarray:
        """(k, 3) of the cells, m."""
        return (self.index + 0.5) * self.cell

    @property
    def status(self) -> MapStatus:
        """Always "computed"."""
        return "computed"

    @property
    def summary(self) -> str:
        """One-sentence summary."""
        n = int(self.number.sum())
        at = int(np.argmax(self.worst_after))
        where = np.round(self.centres[at], 3).tolist()
        rms = 1e3 * np.sqrt(np.average(self.before**2, weights=self.number))
        return (
            f"geometry leaves an uncertainty of {1e3 * np.median(self.after):.3g} mm (median of {len(self.number)} "
            f"cells) to {1e3 * self.worst_after[at]:.3g} mm (worst, near {where} m) over {n} postures; before, it "
            f"was off by {rms:.3g} mm rms, {1e3 * self.worst_before.max():.3g} mm at worst"
        )

    def describe(self) -> Description:
        """Return the description that text, figures and pages show."""
        from ._describe import describe_accuracy_cells

        return describe_accuracy_cells(self)

    def slices(self, n: int = 4) -> tuple[MapSlice, ...]:
        """Gather layers of cells into slices of about as many postures each, from low to high, seen from above."""
        if n < 1:
            raise ZvenoError(f"{n} slices are not a map", element="n", remedy="Give a positive number")
        heights, layer = np.unique(self.index[:, 2], return_inverse=True)
        below = np.cumsum(np.bincount(layer.ravel(), self.number, len(heights)))
        slice_of_layer = np.minimum(
            (n * (below - 0.5 * np.diff(below, prepend=0.0)) / below[-1]).astype(int), n - 1
        )
        slice_of_cell = slice_of_layer[layer.ravel()]
        return tuple(self._slice(slice_of_cell == k) for k in range(n) if np.any(slice_of_cell == k))

    def _slice(self, inside: np.ndarray) -> MapSlice:
        columns, place = np.unique(self.index[inside][:, :2], axis=0, return_inverse=True)
        number = np.bincount(place.ravel(), self.number[inside], len(columns))
        before, after = (
            np.sqrt(np.bincount(place.ravel(), self.number[inside] * rms[inside] ** 2, len(columns)) / number)
            for rms in (self.before, self.after)
        )
        z = self.cell * self.index[inside][:, 2]
        centres = (columns + 0.5) * self.cell
        return MapSlice(float(z.min()), float(z.max()) + self.cell, self.cell, centres, before, after, number)


@in_one_thread
def score(
    model: Model, data: Dataset | Sequence[Dataset], values: np.ndarray, unknowns: Mapping[str, np.ndarray]
) -> tuple[Error, ...]:
    """Return errors with parameters `values` (P,) and frames by label as found; other unknowns are fitted."""
    campaigns, _ = prepared(data, model.mechanism)
    problem = fit_problem(model, campaigns)
    problem = problem.placed(first_frames(problem, values, known=unknowns))
    new = [
        unknown.start + k
        for unknown in problem.unknowns
        if unknown.label not in unknowns
        for k in range(len(unknown.free))
    ]
    n = len(problem.noise_names)
    options = FitOptions(tuple(new), np.full(n, 1e-3), np.ones(n, dtype=bool), "none")
    return errors(problem, solve(problem, options, values, problem.frames).residual)
