"""Compiling MJCF text or files with MuJoCo: checks of the XML before, clear errors after.

MuJoCo runs in this process and opens the files that a model includes. A model that crashes
its compiler, such as one that attaches itself, ends the process; see the threat model in `files`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import MissingExtraError, ModelError
from .files import read_bytes
from .xml import parse_xml

OLDEST_MUJOCO = (3, 3)

_PLACEHOLDER_VERTICES = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
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
    "ELEMENT_DEPTH": "MuJoCo's reader stops at 500 nested elements; use another format for longer chains",
}


def mujoco_module() -> Any:
    """Return the mujoco package, or raise an error that says how to get it."""
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
    """Return (MjModel, notes) of an MJCF file; includes and assets are found relative to it."""
    _check_root(read_bytes(path), path)
    mujoco = mujoco_module()
    return _compiled(mujoco, mujoco.MjModel.from_xml_path, mujoco.MjSpec.from_file, str(path), path)


def compiled_text(text: str, file: object | None = None) -> tuple[Any, list[str]]:
    """Return (MjModel, notes) of MJCF text; `file` only names it in errors."""
    if not isinstance(text, str):
        raise ModelError(f"{type(text).__name__} was given where text is needed", remedy="Give a str", file=file)
    _check_root(text, file)
    mujoco = mujoco_module()
    return _compiled(mujoco, mujoco.MjModel.from_xml_string, mujoco.MjSpec.from_string, text, file)


def _check_root(data: bytes | str, file: object | None) -> None:
    """Check that the text is safe XML and a whole MJCF model."""
    try:
        tag = parse_xml(data).tag
    except ModelError as error:
        raise error.located(file=file) from None
    if tag != "mujoco":
        remedy = {
            "robot": "This is URDF: read it with read_urdf",
            "mujocoinclude": "This is a part of a model: read the file that includes it",
        }.get(tag, "An MJCF model is <mujoco> … </mujoco>")
        raise ModelError(f"its root element is <{tag}>, not <mujoco>", file=file, remedy=remedy)


def _compiled(
    mujoco: Any, read_model: Callable[[str], Any], read_spec: Callable[[str], Any], source: str, file: object | None
) -> tuple[Any, list[str]]:
    """Return (MjModel, notes) of a path or text; asset files that no inertia depends on may be missing."""
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)  # without a handler MuJoCo writes MUJOCO_LOG.TXT
    try:
        try:
            return read_model(source), []
        except ValueError as error:
            if not _MISSING_FILE.search(str(error)) or "Element 'include'" in str(error):
                raise
        spec = read_spec(source)
        notes = _replace_assets(mujoco, spec)
        return spec.compile(), notes
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        raise _translated(error, file) from None
    finally:
        mujoco.set_mju_user_warning(handler)


def _replace_assets(mujoco: Any, spec: Any) -> list[str]:
    """Replace pictures and shapes that no inertia depends on by placeholders; return a note that names them.

    Placeholders instead of deletion: other elements may refer to the assets.
    """
    needed = {geom.meshname for geom in spec.geoms if geom.meshname and _has_mass(mujoco, spec, geom)}
    replaced = []
    for mesh in spec.meshes:
        # A mesh without a name is called by its file's.
        name = mesh.name or Path(mesh.file).stem
        if mesh.file and name not in needed:
            replaced.append(mesh.file)
            mesh.name, mesh.file, mesh.uservert = name, "", _PLACEHOLDER_VERTICES
    for field in spec.hfields:
        if field.file:
            replaced.append(field.file)
            field.name = field.name or Path(field.file).stem
            field.file, field.nrow, field.ncol, field.userdata = "", 2, 2, [0.0] * 4
    for texture in spec.textures:
        files = [file for file in (texture.file, *texture.cubefiles) if file]
        if files:
            replaced.extend(files)
            texture.name = texture.name or Path(files[0]).stem
            texture.file, texture.builtin = "", mujoco.mjtBuiltin.mjBUILTIN_FLAT
            for k in range(len(texture.cubefiles)):
                texture.cubefiles[k] = ""
            flat = texture.type == mujoco.mjtTexture.mjTEXTURE_2D
            texture.width, texture.height = 1, 1 if flat else 6
    shown = ", ".join(replaced[:5]) + (f", … ({len(replaced)} in all)" if len(replaced) > 5 else "")
    return [f"asset files are missing; meshes and pictures were ignored: {shown}"] if replaced else []


def _has_mass(mujoco: Any, spec: Any, geom: Any) -> bool:
    """Return True if the inertia of the geom's body is inferred from it."""
    rule, rules = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    if geom.parent.name == "world" or rule == rules.mjINERTIAFROMGEOM_FALSE:
        return False
    if rule == rules.mjINERTIAFROMGEOM_AUTO and geom.parent.explicitinertial:
        return False
    first, last = spec.compiler.inertiagrouprange
    return first <= geom.group <= last and geom.mass != 0 and geom.density != 0


def _translated(error: Exception, file: object | None) -> ModelError:
    """Convert MuJoCo's error to ours: its text, the element it names, and a remedy."""
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
