"""Choice of the log columns to read and their roles, by the words in their names or given by the user."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import translate
from glob import escape
from itertools import takewhile
from pathlib import PurePath
from re import compile as pattern_of

from ...errors import ModelError, first_of
from ..expressions import nearest_of
from ..tables import plain_word, split_unit
from ._units import RATES, SUITABLE, UNITS

ColumnsOf = Mapping[str, "str | Sequence[str] | Mapping[str, str] | None"]
"""Argument: columns by role (time, position, velocity, torque, current): the time's name; a name with * for the
joint or its number; names in the order of the joints; names by joint; or None for a role that is not read."""
NONE = (None, "none", "")


@dataclass(frozen=True)
class Column:
    """Column of one of the files of a log: its index, its name, and the unit in its name."""

    table: int
    index: int
    name: str
    unit: str = ""


@dataclass(frozen=True)
class Chosen:
    """Chosen columns of a log.

    Attributes:
        joint_names: joints with a column for every role that is read, in the robot's order.
        time: the column of the time in every file that has one.
        roles: a column for every joint, by role: position, torque or current, and velocity if there is one.
        account: import summary, in sentences.
    """

    joint_names: tuple[str, ...]
    time: tuple[Column, ...]
    roles: dict[str, tuple[Column, ...]]
    account: tuple[str, ...]


@dataclass
class _Family:
    """Columns that differ in the joint only, as joint → column."""

    role: str
    table: int
    measured: bool
    columns: dict[str, Column] = field(default_factory=dict)

    @property
    def words(self) -> str:
        names = [column.name for column in self.columns.values()]
        return ", ".join(names) if len(names) <= 3 else f"{names[0]}, {names[1]} … {names[-1]}"

    @property
    def pattern(self) -> str:
        """Pattern of all names for `columns`, with * where they differ."""
        names = [column.name for column in self.columns.values()]
        begin = _shared(names)
        end = _shared([name[len(begin) :][::-1] for name in names])[::-1]
        return f"{escape(begin)}*{escape(end)}"


def _shared(words: Sequence[str]) -> str:
    """Return the common prefix of all words."""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*words, strict=False))
    return "".join(letters[0] for letters in same)


def choose_columns(
    tables: Sequence[Sequence[str]],
    files: Sequence[str],
    joint_names: Sequence[str],
    columns: ColumnsOf | None = None,
    counts: Container[int] | None = None,
) -> Chosen:
    """Choose the columns to read.

    Args:
        tables: names of the columns of every file.
        files: the files.
        joint_names: joints that may have been recorded, in the robot's order.
        columns: given by the user.
        counts: possible numbers of joints in numbered columns, from the first joint; all by default.
    """
    counts = (len(joint_names),) if counts is None else counts
    said = dict(columns or {})
    for role in said:
        if role not in ROLES:
            raise ModelError(f"{role!r} is nothing that is read", element="columns", remedy=nearest_of(role, ROLES))
    guesses = [[guessed(name, joint_names) for name in names] for names in tables]
    families, misfits = _families(tables, files, joint_names, guesses, counts)
    time = _time(tables, guesses, said)
    roles: dict[str, dict[str, Column]] = {}
    unread: list[str] = []
    for role in ROLES[1:]:
        if role in said:
            if said[role] not in NONE:
                roles[role] = _said(said[role], role, tables, joint_names)
            continue
        candidates = [family for family in families if family.role == role]
        best = _best(candidates, role, files)
        if best is not None:
            roles[role] = best.columns
            unread += [family.words for family in candidates if family is not best]
    if "torque" in roles and "current" in roles:
        if "current" in said:
            raise ModelError(
                "both torques and currents are given", element="columns", remedy="Say torque=none to read currents"
            )
        unread.append(", ".join(column.name for column in roles.pop("current").values()))
    return _checked(roles, time, unread, joint_names, tables, files, misfits)


def _families(
    tables, files, joint_names, guesses: list[list[Guess]], counts: Container[int]
) -> tuple[list[_Family], list[str]]:
    """Return (families of columns of one role, those whose numbers do not count the joints from 0 or 1)."""
    families: list[_Family] = []
    misfits: list[str] = []
    for number, (names, its) in enumerate(zip(tables, guesses, strict=True)):
        groups: dict[tuple[str, str, bool], list[tuple[int, Guess]]] = {}
        for index, guess in enumerate(its):
            if guess.role in ("", "position", "velocity", "torque", "current"):
                groups.setdefault((guess.role, guess.family, guess.joint is not None), []).append((index, guess))
        alone = len({role for role, _, _ in groups}) == 1
        for (role, _, by_name), members in groups.items():
            if not role:
                # Columns that only name joints are what the file's name says, or positions beside others.
                role = (role_of_file(files[number]) if alone else "") or "position"
            if by_name:
                meant = {str(guess.joint): index for index, guess in members}
            else:
                counted = {int(guess.number or 0): index for index, guess in members}
                first = 0 if 0 in counted else 1
                if sorted(counted) != list(range(first, first + len(counted))) or len(counted) not in counts:
                    shown = [names[index] for index, _ in members]
                    misfits.append(f"{shown[0]} … {shown[-1]}: {len(shown)} columns")
                    continue
                meant = {joint_names[k - first]: index for k, index in counted.items()}
            made = _Family(role, number, any(guess.measured for _, guess in members))
            for joint in joint_names:
                if joint in meant:
                    index = meant[joint]
                    made.columns[joint] = Column(number, index, names[index], its[index].unit)
            families.append(made)
    return families, misfits


def _best(candidates: list[_Family], role: str, files: Sequence[str]) -> _Family | None:
    """Return the family with the most joints, then a measured one; refuse ties."""
    if not candidates:
        return None

    def rank(family: _Family) -> tuple[int, bool]:
        return len(family.columns), family.measured

    ordered = sorted(candidates, key=rank, reverse=True)
    if len(ordered) > 1 and rank(ordered[0]) == rank(ordered[1]):
        pattern = ordered[0].pattern
        raise ModelError(
            f"{ordered[0].words} and {ordered[1].words} may both be the {role}",
            file=files[ordered[0].table],
            remedy=f"Say which: columns={{{role!r}: '{pattern}'}} (--columns {role}={pattern})",
        )
    return ordered[0]


def _time(tables, guesses: list[list[Guess]], said: Mapping) -> tuple[Column, ...]:
    """Return the time column of every file that has one."""
    if "time" in said:
        if said["time"] in NONE:
            return ()
        name = str(said["time"])
        at = [Column(k, names.index(name), name) for k, names in enumerate(tables) if name in names]
        if not at:
            raise _no_column(name, tables)
        unit = guesses[at[0].table][at[0].index].unit
        return tuple(Column(column.table, column.index, name, unit) for column in at)
    columns: list[Column] = []
    for number, (names, its) in enumerate(zip(tables, guesses, strict=True)):
        times = [k for k, guess in enumerate(its) if guess.role == "time"]
        if times:
            best = min(times, key=lambda k: (_time_rank(its[k].family), k))
            columns.append(Column(number, best, names[best], its[best].unit))
    return tuple(columns)


def _time_rank(family: str) -> int:
    """Rank time columns: plain names first, then the time of the measurement, then others, such as arrival."""
    if family in ("t", "time", "timestamp", "stamp", "time_s"):
        return 0
    return 1 if "header" in family or "stamp" in family else 2


def _said(value: object, role: str, tables, joint_names: Sequence[str]) -> dict[str, Column]:
    """Return the columns named by the user, by joint."""
    places = {
        name: Column(k, i, name) for k, names in enumerate(tables) for i, name in reversed([*enumerate(names)])
    }
    units = {name: guessed(name, joint_names).unit for name in places}
    if isinstance(value, str) and "*" in value:
        matching = {}
        known = pattern_of(translate(value))
        inside = {name: guessed(name, joint_names) for name in places if known.match(name)}
        counted = {guess.number for guess in inside.values() if guess.number is not None}
        first = 0 if 0 in counted else 1
        for name, guess in inside.items():
            joint = guess.joint
            if joint is None and guess.number is not None and guess.number - first < len(joint_names):
                joint = joint_names[guess.number - first]
            if joint is not None:
                matching[joint] = name
        if not matching:
            if inside:
                names = sorted(inside)
                raise ModelError(
                    f"in {value!r} the * stands for a joint's name or number; {first_of(names, 8)} tell neither",
                    element="columns",
                    remedy=f"List the columns in the order of the joints: {','.join(names[:2])},…",
                )
            raise ModelError(f"no column is like {value!r}", element="columns", remedy=_known(tables))
        chosen = matching
    elif isinstance(value, Mapping):
        chosen = {str(joint): str(name) for joint, name in value.items()}
    else:
        names = [word.strip() for word in value.split(",")] if isinstance(value, str) else [*map(str, value)]  # type: ignore[arg-type]
        if len(names) > len(joint_names):
            raise ModelError(
                f"{len(names)} columns are given for the {role} of {len(joint_names)} joints",
                element="columns",
                remedy=f"The joints are {', '.join(joint_names)}",
            )
        chosen = dict(zip(joint_names, names, strict=False))
    for joint, name in chosen.items():
        if joint not in joint_names:
            raise ModelError(
                f"there is no joint {joint!r}", element="columns", remedy=nearest_of(joint, joint_names)
            )
        if name not in places:
            raise _no_column(name, tables)
    return {
        joint: Column(places[chosen[joint]].table, places[chosen[joint]].index, chosen[joint], units[chosen[joint]])
        for joint in joint_names
        if joint in chosen
    }


def _checked(roles: dict[str, dict[str, Column]], time, unread, joint_names, tables, files, misfits) -> Chosen:
    """Return the complete joints, and the import summary."""
    source = " + ".join(files)
    torque = "current" if "current" in roles else "torque"
    for role in ("position", torque):
        if role not in roles:
            other = f" ({'; '.join(misfits[:4])})" if misfits else ""
            raise ModelError(
                f"has no columns for the {role} of {len(joint_names)} joints, {', '.join(joint_names)}{other}",
                file=source,
                remedy=f"Say which they are, columns={{{role!r}: …}} (--columns {role}=NAME*). "
                f"{_understood(roles, time)}. {_known(tables)}",
            )
    complete = [joint for joint in joint_names if joint in roles["position"] and joint in roles[torque]]
    if not complete:
        raise ModelError(
            f"has positions of {', '.join(roles['position'])}, and the {torque} of {', '.join(roles[torque])}",
            file=source,
            remedy="Both are needed for the same joints; is it a recording of this robot?",
        )
    if "velocity" in roles and not set(complete) <= set(roles["velocity"]):
        unread.append(", ".join(column.name for column in roles.pop("velocity").values()))
    account = []
    for role, columns in roles.items():
        pairs = [f"{columns[joint].name} → {joint}" for joint in complete]
        account.append(f"{role}: {', '.join(pairs)}")
    account.insert(0, f"time: {', '.join(column.name for column in time) or 'no column'}")
    left = [joint for joint in joint_names if joint not in complete]
    if left:
        account.append(f"not recorded: {', '.join(left)}")
    half = [joint for joint in left if joint in roles["position"]]
    if half:
        account.append(
            f"positions without a {torque}: {', '.join(half)}; joints are taken as locked there, so torques of the "
            "others are wrong wherever they move"
        )
    used = {(c.table, c.index) for columns in roles.values() for joint, c in columns.items() if joint in complete}
    used |= {(column.table, column.index) for column in time}
    rest = [name for k, names in enumerate(tables) for i, name in enumerate(names) if (k, i) not in used]
    if rest:
        account.append(f"columns not read: {first_of(rest, 8)}")
    chosen = {role: tuple(columns[joint] for joint in complete) for role, columns in roles.items()}
    return Chosen(tuple(complete), time, chosen, tuple(account))


def _understood(roles: dict[str, dict[str, Column]], time: Sequence[Column]) -> str:
    """List the columns that have a role, for messages."""
    understood = {"time": [column.name for column in time]} if time else {}
    understood |= {role: [column.name for column in columns.values()] for role, columns in roles.items()}
    return "Understood: " + (
        "; ".join(f"{role}: {first_of(names, 8)}" for role, names in understood.items()) or "nothing"
    )


def _no_column(name: str, tables) -> ModelError:
    every = [column for names in tables for column in names]
    return ModelError(f"there is no column {name!r}", element="columns", remedy=nearest_of(name, every[:200]))


def _known(tables) -> str:
    return "Columns: " + first_of(name for table in tables for name in table)


ROLES = ("time", "position", "velocity", "torque", "current")
WORDS = {
    "position": "q pos position positions angle angles theta",
    "velocity": "dq qd qdot v vel velocity velocities speed",
    "torque": "tau torque torques effort efforts force forces",
    "current": "current currents curr",
    "time": "t time stamp timestamp",
}
_ROLE_OF = {word: role for role, words in WORDS.items() for word in words.split()}
_OTHER = "target targets cmd command commands commanded desired des ref reference set setpoint goal nominal d sp"
_OTHER += " acc acceleration accelerations accel ddq qdd qddot dtau jerk temp temperature temperatures voltage"
_OTHER += " error err ext external std sigma status flag id seq sequence sec secs nsec nsecs nanosec nanosecs"
NOT_MEASURED = frozenset(_OTHER.split())
"""Words of columns that are commands, estimates, parts of a time or something else."""
MEASURED = frozenset({"actual", "measured"})
_PARTS = re.compile(r"[a-z]+|\d+|[^\W\d_]+")


@dataclass(frozen=True)
class Guess:
    """Guessed role of a log column.

    Attributes:
        role: one of `ROLES`, "" for a column that only names a joint, or "unread".
        joint: the joint, by its name.
        number: the number in the name, where the joint is not named.
        family: the name without joint and number: columns of one family belong together.
        unit: that stands in the name, or "".
        measured: True if the name marks it as measured.
    """

    role: str
    joint: str | None = None
    number: int | None = None
    family: str = ""
    unit: str = ""
    measured: bool = False


def guessed(name: str, joint_names: Sequence[str]) -> Guess:
    """Guess the role of a column from its name, for a robot with these joints."""
    word, unit = _without_unit(name)
    for candidate, its_unit in ((word, unit), (name, "")):
        plain = _plain(candidate)
        joint = _joint_in(plain, joint_names)
        if joint is not None:
            # The joint's place in the name stays visible, so that `q_elbow` and `elbow_q` are two families.
            left = f"_{plain}_".replace(f"_{_plain(joint)}_", "_*_", 1)
            return _guess(left, joint, None, its_unit)
    match = re.fullmatch(r"(.*?)(\d{1,3})(\D*)", f"_{_plain(word)}_")  # the last number counts the joints
    if match:
        return _guess(f"{match[1]}_*_{match[3]}", None, int(match[2]), unit)
    return _guess(f"_{_plain(word)}_", None, None, unit)


def role_of_file(path: str) -> str:
    """Return the role in the name of a file, such as `pos_read_data.csv`, or ""."""
    roles = {_ROLE_OF[part] for part in _parts(PurePath(path).stem) if _ROLE_OF.get(part, "time") != "time"}
    return roles.pop() if len(roles) == 1 else ""


def _guess(left: str, joint: str | None, number: int | None, unit: str) -> Guess:
    parts = _parts(left)
    family = re.sub(r"_+", "_", left).strip("_")
    measured = bool(MEASURED & set(parts))
    roles = {_ROLE_OF[part] for part in parts if part in _ROLE_OF}
    if NOT_MEASURED & set(parts):
        return Guess("unread", joint, number, family, unit)
    if joint is None and number is None:
        is_time = roles == {"time"} or (UNITS.get(unit, ("",))[0] == "time" and not roles)
        return Guess("time" if is_time else "unread", family=family, unit=unit)
    roles.discard("time")
    role = roles.pop() if len(roles) == 1 else ("" if not roles else "unread")
    if not role and unit:
        role = _role_of_unit(unit)
    words = {part for part in parts if not part.isdigit()}
    if not role and (words - _JOINT_WORDS - MEASURED or (joint is None and not words & _JOINT_WORDS)):
        role = "unread"
    return Guess(role, joint, number, family, unit, measured)


_JOINT_WORDS = frozenset({"joint", "j", "axis"})
"""Words that a column without a role may have beside the joint's name, and must have beside its number."""


