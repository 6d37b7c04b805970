"""What generated code uses of the interpreter: addresses of C functions, and where the fields of an array are.

Code finds the addresses in a table, whose own address it is told when it is loaded: they differ from run to run,
while object code is kept on disk. The fields of an array stand behind the head that every object has, in the
order of `PyArrayObject_fields`, a part of the binary interface of NumPy. All of it is compared with live arrays
before any code relies on it; where something is not as expected, there is no table, and calls stay with the ufunc.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_PYTHON = (
    "PyObject_Vectorcall",
    "Py_IncRef",
    "Py_DecRef",
    "PyTuple_Size",
    "PyTuple_GetItem",
    "PyTuple_New",
    "PyTuple_SetItem",
)
_NUMPY = {"PyArray_NewFromDescr": 94, "PyArray_Scalar": 60}  # positions in NumPy's table, fixed by its ABI
_OBJECTS: dict[str, Any] = {
    "ndarray": np.ndarray,
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "out": sys.intern("out"),
}
ENTRIES = {name: 8 * k for k, name in enumerate((*_PYTHON, *_NUMPY, *_OBJECTS))}
"""Offsets of the entries of the table, in bytes."""

DATA, RANK, SHAPE, DTYPE, FLAGS = 0, 8, 16, 40, 48
"""Offsets of fields of an array behind the head, in bytes."""
CONTIGUOUS, ALIGNED, WRITEABLE, WARN_ON_WRITE = 0x1, 0x100, 0x400, 0x80000000

_ABI_VERSION = 0x02000000
_FASTCALL_WITH_KEYWORDS = 0x80 | 0x02


@dataclass(frozen=True)
class Interpreter:
    """The running interpreter, as generated code sees it."""

    head: int
    """Bytes of the head of every object; the type is the last word of it."""
    table: Any
    """Addresses in the order of `ENTRIES`; never freed, because code keeps its address."""

    @property
    def address(self) -> int:
        """Where the table is."""
        return ctypes.addressof(self.table)


@functools.cache
def interpreter() -> Interpreter | None:
    """The running interpreter, None where generated code cannot rely on it."""
    head = object.__basicsize__
    if (
        sys.implementation.name != "cpython"
        or platform.machine().lower() not in ("x86_64", "amd64")
        or ctypes.sizeof(ctypes.c_void_p) != 8
        or np.ndarray.__basicsize__ < head + FLAGS + 4
        or not all(_has_known_layout(array, head) for array in _samples())
    ):
        return None
    numpy_table = _numpy_table()
    if ctypes.PYFUNCTYPE(ctypes.c_uint)(numpy_table[0])() != _ABI_VERSION:
        return None
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _PYTHON]
    addresses = [*functions, *(numpy_table[at] for at in _NUMPY.values()), *map(id, _OBJECTS.values())]
    if not all(addresses) or not _makes_arrays(numpy_table):
        return None
    return Interpreter(head, (ctypes.c_void_p * len(addresses))(*addresses))


def _samples() -> list[np.ndarray]:
    """Arrays that differ in every field."""
    block = np.arange(24.0)
    fixed = block.reshape(2, 3, 4).copy()
    fixed.flags.writeable = False
    return [block, block[3:15].reshape(3, 4), block[::2], np.array(1.5), fixed, block.astype(np.float32)]


def _has_known_layout(array: np.ndarray, head: int) -> bool:
    def word(address: int) -> int:
        return ctypes.c_uint64.from_address(address).value

    def half(address: int) -> int:
        return ctypes.c_uint32.from_address(address).value

    fields = id(array) + head
    return (
        word(fields - 8) == id(np.ndarray)
        and word(fields + DATA) == array.ctypes.data
        and half(fields + RANK) == array.ndim
        and word(fields + DTYPE) in (id(_OBJECTS["float64"]), id(_OBJECTS["float32"]))
        and word(fields + DTYPE) == id(array.dtype)
        and half(fields + FLAGS) == array.flags.num
        and all(word(word(fields + SHAPE) + 8 * k) == size for k, size in enumerate(array.shape))
        and array.flags.c_contiguous == bool(array.flags.num & CONTIGUOUS)
        and array.flags.aligned == bool(array.flags.num & ALIGNED)
        and array.flags.writeable == bool(array.flags.num & WRITEABLE)
    )


def _numpy_table() -> Any:
    from numpy._core import _multiarray_umath as module  # pyright: ignore[reportAttributeAccessIssue]  not in stubs

    return numpy_interface(module._ARRAY_API)


def numpy_interface(capsule: Any) -> Any:
    """The addresses that a capsule of NumPy points to."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))


def _makes_arrays(numpy_table: Any) -> bool:
    """Whether the two functions of NumPy's table are those that make an array and a scalar."""
    pointer, integer, thing = ctypes.c_void_p, ctypes.c_int, ctypes.py_object
    dtype = _OBJECTS["float64"]
    new = ctypes.PYFUNCTYPE(thing, thing, thing, integer, pointer, pointer, pointer, integer, pointer)
    scalar = ctypes.PYFUNCTYPE(thing, pointer, thing, pointer)
    sizes, number = (ctypes.c_ssize_t * 2)(2, 3), ctypes.c_double(1.5)
    ctypes.pythonapi.Py_IncRef(thing(dtype))  # the function that makes an array takes over the reference
    array = new(numpy_table[_NUMPY["PyArray_NewFromDescr"]])(
        np.ndarray, dtype, 2, ctypes.addressof(sizes), None, None, 0, None
    )
    value = scalar(numpy_table[_NUMPY["PyArray_Scalar"]])(ctypes.addressof(number), dtype, None)
    return (
        type(array) is np.ndarray
        and (array.shape, array.dtype) == ((2, 3), dtype)
        and array.flags.c_contiguous
        and array.flags.owndata
        and type(value) is np.float64
        and value == number.value
    )


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def built_in(address: int, name: str, doc: str, owner: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A built-in function of Python from the address of its code, and what must live as long.

    Args:
        address: `PyObject *(PyObject *owner, PyObject **args, ssize_t n_args, PyObject *keyword_names)`.
        name, doc: as Python shows them.
        owner: passed to the code. The function keeps it alive; it must keep what is returned beside the function.
    """
    definition = _MethodDefinition(name.encode(), address, _FASTCALL_WITH_KEYWORDS, doc.encode())
    make = ctypes.pythonapi.PyCMethod_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDefinition), ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p]
    return make(ctypes.byref(definition), owner, None, None), [definition]
