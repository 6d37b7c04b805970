"""Entry point for every model: a built-in name, a file of any format, or a product of elementary transforms."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import pkgutil
import re
import warnings
from pathlib import Path
from typing import Any

from .. import robots
from ..errors import MissingExtraError, ModelError, UnknownNameError, ZvenoError, unknown_name
from ..mechanism import Mechanism
from ..mechanism.plausibility import warn_about_sizes
from .files import read_text
from .open_models import is_open_model, open_model

# --- robot_descriptions

_ENDING = "_description"
_PACKAGE = "robot_descriptions"


def _described_mechanism(name: str, snap: bool | None) -> Mechanism:
    """Return the mechanism of a description; its files are fetched once, by that package.

    Args:
        name: ends in `_description`, as the package's modules do.
        snap: as in readers.
    """
    module = _module(name)
    file, arguments = _file(module)
    if file is None:
        raise ModelError("has no URDF, MJCF or xacro file", element=name, remedy="Choose another description")
    if file.suffix == ".xacro":
        from .xacro import read_xacro

        return read_xacro(file, snap=snap, arguments=arguments)
    if hasattr(module, "MJCF_PATH") and not hasattr(module, "URDF_PATH"):
        from .mjcf import read_mjcf

        return read_mjcf(file, snap=snap)
    from .urdf import read_urdf

    return read_urdf(file, snap=snap)


def _module(name: str) -> Any:
    if importlib.util.find_spec(_PACKAGE) is None:
        raise MissingExtraError(
            f"names that end in {_ENDING} belong to {_PACKAGE}", element=name, remedy=f"pip install {_PACKAGE}"
        )
    package = importlib.import_module(_PACKAGE)
    known = sorted(module.name for module in pkgutil.iter_modules(package.__path__) if _is_description(module.name))
    if name not in known:
        raise unknown_name("robot", name, known)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the package's remarks on its own future
            return importlib.import_module(f"{_PACKAGE}.{name}")
    except Exception as error:  # the network, git, a full disk
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ModelError(
            f"its files could not be fetched: {reason}", element=name, remedy="Check the network, or give a file"
        ) from error


def _is_description(name: str) -> bool:
    return name.endswith(_ENDING) and not name.startswith("_")


def _file(module: Any) -> tuple[Path | None, dict[str, str]]:
    """Return the model file of a description's module, and xacro's arguments."""
    for attribute in ("URDF_PATH", "MJCF_PATH", "XACRO_PATH"):
        if hasattr(module, attribute):
            return Path(getattr(module, attribute)), dict(getattr(module, "XACRO_ARGS", {}))
    return None, {}


# --- any source

FORMATS: dict[str, tuple[str, ...]] = {
    "urdf": (".urdf",),
    "xacro": (".xacro",),
    "mjcf": (".mjcf",),
    "dh": (".toml",),
    "elementary": (".ets", ".txt"),
    "gepetto": (".yaml", ".yml"),
}
"""Formats and their suffixes; `.xml` is MJCF or URDF by its root element. A format is the name of its module here,
and of the function `read_…` in it.
"""
_CALL = re.compile(r"\s*([^\W\d]\w*)\s*\(([^()]*)\)\s*")
_ROOT = re.compile(r"<\s*([A-Za-z_][\w.:-]*)")
_NO_ELEMENTS = {"<!--": "-->", "<?": "?>", "<!": ">"}
"""Start and end of the markup that may precede the root element."""


def load_mechanism(
    name_or_path: str | os.PathLike[str] | Any, *, snap: bool | None = None, format: str | None = None
) -> Mechanism:
    """Load the mechanism of a built-in robot, a model file, a text, or a model that is open in another library.

    Args:
        name_or_path: a built-in name (`"puma560"`; a generator with its arguments, `"chain(10)"`), the path of a
            .urdf, .xacro (with arguments: `"arm.xacro name:=value"`), .xml (MJCF or URDF), .toml (DH), .ets or
            .txt (elementary transforms), .yaml (loops and motors of the URDF beside it) file, elementary transforms
            themselves (`"Rz(q1) Tx(1)"`), a name of the package robot_descriptions (`"panda_description"`); or a
            `pinocchio.Model` or `mujoco.MjModel`.
        snap: True to make angles near a multiple of 15° exact; None follows the format: True for tables and
            elementary transforms, False for URDF and MJCF.
        format: "urdf", "xacro", "mjcf", "dh", "elementary" or "gepetto", if the suffix does not determine it.
    """
    if format is not None and format not in FORMATS:
        raise unknown_name("format", format, FORMATS)
    if is_open_model(name_or_path):
        mechanism = open_model(name_or_path, snap)
        warn_about_sizes(mechanism)
        return mechanism
    if not isinstance(name_or_path, str | os.PathLike) or not isinstance(os.fspath(name_or_path), str):
        raise UnknownNameError(
            f"a model is given by a name or a path, not by {type(name_or_path).__name__}",
            element="load",
            remedy="pinocchio.Model and mujoco.MjModel will do as well",
        )
    mechanism = _from_text(name_or_path, snap, format) if isinstance(name_or_path, str) else None
    if mechanism is None:
        mechanism = _from_file(Path(name_or_path), snap, format)
    warn_about_sizes(mechanism)
    return mechanism


def _from_text(text: str, snap: bool | None, format: str | None) -> Mechanism | None:
    """Return the mechanism that a string itself describes, or None if it is a path."""
    if format is None and text in robots.data_names():
        return _read("dh", robots.data_file(text), snap)
    from .elementary import elementary_mechanism, is_elementary_text
    from .xacro import read_xacro, split_arguments

    call = _CALL.fullmatch(text)
    if format is None and (text in robots.generators or (call and call.group(1) in robots.generators)):
        return _generated(text if call is None else call.group(1), "" if call is None else call.group(2))
    if format is None and text.endswith(_ENDING) and text.isidentifier():
        return _described_mechanism(text, snap)
    if format in (None, "xacro") and (call_of_xacro := split_arguments(text)) and not _exists(text):
        return read_xacro(call_of_xacro[0], snap=snap, arguments=call_of_xacro[1])
    if (format in (None, "elementary")) and is_elementary_text(text) and not _exists(text):
        return elementary_mechanism(text, snap=snap)
    if format is None and not (text and _exists(text)) and not Path(text).suffix and not re.search(r"[/\\]", text):
        raise unknown_name("robot", text if call is None else call.group(1), robots.names())
    return None


def _from_file(path: Path, snap: bool | None, format: str | None) -> Mechanism:
    if not _exists(path):
        raise ModelError(
            "there is no such file", file=path, remedy="Give a path, or a built-in: " + ", ".join(robots.names())
        )
    return _read(format or _format_of(path), path, snap)


def _format_of(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix == ".sdf":
        raise _sdf(path)
    for format, suffixes in FORMATS.items():
        if suffix in suffixes:
            return format
    if suffix == ".xml":
        return _xml_format(path)
    known = ", ".join(sorted(ending for suffixes in FORMATS.values() for ending in suffixes) + [".xml"])
    raise ModelError(
        f"its suffix {suffix!r} is not that of a model file" if suffix else "it has no suffix",
        file=path,
        remedy=f"Known: {known}; or say format={' or '.join(map(repr, FORMATS))}",
    )


def _sdf(path: Path) -> ModelError:
    return ModelError(
        "SDF is not read: no reader of it is kept as a Python package",
        file=path,
        remedy="Write a URDF with a <loop_joint> for every joint to a link that already has a parent, or an MJCF "
        "with <equality>; or give zveno.load a pinocchio.Model of the tree",
    )


def _xml_format(path: Path) -> str:
    """Return the XML format by the root element alone; the reader itself checks the rest."""
    name = _root_name(read_text(path))
    if name in ("mujoco", "mujocoinclude"):
        return "mjcf"
    if name == "robot":
        return "urdf"
    if name == "sdf":
        raise _sdf(path)
    raise ModelError(
        f"its root element is <{name}>" if name else "it has no XML element",
        file=path,
        remedy="An MJCF file starts with <mujoco>, a URDF file with <robot>",
    )


def _root_name(text: str) -> str:
    """Return the name of the first element after comments, declarations and document type; "" if there is none."""
    start = text.find("<")
    while start >= 0:
        end = next((end for begin, end in _NO_ELEMENTS.items() if text.startswith(begin, start)), None)
        if end is None:
            root = _ROOT.match(text, start)
            return root.group(1) if root else ""
        if end == ">" and -1 < text.find("[", start) < text.find(">", start):
            end = "]"  # declarations inside a document type
        start = text.find(end, start)
        start = text.find("<", start) if start >= 0 else -1
    return ""


def _exists(path) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # a text too long or with characters that no path has
        return False


def _generated(name: str, arguments: str) -> Mechanism:
    """Return the mechanism of a generator, from its name and the text of its arguments."""
    make = robots.generators[name]
    values = [_plain_number(word.strip(), name) for word in arguments.split(",")] if arguments.strip() else []
    try:
        inspect.signature(make).bind(*values)
    except TypeError:
        raise UnknownNameError(
            f"{name} does not take {len(values)} argument(s)", remedy=f"Call it as {name}{inspect.signature(make)}"
        ) from None
    return make(*values)


def _plain_number(word: str, name: str) -> int | float:
    try:
        return int(word)
    except ValueError:
        pass
    try:
        return float(word)
    except ValueError:
        raise UnknownNameError(
            f"{word!r} is not a number", element=name, remedy=f"Write, for example, {name}(10)"
        ) from None


def _read(format: str, path: Path, snap: bool | None) -> Mechanism:
    """Read the mechanism in a file by the reader of its format, which is imported only now."""
    reader = getattr(importlib.import_module(f".{format}", __package__), f"read_{format}")
    try:
        return reader(path, snap=snap)
    except ZvenoError as error:  # from below the reader, where nobody knows the file
        raise error if error.file is not None else error.located(file=path) from error
