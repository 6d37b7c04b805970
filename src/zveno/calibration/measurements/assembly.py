"""Assembly of the rows of campaigns into one `FitProblem`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..model.loads import holding_torques
from ..model.models import Model
from .base import Slot
from .campaigns import Dataset, sides
from .fit_problem import CONSTRAINT, FitProblem, Part, Unknown


def fit_problem(model: Model, campaigns: Sequence[Dataset]) -> FitProblem:
    """Assemble the rows of prepared campaigns into one problem.

    Args:
        model: the model that explains them.
        campaigns: with checked arrays; a label of an unknown frame means the same frame in all of them.
    """
    assembly = _Assembly(model)
    for campaign in campaigns:
        assembly.add(campaign)
    return assembly.made()


class _Assembly:
    """Collector of frames, unknowns and rows."""

    def __init__(self, model: Model):
        self.model = model
        self.campaigns: list[Dataset] = []
        self.parts: list[Part] = []
        self.unknowns: list[Unknown] = []
        self.frames: list[np.ndarray] = []
        self.constraints: list[tuple[int, int, float, float]] = []
        self.noise_names: list[tuple[str, str, str]] = []
        self.n_postures = 0
        self._numbers: dict[str, int] = {}
        self._width = len(model.terms)

    def add(self, campaign: Dataset) -> None:
        """Add the rows of one more campaign."""
        self.parts.append(self._part(campaign))
        self.campaigns.append(campaign)
        self.n_postures += len(campaign)

    def made(self) -> FitProblem:
        """Build the problem; every scalar row refers to its noise, posture and data row."""
        noise, component, posture, row, rows = [], [], [], [], 0
        for part in self.parts:
            n, m = part.known.shape
            numbers, places = np.empty(m, dtype=int), np.arange(m)
            for k, group in enumerate(part.measurement.noises):
                numbers[group.rows] = part.first_noise + k
                places[group.rows] -= group.rows.start
            noise.append(np.tile(numbers, (n, 1))[part.known])
            component.append(np.tile(places, (n, 1))[part.known])
            posture.append(np.repeat(part.first_posture + part.posture, m).reshape(n, m)[part.known])
            row.append(np.repeat(rows + np.arange(n), m).reshape(n, m)[part.known])
            rows += n
        none = np.full(len(self.constraints), CONSTRAINT)
        return FitProblem(
            self.model,
            tuple(self.campaigns),
            tuple(self.parts),
            tuple(self.unknowns),
            np.array(self.frames),
            tuple(self.constraints),
            tuple(self.noise_names),
            np.concatenate([*noise, none]),
            np.concatenate([*component, none]),
            np.concatenate([*posture, none]),
            np.concatenate([*row, none]),
            self.n_postures,
            rows,
        )

    def _part(self, campaign: Dataset) -> Part:
        kind = campaign.measurement
        n = len(campaign.q)
        left = np.full(n, self._slot(kind.left))
        rights = [self._slot(slot) for slot in kind.right]
        if kind.grouped is not None:
            by_group = {group: self._slot(kind.target_of(group)) for group in dict.fromkeys(campaign.groups)}
            targets = np.array([[by_group[group]] for group in campaign.groups])
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
        frame = self.model.mechanism.frame(kind.frame).name
        seen_from = "" if kind.seen_from is None else self.model.mechanism.frame(kind.seen_from).name
        numbers = tuple(map(self._slot, kind.number_slots()))
        columns = tuple(
            (3 * k + axis, unknown.start + place)
            for k, number in enumerate(numbers)
            for unknown in self.unknowns
            if unknown.frame == number
            for place, axis in enumerate(unknown.free)
        )
        filled = kind.filled(y, missing)
        slots = (left[posture], right, target)
        return Part(
            kind,
            frame,
            campaign.q,
            holding_torques(self.model, campaign.q),
            sides(self.model.mechanism, campaign.approach, n),
            posture,
            *slots,
            filled,
            known,
            first_noise,
            self.n_postures,
            campaign.lines[posture],
            tuple(map(self._scattered, slots)),
            seen_from,
            numbers,
            columns,
        )

    def _slot(self, slot: Slot) -> int:
        """Return the number of a slot's frame; unknowns with the same label share a frame."""
        if slot.free and slot.label in self._numbers:
            return self._numbers[slot.label]
        number = len(self.frames)
        self.frames.append(np.eye(4) if slot.value is None else slot.value)
        if slot.free:
            self._numbers[slot.label] = number
            given = slot.value is not None
            what = slot.label, number, slot.free, self._width, slot.wanted, given, slot.names, slot.units
            self.unknowns.append(Unknown(*what))
            self._width += len(slot.free)
        return number

    def _scattered(self, slot: np.ndarray) -> tuple[np.ndarray | slice, np.ndarray, np.ndarray] | None:
        """Return rows, columns and displacements by which the frames of a slot (rows,) are unknown."""
        pieces = []
        for unknown in self.unknowns:
            rows = np.flatnonzero(slot == unknown.frame)
            columns, free = unknown.start + np.arange(len(unknown.free)), np.array(unknown.free)
            if len(rows) == len(slot):
                return slice(None), columns, free
            if len(rows):
                pieces.append((np.repeat(rows, len(free)), np.tile(columns, len(rows)), np.tile(free, len(rows))))
        if not pieces:
            return None
        rows, columns, free = (np.concatenate(arrays) for arrays in zip(*pieces, strict=True))
        return rows, columns, free
