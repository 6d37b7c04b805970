"""Large outputs: one NPY file a piece, and a manifest of them, so that nothing large passes through a merge."""

from __future__ import annotations

import functools
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import ModelError, ZvenoError
from ..io.files import read_bytes, read_json, replacing, write_text
from ..progress import Progress
from .digest import digest_of
from .fold import On, fold

MANIFEST = "manifest.json"
FORMAT = "zveno manifest"
MAX_PIECE_BYTES = 2**34


class Filing(NamedTuple):
    """What work may return instead of an array: the array, and plain facts about it for the manifest."""

    array: np.ndarray
    about: dict[str, Any]


def filed(
    work: Callable[[Any], np.ndarray | Filing],
    pieces: Sequence[Any],
    directory: str | os.PathLike[str],
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Path:
    """Arrays of `work(piece)` as NPY files of a directory; the manifest is written last and returned.

    Arguments as in `fold`. Workers write the files, so that the directory must be one that all of them see. One
    with the manifest of other work is refused.
    """
    target = Path(directory).absolute()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ZvenoError(
            f"cannot be made: {error.strerror}", file=target, remedy="Give another directory"
        ) from error
    digest, manifest = digest_of(work, pieces, _joined), target / MANIFEST
    if manifest.exists() and manifest_digest(manifest) != digest:
        raise ZvenoError(
            "holds the output of other work", file=target, remedy="Give another directory, or empty it"
        )
    numbered = list(enumerate(pieces))
    entries = fold(functools.partial(_written, work, target), numbered, _joined, on, checkpoint, progress)
    for entry in entries:
        _refuse_lost(target / entry["file"], entry["bytes"])
    return write_text(manifest, json.dumps({"format": FORMAT, "work": digest, "pieces": entries}, indent=1))


def read_manifest(manifest: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The entries of a manifest in the order of the pieces: file, shape, bytes, sha256, and what the work said."""
    return _checked(manifest)["pieces"]


def manifest_digest(manifest: str | os.PathLike[str]) -> str:
    """A hash of the work and the pieces that the files come from."""
    return _checked(manifest)["work"]


def _checked(manifest: str | os.PathLike[str]) -> dict[str, Any]:
    data = read_json(manifest)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ModelError("is not a manifest", file=manifest, remedy="Give the file that `filed` returned")
    return data


def read_filed(manifest: str | os.PathLike[str]) -> Iterator[np.ndarray]:
    """The arrays of a manifest in the order of the pieces, each checked against its hash."""
    for entry in read_manifest(manifest):
        yield read_piece(manifest, entry)


def read_piece(manifest: str | os.PathLike[str], entry: dict[str, Any]) -> np.ndarray:
    """The array of one entry of a manifest, checked against its hash."""
    file = Path(manifest).parent / Path(entry["file"]).name
    data = read_bytes(file, MAX_PIECE_BYTES)
    if hashlib.sha256(data).hexdigest() != entry["sha256"]:
        raise ModelError("is not the file that was written", file=file, remedy="Compute it again")
    return np.load(io.BytesIO(data), allow_pickle=False)


def _written(
    work: Callable[[Any], np.ndarray | Filing], directory: Path, numbered: tuple[int, Any]
) -> list[dict[str, Any]]:
    number, piece = numbered
    answer = work(piece)
    array, about = answer if isinstance(answer, Filing) else (np.asarray(answer), {})
    if array.dtype.hasobject:
        raise ZvenoError("is no plain array", element=f"piece {number}", remedy="Return numbers")
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    data = content.getbuffer()
    file = directory / f"{number:08d}.npy"
    with replacing(file) as temporary:
        temporary.write_bytes(data)
    said = {"file": file.name, "shape": list(array.shape), "bytes": len(data)}
    said |= {"sha256": hashlib.sha256(data).hexdigest()} | ({"about": about} if about else {})
    return [said]


def _refuse_lost(file: Path, size: int) -> None:
    """A resumed run relies on the files of the one before."""
    if not file.is_file() or file.stat().st_size != size:
        raise ZvenoError(
            "was written and is gone, or is another file now",
            file=file,
            remedy="Begin again without the checkpoint",
        )


def _joined(first: list[Any], second: list[Any]) -> list[Any]:
    return first + second
