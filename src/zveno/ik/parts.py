"""Large batches of poses, solved in parts: only the answer grows with the batch."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .solutions import Solutions

AT_ONCE = 1 << 14
"""Poses that are solved at once."""
PER_POSE = ("count", "codes", "density", "nearest", "distance", "exceeded", "value")
PER_SOLUTION = ("q", "residual", "condition")


def in_parts(T: np.ndarray, batch: tuple[int, ...], solve: Callable[[np.ndarray, slice], Solutions]) -> Solutions:
    """The answer for poses T (k, ...), given in the shape `batch`, from those of parts of them and their places."""
    answer, inputs = _Growing(len(T)), hashlib.blake2b(digest_size=8)
    for start in range(0, len(T), AT_ONCE):
        own = slice(start, min(start + AT_ONCE, len(T)))
        part = solve(T[own], own)
        answer.add(start, part)
        inputs.update(part.inputs.encode())
    return replace(answer.result(batch), inputs=inputs.hexdigest())


def joined(parts: Sequence[Solutions]) -> Solutions:
    """Results of batches of shape (k,) as one."""
    answer, start = _Growing(sum(part.batch[0] for part in parts)), 0
    for part in parts:
        answer.add(start, part)
        start += part.batch[0]
    return answer.result((start,))


class _Growing:
    """Arrays of an answer for k poses, filled part by part."""

    def __init__(self, k: int):
        self.k, self.arrays = k, {}
        self.families, self.notes = {}, {}
        self.like: Solutions | None = None

    def add(self, start: int, part: Solutions):
        self.like = self.like or part
        own = slice(start, start + part.batch[0])
        for name in PER_POSE:
            values = getattr(part, name)
            if name not in self.arrays:
                self.arrays[name] = np.empty((self.k, *values.shape[1:]), values.dtype)
            self.arrays[name][own] = values
        for name in PER_SOLUTION:
            values = getattr(part, name)
            old = self.arrays.get(name)
            if old is None or old.shape[1] < values.shape[1]:
                self.arrays[name] = np.empty((self.k, *values.shape[1:]))
                if old is not None:
                    self.arrays[name][:start, : old.shape[1]] = old[:start]
                    self.arrays[name][:start, old.shape[1] :] = np.nan
            self.arrays[name][own, : values.shape[1]] = values
            self.arrays[name][own, values.shape[1] :] = np.nan
        self.families |= {start + i: family for i, family in part.families.items()}
        self.notes |= {start + i: note for i, note in part.notes.items()}

    def result(self, batch: tuple[int, ...]) -> Solutions:
        assert self.like is not None
        shaped = {name: values.reshape(batch + values.shape[1:]) for name, values in self.arrays.items()}
        return replace(self.like, **shaped, families=self.families, notes=self.notes, batch=batch)
