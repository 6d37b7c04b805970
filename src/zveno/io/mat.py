"""Arrays from MAT files up to version 7, read by SciPy: numbers by name, members of structures as `data.q`.

Texts, cells and objects are left out. The unpacked size is counted before SciPy reads compressed elements.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator

import numpy as np

from ..errors import ModelError
from .files import over_limit, read_bytes
from .npz import MAX_ARRAY_BYTES

_HEADER, _COMPRESSED, _CHUNK = 128, 15, 2**20
_REMEDY = "Write it again in MATLAB with its variables: save('data.mat', 'q', 'y', '-v7')"


def read_mat(path: object, limit: int = MAX_ARRAY_BYTES) -> dict[str, np.ndarray]:
    """Read the numeric arrays of a MAT file by name; together they may take `limit` bytes."""
    from scipy.io import loadmat

    data = read_bytes(path, limit)
    if data[:8].startswith(b"\x89HDF") or b"MATLAB 7.3" in data[:64] or data[512:520] == b"\x89HDF\r\n\x1a\n":
        raise ModelError("it is a MAT file of version 7.3, which is not read", file=path, remedy=_REMEDY)
    try:
        size = _unpacked_size(data, limit)
        if size > limit:
            raise over_limit(size, limit, path)
        content = loadmat(io.BytesIO(data), simplify_cells=True)
    except ModelError:
        raise
    except Exception as error:  # errors of SciPy's reader have no common class
        raise ModelError(
            f"it is damaged, or not a MAT file: {str(error)[:100]}", file=path, remedy=_REMEDY
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
