"""What is frozen: cases with a name, a way to compute their values, and the rule that compares them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

ROUNDING = 1e-12
"""Relative difference that functions may have."""

Values = dict[str, np.ndarray]


@dataclass
class Outcome:
    """How the new values of one case compare with the frozen ones."""

    worst: float = 0.0
    """Largest relative difference."""
    problems: list[str] = field(default_factory=list)
    """Differences: the comparison fails."""
    remarks: list[str] = field(default_factory=list)
    """What may have changed, and did."""


Rule = Callable[["Case", Values, Values], Outcome]
"""Case, frozen and new values."""


def to_rounding(case: Case, old: Values, new: Values) -> Outcome:
    """Numbers to `case.bound` of the largest absolute value of the array; texts and integers equal."""
    outcome = Outcome()
    for name in sorted(old.keys() | new.keys()):
        if name not in new:
            outcome.problems.append(f"{name}: is gone")
        elif name not in old:
            outcome.problems.append(f"{name}: is new")
        else:
            _compare(name, old[name], new[name], case.bound, outcome)
    return outcome


def _compare(name: str, old: np.ndarray, new: np.ndarray, bound: float, outcome: Outcome) -> None:
    if old.shape != new.shape:
        listed = f", {_first_difference(old, new)}" if old.ndim == new.ndim == 1 else ""
        outcome.problems.append(f"{name}: shape {old.shape} became {new.shape}{listed}")
    elif old.dtype.kind in "USbiu" or new.dtype.kind in "USbiu":
        if not np.array_equal(old, new):
            outcome.problems.append(f"{name}: {_first_difference(old.ravel(), new.ravel())}")
    else:
        worst, text = relative_difference(old, new)
        outcome.worst = max(outcome.worst, worst)
        if not worst <= bound:
            outcome.problems.append(f"{name}: {text}, bound {bound:.0e}")


def relative_difference(old: np.ndarray, new: np.ndarray) -> tuple[float, str]:
    """Largest difference relative to the largest finite absolute value of the frozen array, and words for it."""
    finite = np.isfinite(old)
    same_kind = np.array_equal(finite, np.isfinite(new)) and np.array_equal(old[~finite], new[~finite], True)
    if not same_kind:
        return np.inf, "other entries are finite"
    size = np.abs(old[finite]).max(initial=0.0)
    off = np.abs(new[finite] - old[finite])
    if not off.any():
        return 0.0, "equal"
    worst = float(off.max() / size) if size else float("inf")
    k = int(off.argmax())
    return worst, f"off by {worst:.1e} of the largest: {old[finite][k]:.17g} became {new[finite][k]:.17g}"


def _first_difference(old: np.ndarray, new: np.ndarray) -> str:
    for k, (a, b) in enumerate(zip(old.tolist(), new.tolist(), strict=False)):
        if a != b:
            return f"entry {k}: {a!r} became {b!r}"
    return f"{len(old)} entries became {len(new)}"


def not_more(case: Case, old: Values, new: Values) -> Outcome:
    """Counts may fall, not rise."""
    outcome = Outcome()
    for name in sorted(old.keys() | new.keys()):
        if name not in new or name not in old:
            outcome.problems.append(f"{name}: is {'gone' if name in old else 'new'}")
            continue
        before, now = int(old[name]), int(new[name])
        if now > before:
            outcome.worst = max(outcome.worst, now / before - 1 if before else np.inf)
            outcome.problems.append(f"{name}: {before} became {now}")
        elif now < before:
            outcome.remarks.append(f"{name}: {before} fell to {now}")
    return outcome


@dataclass(frozen=True)
class Case:
    """One entry of the corpus.

    Attributes:
        name: "group/entry"; the table has one line a group.
        compute: gives the values by name: arrays, numbers, texts, sequences of texts.
        bound: relative difference that is allowed, for numbers.
        rule: compares frozen and new values.
    """

    name: str
    compute: Callable[[], Mapping[str, Any]]
    bound: float = ROUNDING
    rule: Rule = to_rounding

    @property
    def group(self) -> str:
        """What stands before the first slash."""
        return self.name.partition("/")[0]

    def values(self) -> Values:
        """The values as arrays that can be stored."""
        return {name: as_stored(value) for name, value in self.compute().items()}


def as_stored(value: Any) -> np.ndarray:
    """An array of numbers or texts."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = list(value)
        if not value:
            return np.zeros(0)
    array = np.asarray(value)
    if array.dtype == object:
        array = array.astype(str) if all(isinstance(x, str) for x in array.ravel()) else array.astype(float)
    return array
