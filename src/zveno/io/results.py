"""Results in files: JSON that keeps arrays, mechanisms and infinities.

Loading runs no code from the file: only dataclasses that are registered here come back.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import math
import os
import re
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path, PurePath
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ZvenoError
from ..mechanism import (
    JOINT_TYPES,
    Drive,
    Extra,
    Frame,
    Joint,
    Limits,
    Link,
    Loop,
    Mechanism,
    Mimic,
    Spring,
    assemble,
)
from .files import read_json

# --- rebuilding saved values

T = TypeVar("T")

_NUMBERS = re.compile(r"[<>|=]?[biuf](1|2|4|8|16)")


def _plain_array(data: Any, dtype: Any, shape: Any) -> np.ndarray:
    """Return an array of numbers or texts from a flat list; refuse other types, which could take any memory."""
    if not isinstance(data, list) or not isinstance(dtype, str) or not isinstance(shape, list):
        raise ModelError(
            "holds an array without a list of data, a type and a shape", remedy="Save the result again"
        )
    if re.fullmatch(r"[<>|=]?U\d+", dtype) and all(isinstance(item, str) for item in data):
        dtype = f"U{max((len(item) for item in data), default=1) or 1}"
    elif not _NUMBERS.fullmatch(dtype):
        raise ModelError(
            f"holds an array of {dtype[:60]!r}, not of numbers or texts", remedy="Save the result again"
        )
    return np.array(data, dtype=np.dtype(dtype)).reshape(shape)


def rebuilt(cls: type[T], values: dict[str, Any]) -> T:
    """Return an instance of a dataclass from its field values; refuse values of other types than declared."""
    hints = _hints(cls)
    for name, value in values.items():
        if name not in hints:
            raise ModelError(
                f"holds a {cls.__name__} with a field {name[:60]!r}, which does not exist",
                remedy="Save the result again",
            )
        if not _is_of(value, hints[name]):
            raise ModelError(
                f"holds a {cls.__name__} whose {name} is {type(value).__name__}: {str(value)[:40]!r}",
                remedy="Save the result again",
            )
    made = cls(**values)
    if isinstance(made, Mechanism):
        _check(made)
    return made


def _check(mechanism: Mechanism) -> None:
    """Refuse a mechanism that `assemble` refuses or would put in another order."""
    again = assemble(
        mechanism.name,
        mechanism.links,
        mechanism.joints,
        mechanism.frames,
        mechanism.gravity,
        loops=mechanism.loops,
        motors=mechanism.motors,
        reference=mechanism.reference,
    )
    if again.link_names != mechanism.link_names or [j.child for j in again.joints] != [
        j.child for j in mechanism.joints
    ]:
        raise ModelError("holds a mechanism whose links are out of order", remedy="Save the result again")


@cache
def _hints(cls: type) -> dict[str, Any]:
    """Return the types of the fields; Any for names that only type checkers know."""
    known = vars(sys.modules[cls.__module__])
    hints = {}
    for item in fields(cls):  # pyright: ignore[reportArgumentType]  (registered classes are dataclasses)
        try:  # annotations are text of our own modules, never of the file
            hints[item.name] = eval(item.type, dict(known)) if isinstance(item.type, str) else item.type
        except NameError:
            hints[item.name] = Any
    return hints


def _is_of(value: Any, hint: Any) -> bool:
    if hint is Any:  # a class since Python 3.11, but nothing is an instance of it
        return True
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        nested = isinstance(value, list | tuple) and set(typing.get_args(ArrayLike)) <= set(inner)
        return (nested and np.asarray(value).dtype.kind in "biuf") or any(_is_of(value, part) for part in inner)
    if origin is typing.Literal:
        return isinstance(value, str | int) and value in inner
    if origin is tuple and isinstance(value, tuple):
        if len(inner) == 2 and inner[1] is Ellipsis:
            return all(_is_of(item, inner[0]) for item in value)
        return len(value) == len(inner) and all(map(_is_of, value, inner))
    if origin in (dict, Mapping) and isinstance(value, dict):
        return all(_is_of(key, inner[0]) and _is_of(item, inner[1]) for key, item in value.items())
    if origin in (list, Sequence) and isinstance(value, list | tuple):
        return all(_is_of(item, inner[0]) for item in value)
    if hint is None or hint is types.NoneType:
        return value is None
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    plain = origin or hint
    return isinstance(value, plain) if isinstance(plain, type) else True


# --- files

FORMAT = "zveno result"
FORMAT_VERSION = 1

_registered: dict[str, type] = {
    cls.__name__: cls
    for cls in (Mechanism, Link, Joint, Frame, Limits, Drive, Mimic, Spring, Loop, Extra, *JOINT_TYPES.values())
}

HOMES = {
    "AccuracyCells": "zveno.calibration.accuracy",
    "AccuracyMap": "zveno.calibration.accuracy",
    "BaseParameters": "zveno.base_parameters.result",
    "Calibration": "zveno.calibration.result",
    "Compensation": "zveno.calibration.compensate",
    "ConstrainedMotion": "zveno.simulation.dynamics",
    "DriveGains": "zveno.identification.payload",
    "Excitation": "zveno.identification.excitation.result",
    "Export": "zveno.export",
    "IdentifiedAxes": "zveno.calibration.axes",
    "Identifiability": "zveno.calibration._identifiability",
    "Identification": "zveno.identification.result",
    "Proof": "zveno.ik.proof",
    "LocalSolution": "zveno.ik._local_solution",
    "JointPath": "zveno.ik.paths.joint_path",
    "Payload": "zveno.identification.payload",
    "MeasurementPlan": "zveno.calibration.planning.result",
    "Configurations": "zveno.ik._whole_body.posture_result",
    "Closure": "zveno.loops._close",
    "Modes": "zveno.loops._modes",
    "Mobility": "zveno.loops._mobility",
    "Solutions": "zveno.ik.solutions",
    "Walk": "zveno.walking.result",
    "Trajectory": "zveno.simulation.trajectory",
    "WorkspaceMap": "zveno.ik.maps.results",
}
"""Modules that define the results, by class: a file names the class, and only these are imported for it."""

R = TypeVar("R", bound=type)


def registered(cls: R) -> R:
    """Register a dataclass that may occur in a saved result (class decorator)."""
    _registered[cls.__name__] = cls
    return cls


def load_result(path: str | os.PathLike[str]) -> Any:
    """Load a result written by its `save` method."""
    if Path(path).suffix.lower() == ".npz":
        return importlib.import_module(HOMES["Trajectory"]).Trajectory.load(path)
    data = read_json(path)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ModelError("is not a zveno result", file=path, remedy="Give a file written by .save()")
    if data.get("format_version") != FORMAT_VERSION:
        raise ModelError(
            f"has format version {data.get('format_version')}, and this zveno reads {FORMAT_VERSION}",
            file=path,
            remedy=f"It was written by zveno {data.get('zveno')}",
        )
    try:
        home = HOMES.get(data["content"]["class"])
        if home is not None:  # a result comes back as the class its task defines
            importlib.import_module(home)
        result = decode(data["content"])
        for text in (repr, str):  # both fail where parts do not fit each other
            text(result)
        result.to_dict()
        return result
    except ZvenoError as error:
        raise error.located(file=path) from error
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelError(f"is damaged: {error!r:.200}", file=path, remedy="Save the result again") from error


def hash_of(*inputs: Any) -> str:
    """Return a short hash of arrays, mechanisms, numbers and texts: the inputs of a result."""
    digest = hashlib.sha256()
    for item in inputs:
        digest.update(json.dumps(encode(item), sort_keys=True, default=repr).encode())
    return digest.hexdigest()[:16]


def encode(value: Any) -> Any:
    """Return plain JSON values for a dataclass, array, number, text, mapping or sequence of these."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {item.name: encode(getattr(value, item.name)) for item in dataclasses.fields(value) if item.init}
        return {"class": type(value).__name__, **fields}
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "c":
            return {"class": "complex array", "real": encode(value.real), "imag": encode(value.imag)}
        if value.dtype.kind == "O" and all(
            isinstance(item, str) for item in value.flat
        ):  # one text per item, as statuses and reasons are
            value = value.astype(str)
        flat = [encode(item) for item in value.ravel().tolist()]
        return {"class": "array", "dtype": value.dtype.str, "shape": list(value.shape), "data": flat}
    if isinstance(value, np.generic):
        return encode(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return {"class": "float", "value": repr(value)}
    if isinstance(value, dict):
        return {"class": "dict", "items": [[encode(key), encode(item)] for key, item in value.items()]}
    if isinstance(value, tuple):
        return {"class": "tuple", "items": [encode(item) for item in value]}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, PurePath):
        return {"class": "path", "value": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ZvenoError(
        f"a {type(value).__name__} cannot be saved in a result",
        remedy="Keep arrays, numbers, texts and mechanisms in results",
    )


def decode(value: Any) -> Any:
    """Return the value that `encode` was given."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value["class"]
    if kind == "array":
        return _plain_array(decode(value["data"]), value["dtype"], value["shape"])
    if kind == "complex array":
        real, imag = decode(value["real"]), decode(value["imag"])
        if np.shape(real) != np.shape(imag):
            raise ModelError("holds a complex array whose parts differ in shape", remedy="Save the result again")
        return real + 1j * imag
    if kind == "float":
        return float(value["value"])
    if kind == "dict":
        return {decode(key): decode(item) for key, item in value["items"]}
    if kind == "path":
        return Path(value["value"])
    if kind == "tuple":
        return tuple(decode(item) for item in value["items"])
    if kind not in _registered:
        raise ModelError(f"holds an unknown type {kind!r}", remedy="Save the result again")
    return rebuilt(_registered[kind], {key: decode(item) for key, item in value.items() if key != "class"})
