"""Arrays from .npz and .npy files of strangers: plain numbers and texts, sizes checked before memory is taken."""

from __future__ import annotations

import ast
import io
import math
import re
import struct
import sys
import zipfile
import zlib

import numpy as np

from ..errors import ModelError
from .files import read_bytes

MAX_ARRAY_BYTES = 2 * 2**30
"""Arrays that take more memory than this are refused."""
MAX_DIRECTORY_BYTES = 2**20
"""Larger tables of contents are refused: this much names some ten thousand arrays."""

_MAGIC = b"\x93NUMPY"
_PLAIN = re.compile(r"[<>|=]?([biufc](1|2|4|8|16)|U\d{1,8})")
_REMEDY = "Write it again with numpy.savez"
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x07"
_BROKEN = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, LookupError, OSError)


def read_npz(path: object, limit: int = MAX_ARRAY_BYTES) -> dict[str, np.ndarray]:
    """The arrays of an .npz file by name; together they may take `limit` bytes."""
    data = read_bytes(path, limit)
    try:
        return _unpacked(data, limit)
    except ModelError as error:
        raise error.located(file=path) from None
    except NotImplementedError:
        raise ModelError("it is packed in a way that NumPy does not write", file=path, remedy=_REMEDY) from None
    except _BROKEN as error:
        raise ModelError(f"it is damaged: {error}", file=path, remedy=_REMEDY) from None


def read_npy(path: object, limit: int = MAX_ARRAY_BYTES) -> np.ndarray:
    """The array of an .npy file of at most `limit` bytes."""
    data = read_bytes(path, limit)
    try:
        return _array(data)
    except ModelError as error:
        raise error.located(file=path) from None


def _unpacked(data: bytes, limit: int) -> dict[str, np.ndarray]:
    if not data.startswith(b"PK"):
        was = "an .npy file renamed" if data.startswith(_MAGIC) else "no .npz file" if data else "empty"
        raise ModelError(f"it is {was}", remedy=_REMEDY)
    _check_directory(data)
    arrays: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        entries = archive.infolist()
        size = sum(entry.file_size for entry in entries)
        if size > limit:
            raise ModelError(
                f"its arrays would take {size / 2**20:.0f} MB, and at most {limit // 2**20} MB are read",
                remedy="Split it into several files, or thin the data out",
            )
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            if entry.flag_bits & 1:
                raise ModelError("it is encrypted", element=name, remedy=_REMEDY)
            if name == entry.filename:
                raise ModelError(
                    f"it holds {name[:60]!r}, which is no array", remedy="Is it another kind of archive?"
                )
            try:
                arrays[name] = _array(archive.read(entry))
            except ModelError as error:
                raise error.located(element=f"array {name}") from None
    return arrays


def _check_directory(data: bytes) -> None:
    """Refuse a table of contents that would fill the memory, before zipfile reads it."""
    end = data.rfind(_END, max(0, len(data) - 2**16 - 22))
    if end < 0 or len(data) < end + 22:
        raise ModelError("it is cut off or damaged", remedy=_REMEDY)
    (size,) = struct.unpack_from("<L", data, end + 12)
    if size > MAX_DIRECTORY_BYTES or data[max(0, end - 20) :].startswith(_END_64):
        raise ModelError("it has too many entries", remedy=_REMEDY)


def _array(data: bytes) -> np.ndarray:
    """The array of an .npy file's content, format versions 1 and 2."""
    if not data.startswith(_MAGIC) or len(data) < 12 or data[6] not in (1, 2):
        raise ModelError("it is no array that NumPy wrote" if data else "it is empty", remedy=_REMEDY)
    start = 10 if data[6] == 1 else 12
    (length,) = struct.unpack_from("<H" if data[6] == 1 else "<L", data, 8)
    try:
        header = ast.literal_eval(data[start : start + min(length, 10_000)].decode("latin-1").strip())
        described, transposed, shape = header["descr"], header["fortran_order"], header["shape"]
        if not all(type(n) is int and n >= 0 for n in shape) or len(shape) > 16:
            raise ValueError
        count = math.prod(shape)
        kind = np.dtype(described) if isinstance(described, str) and _PLAIN.fullmatch(described) else None
    except (ValueError, TypeError, KeyError, SyntaxError, RecursionError, MemoryError):
        raise ModelError("its description is damaged", remedy=_REMEDY) from None
    if kind is None:
        raise ModelError(
            f"it holds {str(described)[:60]!r}, not plain numbers or texts", remedy="Save arrays of numbers"
        )
    begin = start + length
    if count > max(1, len(data)) or count * kind.itemsize > len(data) - begin:
        raise ModelError(f"its data are cut off: shape {str(tuple(shape))[:60]} of {described}", remedy=_REMEDY)
    flat = np.frombuffer(data, kind, count, begin) if kind.itemsize else np.zeros(count, kind)
    if kind.kind == "U" and np.any(flat.view(kind.byteorder + "u4") > sys.maxunicode):
        raise ModelError("its text is damaged", remedy=_REMEDY)
    return flat.reshape(shape, order="F" if transposed else "C").copy()
