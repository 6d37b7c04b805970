"""Arrays from MAT files of strangers, versions 4 to 7: numbers by name, members of structures as `data.q`."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import ModelError
from .files import read_bytes
from .npz import MAX_ARRAY_BYTES

MAX_DEPTH = 8
"""Structures inside structures are read this deep."""
_COMPRESSED = 15
_HEADER = 128
_REMEDY = "Write it again in MATLAB: save('log.mat', 't', 'q', 'tau', '-v7')"


def read_mat(path: object, limit: int = MAX_ARRAY_BYTES) -> dict[str, np.ndarray]:
    """The arrays of numbers in a MAT file by name; together they may take `limit` bytes."""
    data = read_bytes(path, limit)
    if data[:512].startswith(b"\x89HDF") or b"MATLAB 7.3" in data[:64] or data[512:520] == b"\x89HDF\r\n\x1a\n":
        raise ModelError("it is a MAT file of version 7.3, which is not read", file=path, remedy=_REMEDY)
    try:
        return _flat(_loaded(_unpacked(data, limit)))
    except ModelError as error:
        raise error.located(file=path) from None


def _unpacked(data: bytes, limit: int) -> bytes:
    """The file with compressed parts written out, so that their size is known before it is read."""
    if len(data) < _HEADER or data[:4] == b"\0\0\0\0" or data[126:128] not in (b"IM", b"MI"):
        return data  # version 4, which is never compressed, or no MAT file
    order = "<" if data[126:128] == b"IM" else ">"
    parts, at, size = [data[:_HEADER]], _HEADER, _HEADER
    while at + 8 <= len(data):
        kind, length = struct.unpack_from(f"{order}LL", data, at)
        part = data[at : at + 8 + length]
        if kind == _COMPRESSED:
            stream = zlib.decompressobj()
            try:
                part = stream.decompress(part[8:], limit - size + 1)
            except zlib.error as error:
                raise ModelError(f"it is damaged: {error}", remedy=_REMEDY) from None
        size += len(part)
        if size > limit:
            raise ModelError(
                f"its arrays would take more than {limit // 2**20} MB", remedy="Split it, or thin the data out"
            )
        parts.append(part)
        at += 8 + length
    return b"".join(parts)


def _loaded(data: bytes) -> Mapping[str, Any]:
    import warnings

    from scipy.io import loadmat

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about parts that are no arrays of numbers
            return loadmat(io.BytesIO(data), simplify_cells=True, verify_compressed_data_integrity=False)
    except MemoryError:
        raise ModelError("its arrays are too large", remedy=_REMEDY) from None
    except Exception as error:  # a damaged file fails in any way inside SciPy
        raise ModelError(f"it is damaged, or no MAT file: {str(error)[:200]}", remedy=_REMEDY) from None


def _flat(values: Mapping[str, Any], before: str = "", depth: int = 0) -> dict[str, np.ndarray]:
    found: dict[str, np.ndarray] = {}
    for name, value in values.items():
        if not isinstance(name, str) or name.startswith("__"):
            continue
        if isinstance(value, Mapping):
            if depth < MAX_DEPTH:
                found |= _flat(value, f"{before}{name}.", depth + 1)
        elif np.ndim(value) and np.asarray(value).dtype.kind in "biuf":
            found[before + name] = np.asarray(value)
    return found
