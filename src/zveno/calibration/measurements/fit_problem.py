"""What is fitted: the rows of all campaigns with their residuals and derivatives by parameters and unknowns.

A `FitProblem` never changes. What a fit finds (parameters, frames, noise) is passed beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..model.batches import displaced
from ..model.kinematics import by_coordinates, frame_motion, other_joint_rates, pose_kernel
from ..model.models import LETTERS, SIX, Model
from .base import Measurement
from .campaigns import Campaign
from .residual_slopes import residual_kernel

CONSTRAINT = -1
"""Noise number of rows that are not readings: known distances between targets."""


@dataclass(frozen=True, eq=False)
class Unknown:
    """A frame that is estimated with the robot, by some of its six displacements."""

    label: str
    frame: int
    """Its number among the frames."""
    free: tuple[int, ...]
    start: int
    """Column of its first displacement."""
    wanted: bool
    given: bool
    """Whether its value is more than a place holder."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its displacements: `tracker.Tx`."""
        return tuple(f"{self.label}.{SIX[k][0]}{LETTERS[SIX[k][1]]}" for k in self.free)


@dataclass(frozen=True, eq=False)
class Part:
    """The rows of one campaign; a row is one thing seen in one posture."""

    measurement: Measurement
    frame: str
    q: np.ndarray
    tau: np.ndarray
    posture: np.ndarray
    left: np.ndarray
    right: np.ndarray
    target: np.ndarray
    y: np.ndarray
    known: np.ndarray
    """(rows, m) which components were read."""
    first_noise: int
    first_posture: int
    line: np.ndarray
    """(rows,) row number in the campaign as it was given, from 1."""
    scattered: tuple[tuple[np.ndarray | slice, np.ndarray, np.ndarray] | None, ...] = ()
    """For L, R and X: rows, columns and displacements by which frames are unknown; all rows are a slice."""

    @cached_property
    def n_known(self) -> int:
        """Number of components that were read."""
        return int(self.known.sum())


@dataclass(frozen=True)
class Split:
    """From some posture of a campaign on, one of its frames is another one.

    Attributes:
        part, posture: number of the campaign, and of its first posture after the change.
        slot: "left", "right" or "target".
        free: displacements of the new frame that are estimated.
        label: of the new frame.
        only: label of the target that is replaced, where there are several.
    """

    part: int
    posture: int
    slot: str
    free: tuple[int, ...]
    label: str
    only: str = ""


@dataclass(frozen=True, eq=False)
class FitProblem:
    """Residuals of campaigns and their derivatives, at given parameters and frames. Make one with `fit_problem`.

    Columns of derivatives: the P parameters of the model, then the displacements of the unknowns. Rows: every
    component that was read, campaign after campaign, then known distances between targets.

    Attributes:
        model, campaigns: what was measured.
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
    campaigns: tuple[Campaign, ...]
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
        """Scalar rows."""
        return len(self.noise)

    @cached_property
    def n_columns(self) -> int:
        """Parameters and displacements of unknowns."""
        return len(self.model.terms) + sum(len(unknown.free) for unknown in self.unknowns)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.model.names + tuple(name for unknown in self.unknowns for name in unknown.names)

    @cached_property
    def units(self) -> tuple[str, ...]:
        """Unit of every column."""
        terms = tuple(term.unit for term in self.model.terms)
        return terms + tuple("m" if k < 3 else "rad" for unknown in self.unknowns for k in unknown.free)

    @cached_property
    def nominal(self) -> np.ndarray:
        """Deviations of a robot as drawn: zeros (P,), not to be written to."""
        values = np.zeros(len(self.model.terms))
        values.setflags(write=False)
        return values

    def by_row(self, values: np.ndarray, otherwise: float) -> np.ndarray:
        """Values (data rows,) of every scalar row, (rows,); `otherwise` for known distances."""
        return np.concatenate([values, [otherwise]])[self.row]

    def by_noise(self, values: np.ndarray, otherwise: float) -> np.ndarray:
        """Values (noises,) of every scalar row, (rows,); `otherwise` for known distances."""
        return np.concatenate([values, [otherwise]])[self.noise]

    def columns_of(self, wanted: bool | None = None) -> list[int]:
        """Columns of unknowns: all, only wanted ones, or only nuisance parameters."""
        return [
            unknown.start + k
            for unknown in self.unknowns
            if wanted is None or unknown.wanted == wanted
            for k in range(len(unknown.free))
        ]

    @cached_property
    def unknown_at(self) -> dict[int, Unknown]:
        """Unknowns by the number of their frame."""
        return {unknown.frame: unknown for unknown in self.unknowns}

    @cached_property
    def _displacements(self) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the frame and of its displacement that every column of the unknowns is."""
        pairs = [(unknown.frame, axis) for unknown in self.unknowns for axis in unknown.free]
        frame, axis = np.array(pairs, dtype=int).reshape(-1, 2).T
        return frame, axis

    # --- other first values, other rows

    def placed(self, frames: np.ndarray | Mapping[str, np.ndarray]) -> FitProblem:
        """The problem with other first values: of all frames, (frames, 4, 4), or of unknowns by label."""
        if isinstance(frames, Mapping):
            given, frames = frames, self.frames.copy()
            for unknown in self.unknowns:
                if unknown.label in given:
                    frames[unknown.frame] = given[unknown.label]
        return replace(self, frames=np.array(frames))

    def labelled(self, frames: np.ndarray) -> dict[str, np.ndarray]:
        """Frames (4, 4) of the unknowns by label."""
        return {unknown.label: frames[unknown.frame] for unknown in self.unknowns}

    def with_parts(self, parts: Sequence[Part]) -> FitProblem:
        """The problem with other postures or readings; as many numbers must have been read."""
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
        """Residuals (..., M) of all rows and their derivatives (..., M, columns).

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
            T = T[..., part.posture, :, :]
            slots = [frames[..., slot, :, :] for slot in (part.left, part.right, part.target)]
            y = part.y
            if exact and not part.measurement.implicit:
                y = part.measurement.reading(slots[0] @ T @ slots[1], slots[2])
            residual, by_T, *by_slots = residual_kernel(type(part.measurement))(T, *slots, y)
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
        """T (..., n, 4, 4) and J (..., n, 6, P) of a part's frame in every posture."""
        if compiled:
            return pose_kernel(self.model, part.frame)(q, values[..., None, :], part.tau)
        return frame_motion(self.model, part.frame, q, values, part.tau)

    def by_joints(self, part: Part, values: np.ndarray, q: np.ndarray, by_values: np.ndarray) -> np.ndarray:
        """Derivatives (n, 6, n_v) of a part's frame by joint velocities, for joints of all types.

        Args:
            part, values, q: as for `poses`.
            by_values: J of `poses`.
        """
        rates = by_coordinates(self.model, by_values[..., self.model.offset_terms])
        if len(self.model.axes) == len(self.model.moves):
            return rates
        return rates + other_joint_rates(self.model, part.frame, q, values, part.tau)

    def moved(self, frames: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Frames after a step (..., columns) of the unknowns."""
        d = np.zeros((*step.shape[:-1], len(self.frames), 6))
        d[(..., *self._displacements)] = step[..., len(self.model.terms) :]
        return displaced(frames, d)

    def _slopes(self, part: Part, by_T, by_values, by_slots, chosen: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Derivatives (..., rows, m, columns) of a part by parameters and unknowns."""
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
        for scattered, slope in zip(part.scattered, by_slots, strict=True):
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
        """Residuals and derivatives of known distances between points."""
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
