"""From MJCF text or file to MuJoCo's compiled model: checks before, MuJoCo's complaints translated after."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import MissingExtraError, ModelError
from .files import read_bytes
from .xml import Element, parse_xml

OLDEST_MUJOCO = (3, 3)
MAX_COPIES = 100_000
"""More copies than this from `<replicate>` are taken for a mistake (or an attack on memory)."""

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


def compiled_file(path: str | Path):
    """(MjModel, notes) of an MJCF file; includes and assets are looked for beside it."""
    _check(read_bytes(path), path)
    mujoco = mujoco_module()
    return _compiled(
        lambda: mujoco.MjModel.from_xml_path(str(path)), lambda: mujoco.MjSpec.from_file(str(path)), path
    )


def compiled_text(text: str, file: object | None = None):
    """(MjModel, notes) of MJCF text; `file` only names it in errors."""
    if not isinstance(text, str):
        raise ModelError(f"{type(text).__name__} was given where text is needed", remedy="Give a str", file=file)
    _check(text, file)
    mujoco = mujoco_module()
    return _compiled(lambda: mujoco.MjModel.from_xml_string(text), lambda: mujoco.MjSpec.from_string(text), file)


def _check(data: bytes | str, file: object | None):
    """Refuses what is not a whole MJCF model, and what could exhaust memory, before MuJoCo sees it."""
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
    _check_copies(root, file)


def _check_copies(root: Element, file: object | None):
    waiting, total = [(root, 1.0)], 0.0
    while waiting:
        element, copies = waiting.pop()
        if element.tag == "replicate":
            try:
                copies *= float(element.attributes.get("count", "1"))
            except ValueError:
                continue  # MuJoCo says it better
            total += abs(copies)
            if not total <= MAX_COPIES:
                raise ModelError(
                    f"its <replicate> elements ask for more than {MAX_COPIES} copies",
                    file=file,
                    element=f"replicate (line {element.line})",
                    remedy="Lower their count",
                )
        waiting.extend((child, copies) for child in element.children)


def _compiled(load_model, load_spec, file: object | None):
    mujoco = mujoco_module()
    refusals = (ValueError, mujoco.FatalError, mujoco.UnexpectedError)
    with _silenced(mujoco):
        try:
            return load_model(), []
        except refusals as error:
            if not _MISSING_FILE.search(str(error)) or "Element 'include'" in str(error):
                raise _translated(error, file) from error
        try:
            spec = load_spec()
            notes = _replace_assets(mujoco, spec)
            return spec.compile(), notes
        except refusals as error:
            raise _translated(error, file) from error


@contextmanager
def _silenced(mujoco) -> Iterator[None]:
    """Without a handler MuJoCo prints its warnings and writes MUJOCO_LOG.TXT into the working directory."""
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda text: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(handler)


def _replace_assets(mujoco, spec) -> list[str]:
    """Puts placeholders for the pictures and shapes that no inertia depends on; a note says which.

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


def _has_mass(mujoco, spec, geom) -> bool:
    """Whether the inertia of the geom's body is inferred from it."""
    rule, rules = spec.compiler.inertiafromgeom, mujoco.mjtInertiaFromGeom
    if geom.parent.name == "world" or rule == rules.mjINERTIAFROMGEOM_FALSE:
        return False
    if rule == rules.mjINERTIAFROMGEOM_AUTO and geom.parent.explicitinertial:
        return False
    first, last = spec.compiler.inertiagrouprange
    return first <= geom.group <= last and geom.mass != 0 and geom.density != 0


def _translated(error: Exception, file: object | None) -> ModelError:
    """MuJoCo's complaint as our error: its words, the element it names, and what to do."""
    words = re.sub(r"^(\s*(XML )?Error: ?)+", "", str(error)).strip()
    element = None
    for pattern in _PLACES:
        if found := pattern.search(words):
            line = f" (line {found['line']})" if found["line"] else ""
            name = found["name"] or (f"number {found['id']}" if "id" in found.groupdict() else "")
            element = f"element {name}{line}"
            words = words[: found.start()] + words[found.end() :]
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
