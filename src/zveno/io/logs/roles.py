"""What a column of a recording is, by the words in its name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from ..column_names import plain_word, split_unit
from .units import RATES, SUITABLE, UNITS

ROLES = ("time", "position", "velocity", "torque", "current")
WORDS = {
    "position": "q pos position positions angle angles ang theta encoder enc jpos qpos",
    "velocity": "dq qd qdot dqdt vel velocity velocities speed speeds omega jvel qvel v dtheta thetadot",
    "torque": "tau torque torques trq effort efforts moment moments force forces tauj jtorque",
    "current": "current currents cur curr amp amps amperage i",
    "time": "t time times stamp stamps timestamp timestamps clock elapsed tick",
}
_ROLE_OF = {word: role for role, words in WORDS.items() for word in words.split()}
_OTHER = "target targets cmd command commands commanded desired des ref reference set setpoint goal nominal d sp"
_OTHER += " acc acceleration accelerations accel ddq qdd qddot dtau jerk temp temperature temperatures voltage"
_OTHER += " error err ext external std sigma status flag id seq sequence"
NOT_MEASURED = frozenset(_OTHER.split())
"""Words of columns that are commands, estimates or something else."""
MEASURED = frozenset({"actual", "act", "meas", "measured", "real", "fb", "fbk", "feedback"})
SECONDS, NANOSECONDS = frozenset({"sec", "secs", "seconds"}), frozenset({"nsec", "nsecs", "nanosec", "nanosecs"})
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PARTS = re.compile(r"[a-z]+|\d+|[^\W\d_]+")


@dataclass(frozen=True)
class Guess:
    """What a column seems to be.

    Attributes:
        role: one of `ROLES`, "seconds" or "nanoseconds" (parts of a time), "" for a joint's column that says no
            more, or "unread".
        joint: the joint, by its name.
        number: the number in the name, where the joint is not named.
        family: the name without joint and number: columns of one family belong together.
        unit: that stands in the name, or "".
        measured: whether the name says that it was measured.
    """

    role: str
    joint: str | None = None
    number: int | None = None
    family: str = ""
    unit: str = ""
    measured: bool = False


def guessed(name: str, joint_names: Sequence[str]) -> Guess:
    """What a column of this name seems to be, for a robot with these joints."""
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
    """The role that the name of a file says, such as `pos_read_data.csv`, or ""."""
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
        if NANOSECONDS & set(parts):
            return Guess("nanoseconds", family=family)
        if SECONDS & set(parts):
            return Guess("seconds", family=family)
        is_time = roles == {"time"} or (UNITS.get(unit, ("",))[0] == "time" and not roles)
        return Guess("time" if is_time else "unread", family=family, unit=unit)
    roles.discard("time")
    if roles == {"torque", "current"}:  # `current` in the sense of now
        roles = {"torque"}
    if len(roles - {"position"}) == 1:  # `joint_position_velocity`, `q_vel`
        roles -= {"position"}
    role = roles.pop() if len(roles) == 1 else ("" if not roles else "unread")
    if not role and unit:
        role = _role_of_unit(unit)
    if not role and joint is None and not _JOINT_WORDS & set(parts):
        role = "unread"
    return Guess(role, joint, number, family, unit, measured)


_JOINT_WORDS = frozenset({"joint", "joints", "j", "jnt", "axis", "ax", "motor"})
"""Words that a numbered column without a role must have to be a joint's."""


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
    return re.sub(r"[^\w]+|_+", "_", plain_word(_CAMEL.sub("_", name))).strip("_")


def _parts(name: str) -> list[str]:
    return _PARTS.findall(_plain(name).replace("*", " "))


def _joint_in(plain: str, joint_names: Sequence[str]) -> str | None:
    """The joint whose name stands in the word as a whole; the longest if there are several."""
    inside = [name for name in joint_names if f"_{_plain(name)}_" in f"_{plain}_"]
    return max(inside, key=len, default=None)
