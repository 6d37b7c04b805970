"""Targets of a velocity step as users give them, by name, and as its kernel takes them, one behind the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import ZvenoError, unknown_name
from ...mechanism import Mechanism
from .tasks import LAST_ROW, Task

PLAIN = np.dtype(np.float64)


class VelocityTargets:
    """Numbers of the targets of some tasks."""

    def __init__(self, mechanism: Mechanism, tasks: tuple[Task, ...]):
        self.mechanism: Mechanism = mechanism
        self._by_name = {task.name: task for task in tasks}
        self._places: dict[str, slice] = {}
        first = 0
        for task in tasks:
            self._places[task.name] = slice(first, first + task.target_size(mechanism))
            first = self._places[task.name].stop
        self._defaults = np.full(first, np.nan)
        for task in tasks:
            default = task.default(mechanism)
            if default is not None:
                self._defaults[self._places[task.name]] = default
        self._plain_shapes = [(task.name, task.plain_shape(mechanism)) for task in tasks]
        # Where last rows of plain poses stand in their numbers one behind the other, and everything else.
        in_last_row = np.concatenate([_in_last_row(shape) for _, shape in self._plain_shapes])
        self._last_rows, self._used = np.flatnonzero(in_last_row), np.flatnonzero(~in_last_row)
        self._expected_rows = LAST_ROW * (len(self._last_rows) // 4)

    def numbers(self, targets: Mapping[str, Any]) -> np.ndarray:
        """Return targets in the order of the kernel. Rotations of plain poses are not checked: the kernel does."""
        if len(targets) != len(self._plain_shapes):
            return self._careful(targets)
        parts = []
        for name, shape in self._plain_shapes:
            target = targets.get(name)
            if type(target) is not np.ndarray or target.shape != shape or target.dtype is not PLAIN:
                return self._careful(targets)
            parts.append(target.ravel())
        numbers = np.concatenate(parts)
        if numbers.take(self._last_rows).tolist() != self._expected_rows:
            return self._careful(targets)
        return numbers.take(self._used)

    def refuse(self, targets: Mapping[str, Any]) -> None:
        """Raise an error that names the non-finite, non-rigid or missing target."""
        self._careful(targets)
        missing = [name for name in self._places if name not in targets]
        missing = [name for name in missing if np.isnan(self._defaults[self._places[name]]).any()]
        if missing:
            raise ZvenoError(f"is missing for {', '.join(missing)}", element="targets", remedy="Give it by name")

    def _careful(self, targets: Mapping[str, Any]) -> np.ndarray:
        given = {}
        for name, target in targets.items():
            if name not in self._by_name:
                raise unknown_name("task", name, self._by_name)
            given[name] = self._by_name[name].numbers(self.mechanism, target)
        batch = np.broadcast_shapes(*(values.shape[:-1] for values in given.values()))
        numbers = np.broadcast_to(self._defaults, (*batch, len(self._defaults))).copy()
        for name, values in given.items():
            numbers[..., self._places[name]] = values
        return numbers


def _in_last_row(shape: tuple[int, ...]) -> np.ndarray:
    """Return True for the numbers of an array that are in the last row of a pose."""
    return np.arange(int(np.prod(shape))) >= (12 if len(shape) == 2 else np.inf)
