"""From MJCF text or file to MuJoCo's compiled model: checks before, MuJoCo's complaints translated after."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

from ..errors import MissingExtraError, ModelError
from . import mjcf_process
from .files import read_bytes
from .mjcf_parts import check_parts
from .xml import Element, parse_xml

OLDEST_MUJOCO = (3, 3)

_MISSING_FILE = re.compile(r"Error opening file '([^']*)'")
_PLACES = (
    re.compile(r"Element name '(?P<name>[^']*)', id (?P<id>\d+)(, line (?P<line>\d+))?"),
    re.compile(r"Element '(?P<name>[^']*)'(, line (?P<line>\d+))?"),
)
_REMEDIES = {
    "mass and inertia of moving bodies": "Give the body an <inertial>, or a geom that has mass",
    "inertia must satisfy": "Correct the inertia, or set balanceinertia in <compiler>",
    "unrecognized attribute": "Correct its name; MuJoCo lists the attributes in its XML reference",
    "unrecognized element": "Correct its name; MuJoCo lists the elements in its XML reference",
    "plugin": "Plugins are not loaded; take them out of the model",
    "allocate memory": "Lower the sizes it asks for: nkey, nuser_…, height fields, textures, copies",
    "the compiled model has": "Lower the sizes it asks for: nkey, nuser_…, height fields, textures, copies",
    "ELEMENT_DEPTH": "MuJoCo's reader stops at 500 nested elements; use another format for longer chains",
}


def mujoco_module() -> Any:
    """The mujoco package, or the error that says how to get it."""
    try:
        import mujoco
    except ImportError as error:
        raise MissingExtraError(
            "reading MJCF needs the mujoco package", remedy="pip install 'zveno[mjcf]'"
        ) from error
    if tuple(int(part) for part in mujoco.__version__.split(".")[:2]) < OLDEST_MUJOCO:
        raise MissingExtraError(
            f"mujoco {mujoco.__version__} is too old to read MJCF with", remedy="pip install -U 'zveno[mjcf]'"
        )
    return mujoco


def compiled_file(path: str | Path) -> tuple[Any, list[str]]:
    """(MjModel, notes) of an MJCF file; includes and assets are looked for beside it."""
    check_parts(_root(read_bytes(path), path), path, Path(path).parent)
    return _compiled(path, path=str(path))


def compiled_text(text: str, file: object | None = None) -> tuple[Any, list[str]]:
    """(MjModel, notes) of MJCF text; `file` only names it in errors."""
    if not isinstance(text, str):
        raise ModelError(f"{type(text).__name__} was given where text is needed", remedy="Give a str", file=file)
    check_parts(_root(text, file), file, Path())
    return _compiled(file, text=text)


def _root(data: bytes | str, file: object | None) -> Element:
    """The root element of a whole MJCF model; anything else is refused."""
    try:
        root = parse_xml(data)
    except ModelError as error:
        raise error.located(file=file) from None
    if root.tag != "mujoco":
        remedy = {
            "robot": "This is URDF: read it with read_urdf",
            "mujocoinclude": "This is a part of a model: read the file that includes it",
        }.get(root.tag, "An MJCF model is <mujoco> … </mujoco>")
        raise ModelError(f"its root element is <{root.tag}>, not <mujoco>", file=file, remedy=remedy)
    return root


def _compiled(file: object | None, **source: str) -> tuple[Any, list[str]]:
    if importlib.util.find_spec("mujoco") is not None:
        mjcf_process.start()  # it imports mujoco while this process does
    try:
        return mjcf_process.compiled(mujoco_module(), **source)
    except mjcf_process.Refused as error:
        raise _translated(error, file) from None
    except ModelError as error:
        raise error.located(file=file) from None


def _translated(error: Exception, file: object | None) -> ModelError:
    """MuJoCo's complaint as our error: its words, the element it names, and what to do."""
    words = re.sub(r"^(\s*(XML )?Error: ?)+", "", str(error)).strip()
    element = None
    for pattern in _PLACES:
        if match := pattern.search(words):
            line = f" (line {match['line']})" if match["line"] else ""
            name = match["name"] or (f"number {match['id']}" if "id" in match.groupdict() else "")
            element = f"element {name}{line}"
            words = words[: match.start()] + words[match.end() :]
            break
    words = " ".join(words.split()).rstrip(".")
    if missing := _MISSING_FILE.search(words):
        included = element is not None and element.startswith("element include")
        return ModelError(
            f"the file {missing[1]!r} it refers to cannot be opened",
            file=file,
            element=element,
            remedy="Included files must exist beside the file that includes them"
            if included
            else "Put it there, or give every body it shapes an <inertial>: then meshes are not needed",
        )
    remedy = next((remedy for hint, remedy in _REMEDIES.items() if hint in words), None)
    return ModelError(f"MuJoCo refuses it: {words}", file=file, element=element, remedy=remedy)
