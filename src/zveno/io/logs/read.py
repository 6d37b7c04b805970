"""Readers of logs: files by suffix, several files joined by row or time, one log or several."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...mechanism import Mechanism
from ..tables import TURNS
from ._bags import is_bag, read_bag_table
from ._columns import Chosen, Column, ColumnsOf, choose_columns
from ._tables import LogTable, read_array_table, read_parquet_table, read_text_table
from ._units import UnitsOf, checked_units, joint_side, time_factor, unit_factor, unit_words
from .log import KEPT_BYTES, Log, LogBlock, RawRows, assembled_log, log_joints, with_account

if TYPE_CHECKING:
    from ...robot import Robot

RATES = (1e-3, 1e9)
"""Lowest and highest sampling rate, Hz."""
PathLike = str | os.PathLike[str]


def open_table(path: PathLike, topic: str | None = None) -> LogTable:
    """Open the table of a log file, by its suffix; `topic` is that of a bag."""
    if not isinstance(path, (str, os.PathLike)):
        raise ModelError(f"{path!r} is not the path of a file", remedy="Give a path as text or pathlib.Path")
    place = Path(path)
    suffix = place.suffix.lower()
    if is_bag(place):
        return read_bag_table(place, topic)
    if suffix in (".parquet", ".pq"):
        return read_parquet_table(place)
    if suffix in (".npz", ".mat"):
        return read_array_table(place, suffix)
    return read_text_table(place)


Rows = tuple[np.ndarray, "np.ndarray | None", dict[str, np.ndarray]]
"""(m,) lines, (m,) s or None without a clock, and (m, n) recorded values of every role."""


class LogRows:
    """Rows of a log, which can be read repeatedly.

    Args:
        tables: its files.
        chosen: the columns that are read.
        timed: True to use their time columns.
        time_unit: unit of time given by the user.
    """

    tables: Sequence[LogTable]
    chosen: Chosen
    time_unit: str | float | Sequence[str] | None
    times: list[list[Column]]

    def __init__(
        self, tables: Sequence[LogTable], chosen: Chosen, timed: bool, time_unit: str | float | Sequence[str] | None
    ) -> None:
        self.tables, self.chosen, self.time_unit = tables, chosen, time_unit
        self.times = [[column for column in chosen.time if timed and column.table == k] for k in range(len(tables))]
        self._factors: dict[int, float] = {}

    def __iter__(self) -> Iterator[Rows]:
        if len(self.tables) == 1:
            return self._pieces(0)
        return iter((self._merged([self._whole(k) for k in range(len(self.tables))]),))

    @property
    def time_words(self) -> str:
        """Units of time other than seconds, as read so far: "time in milliseconds"; "" if there are none."""
        words = [unit_words(factor, False, "time") for factor in self._factors.values() if factor != 1.0]
        return f"time in {', '.join(dict.fromkeys(words))}" if words else ""

    def _pieces(self, number: int) -> Iterator[Rows]:
        clock = [column.index for column in self.times[number]]
        places = {
            role: [column.index for column in columns if column.table == number]
            for role, columns in self.chosen.roles.items()
        }
        indices = [*clock, *(index for its in places.values() for index in its)]
        if not indices:
            return
        for lines, values in self.tables[number].pieces(indices):
            at, parts = len(clock), {}
            for role, its in places.items():
                parts[role] = values[:, at : at + len(its)]
                at += len(its)
            yield lines, self._seconds(values[:, : len(clock)], number), parts

    def _seconds(self, time: np.ndarray, number: int) -> np.ndarray | None:
        """Return (m,) s from a file's time column; None if it has none."""
        columns = self.times[number]
        if not columns:
            return None
        if number not in self._factors:
            unit = self.time_unit or columns[0].unit or self.tables[number].units.get(columns[0].name)
            finite = time[:, 0][np.isfinite(time[:, 0])]
            usual = float(np.median(finite)) if len(finite) else 0.0
            self._factors[number] = unit_factor("time", False, unit) if unit else time_factor(usual)
        with np.errstate(over="ignore"):
            return time[:, 0] * self._factors[number]

    def _whole(self, number: int) -> Rows | None:
        """Return all rows of a file; None if no column is read."""
        pieces, size = [], 0
        for piece in self._pieces(number):
            pieces.append(piece)
            size += sum(part.nbytes for part in piece[2].values())
            if size > KEPT_BYTES:
                raise ModelError(
                    f"more than {KEPT_BYTES // 2**20} MB are to be put together from several files",
                    file=Path(self.tables[number].file).name,
                    remedy="Write the parts of a large recording into one file, CSV or Parquet",
                )
        if not pieces:
            return None
        lines, times, parts = zip(*pieces, strict=True)
        values = {role: np.concatenate([part[role] for part in parts]) for role in parts[0]}
        return np.concatenate(lines), None if times[0] is None else np.concatenate(times), values

    def _merged(self, files: Sequence[Rows | None]) -> Rows:
        """Join the rows of several files, by linear interpolation in time if their clocks differ."""
        first = self.chosen.roles["position"][0].table
        names = [Path(table.file).name for table in self.tables]
        main = files[first]
        if main is None:
            raise ModelError("has no rows", file=names[first], remedy="Give a recording with rows")
        lines, seconds, _ = main
        if seconds is None:  # any clock will do where rows stand side by side
            seconds = next(
                (rows[1] for rows in files if rows and rows[1] is not None and len(rows[1]) == len(lines)), None
            )
        values: dict[tuple[int, str], np.ndarray] = {}
        for number, rows in enumerate(files):
            if rows is None:
                continue
            times = rows[1]
            same = len(rows[0]) == len(lines) and (seconds is None or times is None or _same(times, seconds))
            if not same and (seconds is None or times is None):
                raise ModelError(
                    f"has {len(rows[0])} rows, and {names[first]} has {len(lines)}",
                    file=names[number],
                    remedy="Files of one recording need as many rows, or columns of time",
                )
            for role, part in rows[2].items():
                if part.shape[1]:
                    values[number, role] = part if same else _at_times(part, times, seconds)
        return lines, seconds, {role: self._columns(role, values) for role in self.chosen.roles}

    def _columns(self, role: str, values: dict[tuple[int, str], np.ndarray]) -> np.ndarray:
        """Return the columns of a role in the order of the joints, whatever file they are in."""
        used: dict[int, int] = {}
        columns = []
        for column in self.chosen.roles[role]:
            place = used.get(column.table, 0)
            columns.append(values[column.table, role][:, place])
            used[column.table] = place + 1
        return np.stack(columns, axis=1)