def _role_of_unit(unit: str) -> str:
    if unit in RATES:
        return "velocity"
    quantity = UNITS[unit][0]
    return next((role for role, kinds in SUITABLE.items() if quantity in kinds and role != "velocity"), "")


def _without_unit(name: str) -> tuple[str, str]:
    match = re.match(r"^(.*)[\s_]([^\s_]+/s)$", name)
    if match and match[2].lower() in UNITS:
        return match[1], match[2].lower()
    word, unit = split_unit(name, UNITS)
    if name.endswith(("]", ")", ">")) or len(unit) > 1:
        return word, unit
    # A single letter behind a name is a unit of times and currents only: `t_s`, `current_1_A`, but not `joint_a`.
    parts = set(_parts(word))
    if (unit == "s" and parts & set(WORDS["time"].split())) or (
        unit == "a" and parts & set(WORDS["current"].split())
    ):
        return word, unit
    return name, ""


def _plain(name: str) -> str:
    return re.sub(r"[^\w]+|_+", "_", plain_word(name)).strip("_")


def _parts(name: str) -> list[str]:
    return _PARTS.findall(_plain(name).replace("*", " "))


def _joint_in(plain: str, joint_names: Sequence[str]) -> str | None:
    """Return the joint whose whole name occurs in the word; the longest if there are several."""
    inside = [name for name in joint_names if f"_{_plain(name)}_" in f"_{plain}_"]
    return max(inside, key=len, default=None)
