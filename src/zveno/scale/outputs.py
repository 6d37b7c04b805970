"""Large outputs: one NPY file a piece, and a manifest of them, so that nothing large passes through a merge."""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, ZvenoError
from ..io.files import read_bytes, read_json, replacing, write_text
from ..progress import Progress
from .fold import On, fold

MANIFEST = "manifest.json"
FORMAT = "zveno manifest"
MAX_PIECE_BYTES = 2**34


def filed(
    work: Callable[[Any], np.ndarray],
    pieces: Sequence[Any],
    folder: str | os.PathLike[str],
    on: On = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress = None,
) -> Path:
    """Arrays of `work(piece)` as NPY files of a folder; the manifest is written last and returned.

    Arguments as in `fold`. Workers write the files, so that the folder must be one that all of them see.
    """
    target = Path(folder).absolute()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ZvenoError(f"cannot be made: {error.strerror}", file=target, remedy="Give another folder") from error
    numbered = list(enumerate(pieces))
    entries = fold(functools.partial(_written, work, target), numbered, _joined, on, checkpoint, progress)
    return write_text(target / MANIFEST, json.dumps({"format": FORMAT, "pieces": entries}, indent=1))


def read_filed(manifest: str | os.PathLike[str]) -> Iterator[np.ndarray]:
    """The arrays of a manifest in the order of the pieces, each checked against its hash."""
    data = read_json(manifest)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ModelError("is not a manifest", file=manifest, remedy="Give the file that `filed` returned")
    for entry in data["pieces"]:
        file = Path(manifest).parent / Path(entry["file"]).name
        if hashlib.sha256(read_bytes(file, MAX_PIECE_BYTES)).hexdigest() != entry["sha256"]:
            raise ModelError("is not the file that was written", file=file, remedy="Compute it again")
        yield np.load(file, allow_pickle=False)


def _written(work: Callable[[Any], np.ndarray], folder: Path, numbered: tuple[int, Any]) -> list[dict[str, Any]]:
    number, piece = numbered
    array = np.asarray(work(piece))
    if array.dtype.kind == "O":
        raise ZvenoError("is no plain array", element=f"piece {number}", remedy="Return numbers")
    file = folder / f"{number:08d}.npy"
    with replacing(file) as temporary:
        np.save(temporary, array, allow_pickle=False)
    said = {"file": file.name, "shape": list(array.shape), "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
    return [said]


def _joined(first: list[Any], second: list[Any]) -> list[Any]:
    return first + second