def _same(times: np.ndarray, others: np.ndarray) -> bool:
    return bool(np.allclose(times, others, rtol=0.0, atol=1e-6, equal_nan=True))


def _at_times(values: np.ndarray, times: np.ndarray | None, wanted: np.ndarray | None) -> np.ndarray:
    """Interpolate (m, n) values at other times, NaN outside; rows whose time goes back are dropped first."""
    assert times is not None
    assert wanted is not None
    good = np.isfinite(times) & np.isfinite(values).all(axis=1)
    t, x = times[good], values[good]
    if not len(t):
        return np.full((len(wanted), values.shape[1]), np.nan)
    forward = np.concatenate(([True], t[1:] > np.maximum.accumulate(t)[:-1]))
    t, x = t[forward], x[forward]
    return np.stack([np.interp(wanted, t, column, np.nan, np.nan) for column in x.T], axis=1)


_GRIPPER = re.compile(r"finger|gripper|hand|knuckle|claw|jaw", re.IGNORECASE)


def read_log(
    path: PathLike | Sequence[PathLike],
    robot: Robot | Mechanism,
    *,
    columns: ColumnsOf | None = None,
    units: UnitsOf | None = None,
    gains: float | Sequence[float] | Mapping[str, float] | None = None,
    offsets: float | Sequence[float] | Mapping[str, float] | None = None,
    side: str = "joint",
    gears: float | Sequence[float] | Mapping[str, float] | None = None,
    rate: float | None = None,
) -> Log:
    """Read a log of a robot's motion; `print(log)` shows the roles of its columns and the omissions.

    Args:
        path: a file: CSV (.csv, .tsv, .txt), Parquet, .npz, .mat up to version 7, a bag of ROS 1 or 2, or MCAP with
            joint states; or several files that hold parts of one recording.
        robot: whose motion it is.
        columns: roles of columns, if their names do not tell: {"time": "t_msg", "position": "q_*",
            "torque": ["tau_a", "tau_b"], "velocity": None}; * stands for the joint or its number. "topic" names the
            topic of a bag.
        units: {"position": "deg", "time": "ms", …} if the names do not tell; else rad, m, s, N·m, N, A.
        gains: torque per recorded value, for all joints, for each, or by name: N·m/A for currents.
        offsets: added to the positions of the joints, rad and m.
        side: "motor" where positions, velocities and torques are those of the motors: the robot's transmission
            turns them into those of the joints.
        gears: motor turns per joint turn (rad per metre for a prismatic joint), for side="motor" if the model has
            no transmission; for all joints, for each, or by name.
        rate: sampling rate, Hz, if there is no time column.
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise ModelError("no file was given", element="path", remedy="Give a path, or a list of paths")
    options = dict(columns or {})
    topic = options.pop("topic", None)
    tables = [open_table(each, None if topic is None else str(topic)) for each in paths]
    mechanism = robot if isinstance(robot, Mechanism) else robot.mechanism
    again = Again(
        tuple(os.path.abspath(each) for each in paths),
        mechanism,
        {
            "columns": columns,
            "units": units,
            "gains": gains,
            "offsets": offsets,
            "side": side,
            "gears": gears,
            "rate": rate,
        },
    )
    return _log(tables, mechanism, options, units, gains, offsets, side, gears, rate, again)


@dataclass(frozen=True, eq=False)
class Again:
    """Reader that another process uses to read the files again.

    Attributes:
        paths: absolute.
        mechanism: whose motion it is.
        options: of `read_log`.
    """

    paths: tuple[str, ...]
    mechanism: Mechanism
    options: dict[str, Any]

    def __call__(self) -> Iterator[LogBlock]:
        """Yield the rows from the beginning."""
        return read_log(self.paths, self.mechanism, **self.options).blocks()


def read_logs(
    paths: Sequence[PathLike],
    robot: Robot | Mechanism,
    *,
    columns: ColumnsOf | None = None,
    units: UnitsOf | None = None,
    gains: float | Sequence[float] | Mapping[str, float] | None = None,
    offsets: float | Sequence[float] | Mapping[str, float] | None = None,
    side: str = "joint",
    gears: float | Sequence[float] | Mapping[str, float] | None = None,
    rate: float | None = None,
) -> list[Log]:
    """Read several logs; files that hold a part only, such as the positions, are joined with the next ones.

    Args:
        paths: the files.
        robot: whose motion they are.
        columns, units, gains, offsets, side, gears, rate: as for `read_log`.
    """
    mechanism = robot if isinstance(robot, Mechanism) else robot.mechanism
    said = {key: value for key, value in (columns or {}).items() if key != "topic"}
    groups: list[list[PathLike]] = []
    waiting: list[tuple[PathLike, LogTable]] = []
    for path in paths:
        topic = (columns or {}).get("topic")
        table = open_table(path, None if topic is None else str(topic))
        for together in ([(path, table)], [*waiting, (path, table)]):
            if _is_complete([each for _, each in together], mechanism, said):
                groups.append([each for each, _ in together])
                if len(together) > 1:
                    waiting = []
                break
        else:
            waiting.append((path, table))
    if waiting:
        groups.append([each for each, _ in waiting])
    return [
        read_log(
            group,
            robot,
            columns=columns,
            units=units,
            gains=gains,
            offsets=offsets,
            side=side,
            gears=gears,
            rate=rate,
        )
        for group in groups
    ]


def _is_complete(tables: Sequence[LogTable], mechanism: Mechanism, said: ColumnsOf) -> bool:
    try:
        _chosen(tables, mechanism, said)
    except ModelError:
        return False
    return True


def _log(tables, mechanism: Mechanism, columns, units, gains, offsets, side, gears, rate, again: Again) -> Log:
    decided = [note for table in tables for note in table.notes]
    try:
        chosen = _chosen(tables, mechanism, columns)
    except ModelError as error:
        raise ModelError(
            error.problem, file=error.file, element=error.element, remedy=with_account(error.remedy, decided)
        ) from None
    source = " + ".join(Path(table.file).name for table in tables)
    if "current" in chosen.roles and gains is None:
        raise ModelError(
            f"{chosen.roles['current'][0].name} … are currents",
            file=source,
            remedy="Give gains, N·m/A (--gains); 1 if they are torques",
        )
    turned = joint_side(mechanism, chosen.joint_names, side, gains, offsets, gears)
    account = [*decided, *chosen.account]
    said = checked_units(units)
    slides = [mechanism.joint(name).type.units[0] == "m" for name in chosen.joint_names]
    factors, words = _factors(chosen, tables, said, slides)
    account += words
    if side == "motor":
        how = "the robot's transmission" if gears is None else "the gears that are given"
        account.append(f"motors are turned into joints by {how}")
    if rate is not None and not RATES[0] <= rate <= RATES[1]:
        raise ModelError(
            f"a rate of {rate} samples per second is not possible",
            element="rate",
            remedy=f"Give {RATES[0]:g} to {RATES[1]:g} Hz",
        )
    if not chosen.time and rate is None:
        raise ModelError(
            "has no column of time",
            file=source,
            remedy="Give the samples per second, rate=500 (--rate 500), or say columns={'time': …}",
        )
    recorded = LogRows(tables, chosen, rate is None, said.get("time"))
    if rate is not None:
        account.append(f"time: {rate:g} samples per second, as said")
    turning = np.array(
        [mechanism.joint(name).type.kind == "revolute" for name in chosen.joint_names], dtype=bool
    ) & ~np.array(slides, dtype=bool)
    check = None if "position" in said or any(column.unit for column in chosen.roles["position"]) else turning

    def rows() -> Iterator[RawRows]:
        done = 0
        for lines, seconds, values in recorded:
            with np.errstate(over="ignore", invalid="ignore"):
                scaled = {
                    role: values[role] if (factors[role] == 1.0).all() else values[role] * factors[role]
                    for role in chosen.roles
                }
            t = seconds if rate is None else (done + np.arange(len(lines))) / rate
            assert t is not None
            q = turned.position(scaled["position"])
            if check is not None and not done:
                _check_turns(q, check, chosen, source)
            v = turned.velocity(scaled["velocity"]) if "velocity" in scaled else None
            done += len(lines)
            yield RawRows(lines, t, q, v, turned.torques(scaled["current" if "current" in scaled else "torque"]))

    log = assembled_log(chosen.joint_names, source, account, rows, again)
    if not recorded.time_words:
        return log
    return replace(log, account=(*account, recorded.time_words, *log.account[len(account) :]))


def _chosen(tables: Sequence[LogTable], mechanism: Mechanism, columns: ColumnsOf) -> Chosen:
    joints = log_joints(mechanism)
    return choose_columns(
        [table.names for table in tables],
        [Path(table.file).name for table in tables],
        joints,
        columns,
        _counts(mechanism, joints),
    )


def _counts(mechanism: Mechanism, joints: Sequence[str]) -> set[int]:
    """Return the possible numbers of joints in numbered columns: all, or those before a gripper at the end."""
    n = len(joints)
    while n > 1 and (_GRIPPER.search(joints[n - 1]) or mechanism.joint(joints[n - 1]).type.units[0] == "m"):
        n -= 1
    return {n, len(joints)}


def _factors(chosen: Chosen, tables, said, slides) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return (factor to SI units of every column by role, texts about the units)."""
    factors, words = {}, []
    for role, columns in chosen.roles.items():
        made = []
        for column, sliding in zip(columns, slides, strict=True):
            table = tables[column.table]
            inside = (
                table.settings.get("unit" if sliding else "angle", "") if role in ("position", "velocity") else ""
            )
            made.append(
                unit_factor(role, sliding, said.get(role), column.unit, table.units.get(column.name), inside)
            )
        factors[role] = np.array(made)
        if any(factor != 1.0 for factor in made):
            units = [unit_words(factor, sliding, role) for factor, sliding in zip(made, slides, strict=True)]
            words.append(f"{role} in {', '.join(dict.fromkeys(units))}")
    return factors, words


def _check_turns(q: np.ndarray, turning: np.ndarray, chosen: Chosen, source: str) -> None:
    """Refuse angles beyond any joint's range if their unit is not given."""
    for k in np.flatnonzero(turning):
        sizes = abs(q[:, k][np.isfinite(q[:, k])])
        usual = float(np.quantile(sizes, 0.8)) if len(sizes) else 0.0
        if usual > TURNS:
            raise ModelError(
                f"reaches {usual:.4g} rad, more than a joint turns",
                file=source,
                element=f"column {chosen.roles['position'][k].name}",
                remedy="If it is in degrees, say units={'position': 'deg'} (--units position=deg); if it is the "
                "motor's, side='motor' (--side motor); or say 'rad' if it is right",
            )
