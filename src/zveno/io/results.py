"""Results as files: what every result can do, JSON that keeps arrays, mechanisms and infinities, and loading.

A result is a frozen dataclass that derives from `Result`. It says in one sentence how it went (`summary`), knows
its `status`, carries the version and a hash of its inputs, and can be saved and loaded without running code from
the file: only dataclasses that are registered here come back.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import math
import os
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from .._version import __version__
from ..errors import ModelError, ZvenoError, visible
from ..mechanism import JOINT_TYPES, Drive, Extra, Frame, Joint, Limits, Link, Loop, Mechanism, Mimic, Spring
from .files import read_json, write_text
from .rebuild import plain_array, rebuilt

FORMAT = "zveno result"
FORMAT_VERSION = 1

_registered: dict[str, type] = {
    cls.__name__: cls
    for cls in (Mechanism, Link, Joint, Frame, Limits, Drive, Mimic, Spring, Loop, Extra, *JOINT_TYPES.values())
}

HOMES = {
    "AccuracyCells": "zveno.calibration.use.accuracy_cells",
    "AccuracyMap": "zveno.calibration.use.accuracy",
    "BaseParameters": "zveno.base_parameters.result",
    "Calibration": "zveno.calibration.result",
    "Compensation": "zveno.calibration.use.compensate",
    "Constrained": "zveno.simulation.dynamics",
    "Curve": "zveno.design.result",
    "DriveGains": "zveno.identification.payload",
    "Excitation": "zveno.design.excitation.result",
    "Export": "zveno.export",
    "Identifiability": "zveno.calibration.identifiability.analysis",
    "Identification": "zveno.identification.result",
    "IkMap": "zveno.ik.maps.results",
    "IkVerdict": "zveno.ik.judge",
    "JointPath": "zveno.ik.paths.joint_path",
    "Payload": "zveno.identification.payload",
    "Plan": "zveno.design.result",
    "Postures": "zveno.ik.whole_body.posture_result",
    "Solutions": "zveno.ik.solutions",
    "Study": "zveno.documents.calibration_001.plan_study",
    "Walk": "zveno.walking.walk_result",
    "WalkPlan": "zveno.walking.result",
    "Trajectory": "zveno.simulation.trajectory",
    "Trials": "zveno.design.trials",
    "WorkspaceMap": "zveno.ik.maps.results",
}
"""Modules that define the results, by class: a file says the class, and only these are imported for it."""
_LONGEST_REPR = 100

R = TypeVar("R", bound=type)


def registered(cls: R) -> R:
    """Class decorator: a dataclass that may stand inside a saved result."""
    _registered[cls.__name__] = cls
    return cls


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What every task returns: a value that judges itself, prints itself and can be saved.

    Subclasses are frozen dataclasses (with `eq=False, repr=False`), decorated with `registered` and listed in
    `HOMES`; they define `status` (a short word or sentence) and `summary` (a sentence a person can read), as fields
    or properties; `inputs` is a hash of what it was computed from. How they are printed and drawn is the business
    of `zveno.report`.
    """

    kind: ClassVar[str] = "result"

    if TYPE_CHECKING:

        @property
        def summary(self) -> str:
            """What came out, in a sentence or two."""
            ...

    def __repr__(self) -> str:
        text = " ".join(visible(self.summary).split())
        text = text if len(text) <= _LONGEST_REPR else f"{text[: _LONGEST_REPR - 1]}…"
        return f"<{type(self).__name__}: {text}>"

    def __str__(self) -> str:
        return report_module().result_text(self)

    def _repr_html_(self) -> str:
        return report_module().result_html(self)

    def plot(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Draw the result as .png or .svg; returns the file."""
        return report_module().draw_result(self, path, **options)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one offline .html page: what it means, plots, tables, the robot; returns the file."""
        return report_module().write_report(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain dictionaries, lists and numbers."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "zveno": __version__,
            "content": encode(self),
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Written as JSON; `zveno.load_result` reads it back."""
        return write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False))

    @staticmethod
    def _robot(mechanism: Mechanism) -> Any:
        """The robot of a mechanism, found by name: results are below the layer of robots."""
        return importlib.import_module("zveno.robot").Robot(mechanism)


def report_module() -> Any:
    """The module that prints and draws results, found by name: results are below its layer."""
    return importlib.import_module("zveno.report.results")


def load_result(path: str | os.PathLike[str]) -> Any:
    """A result written by its `save` method."""
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
        repr(result)  # fails where parts do not fit each other
        if type(result).to_dict is not Result.to_dict:
            result.to_dict()
        return result
    except ZvenoError as error:
        raise error.located(file=path) from error
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        raise ModelError(f"is damaged: {error!r:.200}", file=path) from error


def hash_of(*inputs: Any) -> str:
    """A short hash of arrays, mechanisms, numbers and texts: what a result was computed from."""
    digest = hashlib.sha256()
    for item in inputs:
        digest.update(json.dumps(encode(item), sort_keys=True, default=repr).encode())
    return digest.hexdigest()[:16]


def encode(value: Any) -> Any:
    """Plain JSON values for a dataclass, array, number, text, mapping or sequence of these."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {item.name: encode(getattr(value, item.name)) for item in dataclasses.fields(value) if item.init}
        return {"class": type(value).__name__, **fields}
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "c":
            return {"class": "complex array", "real": encode(value.real), "imag": encode(value.imag)}
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
    """The value `encode` was given."""
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
