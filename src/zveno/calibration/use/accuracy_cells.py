"""Accuracy over any number of postures, summed in cells of the workspace by any workers."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from ..._executor import map_pieces
from ...errors import ZvenoError
from ...io.results import hash_of, registered
from ...progress import Progress
from ...report.description import Description
from ...report.result import Result
from .accuracy import MapSlice, Predicted, posture_pieces

if TYPE_CHECKING:
    from ..result import Calibration


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
    def status(self) -> str:
        """Always "done"."""
        return "done"

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
        from .._describe import describe_accuracy_cells

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
