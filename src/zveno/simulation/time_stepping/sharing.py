"""Contact points of one body share its motion: their rows are combinations of six rows of the body.

A sole with four corners has twelve rows, of which six are independent. With B the rows of the bodies and S their
combinations, J = S B, so that

    W = J M̂⁻¹ Jᵀ = S (B M̂⁻¹ Bᵀ) Sᵀ

is found from the smaller matrix in brackets. Bodies with six rows of contacts or fewer keep those as they are.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...spatial.vectors import cross

SHARED = 6
"""Rows of the motion of a body."""


class Place(NamedTuple):
    """Index of the motion of a row."""

    first: int
    """row of B"""
    shared: int | None
    """index among the rows that are combined from six of B; None for a row of B itself"""


class Sharing(NamedTuple):
    """Indices of all rows, and the number of rows of B."""

    places: tuple[Place, ...]
    n_motions: int

    @property
    def n_shared(self) -> int:
        """Number of combined rows."""
        return sum(place.shared is not None for place in self.places)


def sharing(bodies: list[tuple[Any, int]], n_single: int) -> Sharing:
    """Assign rows to every contact point (body, number of its rows), in order, and to the joints after them."""
    rows: dict[Any, int] = {}
    for body, count in bodies:
        rows[body] = rows.get(body, 0) + count
    places: list[Place] = []
    first: dict[Any, int] = {}
    n, combined = 0, 0
    for body, count in bodies:
        if rows[body] <= SHARED:
            places += [Place(n + k, None) for k in range(count)]
            n += count
            continue
        if body not in first:
            first[body] = n
            n += SHARED
        places += [Place(first[body], combined + k) for k in range(count)]
        combined += count
    places += [Place(n + k, None) for k in range(n_single)]
    return Sharing(tuple(places), n + n_single)


def along(direction: Any, arm: Any) -> Any:
    """Return a row of S: velocity along a direction, of a point at an arm (3,) from the origin of the motion."""
    return np.concatenate([direction, cross(arm, direction)])


def about(direction: Any) -> Any:
    """Return a row of S: the angular velocity about a direction."""
    return np.concatenate([np.zeros(3), direction])


def combined(known: Sharing, S: Any, motions: Any) -> Any:
    """Return S x for values x of the rows of B, (m,); S are the combined rows, (n_shared · 6,)."""
    values = []
    for first, shared in known.places:
        if shared is None:
            values.append(motions[first])
        else:
            values.append(_row(S, shared) @ motions[first : first + SHARED])
    return np.array(values)


def gathered(known: Sharing, S: Any, impulses: Any) -> Any:
    """Return Sᵀ λ: the impulses (m,) on the rows of B, (n_motions,)."""
    total: list[Any] = [0.0] * known.n_motions
    for (first, shared), impulse in zip(known.places, impulses, strict=True):
        if shared is None:
            total[first] = total[first] + impulse
            continue
        for k, share in enumerate(_row(S, shared)):
            total[first + k] = total[first + k] + share * impulse
    return np.array(total)


def effects(known: Sharing, S: Any, Y: list[Any], r: Any) -> Any:
    """Return the lower triangle of W, (m (m + 1)/2,), of the rows Y = B L⁻¹ with M̂ = Lᵀ diag(1/r) L."""
    scaled = [row * r for row in Y]
    inner: dict[tuple[int, int], Any] = {}

    def of_motions(a: int, b: int) -> Any:
        a, b = max(a, b), min(a, b)
        if (a, b) not in inner:
            inner[a, b] = scaled[a] @ Y[b]
        return inner[a, b]

    entries = []
    for i, (first, shared) in enumerate(known.places):
        half: dict[int, Any] = {}
        for second, other in known.places[: i + 1]:
            for b in range(second, second + (1 if other is None else SHARED)):
                if b not in half:
                    rows_of_place = [first] if shared is None else range(first, first + SHARED)
                    column = np.array([of_motions(a, b) for a in rows_of_place])
                    half[b] = column[0] if shared is None else _row(S, shared) @ column
            if other is None:
                entries.append(half[second])
            else:
                entries.append(_row(S, other) @ np.array([half[second + k] for k in range(SHARED)]))
    return np.array(entries)


def _row(S: Any, number: int) -> Any:
    return S[SHARED * number : SHARED * (number + 1)]
