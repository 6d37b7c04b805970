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
from pathlib import Path, PurePath
from typing import Any, TypeVar

import numpy as np

from ..errors import ModelError, ZvenoError
from ..mechanism import JOINT_TYPES, Drive, Extra, Frame, Joint, Limits, Link, Loop, Mechanism, Mimic, Spring
from .files import read_json
from .rebuild import plain_array, rebuilt

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
    "Proof": "zveno.ik.judge",
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
        raise ModelError(f"is damaged: {error!r:.200}", file=path) from error


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
    raise ZvenoError(f"a {type(value).__name__} cannot be saved in a result")


def decode(value: Any) -> Any:
    """Return the value that `encode` was given."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = value["class"]
    if kind == "array":
        return plain_array(decode(value["data"]), value["dtype"], value["shape"])
    if kind == "complex array":
        real, imag = decode(value["real"]), decode(value["imag"])
        if np.shape(real) != np.shape(imag):
            raise ModelError("holds a complex array whose parts differ in shape")
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
        raise ModelError(f"holds an unknown type {kind!r}")
    return rebuilt(_registered[kind], {key: decode(item) for key, item in value.items() if key != "class"})
