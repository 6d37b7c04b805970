"""Previously measured postures, which a plan completes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoError
from ...mechanism import Mechanism
from ..measurements import Measurement
from ..measurements.campaigns import Dataset
from .result import MeasurementPlan

Earlier = ArrayLike | Dataset | MeasurementPlan | Sequence["ArrayLike | Dataset | MeasurementPlan"]
"""Postures (n, n_q), a campaign or plan of them, or several of these."""


def measured_before(have: Earlier | None, kind: Measurement, mechanism: Mechanism) -> tuple[Dataset, list[str]]:
    """Return earlier postures as one campaign without readings, and notes on rows that do not count.

    Args:
        have: postures (n, n_q), a Dataset, a Plan, several of them in a list, or None.
        kind: kind of measurement; a campaign of another kind raises an error.
        mechanism: the robot's.
    """
    parts: list[Any] = [] if have is None else [have]
    if isinstance(have, list | tuple) and any(np.ndim(_postures(part)) == 2 for part in have):
        parts = list(have)
    campaigns = [_part(part, kind, mechanism) for part in parts]
    q = np.concatenate([np.zeros((0, mechanism.n_q)), *(part.q for part, _ in campaigns)])
    groups = tuple(group for part, _ in campaigns for group in part.groups)
    if groups and len(groups) != len(q):
        raise ShapeError(f"{len(q)} postures have {len(groups)} groups", element="existing")
    return Dataset(kind, q, groups=groups, name="existing"), [note for _, notes in campaigns for note in notes]


def _postures(part: ArrayLike | Dataset | MeasurementPlan) -> ArrayLike:
    return part.q if isinstance(part, Dataset | MeasurementPlan) else part


def _part(
    part: ArrayLike | Dataset | MeasurementPlan, kind: Measurement, mechanism: Mechanism
) -> tuple[Dataset, list[str]]:
    q = mechanism.checked_q(np.atleast_2d(_postures(part)), "existing")
    if q.ndim != 2:
        raise ShapeError(
            f"has shape {q.shape}", element="existing", remedy=f"Give (postures, {mechanism.n_q}) numbers"
        )
    finite = np.isfinite(q).all(axis=1)
    if not isinstance(part, Dataset):
        if not finite.all():
            raise ShapeError("has numbers that are not finite", element="existing")
        return Dataset(kind, q, groups=part.groups if isinstance(part, MeasurementPlan) else ()), []
    if type(part.measurement) is not type(kind):
        raise ZvenoError(
            f"was measured by {part.measurement.kind}, the plan is for {kind.kind}",
            element=part.name or "have",
            remedy="Plan with the same kind of measurement",
        )
    y = np.zeros((len(q), 1)) if part.y is None else np.asarray(part.y, dtype=float).reshape(len(q), -1)
    counts = finite & np.isfinite(y).any(axis=1)
    lines = part.lines if len(part.lines) == len(q) else np.arange(1, len(q) + 1)
    unused = part.said_of_rows(lines[~counts], "have no posture or no reading")
    if len(q) and not counts.any():
        raise ZvenoError(f"all {unused}", element="existing", remedy="Give measured postures, or plan without them")
    notes = [f"{unused}: not counted"]
    kept = replace(part, q=q, y=y, lines=lines).only(counts)
    return kept, [] if counts.all() else notes
