"""Rows of all campaigns as one system: residuals and their derivatives by parameters and unknowns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..model.batches import displaced
from ..model.kinematics import frame_motion, pose_kernel
from ..model.models import LETTERS, SIX, Model
from .base import Measurement, Slot
from .campaigns import Campaign
from .residual_slopes import residual_kernel

CONSTRAINT = -1
"""Noise number of rows that are not readings: known distances between targets."""


@dataclass(frozen=True, eq=False)
class Unknown:
    """A frame that is estimated with the robot, by some of its six displacements."""

    label: str
    free: tuple[int, ...]
    start: int
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


def within(rows: np.ndarray) -> np.ndarray:
    """Which of the entries of its row each is, from 0; `rows` (n,) are sorted numbers."""
    return np.arange(len(rows)) - np.searchsorted(rows, rows)


class System:
    """Residuals of campaigns and their derivatives, at given parameters and frames.

    Columns of derivatives: the P parameters of the model, then the displacements of the unknowns. Rows: every
    component that was read, campaign after campaign, then known distances between targets.
    """

    def __init__(self, model: Model, campaigns: Sequence[Campaign], gravity: Callable | None = None):
        self.model, self.campaigns = model, tuple(campaigns)
        self.unknowns: list[Unknown] = []
        self._numbers: dict[str, int] = {}
        self._frames: list[np.ndarray] = []
        self._unknown_of: list[int] = []
        self.noise_names: list[tuple[str, str, str]] = []
        self.parts = []
        self.constraints: list[tuple[int, int, float, float]] = []
        self._width = len(model.terms)
        postures = 0
        for campaign in self.campaigns:
            self.parts.append(self._part(campaign, gravity, postures))
            postures += len(campaign.q)
        self.n_postures = postures
        self.frames = np.array(self._frames)
        self._index()

    # --- shapes and names

    @property
    def n_columns(self) -> int:
        """Parameters and displacements of unknowns."""
        return self._width

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return self.model.names + tuple(name for unknown in self.unknowns for name in unknown.names)

    @property
    def units(self) -> tuple[str, ...]:
        """Unit of every column."""
        own = tuple(term.unit for term in self.model.terms)
        return own + tuple("m" if k < 3 else "rad" for unknown in self.unknowns for k in unknown.free)

    def columns_of(self, wanted: bool | None = None) -> list[int]:
        """Columns of unknowns: all, only wanted ones, or only those in the way."""
        return [
            unknown.start + k
            for unknown in self.unknowns
            if wanted is None or unknown.wanted == wanted
            for k in range(len(unknown.free))
        ]

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
    ):
        """Residuals (..., M) of all rows and their derivatives (..., M, columns).

        Args:
            values: deviations of the model's parameters, (..., P).
            frames: all known and unknown frames, as `self.frames`, (..., frames, 4, 4).
            columns: which derivatives are wanted, in this order; all if None.
            q: postures of each part, instead of the measured ones.
            compiled: whether the pose comes from a kernel; else from NumPy, for one use.
            exact: whether readings are replaced by predicted ones, so that every residual is zero.
        """
        chosen = np.arange(self._width) if columns is None else np.asarray(columns, dtype=int)
        place = np.full(self._width, -1)
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

    def poses(self, part: Part, values: np.ndarray, q: np.ndarray, compiled: bool = True):
        """T (..., n, 4, 4) and J (..., n, 6, P) of a part's frame in every posture."""
        if compiled:
            return pose_kernel(self.model, part.frame)(q, values[..., None, :], part.tau)
        return frame_motion(self.model, part.frame, q, values, part.tau)

    def by_q(self, by_values: np.ndarray) -> np.ndarray:
        """Derivatives by velocities, (..., 6, n_v), from those by joint offsets."""
        out = np.zeros((*by_values.shape[:-1], self.model.mechanism.n_v))
        for move in self.model.moves:
            if move.sigma is not None:
                out[..., move.velocity.start] += move.multiplier * by_values[..., move.own]
        return out

    def moved(self, frames: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Frames after a step (..., columns) of the unknowns."""
        d = np.zeros((*step.shape[:-1], len(self.frames), 6))
        d[(..., *self._displaced)] = step[..., len(self.model.terms) :]
        return displaced(frames, d)

    def frame_number(self, unknown: int) -> int:
        """Where an unknown stands among the frames."""
        return self._unknown_of.index(unknown)

    def known_targets(self, part: Part) -> np.ndarray:
        """(rows,) whether the target of each row of a part is known."""
        return np.asarray(self._unknown_of)[part.target] < 0

    # --- building

    def _part(self, campaign: Campaign, gravity: Callable | None, first_posture: int) -> Part:
        kind = campaign.measurement
        n = len(campaign.q)
        left = np.full(n, self._slot(kind.left))
        rights = [self._slot(slot) for slot in kind.right]
        grouped = kind.grouped
        if grouped is not None:
            labels = [f"{grouped.label}:{group}" if group else grouped.label for group in campaign.groups]
            own = {label: self._slot(Slot(label, grouped.free, grouped.value)) for label in dict.fromkeys(labels)}
            targets = np.array([[own[label]] for label in labels])
            by_group = dict(zip(campaign.groups, (own[label] for label in labels), strict=True))
            for a, b, distance, sigma in kind.constraints(list(campaign.groups)):
                self.constraints.append((by_group[a], by_group[b], distance, sigma))
        else:
            targets = np.tile([self._slot(slot) for slot in kind.targets], (n, 1))
        things = len(rights) * targets.shape[1]
        posture = np.repeat(np.arange(n), things)
        right = np.tile(np.repeat(rights, targets.shape[1]), n)
        target = np.repeat(targets[:, None], len(rights), axis=1).ravel()
        y = campaign.y.reshape(n * things, kind.n_data)
        known = np.ones((n * things, kind.n_rows), dtype=bool)
        missing = ~np.isfinite(y)
        for noise in kind.noises:
            if noise.numbers is None:
                known[:, noise.rows] = ~missing[:, noise.rows]
            else:
                known[:, noise.rows] = ~missing[:, noise.numbers].any(axis=1, keepdims=True)
        first_noise = len(self.noise_names)
        self.noise_names += [(campaign.name, noise.name, noise.unit) for noise in kind.noises]
        tau = np.zeros((n, self.model.mechanism.n_v)) if gravity is None else gravity(campaign.q)
        frame = self.model.mechanism.frame(kind.frame).name
        filled = kind.filled(y, missing)
        slots = (left[posture], right, target)
        return Part(
            kind,
            frame,
            campaign.q,
            tau,
            posture,
            *slots,
            filled,
            known,
            first_noise,
            first_posture,
            campaign.lines[posture],
            tuple(map(self._scattered, slots)),
        )

    def _slot(self, slot: Slot) -> int:
        """Number of a slot's frame; unknowns of one label are one frame."""
        if slot.free and slot.label in self._numbers:
            return self._numbers[slot.label]
        number = len(self._frames)
        self._frames.append(np.eye(4) if slot.value is None else slot.value)
        self._unknown_of.append(-1)
        if slot.free:
            self._numbers[slot.label] = number
            self._unknown_of[number] = len(self.unknowns)
            self.unknowns.append(Unknown(slot.label, slot.free, self._width, slot.wanted, slot.value is not None))
            self._width += len(slot.free)
        return number

    def _scattered(self, slot: np.ndarray) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray] | None:
        """Rows, columns and displacements by which the frames of a slot (rows,) are unknown."""
        found = []
        for frame in np.unique(slot):
            if self._unknown_of[frame] >= 0:
                unknown, rows = self.unknowns[self._unknown_of[frame]], np.flatnonzero(slot == frame)
                columns, free = unknown.start + np.arange(len(unknown.free)), np.array(unknown.free)
                if len(rows) == len(slot):
                    return slice(None), columns, free
                found.append((np.repeat(rows, len(free)), np.tile(columns, len(rows)), np.tile(free, len(rows))))
        if not found:
            return None
        rows, columns, free = (np.concatenate(pieces) for pieces in zip(*found, strict=True))
        return rows, columns, free

    def _index(self):
        """What every scalar row is: its noise, posture and row of data; and the displacement of a frame that every
        column of the unknowns is."""
        of = [(self.frame_number(k), axis) for k, unknown in enumerate(self.unknowns) for axis in unknown.free]
        self._displaced = tuple(np.array(of, dtype=int).reshape(-1, 2).T)
        noise, posture, row, rows = [], [], [], 0
        for part in self.parts:
            n, m = part.known.shape
            numbers = np.empty(m, dtype=int)
            for k, one in enumerate(part.measurement.noises):
                numbers[one.rows] = part.first_noise + k
            noise.append(np.tile(numbers, (n, 1))[part.known])
            posture.append(np.repeat(part.first_posture + part.posture, m).reshape(n, m)[part.known])
            row.append(np.repeat(rows + np.arange(n), m).reshape(n, m)[part.known])
            rows += n
        extra = len(self.constraints)
        self.noise = np.concatenate([*noise, np.full(extra, CONSTRAINT)])
        self.posture = np.concatenate([*posture, np.full(extra, -1)])
        self.row = np.concatenate([*row, np.full(extra, -1)])
        self.n_data_rows = rows
        self.n_rows = len(self.noise)

    def _slopes(self, part: Part, by_T, by_values, by_slots, chosen: np.ndarray, place: np.ndarray) -> np.ndarray:
        """Derivatives (..., rows, m, columns) of a part by parameters and unknowns."""
        shape = by_T.shape[:-1]
        own = chosen < len(self.model.terms)
        # The rows of a posture follow each other: one product a posture.
        product = by_T.reshape(*by_values.shape[:-2], -1, 6) @ by_values.take(chosen[own], axis=-1)
        product = product.reshape(*shape, product.shape[-1])
        if own.all():
            return product
        full = np.zeros((*shape, len(chosen)))
        n = product.shape[-1]
        full[..., slice(n) if own[:n].all() else own] = product
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
            starts = [self.unknowns[self._unknown_of[k]].start for k in frame]
            at = place[np.array(starts)[:, None] + np.arange(3)]
            slope = np.einsum("...i,...ij->...j", sign * d / length[..., None], frames[..., frame, :3, :3])
            rows, axes = np.nonzero(at >= 0)
            J[..., rows, at[rows, axes]] = slope[..., rows, axes]
