"""Named arrays of .npz files of NumPy and of MAT files up to version 7."""

from __future__ import annotations

import io
import math
import struct
import sys
import zlib
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from ..errors import ModelError
from .files import opened, opened_archive, over_limit, read_bytes

MAX_ARRAY_BYTES = 2 * 2**30
"""Memory limit of arrays, at eight bytes per number."""
_REMEDY = "Write it again with numpy.savez"
_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


def read_npz(path: object, limit: int = MAX_ARRAY_BYTES) -> dict[str, np.ndarray]:
    """Read the arrays of an .npz file by name; together they may take `limit` bytes."""
    arrays: dict[str, np.ndarray] = {}
    with opened(path, limit) as stream, opened_archive(stream, limit, path, _REMEDY) as archive:
        entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        total = 0
        for name, entry in entries.items():
            if name == entry.filename:
                raise ModelError(
                    f"it holds {name[:60]!r}, which is not an array",
                    file=path,
                    remedy="Is it another kind of archive?",
                )
            with archive.open(entry) as member:
                total += _check_array(member, entry.file_size, path, f"array {name}")
        if total > limit:
            raise over_limit(total, limit, path)
        for name, entry in entries.items():
            with archive.open(entry) as member:
                arrays[name] = _read_array(member, path, f"array {name}")
    return arrays


def read_npy(path: object, limit: int = MAX_ARRAY_BYTES) -> np.ndarray:
    """Read the array of an .npy file of at most `limit` bytes."""
    data = read_bytes(path, limit)
    size = _check_array(io.BytesIO(data), len(data), path)
    if size > limit:
        raise over_limit(size, limit, path)
    return _read_array(io.BytesIO(data), path)


def _check_array(stream: Any, size: int, path: object, element: str | None = None) -> int:
    """Check the header of an .npy file of `size` bytes; return the array's bytes, eight or more per number."""
    if not size:
        raise ModelError("it is empty", file=path, element=element, remedy=_REMEDY)
    try:
        shape, _, kind = _HEADERS[np.lib.format.read_magic(stream)](stream)
        count = math.prod(shape)
    except Exception as error:  # errors of NumPy's parser of headers have no common class
        raise ModelError(
            f"it is damaged, or not a NumPy array file: {str(error)[:80]}",
            file=path,
            element=element,
            remedy=_REMEDY,
        ) from None
    if kind.kind not in "biufU":
        content = "complex numbers" if kind.kind == "c" else f"{str(kind)[:60]!r}, not plain numbers or texts"
        raise ModelError(f"it holds {content}", file=path, element=element, remedy="Save arrays of real numbers")
    if min(shape, default=0) < 0 or count > size or count * kind.itemsize > size:
        raise ModelError(
            f"its data are cut off: shape {str(shape)[:60]} of {kind.str}",
            file=path,
            element=element,
            remedy=_REMEDY,
        )
    return count * max(kind.itemsize, 8)


def _read_array(stream: BinaryIO | Any, path: object, element: str | None = None) -> np.ndarray:
    try:
        array = np.lib.format.read_array(stream, allow_pickle=False)
    except (ValueError, TypeError, MemoryError, EOFError) as error:
        raise ModelError(f"it is damaged: {error}", file=path, element=element, remedy=_REMEDY) from None
    if array.dtype.kind == "U" and array.dtype.itemsize:
        letters = np.ascontiguousarray(array).reshape(-1).view(array.dtype.byteorder + "u4")
        if np.any(letters > sys.maxunicode):
            raise ModelError("its text is damaged", file=path, element=element, remedy=_REMEDY)
    return array


_HEADER, _COMPRESSED, _CHUNK = 128, 15, 2**20
_MAT_REMEDY = "Write it again in MATLAB with its variables: save('data.mat', 'q', 'y', '-v7')"


def read_mat(path: object, limit: int = MAX_ARRAY_BYTES) -> dict[str, np.ndarray]:
    """Read the numeric arrays of a MAT file by name; together they may take `limit` bytes."""
    from scipy.io import loadmat

    data = read_bytes(path, limit)
    if data[:8].startswith(b"\x89HDF") or b"MATLAB 7.3" in data[:64] or data[512:520] == b"\x89HDF\r\n\x1a\n":
        raise ModelError("it is a MAT file of version 7.3, which is not read", file=path, remedy=_MAT_REMEDY)
    try:
        size = _unpacked_size(data, limit)
        if size > limit:
            raise over_limit(size, limit, path)
        content = loadmat(io.BytesIO(data), simplify_cells=True)
    except ModelError:
        raise
    except Exception as error:  # errors of SciPy's reader have no common class
        raise ModelError(
            f"it is damaged, or not a MAT file: {str(error)[:100]}", file=path, remedy=_MAT_REMEDY
        ) from None
    arrays = {name: value for name, value in _named_arrays(content, "") if value.dtype.kind in "biufc"}
    for name, value in arrays.items():
        if value.dtype.kind == "c":
            raise ModelError(
                "it holds complex numbers", file=path, element=f"array {name}", remedy="Save arrays of real numbers"
            )
    return arrays


def _unpacked_size(data: bytes, limit: int) -> int:
    """Return the bytes of all elements once unpacked; counting ends beyond the limit, and nothing is kept."""
    if data[126:128] not in (b"IM", b"MI"):
        return len(data)  # version 4 is not compressed
    order = "<" if data[126:128] == b"IM" else ">"
    at, size = _HEADER, len(data)
    while at + 8 <= len(data) and size <= limit:
        kind, length = struct.unpack_from(f"{order}LL", data, at)
        at += 8
        if kind == _COMPRESSED:
            packed, unpacker = data[at : at + length], zlib.decompressobj()
            while packed and size <= limit:
                size += len(unpacker.decompress(packed, _CHUNK))
                packed = unpacker.unconsumed_tail
        at += length
    return size


def _named_arrays(content: dict, before: str) -> Iterator[tuple[str, np.ndarray]]:
    """Yield (name, array) of the variables and of the members of structures."""
    for name, value in content.items():
        if isinstance(value, dict):
            yield from _named_arrays(value, f"{before}{name}.")
        elif isinstance(value, np.ndarray) and value.ndim:
            yield before + name, value
