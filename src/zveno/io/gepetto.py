"""Loops and motors of a URDF from the YAML file that Gepetto's example-parallel-robots put beside it.

`closed_loop` lists pairs of names, `type` says "3d" (the points coincide) or "6d" (a weld) for each, `name_mot`
names the driven joints. Names are those of frames, links, or joints, which stand for the link behind them.
`joint_name` and `joint_type` turn joints of the URDF into SPHERICAL, FIXED or universal ones. UJOINT_XY turns about
x, then about y.
"""

from __future__ import annotations

import re
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtraError, ModelError, ZvenoError
from ..mechanism import Fixed, Joint, JointType, Limits, Loop, Mechanism, Spherical, Universal
from ..mechanism.edit import rebuilt
from .expressions import nearest_of
from .files import MAX_TEXT_BYTES, read_text
from .urdf import read_urdf

_KEYS = ("closed_loop", "type", "name_mot", "joint_name", "joint_type")
_KINDS = {"3d": "point", "6d": "weld"}
_AXES = dict(zip("XYZ", np.eye(3), strict=True))


def read_gepetto(path: str | PathLike[str], *, snap: bool | None = None) -> Mechanism:
    """Read the mechanism of a YAML file with loops and motors, and of the URDF beside it.

    Args:
        path: the .yaml file; the URDF has the same stem, or is the only one in the folder.
        snap: as in `read_urdf`.
    """
    path = Path(path)
    data = _parsed(path)
    mechanism = read_urdf(_urdf_beside(path), snap=snap)
    try:
        return _closed(mechanism, data, str(path))
    except ZvenoError as error:
        raise error.located(file=path) from None


def _parsed(path: Path) -> dict[str, Any]:
    try:
        import yaml
    except ImportError:
        raise MissingExtraError(
            "reading .yaml needs PyYAML", file=path, remedy="pip install 'zveno[yaml]'"
        ) from None
    try:
        data = yaml.safe_load(read_text(path, MAX_TEXT_BYTES))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ModelError(
            f"it is not YAML: {str(error)[:200]}", file=path, remedy="Correct the file at that place"
        ) from None
    if not isinstance(data, dict) or "closed_loop" not in data:
        raise ModelError(
            "it has no closed_loop", file=path, remedy="Give the YAML of a closed-loop robot, or a URDF"
        )
    for key in data:
        if key not in _KEYS:
            raise ModelError(f"{key!r} is not a key here", file=path, remedy=nearest_of(key, _KEYS))
    return data


def _urdf_beside(path: Path) -> Path:
    same = path.with_suffix(".urdf")
    if same.exists():
        return same
    files = sorted(path.parent.glob("*.urdf"))
    if len(files) != 1:
        raise ModelError(
            f"there are {len(files)} URDF files beside it",
            file=path,
            remedy=f"Put the URDF beside it under the name {same.name}",
        )
    return files[0]


def _closed(mechanism: Mechanism, data: dict[str, Any], source: str) -> Mechanism:
    pairs = [_strings(pair, "closed_loop", 2) for pair in data["closed_loop"]]
    kinds = [str(kind).lower() for kind in data.get("type", ["6d"] * len(pairs))]
    if len(kinds) != len(pairs) or not set(kinds) <= set(_KINDS):
        raise ModelError(
            "it is not one of 3d and 6d for every closed_loop",
            element="type",
            remedy="Give one word per closed_loop: 3d or 6d",
        )
    names = _strings(data.get("joint_name", []), "joint_name")
    kinds_of_joints = dict(zip(names, _strings(data.get("joint_type", []), "joint_type", len(names)), strict=True))
    notes = []
    joints = []
    for joint in mechanism.joints:
        word = kinds_of_joints.pop(joint.name, None)
        if word is not None:
            notes.append(f"joint {joint.name}: {joint.type.kind} in the URDF, {word} in the YAML")
            joint = replace(joint, type=_joint_type(word, joint), limits=Limits(), drive=None, mimic=None)
        joints.append(joint)
    behind = {joint.name: joint.child for joint in joints}
    movable = {joint.name for joint in joints if joint.mimic is None and joint.type.n_q}
    motors = _strings(data.get("name_mot", []), "name_mot")
    notes += [f"{name}: named in the YAML, no joint of the URDF" for name in kinds_of_joints]
    notes += [f"motor {name}: no joint with a coordinate of its own" for name in motors if name not in movable]
    known = set(mechanism.frame_names)
    loops = [
        Loop(*[name if name in known else behind.get(name, name) for name in pair], locked=_KINDS[kind])
        for pair, kind in zip(pairs, kinds, strict=True)
    ]
    return rebuilt(
        mechanism,
        joints=joints,
        loops=loops,
        motors=[name for name in motors if name in movable] if motors else None,
        notes=(*mechanism.notes, *notes, f"{len(loops)} loops and {len(motors)} motors from {Path(source).name}"),
    )


def _joint_type(word: str, joint: Joint) -> JointType:
    if word == "SPHERICAL":
        return Spherical()
    if word == "FIXED":
        return Fixed()
    match = re.fullmatch("UJOINT_([XYZ])([XYZ])", word)
    if match is None:
        raise ModelError(
            f"its type {word!r} is unknown",
            element=f"joint {joint.name}",
            remedy="Types: SPHERICAL, FIXED, UJOINT_XY (any two axes)",
        )
    return Universal(_AXES[match[1]], _AXES[match[2]])


def _strings(value: Any, key: str, count: int | None = None) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ModelError("it is not a list of names", element=key, remedy="Write [name, name]")
    if count is not None and len(value) != count:
        raise ModelError(
            f"it has {len(value)} names instead of {count}", element=key, remedy="Give one name per loop"
        )
    return value
