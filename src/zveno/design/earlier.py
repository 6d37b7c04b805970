"""Postures that were measured before, which a plan completes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..calibration.measurements import Measurement
from ..calibration.measurements.campaigns import Campaign
from ..errors import ShapeError, ZvenoError
from ..mechanism import Mechanism
from .result import Plan

Earlier = ArrayLike | Campaign | Plan | Sequence["ArrayLike | Campaign | Plan"]
"""Postures (n, n_q), a campaign or plan of them, or several of these."""


def measured_before(have: Earlier | None, kind: Measurement, mechanism: Mechanism) -> tuple[Campaign, list[str]]:
    """Earlier postures as one campaign without readings, and notes on rows that do not count.

    Args:
        have: postures (n, n_q), a Campaign, a Plan, several of them in a list, or None.
        kind: what is measured; a campaign of another kind is refused.
        mechanism: the robot's.
    """
    parts: list[Any] = [] if have is None else [have]
    if isinstance(have, list | tuple) and any(np.ndim(_postures(part)) == 2 for part in have):
        parts = list(have)
    campaigns = [_part(part, kind, mechanism) for part in parts]
    q = np.concatenate([np.zeros((0, mechanism.n_q)), *(part.q for part, _ in campaigns)])
    groups = tuple(group for part, _ in campaigns for group in part.groups)
    if groups and len(groups) != len(q):
        raise ShapeError(f"{len(q)} postures have {len(groups)} groups", element="have")
    return Campaign(kind, q, groups=groups, name="have"), [note for _, notes in campaigns for note in notes]


def _postures(part: ArrayLike | Campaign | Plan) -> ArrayLike:
    return part.q if isinstance(part, Campaign | Plan) else part


def _part(part: ArrayLike | Campaign | Plan, kind: Measurement, mechanism: Mechanism) -> tuple[Campaign, list[str]]:
    q = mechanism.checked_q(np.atleast_2d(_postures(part)), "have")
    if q.ndim != 2:
        raise ShapeError(f"has shape {q.shape}", element="have", remedy=f"Give (postures, {mechanism.n_q}) numbers")
    finite = np.isfinite(q).all(axis=1)
    if not isinstance(part, Campaign):
        if not finite.all():
            raise ShapeError("has numbers that are not finite", element="have")
        return Campaign(kind, q, groups=part.groups if isinstance(part, Plan) else ()), []
    if type(part.measurement) is not type(kind):
        raise ZvenoError(
            f"was measured by {part.measurement.kind}, the plan is for {kind.kind}",
            element=part.name or "have",
            remedy="Plan with the same kind of measurement",
        )
    y = np.zeros((len(q), 1)) if part.y is None else np.asarray(part.y, dtype=float).reshape(len(q), -1)
    counts = finite & np.isfinite(y).any(axis=1)
    lines = part.lines if len(part.lines) == len(q) else np.arange(1, len(q) + 1)
    notes = [f"{part.said_of_rows(lines[~counts], 'have no posture or no reading')}: not counted"]
    kept = replace(part, q=q, y=y, lines=lines).only(counts)
    return kept, [] if counts.all() else notes
