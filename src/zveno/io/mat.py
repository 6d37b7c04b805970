"""Arrays from MAT files of strangers, versions 4 to 7: numbers by name, members of structures as `data.q`.

Read here because the usual reader crashes the process on damaged files. The formats are those of "MAT-File Format"
(The MathWorks): version 4 is a sequence of matrices; versions 5 to 7 are tagged elements, some of them compressed.
Texts, cells, objects, sparse and complex matrices are left out.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterator

import numpy as np

from ..errors import ModelError
from .files import read_bytes
from .npz import MAX_ARRAY_BYTES

MAX_DEPTH = 8
"""Structures inside structures are read this deep."""
_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""Types of the numbers of an element."""
_STRUCTURE = 2
_CLASSES = dict(enumerate(("f8", "f4", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"), start=6))
"""Types of a matrix, by its class; its numbers may be stored in a smaller one."""
_COMPLEX = 0x800
_VERSION_4 = ("f8", "f4", "i4", "i2", "u2", "u1")
_REMEDY = "Write it again in MATLAB with its variables: save('data.mat', 'q', 'y', '-v7')"


def read_mat(path: object, limit: int = MAX_ARRAY_BYTES) -> dict[str, np.ndarray]:
    """The arrays of numbers in a MAT file by name; together they may take `limit` bytes."""
    data = read_bytes(path, limit)
    if data[:512].startswith(b"\x89HDF") or b"MATLAB 7.3" in data[:64] or data[512:520] == b"\x89HDF\r\n\x1a\n":
        raise ModelError("it is a MAT file of version 7.3, which is not read", file=path, remedy=_REMEDY)
    try:
        if len(data) > _HEADER and data[126:128] in (b"IM", b"MI"):
            return _tagged(data, limit)
        if b"\0" in data[:4]:
            return dict(_version_4(memoryview(data)))
    except ModelError as error:
        raise error.located(file=path) from None
    raise _damaged("its first bytes are of none" if data else "it is empty").located(file=path)


def _damaged(why: str = "it is cut off") -> ModelError:
    return ModelError(f"it is damaged, or no MAT file: {why}", remedy=_REMEDY)


def _tagged(data: bytes, limit: int) -> dict[str, np.ndarray]:
    """Versions 5 to 7: matrices, each alone or compressed."""
    order = "<" if data[126:128] == b"IM" else ">"
    arrays: dict[str, np.ndarray] = {}
    size = 0
    for kind, content in _elements(memoryview(data)[_HEADER:], order):
        size += len(content)
        if kind == _COMPRESSED:
            try:
                unpacked = zlib.decompressobj().decompress(content, limit - size + 1)
            except zlib.error as error:
                raise _damaged(str(error)) from None
            size += len(unpacked)
            if size > limit:
                raise ModelError(
                    f"its arrays would take more than {limit // 2**20} MB", remedy="Split it, or thin the data out"
                )
            kind, content = next(_elements(memoryview(unpacked), order), (0, memoryview(b"")))
        if kind == _MATRIX:
            arrays |= _matrix(content, order)
    return arrays


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """(type, content) of the elements that follow one another; small ones stand inside their tag."""
    at = 0
    while at + 8 <= len(data):
        word, length = struct.unpack_from(f"{order}LL", data, at)
        if word >> 16:
            if word >> 16 > 4:
                raise _damaged("a small element is too long")
            yield word & 0xFFFF, data[at + 4 : at + 4 + (word >> 16)]
            at += 8
            continue
        if length > len(data) - at - 8:
            raise _damaged()
        yield word, data[at + 8 : at + 8 + length]
        at += 8 + length + (-length % 8 if word != _COMPRESSED else 0)


def _numbers(element: tuple[int, memoryview], order: str) -> np.ndarray:
    kind, content = element
    if kind not in _STORED or len(content) % int(_STORED[kind][1]):
        raise _damaged(f"an element of type {kind} and {len(content)} bytes is no list of numbers")
    return np.frombuffer(content, order + _STORED[kind])


def _integers(element: tuple[int, memoryview], order: str) -> list[int]:
    numbers = _numbers(element, order)
    if numbers.dtype.kind == "f":
        raise _damaged("a size is no whole number")
    return numbers.tolist()


def _matrix(data: memoryview, order: str, name: str = "", depth: int = 0) -> dict[str, np.ndarray]:
    """The arrays of a matrix: itself, or the members of a structure; `name` stands for the one inside."""
    parts = _elements(data, order)
    if not len(data):
        return {}  # an empty member of a structure
    try:
        flags, shape = _integers(next(parts), order), _integers(next(parts), order)
        own_name = bytes(next(parts)[1]).decode("latin-1")
        if not flags or len(shape) > 16 or any(n < 0 for n in shape):
            raise _damaged("a matrix has no class, or no possible size")
        kind, count = flags[0] & 0xFF, math.prod(shape)
        if kind == _STRUCTURE and count == 1 and depth < MAX_DEPTH:
            return _members(parts, order, f"{name or own_name}.", depth)
        if kind not in _CLASSES or flags[0] & _COMPLEX or count == 1:
            return {}
        values = _numbers(next(parts), order)
    except StopIteration:
        raise _damaged() from None
    if len(values) != count:
        raise _damaged(f"{len(values)} numbers are no matrix of shape {str(tuple(shape))[:60]}")
    wanted = np.dtype(_CLASSES[kind])
    if not (np.can_cast(values.dtype, wanted) or (values.dtype.kind in "iu" and wanted.kind == "f")):
        raise _damaged(f"{values.dtype.name} numbers are no matrix of {wanted.name}")
    return {name or own_name: values.astype(wanted).reshape(shape, order="F").squeeze()}


def _members(parts: Iterator[tuple[int, memoryview]], order: str, before: str, depth: int) -> dict[str, np.ndarray]:
    """The arrays of a structure: the length of a name, all names, then a matrix for each."""
    length, names = _integers(next(parts), order), bytes(next(parts)[1])
    if len(length) != 1 or not 0 < length[0] <= max(1, len(names)):
        raise _damaged("names of a structure")
    step = length[0]
    arrays: dict[str, np.ndarray] = {}
    for k in range(len(names) // step):
        name = names[k * step : (k + 1) * step].partition(b"\0")[0].decode("latin-1")
        kind, content = next(parts)
        if kind != _MATRIX:
            raise _damaged("a member of a structure is no matrix")
        arrays |= _matrix(content, order, before + name, depth + 1)
    return arrays


def _version_4(data: memoryview) -> Iterator[tuple[str, np.ndarray]]:
    """Matrices one after the other: type, rows, columns, whether complex, length of the name; name; numbers."""
    at = 0
    order = "<" if struct.unpack_from("<L", data.tobytes()[:4].ljust(4, b"\0"))[0] < 5000 else ">"
    while at < len(data):
        if len(data) - at < 20:
            raise _damaged()
        kind, rows, columns, is_complex, length = struct.unpack_from(f"{order}5l", data, at)
        thousands, precision, what = kind // 1000, kind // 10 % 10, kind % 10
        if thousands not in (0, 1) or kind // 100 % 10 or precision >= len(_VERSION_4) or what > 2:
            raise _damaged(f"a matrix of type {kind}")
        if min(rows, columns, length) < 0:
            raise _damaged("a negative size")
        stored = np.dtype(order + _VERSION_4[precision])
        begin, size = at + 20 + length, rows * columns * stored.itemsize
        at = begin + size * (2 if is_complex else 1)
        if at > len(data):
            raise _damaged()
        name = bytes(data[begin - length : begin]).rstrip(b"\0").decode("latin-1")
        if what == 0 and not is_complex and rows * columns != 1:
            values = np.frombuffer(data[begin : begin + size], stored).astype(_VERSION_4[precision])
            yield name, values.reshape((rows, columns), order="F").squeeze()
