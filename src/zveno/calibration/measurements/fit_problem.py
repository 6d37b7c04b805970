"""Fit problem: the rows of all campaigns with their residuals and derivatives by parameters and unknowns.

A `FitProblem` is immutable. Results of a fit (parameters, frames, noise) are passed beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..model.batches import displaced
from ..model.kinematics import by_coordinates, frame_motion, other_joint_rates, pose_kernel, relative_motion
from ..model.models import Model
from .campaigns import Dataset
from .parts import Part as Part
from .parts import Unknown as Unknown
from .parts import instrument_numbers as instrument_numbers
from .residual_slopes import residual_kernel

CONSTRAINT = -1
"""Noise number of rows that are not readings: known distances between targets."""


@dataclass(frozen=True, eq=False)
class FitProblem:
    """Residuals of campaigns and their derivatives, at given parameters and frames. Make one with `fit_problem`.

    Columns of derivatives: the P parameters of the model, then the displacements of the unknowns. Rows: every
    component that was read, campaign after campaign, then known distances between targets.

    Attributes:
        model, campaigns: the robot model and its measurements.
        parts: the rows of every campaign.
        unknowns: frames that are estimated with the robot.
        frames: all known and unknown frames, (frames, 4, 4); first values of those that are unknown.
        constraints: known distances between targets: (frame, frame, distance, its standard deviation).
        noise_names: campaign, name and unit of every noise.
        noise, component, posture, row: of every scalar row, the number of its noise, its place among the components
            of that noise, its posture and its row of data, (rows,); −1 for known distances.
        n_postures, n_data_rows: postures and rows of data.
    """

    model: Model
    campaigns: tuple[Dataset, ...]
    parts: tuple[Part, ...]
    unknowns: tuple[Unknown, ...]
    frames: np.ndarray
    constraints: tuple[tuple[int, int, float, float], ...]
    noise_names: tuple[tuple[str, str, str], ...]
    noise: np.ndarray
    component: np.ndarray
    posture: np.ndarray
    row: np.ndarray
    n_postures: int
    n_data_rows: int

    def __post_init__(self) -> None:
        self.frames.setflags(write=False)

    # --- shapes and names

    @property
    def n_rows(self) -> int:
        """Number of scalar rows."""
        return len(self.noise)

    @cached_property
    def n_columns(self) -> int:
        """Number of parameters and displacements of unknowns."""
        return len(self.model.terms) + sum(len(unknown.free) for unknown in self.unknowns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.model.names + tuple(name for unknown in self.unknowns for name in unknown.names)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of every column."""
        terms = tuple(term.unit for term in self.model.terms)
        return terms + tuple(unit for unknown in self.unknowns for unit in unknown.units)

    @cached_property
    def nominal(self) -> np.ndarray:
        """Deviations of the nominal robot: zeros (P,), read-only."""
        values = np.zeros(len(self.model.terms))
        values.setflags(write=False)
        return values

    def by_row(self, values: np.ndarray, otherwise: float) -> np.ndarray:
        """Return the values (data rows,) for every scalar row, (rows,); `otherwise` for known distances."""
        return np.concatenate([values, [otherwise]])[self.row]

    def by_noise(self, values: np.ndarray, otherwise: float) -> np.ndarray:
        """Return the values (noises,) for every scalar row, (rows,); `otherwise` for known distances."""
        return np.concatenate([values, [otherwise]])[self.noise]

    def columns_of(self, wanted: bool | None = None) -> list[int]:
        """Return the columns of unknowns: all, only wanted ones, or only nuisance parameters."""
        return [
            unknown.start + k
            for unknown in self.unknowns
            if wanted is None or unknown.wanted == wanted
            for k in range(len(unknown.free))
        ]

    @cached_property
    def unknown_at(self) -> dict[int, Unknown]:
        """Unknowns by frame number."""
        return {unknown.frame: unknown for unknown in self.unknowns}

    @cached_property
    def _displacements(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the frame and of its displacement for every column of the unknowns."""
        pairs = [(unknown.frame, axis) for unknown in self.unknowns for axis in unknown.free]
        frame, axis = np.array(pairs, dtype=int).reshape(-1, 2).T
        return frame, axis

    # --- other first values, other rows

    def placed(self, frames: np.ndarray | Mapping[str, np.ndarray]) -> FitProblem:
        """Return the problem with other initial values: of all frames, (frames, 4, 4), or of unknowns by label."""
        if isinstance(frames, Mapping):
            given, frames = frames, self.frames.copy()
            for unknown in self.unknowns:
                if unknown.label in given:
                    frames[unknown.frame] = given[unknown.label]
        return replace(self, frames=np.array(frames))

    def labelled(self, frames: np.ndarray) -> dict[str, np.ndarray]:
        """Return the frames (4, 4) of the unknowns by label."""
        return {unknown.label: frames[unknown.frame] for unknown in self.unknowns}

    def with_parts(self, parts: Sequence[Part]) -> FitProblem:
        """Return the problem with other postures or readings; the number of values read must be the same."""
        return replace(self, parts=tuple(parts))

    # --- values

    def evaluate(
        self,
        values: np.ndarray,
        frames: np.ndarray,
        columns: Sequence[int] | None = None,
        *,
        q: Sequence[np.ndarray] | None = None,
        compiled: bool = True,
        exact: bool = False,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return residuals (..., M) of all rows and their derivatives (..., M, columns).

        Args:
            values: deviations of the model's parameters, (..., P).
            frames: all known and unknown frames, as `self.frames`, (..., frames, 4, 4).
            columns: which derivatives are wanted, in this order; all if None.
            q: postures of each part, instead of the measured ones.
            compiled: whether the pose comes from a kernel; else from NumPy, for one use.
            exact: whether readings are replaced by predicted ones, so that every residual is zero.
        """
        chosen = np.arange(self.n_columns) if columns is None else np.asarray(columns, dtype=int)
        place = np.full(self.n_columns, -1)
        place[chosen] = np.arange(len(chosen))
        lead = values.shape[:-1]
        r, J = np.zeros((*lead, self.n_rows)), np.zeros((*lead, self.n_rows, len(chosen)))
        start = 0
        for k, part in enumerate(self.parts):
            T, by_values = self.poses(part, values, part.q if q is None else q[k], compiled)
            residual, by_T, *by_slots = self.rows_of(part, T[..., part.posture, :, :], frames, exact)
            end = start + part.n_known
            r[..., start:end] = residual[..., part.known]
            if len(chosen):
                full = self._slopes(part, by_T, by_values, by_slots, chosen, place)
                every = part.n_known == part.known.size
                J[..., start:end, :] = full.reshape(*lead, -1, len(chosen)) if every else full[..., part.known, :]
            start = end
        if self.constraints:
            self._constrain(r[..., start:], J[..., start:, :], frames, place)
        return r, J

    def poses(
        self, part: Part, values: np.ndarray, q: np.ndarray, compiled: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return T (..., n, 4, 4) and J (..., n, 6, P) of a part's frame in every posture."""
        motion = self._motion(part.frame, values, q, part, compiled)
        if not part.seen_from:
            return motion
        return relative_motion(*self._motion(part.seen_from, values, q, part, compiled), *motion)

    def _motion(self, frame: str, values, q, part: Part, compiled: bool) -> tuple[np.ndarray, np.ndarray]:
        if compiled:
            return pose_kernel(self.model, frame)(q, values[..., None, :], part.tau, part.side)
        return frame_motion(self.model, frame, q, values, part.tau, part.side)

    def rows_of(self, part: Part, T: np.ndarray, frames: np.ndarray, exact: bool = False) -> tuple[np.ndarray, ...]:
        """Return residuals (..., rows, m) of a part, and derivatives by displacements of T (..., rows, 4, 4), L, R
        and X, (..., rows, m, 6), and by the constants of the instrument.

        Args:
            part, T: the rows, and the pose of the measured frame in each.
            frames: as of `evaluate`.
            exact: whether readings are replaced by predicted ones.
        """
        kind = part.measurement
        slots = [frames[..., slot, :, :] for slot in (part.left, part.right, part.target)]
        numbers = instrument_numbers(part, frames)
        y = part.y
        if exact and not kind.implicit:
            y = kind.reading(slots[0] @ T @ slots[1], slots[2], *numbers)
        return residual_kernel(type(kind))(T, *slots, y, *numbers)

    def by_joints(self, part: Part, values: np.ndarray, q: np.ndarray, by_values: np.ndarray) -> np.ndarray:
        """Return derivatives (n, 6, n_v) of a part's frame by joint velocities, for joints of all types.

        Args:
            part, values, q: as for `poses`.
            by_values: J of `poses`.
        """
        rates = by_coordinates(self.model, by_values[..., self.model.offset_terms])
        if len(self.model.axes) == len(self.model.moves):
            return rates
        others = other_joint_rates(self.model, part.frame, q, values, part.tau)
        if part.seen_from:
            before = other_joint_rates(self.model, part.seen_from, q, values, part.tau)
            T, T_seen_from = (
                frame_motion(self.model, frame, q, values, part.tau)[0] for frame in (part.frame, part.seen_from)
            )
            others = relative_motion(T_seen_from, before, T, others)[1]
        return rates + others

    def moved(self, frames: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Return the frames after a step (..., columns) of the unknowns."""
        d = np.zeros((*step.shape[:-1], len(self.frames), 6))
        d[(..., *self._displacements)] = step[..., len(self.model.terms) :]
        return displaced(frames, d)

    def _slopes(self, part: Part, by_T, by_values, by_slots, chosen: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Return derivatives (..., rows, m, columns) of a part by parameters and unknowns."""
        shape = by_T.shape[:-1]
        of_model = chosen < len(self.model.terms)
        # The rows of a posture follow each other: one product a posture.
        product = by_T.reshape(*by_values.shape[:-2], -1, 6) @ by_values.take(chosen[of_model], axis=-1)
        product = product.reshape(*shape, product.shape[-1])
        if of_model.all():
            return product
        full = np.zeros((*shape, len(chosen)))
        n = product.shape[-1]
        full[..., slice(n) if of_model[:n].all() else of_model] = product
        for number, column in part.number_columns:
            if place[column] >= 0:
                full[..., place[column]] += by_slots[3][..., number]
        for scattered, slope in zip(part.scattered, by_slots[:3], strict=True):
            if scattered is not None:
                rows, columns, free = scattered
                at = place[columns]
                seen = at >= 0
                if isinstance(rows, slice):
                    full[..., at[seen]] += slope[..., free[seen]]
                else:
                    full[..., rows[seen], :, at[seen]] += slope[..., rows[seen], :, free[seen]]
        return full

    def _constrain(self, r: np.ndarray, J: np.ndarray, frames: np.ndarray, place: np.ndarray):
        """Fill in residuals and derivatives of known distances between points."""
        ends = np.array([(a, b) for a, b, *_ in self.constraints])
        points = frames[..., :3, 3]
        d = points[..., ends[:, 0], :] - points[..., ends[:, 1], :]
        length = np.linalg.norm(d, axis=-1)
        r[...] = length - [distance for *_, distance, _ in self.constraints]
        for frame, sign in zip(ends.T, (1.0, -1.0), strict=True):
            starts = [self.unknown_at[k].start for k in frame]
            at = place[np.array(starts)[:, None] + np.arange(3)]
            slope = np.einsum("...i,...ij->...j", sign * d / length[..., None], frames[..., frame, :3, :3])
            rows, axes = np.nonzero(at >= 0)
            J[..., rows, at[rows, axes]] = slope[..., rows, axes]
