"""NumPy generalized ufuncs from the address of a compiled loop, through NumPy's own C interface.

The ufunc gives broadcasting, `out=`, strides, dtype conversion, copies of overlapping arrays and the release
of the global lock for free.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BuildError
from .interpreter import numpy_interface

MAX_OPERANDS = 64
"""NumPy's limit for inputs and outputs together."""

_FROM_LOOP = 31  # position of PyUFunc_FromFuncAndDataAndSignature in the table, fixed by NumPy's ABI
_NO_IDENTITY = -1


@dataclass(frozen=True)
class GeneralizedUfunc:
    """A ufunc and the memory it refers to: neither may outlive the other, nor the code of the loop."""

    call: Any
    memory: tuple[object, ...]


@functools.cache
def _constructor():
    from numpy._core import _multiarray_umath as umath  # pyright: ignore[reportAttributeAccessIssue]  not in stubs

    table = numpy_interface(umath._UFUNC_API)
    pointer, integer, text = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p
    arguments = [pointer, pointer, pointer, integer, integer, integer, integer, text, text, integer, text]
    return ctypes.PYFUNCTYPE(ctypes.py_object, *arguments)(table[_FROM_LOOP])


def signature(inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]]) -> str:
    """NumPy's notation of core shapes, such as "(7),(3,3)->(6)".

    NumPy has no core dimension of size 0, so an argument without elements takes part as a scalar.
    """

    def side(shapes: Sequence[tuple[int, ...]]) -> str:
        return ",".join(f"({','.join(map(str, shape)) if 0 not in shape else ''})" for shape in shapes)

    return f"{side(inputs)}->{side(outputs)}"


def make_ufunc(
    address: int,
    data: int,
    inputs: Sequence[tuple[int, ...]],
    outputs: Sequence[tuple[int, ...]],
    dtype: np.dtype,
    name: str,
) -> GeneralizedUfunc:
    """A generalized ufunc with fixed core shapes.

    Args:
        address: a loop `void (char **args, intp *dimensions, intp *steps, void *data)`.
        data: the address passed to the loop as `data`.
        inputs: core shapes of the inputs, at least one.
        outputs: core shapes of the outputs.
        dtype: element type of all operands.
        name: shown in warnings.
    """
    n_operands = len(inputs) + len(outputs)
    if n_operands > MAX_OPERANDS:
        raise BuildError(
            f"{n_operands} inputs and outputs are more than the {MAX_OPERANDS} that NumPy allows",
            element=f"program {name}",
            remedy="Join several into one array",
        )
    loops = (ctypes.c_void_p * 1)(address)
    datas = (ctypes.c_void_p * 1)(data)
    kinds = (ctypes.c_char * n_operands)(*([bytes([dtype.num])] * n_operands))
    described = (name, "Compiled by zveno.", signature(inputs, outputs))
    texts = [ctypes.create_string_buffer(text.encode()) for text in described]
    call = _constructor()(
        *(ctypes.addressof(array) for array in (loops, datas, kinds)),
        1,
        len(inputs),
        len(outputs),
        _NO_IDENTITY,
        texts[0],
        texts[1],
        0,
        texts[2],
    )
    return GeneralizedUfunc(call, (loops, datas, kinds, *texts))
