"""Columns that are numbered together: joint values, parts of a quaternion, entries of a matrix."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import ModelError
from ...mechanism import Mechanism

_NUMBERED = re.compile(r"(.*?)_?(\d+)(?:_?(pos|position|angle|value|state|meas|measured|act|actual))?")
_JOINT = re.compile(
    r"(?:.*_)?(?:q|j|jnt|joint|theta|th|axis|ax|a|rax|angle|ang|motor|joint_?angle|joint_?position|joint_?pos)"
)
_NOT_MEASURED = re.compile(
    r"(?:^|_)(?:target|cmd|command|commanded|desired|des|ref|reference|set|setpoint|goal|nominal|"
    r"d?dq|qd+|vel|velocity|speed|acc|acceleration|torque|tau|effort|current|temp|temperature)(?:_|$)"
)
_MATRIX = re.compile(r"(?:.*_)?(?:t|tf|mat|matrix|pose|transform|h|t_ee)")


def numbered_columns(words: Sequence[str], mechanism: Mechanism, needed: Sequence[str]) -> dict[str, str]:
    """Return the meaning of numbered columns: coordinates, qw qx qy qz, or entries of a matrix.

    Args:
        words: column names, plainly written and without units.
        mechanism: the robot.
        needed: coordinates that must have a column, in order.
    """
    families: dict[tuple[str, str], dict[str, str]] = {}
    for word in words:
        match = _NUMBERED.fullmatch(word)
        if match:
            families.setdefault((match[1], match[3] or ""), {})[match[2]] = word
    out: dict[str, str] = {}
    for (prefix, _), members in families.items():
        if _MATRIX.fullmatch(prefix):
            out |= _matrix(members)
    joints = _joints(families, mechanism, needed)
    out |= joints
    quaternion = families.get(("q", ""), {})
    if joints and sorted(quaternion) == ["1", "2", "3", "4"] and not set(quaternion.values()) & set(joints):
        out |= {quaternion[k]: name for k, name in zip("1234", ("qw", "qx", "qy", "qz"), strict=True)}
    return out


def _joints(families: dict, mechanism: Mechanism, needed: Sequence[str]) -> dict[str, str]:
    """Return the family that counts the joints from 0 or 1, over those needed or all, and is not commanded."""
    candidates = []
    for (prefix, suffix), members in families.items():
        if not _JOINT.fullmatch(prefix):
            continue
        numbers = {int(k): word for k, word in members.items() if len(k) < 10}
        first = 0 if 0 in numbers else 1
        for names in (list(needed), list(mechanism.coordinate_names)):
            if set(numbers) == set(range(first, first + len(names))):
                meant = {word: names[k - first] for k, word in numbers.items()}
                candidates.append((bool(_NOT_MEASURED.search(f"{prefix}_{suffix}")), meant))
                break
    measured = [meant for commanded, meant in candidates if not commanded]
    if len(measured) > 1:
        first, second = (next(iter(meant)) for meant in measured[:2])
        raise ModelError(
            f"columns {first} … and {second} … may both be joint values",
            remedy="Name those to use like the joints of the robot",
        )
    return measured[0] if measured else {}


def _matrix(members: dict[str, str]) -> dict[str, str]:
    """Return the entries of a pose by row and column, t11 … t34 or t00 … t23, or numbered from 0 or 1."""
    for count in (12, 16):
        for first in (0, 1):
            if set(members) == {str(k) for k in range(first, first + count)}:
                return {word: f"m{k}" for k, word in members.items()}
    for first in (0, 1):
        least = {f"{first + i}{first + j}" for i in range(3) for j in range(3)}
        if least <= set(members):
            return {word: f"r{k}" for k, word in members.items()}
    return {}
