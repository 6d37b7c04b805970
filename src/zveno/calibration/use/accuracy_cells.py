"""Accuracy over any number of postures, summed up in cells of the workspace by any workers."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ZvenoError
from ...io.results import Result, hash_of, registered
from ...progress import Progress
from ...scale.digest import digest_of
from ...scale.fold import On, fold
from ...scale.outputs import Filing, filed, read_manifest, read_piece
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
    directory: str | os.PathLike[str] | None = None,
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> AccuracyCells:
    """The same summed up in cells of the workspace: memory grows with the cells, not with the postures.

    Args:
        calibration, postures, rng, frame: as in `accuracy_map`; of the same seed the first postures are the same.
        cell: side of the cells, m.
        directory: also write every posture, as rows of q, x, y, z, sigma_position, sigma_rotation and
            nominal_error, one NPY file a piece with a manifest; the cells are then summed from the files.
        on, checkpoint, progress: as in `accuracy_map`. Files of a directory have a checkpoint beside this one.
    """
    if not (isinstance(cell, int | float | np.number) and np.isfinite(cell) and cell > 0):
        raise ZvenoError(f"is {cell!r}", element="cell", remedy="Give a positive length, m")
    predicted, pieces = Predicted.of(calibration, frame, rng), posture_pieces(postures)
    place, work, manifest = "here" if on is None else on, _Summed(predicted, float(cell)), None
    if directory is None:
        sums = fold(work, pieces, CellSums.merged, place, checkpoint, progress)
    else:
        beside = None if checkpoint is None else Path(checkpoint).with_suffix(".files.json")
        manifest = filed(_Rows(predicted), pieces, directory, place, beside, progress)
        from_files = _SummedFile(manifest, float(cell))
        sums = fold(from_files, read_manifest(manifest), CellSums.merged, place, checkpoint, progress)
    return AccuracyCells(
        float(cell),
        sums.index,
        sums.number,
        np.sqrt(sums.before / sums.number),
        np.sqrt(sums.after / sums.number),
        sums.worst_before,
        sums.worst_after,
        manifest,
        hash_of(digest_of(work, pieces, CellSums.merged)),
    )


@registered
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
        """Of postures with points (n, 3), errors before and standard deviations after (n,)."""
        index = np.floor(points / cell).astype(int)
        each = cls(index, np.ones(len(index), int), before**2, after**2, before, after)
        return cls.merged(cls(np.zeros((0, 3), int), np.zeros(0, int), *np.zeros((4, 0))), each)

    @classmethod
    def merged(cls, first: CellSums, second: CellSums) -> CellSums:
        """Both together; what the first has is added first."""
        index, place = np.unique(np.concatenate([first.index, second.index]), axis=0, return_inverse=True)
        place = place.ravel()
        sums = [np.zeros(len(index), int), *np.zeros((4, len(index)))]
        adders = [np.add, np.add, np.add, np.maximum, np.maximum]
        for total, add, name in zip(sums, adders, _SUMMED, strict=True):
            add.at(total, place, np.concatenate([getattr(first, name), getattr(second, name)]))
        return cls(index, *sums)


_SUMMED = ("number", "before", "after", "worst_before", "worst_after")


@dataclass(frozen=True, eq=False)
class _Rows:
    predicted: Predicted

    def __call__(self, piece: tuple[int, int]) -> Filing:
        (columns,) = self.predicted(piece)
        names = [f"q{k + 1}" for k in range(columns[0].shape[1])]
        about = {"columns": [*names, "x", "y", "z", "sigma_position", "sigma_rotation", "nominal_error"]}
        return Filing(np.column_stack(columns), about)


@dataclass(frozen=True, eq=False)
class _Summed:
    predicted: Predicted
    cell: float

    def __call__(self, piece: tuple[int, int]) -> CellSums:
        ((_, points, after, _, before),) = self.predicted(piece)
        return CellSums.of(points, before, after, self.cell)


@dataclass(frozen=True, eq=False)
class _SummedFile:
    manifest: Path
    cell: float

    def __call__(self, entry: dict[str, Any]) -> CellSums:
        rows = read_piece(self.manifest, entry)
        return CellSums.of(rows[:, -6:-3], rows[:, -1], rows[:, -3], self.cell)


@registered
@dataclass(frozen=True, eq=False, repr=False)
class AccuracyCells(Result):
    """Predicted accuracy in cells of the workspace, before and after calibration.

    Attributes:
        cell: side of the cells, m.
        index: (k, 3) of the cells that some posture came to: floor of the position by `cell`.
        number: (k,) postures in each.
        before: (k,) root mean square of how far the nominal robot, with base and tool as they were found, is from
            the calibrated one, m. It is known to `after`.
        after: (k,) standard deviation of the position that the calibration leaves, root mean square, m.
        worst_before, worst_after: (k,) the greatest among the postures, m.
        manifest: file that lists the files of all postures, if they were written.
        inputs: hash of what it was computed from.
    """

    cell: float
    index: np.ndarray
    number: np.ndarray
    before: np.ndarray
    after: np.ndarray
    worst_before: np.ndarray
    worst_after: np.ndarray
    manifest: Path | None = None
    inputs: str = ""

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
        """A sentence for people."""
        n = int(self.number.sum())
        at = int(np.argmax(self.worst_after))
        where = np.round(self.centres[at], 3).tolist()
        rms = 1e3 * np.sqrt(np.average(self.before**2, weights=self.number))
        return (
            f"geometry leaves an uncertainty of {1e3 * np.median(self.after):.3g} mm (median of {len(self.number)} "
            f"cells) to {1e3 * self.worst_after[at]:.3g} mm (worst, near {where} m) over {n} postures; before, it "
            f"was off by {rms:.3g} mm rms, {1e3 * self.worst_before.max():.3g} mm at worst"
        )

    def slices(self, n: int = 4) -> tuple[MapSlice, ...]:
        """Layers of cells gathered to about as many postures each, from low to high, seen from above."""
        if n < 1:
            raise ZvenoError(f"{n} slices are no map", element="n", remedy="Give a positive number")
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
