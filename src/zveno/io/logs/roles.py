"""Roles of log columns by the words in their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ..column_names import plain_word, split_unit
from .units import RATES, SUITABLE, UNITS

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
    what = UNITS[unit][0]
    return next((role for role, kinds in SUITABLE.items() if what in kinds and role != "velocity"), "")


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
