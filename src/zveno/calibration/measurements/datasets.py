"""Data sets: readings with their postures; unusable rows are left out and reported."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from ...errors import ShapeError, ZvenoWarning, first_of
from ...io.results import registered
from ...mechanism import Mechanism
from ...mechanism.units import coordinate_units
from .._closing import closed_postures
from ..models import redundant_model
from . import Measurement, measurement
from .base import Remark

FAR = 80.0
"""Distance from the other readings, in units of the robot's size, beyond which a reading is not of this robot."""
MOVED = 1e-6
"""Change, rad or m, below which a coordinate has not moved."""


@registered
@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Measurements of one kind with their postures.

    Attributes:
        measurement: kind of measurement, or its name.
        q: joint coordinates, (n, n_q), rad and m.
        y: readings, in the shape that the kind requires; NaN where a number is missing; None for contacts.
        groups: a name for every posture, for kinds whose target depends on it (the socket it sits in).
        name: name of the data set.
        lines: row numbers the postures had when they were given, from 1; lines of `file` where there is one.
        file: source file.
        approach: sign of every coordinate's last motion before it was measured, (n, n_q), 0 where it is not known;
            if None, rows are taken to be in the order in which they were measured.
        account: interpretation of the columns of its file.
    """

    measurement: Measurement
    q: np.ndarray
    y: np.ndarray = None  # type: ignore[assignment]  (made by `prepared`)
    groups: tuple[str, ...] = ()
    name: str = ""
    lines: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=int))
    account: tuple[str, ...] = ()
    approach: np.ndarray | None = None
    file: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "measurement", measurement(self.measurement))

    def __len__(self) -> int:
        return len(self.q)

    def __repr__(self) -> str:
        return f"<Dataset {self.name or 'without a name'}: {len(self)} postures, kind {self.measurement.kind}>"

    @classmethod
    def unread(
        cls,
        kind: Measurement,
        q: np.ndarray,
        groups: Sequence[str] = (),
        name: str = "",
        approach: np.ndarray | None = None,
    ) -> Dataset:
        """Return a prepared data set of postures (n, n_q) that could be measured, with zeros as readings."""
        n = len(q)
        named = tuple(groups) if len(groups) or kind.grouped is None else ("",) * n
        y, lines = np.zeros((n, kind.n_seen, kind.n_data)), np.arange(1, n + 1)
        approach = np.zeros_like(q) if approach is None else approach
        return cls(kind, q, y, named, name or kind.kind, lines, approach=approach)

    def said_of_rows(self, rows: np.ndarray, words: str) -> str:
        """Return words about rows, by `lines`: `data.csv: lines 3, 5 have no reading`, `tracker: row 3 has …`."""
        where = f"{Path(self.file).name}: line" if self.file else f"{self.name}: row"
        several = len(rows) > 1
        verb, _, rest = words.partition(" ")
        verb = verb if several else {"have": "has", "are": "is", "repeat": "repeats"}.get(verb, verb)
        return f"{where}{'s' if several else ''} {first_of(rows, 8)} {verb} {rest}"

    def only(self, rows: ArrayLike) -> Dataset:
        """Return the campaign with some of its postures (numbers or booleans)."""
        chosen = np.asarray(rows)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else chosen
        groups = tuple(self.groups[k] for k in chosen) if self.groups else ()
        y = None if self.y is None else self.y[chosen]
        lines = self.lines[chosen] if len(self.lines) else chosen + 1
        approach = (in_order(self.q) if self.approach is None else self.approach)[chosen]
        return replace(self, q=self.q[chosen], y=y, groups=groups, lines=lines, approach=approach)


def in_order(q: np.ndarray) -> np.ndarray:
    """Return the sign of the last motion of every coordinate (n, n_q) for postures measured in this order.

    A coordinate that has not moved keeps its sign; the first posture, and NaN, has none.
    """
    q = np.atleast_2d(np.asarray(q, dtype=float))
    columns = np.arange(q.shape[1])
    known = np.where(np.isfinite(q), q, np.nan)
    last = known[_latest(np.isfinite(q)), columns]  # where it was read last
    step = np.zeros_like(q)
    step[1:] = np.nan_to_num(q[1:] - last[:-1])
    return np.sign(step)[_latest(abs(step) > MOVED), columns]


def _latest(true: np.ndarray) -> np.ndarray:
    """Return the number of the last row up to each in which the condition was true, (n, k); 0 for none."""
    return np.maximum.accumulate(np.where(true, np.arange(len(true))[:, None], 0), axis=0)


def sides(mechanism: Mechanism, approach: np.ndarray | None, n: int) -> np.ndarray:
    """Return the sign of the last motion of joints with one coordinate, (n, n_v), from coordinates (n, n_q)."""
    side = np.zeros((n, mechanism.n_v))
    if approach is not None:
        for name, place in mechanism.q_slices.items():
            if place.stop == place.start + 1:
                side[:, mechanism.v_slices[name].start] = approach[:, place.start]
    return side


def prepared(campaigns: Dataset | Sequence[Dataset], mechanism: Mechanism) -> tuple[list[Dataset], list[str]]:
    """Return campaigns with checked arrays and without unusable rows, and notes that state which and why."""
    given = [campaigns] if isinstance(campaigns, Dataset) else list(campaigns)
    if not given:
        raise ShapeError("there are no measurements", element="data", remedy="Give a Dataset or a list of them")
    for campaign in given:
        if not isinstance(campaign, Dataset):
            raise ShapeError(
                f"a {type(campaign).__name__} is not a dataset",
                element="data",
                remedy="Give a Dataset, or what read_dataset(file, robot) returns",
            )
    ready, notes, remarks = [], [], []
    seen: dict[tuple, str] = {}
    for number, campaign in enumerate(given, start=1):
        name = campaign.name or (f"campaign {number}" if len(given) > 1 else campaign.measurement.kind)
        checked, words = _prepared(replace(campaign, name=name), mechanism)
        notes += words
        earlier = [seen.get(key, "") for key in _keys(checked)]
        seen |= dict.fromkeys(_keys(checked), Path(checked.file).name or checked.name)
        for other in dict.fromkeys(filter(None, earlier)):
            rows = np.array([source == other for source in earlier])
            gone = "they are left out" if rows.sum() > 1 else "it is left out"
            notes.append(f"{checked.said_of_rows(checked.lines[rows], f'repeat rows of {other}')}; {gone}")
        if all(earlier):
            continue
        checked = checked.only([not source for source in earlier])
        ready.append(checked)
        remarks += _outside_limits(checked, mechanism)
    for note in notes:
        warnings.warn(note, ZvenoWarning, stacklevel=3)
    return ready, [line for campaign in given for line in campaign.account] + notes + remarks


def _prepared(campaign: Dataset, mechanism: Mechanism) -> tuple[Dataset, list[str]]:
    q = mechanism.checked_q(campaign.q)
    if q.ndim != 2 or not len(q):
        raise ShapeError(f"has shape {q.shape}", element="q", remedy=f"Give (postures, {mechanism.n_q}) numbers")
    q, closed = closed_postures(mechanism, q)
    n = len(q)
    if len(campaign.groups):
        campaign = replace(campaign, measurement=campaign.measurement.with_groups(map(str, campaign.groups)))
    y, remarks = campaign.measurement.data(campaign.y, n)
    groups = _groups(campaign, n)
    lines = campaign.lines if len(campaign.lines) == n else np.arange(1, n + 1)
    kind, y, copies = campaign.measurement.without_copies(y)
    campaign = replace(campaign, measurement=kind)
    notes = [
        f"{campaign.name}: point {copy + 1} has the same readings as point {first + 1}; it is left out"
        for copy, first in copies
    ]
    endless = np.asarray(np.isinf(y).any(axis=(1, 2)))
    remarks = [*remarks, Remark(endless, "have infinite readings, which are taken for missing", left_out=False)]
    y = np.where(np.isfinite(y), y, np.nan)
    notes += [
        campaign.said_of_rows(lines[remark.rows], remark.words)
        for remark in remarks
        if remark.rows.any() and not remark.left_out
    ]
    keep = np.ones(n, dtype=bool)
    for bad, why in (
        (~np.isfinite(q).all(axis=1), "have joint values that are not finite"),
        (~closed, "have motor values at which the loops do not close"),
        *((remark.rows, remark.words) for remark in remarks if remark.left_out),
        _out_of_reach(campaign.measurement, q, y, mechanism),
        (~np.isfinite(y).any(axis=(1, 2)), "have no reading"),
        (_repeated(replace(campaign, q=q, y=y, groups=groups)), "repeat an earlier row"),
    ):
        rows = lines[bad & keep]
        if len(rows):
            gone = "they are left out" if len(rows) > 1 else "it is left out"
            notes.append(f"{campaign.said_of_rows(rows, why)}; {gone}")
            keep &= ~bad
    if not keep.any():
        raise ShapeError("has no usable row", element=campaign.name, remedy=notes[-1] if notes else None)
    whole = replace(campaign, q=q, y=y, groups=groups, lines=lines, approach=_approach(campaign, q))
    return whole.only(keep), notes


def _out_of_reach(kind: Measurement, q, y: np.ndarray, mechanism: Mechanism) -> tuple[np.ndarray, str]:
    """Find single rows too far from the others for a robot of this size; none if most rows are."""
    none = np.zeros(len(y), dtype=bool)
    if kind.implicit or kind.noises[0].unit != "m" or len(y) < 3:
        return none, ""
    positions = y[..., kind.noises[0].rows]
    seen = np.isfinite(positions).all(axis=(1, 2))
    if seen.sum() < 3:
        return none, ""
    away = np.linalg.norm(positions - np.median(positions[seen], axis=0), axis=2).max(axis=1)
    model = redundant_model(mechanism, kind.frames)
    slid = sum(float(np.ptp(q[seen, move.position.start])) for move in model.moves if move.sigma == 0)
    limit = FAR * (model.scale + 0.5 * np.nan_to_num(slid))
    if float(np.median(away[seen])) > 0.1 * limit:  # most are that far: another unit, or another robot
        return none, ""
    far = np.nan_to_num(away, nan=0.0) > limit
    return far, f"have readings more than {limit:.0f} m from the others, where no robot of this size gets"


def _outside_limits(campaign: Dataset, mechanism: Mechanism) -> list[str]:
    """Return notes about joint values outside the limits; they are used all the same."""
    out = (campaign.q < mechanism.lower - 1e-3) | (campaign.q > mechanism.upper + 1e-3)
    remarks, units = [], coordinate_units(mechanism)
    for k in np.flatnonzero(out.any(axis=0)):
        rows, name = campaign.lines[out[:, k]], mechanism.coordinate_names[k]
        limits = f"{mechanism.lower[k]:.4g} to {mechanism.upper[k]:.4g} {units[k]}".rstrip()
        remarks.append(campaign.said_of_rows(rows, f"have {name} outside its limits, {limits}"))
    return remarks


def _approach(campaign: Dataset, q: np.ndarray) -> np.ndarray:
    if campaign.approach is None:
        return in_order(q)
    try:
        given = np.asarray(campaign.approach, dtype=float)
    except (TypeError, ValueError):
        given = np.zeros(0)
    if given.shape != q.shape or not np.isin(np.nan_to_num(given), (-1.0, 0.0, 1.0)).all():
        raise ShapeError("is not -1, 0 or 1 for every coordinate", element="approach", remedy=f"Give {q.shape}")
    return np.nan_to_num(given)


def _groups(campaign: Dataset, n: int) -> tuple[str, ...]:
    if campaign.measurement.grouped is None and not len(campaign.groups):
        return ()
    if not len(campaign.groups):
        return ("",) * n
    if len(campaign.groups) != n:
        raise ShapeError(
            f"has {len(campaign.groups)} entries for {n} postures",
            element="groups",
            remedy="Give one group per configuration",
        )
    return tuple(str(group) for group in campaign.groups)


def _repeated(campaign: Dataset) -> np.ndarray:
    """Find rows equal in every number to an earlier one: copies, not repeated measurements."""
    first: dict[tuple, int] = {}
    return np.array([first.setdefault(key, k) < k for k, key in enumerate(_keys(campaign))])


def _keys(campaign: Dataset) -> list[tuple]:
    """Return all measured values of every row as keys: rows with equal keys are copies."""
    groups = campaign.groups or ("",) * len(campaign)
    rows = zip(campaign.q, campaign.y, groups, strict=True)
    return [(repr(campaign.measurement), q.tobytes(), y.tobytes(), group) for q, y, group in rows]
