"""The files of an MJCF model, looked at before MuJoCo opens them: no pipes, no circles, no endless copies."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from ..errors import ModelError
from .files import read_bytes, too_large
from .xml import Element, parse_xml

MAX_COPIES = 20_000
"""More copies than this from `<replicate>` are taken for a mistake (or an attack on memory)."""
MAX_PARTS = 500
"""Files that a model may include or attach."""
MAX_ASSETS = 100_000
"""Paths that are looked at; beyond them, the limits of the process that compiles have to do."""
MAX_ASSET_BYTES = 256 * 2**20
"""Larger meshes, textures and height fields are refused."""

MAX_SIZE = 20_000
"""Larger numbers of user data, keyframes, rows and columns are refused: one of them alone would take minutes."""

_SIZES = {"nkey", "nuserdata", "nrow", "ncol", "width", "height"}
_DIRECTORIES = ("assetdir", "meshdir", "texturedir")
_FILES = ("file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback")


@dataclass(frozen=True)
class _Part:
    """An element still to be looked at, how often it is copied, and the files that lead to it."""

    element: Element
    copies: float
    files: tuple[object, ...]


def check_parts(root: Element, file: object | None, directory: Path) -> None:
    """Refuse what would block MuJoCo or exhaust memory, in the model and in the files that it includes or attaches.

    Args:
        root: of the model.
        file: what errors call it.
        directory: where MuJoCo looks for the files it names.
    """
    waiting = [_Part(root, 1.0, (file,))]
    places, assets = {directory}, []
    total, parts = 0.0, 0
    while waiting:
        part = waiting.pop()
        element, copies = part.element, part.copies
        if element.tag == "replicate":
            copies *= _count(element)
            total += copies
            if not total <= MAX_COPIES:
                raise ModelError(
                    f"its <replicate> elements ask for more than {MAX_COPIES} copies",
                    file=part.files[-1],
                    element=f"replicate (line {element.line})",
                    remedy="Lower their count",
                )
        _check_sizes(part)
        places |= {directory / element.attributes[name] for name in _DIRECTORIES if name in element.attributes}
        assets += [(part, element.attributes[name]) for name in _FILES if name in element.attributes]
        if element.tag in ("include", "model") and "file" in element.attributes:
            parts += 1
            if parts > MAX_PARTS:
                raise ModelError(f"it includes or attaches more than {MAX_PARTS} files", file=file)
            inner = _inner(part, directory)
            if inner is not None:
                waiting.append(_Part(inner[1], copies, (*part.files, inner[0])))
        waiting.extend(_Part(child, copies, part.files) for child in element.children)
    if len(places) > MAX_PARTS:
        raise ModelError(f"it names more than {MAX_PARTS} directories", file=file)
    for part, name in assets[: MAX_ASSETS // len(places)]:
        _check_asset(part, name, places)


def _check_sizes(part: _Part) -> None:
    for name in _SIZES.intersection(part.element.attributes) | _user_sizes(part.element):
        text = part.element.attributes[name]
        try:
            too_much = not float(text) <= MAX_SIZE
        except ValueError:
            continue  # MuJoCo says it better
        if too_much:
            raise ModelError(
                f"it asks for {name} = {text[:40]}, and at most {MAX_SIZE} are read",
                file=part.files[-1],
                element=f"{part.element.tag} (line {part.element.line})",
                remedy="Lower it",
            )


def _user_sizes(element: Element) -> set[str]:
    return {name for name in element.attributes if name.startswith("nuser_")} if element.tag == "size" else set()


def _count(element: Element) -> float:
    try:
        return abs(float(element.attributes.get("count", "1")))
    except ValueError:
        return 1.0  # MuJoCo says it better


def _inner(part: _Part, directory: Path) -> tuple[Path, Element] | None:
    """Path and root of the file that an element includes or attaches; None where MuJoCo says what is wrong."""
    name = part.element.attributes["file"]
    beside = [Path(str(part.files[-1])).parent] if part.files[-1] is not None else []
    for path in (place / name for place in (directory, *beside)):
        if not _status(path):
            continue
        if any(known is not None and _same(path, known) for known in part.files):
            if part.element.tag == "include":
                return None
            raise ModelError(
                f"it attaches the model {name!r}, which it is a part of",
                file=part.files[-1],
                element=f"model (line {part.element.line})",
                remedy="Attach another model",
            )
        try:
            return path, parse_xml(read_bytes(path))
        except ModelError as error:
            raise error.located(file=path) from None
    return None


def _check_asset(part: _Part, name: str, places: set[Path]) -> None:
    for path in {place / end for place in places for end in (name, Path(name).name)}:
        status = _status(path)
        if status is None or stat.S_ISDIR(status.st_mode):
            continue
        where = f"{part.element.tag} (line {part.element.line})"
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{name!r} is not a regular file", file=part.files[-1], element=where)
        if status.st_size > MAX_ASSET_BYTES:
            raise too_large(status.st_size, path, MAX_ASSET_BYTES)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):
        return None


def _same(path: Path, other: object) -> bool:
    status, others = _status(path), _status(Path(str(other)))
    return status is not None and others is not None and os.path.samestat(status, others)
