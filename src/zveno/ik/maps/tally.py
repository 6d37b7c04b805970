"""Summary of many poses in a few numbers that can be added chunk by chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...io.results import registered
from ..solutions import EXCLUDED, PROVED_EXCLUDED, PROVED_UNREACHABLE, REJECTED, STATUSES, UNREACHABLE, Solutions

CLAIMS_NONE = (UNREACHABLE, EXCLUDED, REJECTED, PROVED_UNREACHABLE, PROVED_EXCLUDED)
"""Statuses that claim that a pose has no solution."""
SURE = ("complete", "self-motion", "unreachable", "excluded by limits", "proved", "proved unreachable")
SURE = (*SURE, "proved: limits exclude all", "rejected")
"""Statuses that claim that nothing is missing."""


@registered
@dataclass(frozen=True, eq=False)
class Tally:
    """Sums over poses.

    Attributes:
        statuses: number of poses by status.
        numbers: number of poses by number of solutions.
        residual: the worst error of forward kinematics of any solution, the greater of metres and radians.
    """

    statuses: dict[str, int]
    numbers: dict[int, int]
    residual: float = 0.0

    @classmethod
    def of(cls, solutions: Solutions) -> Tally:
        """Count one batch."""
        codes, by_code = np.unique(solutions.codes, return_counts=True)
        numbers, by_number = np.unique(solutions.count, return_counts=True)
        known = solutions.residual[np.isfinite(solutions.residual)]
        return cls(
            {STATUSES[code]: n for code, n in zip(codes.tolist(), by_code.tolist(), strict=True)},
            dict(zip(numbers.tolist(), by_number.tolist(), strict=True)),
            float(known.max(initial=0.0)),
        )

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            _sum(self.statuses, other.statuses),
            _sum(self.numbers, other.numbers),
            max(self.residual, other.residual),
        )

    @property
    def poses(self) -> int:
        """Number of poses counted."""
        return sum(self.statuses.values())

    @property
    def solutions(self) -> int:
        """Number of solutions of all poses together."""
        return sum(number * poses for number, poses in self.numbers.items())

    @property
    def unsure(self) -> int:
        """Number of poses that may have unlisted solutions: sampled, undecided, not proved."""
        return sum(n for word, n in self.statuses.items() if word not in SURE)

    @property
    def words(self) -> str:
        """Statuses with their numbers, as in a sentence."""
        order = sorted(self.statuses, key=STATUSES.index)
        return ", ".join(f"{self.statuses[word]} {word}" for word in order)

    def plain(self) -> dict[str, Any]:
        """Return the tally in the form of JSON."""
        numbers = {str(number): poses for number, poses in self.numbers.items()}
        return {"statuses": self.statuses, "numbers": numbers, "residual": self.residual}


def total(tallies: Sequence[Tally]) -> Tally:
    """Add up all tallies."""
    return sum(tallies, start=Tally({}, {}))


def _sum(first: dict[Any, int], second: dict[Any, int]) -> dict[Any, int]:
    return {key: first.get(key, 0) + second.get(key, 0) for key in sorted({*first, *second})}
