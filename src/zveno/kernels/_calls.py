"""Calls that the ufunc alone cannot handle: empty arguments, conversions, and error messages.

The ufunc provides broadcasting, `out=`, strides, dtype conversion, copies of overlapping arrays and the release of
the global lock.

NumPy hands a call over to types that define their own arithmetic: a data frame aligns columns by label and
transposes, a masked array keeps masks of the wrong shape. So everything but a plain array is converted before the
call, or rejected if the conversion would lose information.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import BuildError, ShapeError
from .program import Argument

_REAL_KINDS = "biuf"


def core_shape(array: np.ndarray, argument: Argument) -> tuple[int, ...]:
    """Return the trailing axes of an array that belong to an argument."""
    rank = len(argument.shape)
    return array.shape[array.ndim - rank :] if array.ndim >= rank else array.shape


def batch_shape(array: np.ndarray, argument: Argument) -> tuple[int, ...]:
    """Return the leading axes of an array, those of the batch."""
    return array.shape[: array.ndim - len(argument.shape)]


class UfuncCall:
    """Call of a kernel through its ufunc, with conversion of arguments and error messages."""

    name: str
    inputs: Sequence[Argument]
    outputs: Sequence[Argument]
    dtype: np.dtype

    def __init__(
        self,
        name: str,
        inputs: Sequence[Argument],
        outputs: Sequence[Argument],
        dtype: np.dtype,
        ufunc: GeneralizedUfunc,
        code: object,
    ):
        self.name, self.inputs, self.outputs, self.dtype = name, inputs, outputs, dtype
        self._memory = code, ufunc.memory
        self._ufunc: Any = ufunc.call
        if not inputs or not all(argument.size for argument in (*inputs, *outputs)):
            self._ufunc = WithEmpty(ufunc.call, inputs, outputs, dtype)
        self._n_inputs = len(inputs)

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Evaluate for a batch of states, see `zveno.kernels.kernel.Kernel`."""
        for array in arrays:
            if type(array) is not np.ndarray:  # other types may redefine arithmetic
                arrays = plain_arrays(self.name, [argument.name for argument in self.inputs], arrays)
                break
        if out is not None and type(out) is not np.ndarray:
            check_plain_output(self.name, [argument.name for argument in self.outputs], out)
        try:
            if len(arrays) != self._n_inputs:  # NumPy would treat extra arguments as outputs
                raise TypeError
            return self._ufunc(*arrays) if out is None else self._ufunc(*arrays, out=out)
        except (ValueError, TypeError) as error:
            return self._call_again(arrays, out, error)

    def _call_again(self, arrays: tuple[Any, ...], out: Any, error: Exception) -> Any:
        """Explain the error, or make the conversion that NumPy does not make by itself (float64 to float32)."""
        converted = convert(self.name, self.inputs, self.outputs, arrays, out)
        if all(np.can_cast(array.dtype, self.dtype) for array in converted):
            raise ShapeError(f"{self.name}: {error}") from error
        try:
            options = {} if out is None else {"out": out}
            return self._ufunc(*(array.astype(self.dtype) for array in converted), **options)
        except (ValueError, TypeError) as again:
            raise ShapeError(f"{self.name}: {again}") from again


_CALLED = inspect.signature(UfuncCall.__call__)
CALL_SIGNATURE: inspect.Signature = _CALLED.replace(parameters=list(_CALLED.parameters.values())[1:])
"""Signature of a kernel call."""


class WithEmpty:
    """A ufunc with empty arguments, or without inputs.

    NumPy has no core dimension of size 0. The ufunc receives a scalar with the batch shape instead, and the empty
    array is made here.
    """

    ufunc: Any
    inputs: Sequence[Argument]
    outputs: Sequence[Argument]
    dtype: np.dtype

    def __init__(self, ufunc: Any, inputs: Sequence[Argument], outputs: Sequence[Argument], dtype: np.dtype):
        self.ufunc, self.inputs, self.outputs, self.dtype = ufunc, inputs, outputs, dtype

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Call the ufunc with scalars in place of empty arguments."""
        given = out if isinstance(out, tuple) else (out,) * len(self.outputs)
        stand_ins = [self._stand_in(*pair) for pair in zip(arrays, self.inputs, strict=True)]
        targets = tuple(x if argument.size else None for x, argument in zip(given, self.outputs, strict=True))
        results = self.ufunc(*(stand_ins or [self.dtype.type(0)]), out=targets)
        results = results if isinstance(results, tuple) else (results,)
        finished: tuple[Any, ...] = tuple(
            result if argument.size else self._empty(np.shape(result), argument, target)
            for result, argument, target in zip(results, self.outputs, given, strict=True)
        )
        return finished if len(self.outputs) > 1 else finished[0]

    def _stand_in(self, array: Any, argument: Argument) -> Any:
        if argument.size:
            return array
        array = np.asarray(array)
        if core_shape(array, argument) != argument.shape or array.dtype.kind not in _REAL_KINDS:
            raise ValueError(f"wrong shape or type of {argument.name}")
        return np.broadcast_to(self.dtype.type(0), batch_shape(array, argument))

    def _empty(self, batch: tuple[int, ...], argument: Argument, target: Any) -> np.ndarray:
        if target is None:
            return np.empty(batch + argument.shape, self.dtype)
        if np.shape(target) != batch + argument.shape:
            raise ValueError(f"wrong shape of output {argument.name}")
        return target


def convert(
    name: str, inputs: Sequence[Argument], outputs: Sequence[Argument], arrays: Sequence[Any], out: Any
) -> list[np.ndarray]:
    """Return the arguments of a failed call as arrays, if only their dtype was wrong.

    Raises:
        ShapeError: names the argument, the expected shape and the received one.
    """
    if len(arrays) != len(inputs):
        names = ", ".join(argument.name for argument in inputs) or "none"
        raise ShapeError(f"{name} takes {len(inputs)} arguments ({names}), received {len(arrays)}")
    converted = [_checked(name, *pair) for pair in zip(arrays, inputs, strict=True)]
    shapes = [batch_shape(*pair) for pair in zip(converted, inputs, strict=True)]
    batch = _broadcast(shapes)
    if batch is None:
        listed = ", ".join(f"{a.name} {shape}" for a, shape in zip(inputs, shapes, strict=True))
        raise ShapeError(f"{name}: the batch shapes must broadcast, received {listed}")
    if out is not None:
        _check_out(name, outputs, out, batch)
    return converted


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Return the common shape or None. NumPy's own function is limited to 32 axes, its arrays are not."""
    rank = max(map(len, shapes), default=0)
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    sizes = [set(axis) - {1} for axis in zip(*padded, strict=True)]
    return tuple(max(axis, default=1) for axis in sizes) if all(len(axis) < 2 for axis in sizes) else None


def _checked(name: str, value: Any, argument: Argument) -> np.ndarray:
    element = f"argument {argument.name} of {name}"
    expected = _shape_text(argument.shape)
    try:
        array = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"not an array of shape {expected}: {error}", element=element) from error
    if array.dtype.kind not in _REAL_KINDS:
        raise ShapeError(f"expected real numbers of shape {expected}, received {array.dtype}", element=element)
    if core_shape(array, argument) != argument.shape:
        raise ShapeError(f"expected shape {expected}, received {array.shape}", element=element)
    return array


def _check_out(name: str, outputs: Sequence[Argument], out: Any, batch: tuple[int, ...]) -> None:
    given = out if isinstance(out, tuple) else (out,)
    if len(given) != len(outputs):
        names = ", ".join(argument.name for argument in outputs)
        raise ShapeError(f"{name} has {len(outputs)} outputs ({names}), `out` holds {len(given)}")
    for array, argument in zip(given, outputs, strict=True):
        element = f"output {argument.name} of {name}"
        if array is None:
            continue
        if not isinstance(array, np.ndarray):
            raise ShapeError(f"expected an array, received {type(array).__name__}", element=element)
        if core_shape(array, argument) != argument.shape or array.shape != batch + argument.shape:
            raise ShapeError(f"expected shape {batch + argument.shape}, received {array.shape}", element=element)
        if not array.flags.writeable:
            raise ShapeError("the array is read-only", element=element)


def _shape_text(shape: tuple[int, ...]) -> str:
    return f"(..., {', '.join(map(str, shape))})" if shape else "(...)"


MAX_OPERANDS = 64
"""NumPy's limit for inputs and outputs together."""

_FROM_LOOP = 31  # position of PyUFunc_FromFuncAndDataAndSignature in the table, fixed by NumPy's ABI
_NO_IDENTITY = -1


def numpy_interface(capsule: Any) -> Any:
    """Return the table of addresses that a NumPy capsule points to."""
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(get(capsule, None), ctypes.POINTER(ctypes.c_void_p))


@dataclass(frozen=True)
class GeneralizedUfunc:
    """A ufunc and the memory it refers to. The ufunc, this memory and the loop's code must live equally long."""

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
    """Return NumPy's notation of core shapes, such as "(7),(3,3)->(6)".

    NumPy has no core dimension of size 0, so an empty argument is passed as a scalar.
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
    """Make a generalized ufunc with fixed core shapes.

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


_SCALARS = (float, int, np.generic)
_HARMLESS = (float, int, list, np.ndarray)


def plain_arrays(name: str, inputs: Sequence[str], arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments of a call as plain arrays or numbers.

    Raises:
        ShapeError: an argument has masked entries or a unit, or cannot be converted to an array.
    """
    return tuple([_plain(name, inputs, k, array) for k, array in enumerate(arrays)])


def _plain(name: str, inputs: Sequence[str], k: int, value: Any) -> Any:
    if type(value) is np.ndarray or isinstance(value, _SCALARS):
        return value
    element = f"argument {inputs[k] if k < len(inputs) else k + 1} of {name}"
    for part in value if isinstance(value, list | tuple) else (value,):
        if type(part) in _HARMLESS:
            continue
        if "numpy.ma" in sys.modules and np.ma.is_masked(part):
            raise ShapeError("must not have masked entries", element=element, remedy="Fill or remove them")
        if hasattr(type(part), "unit") or hasattr(type(part), "units"):
            raise ShapeError(
                "must not have units", element=element, remedy="Give plain numbers in metres, radians and seconds"
            )
    try:
        return np.asarray(value)
    except Exception as error:  # a foreign type may raise anything
        if isinstance(value, list | tuple):
            return value  # ragged nesting: the call reports the expected shape
        raise ShapeError(f"cannot be converted to an array: {error}", element=element) from error


def check_plain_output(name: str, outputs: Sequence[str], out: Any) -> None:
    """Raise an error if an output is not a plain array. Memory-mapped files are plain arrays."""
    for k, array in enumerate(out if isinstance(out, tuple) else (out,)):
        if array is not None and type(array) not in (np.ndarray, np.memmap):
            which = outputs[k] if k < len(outputs) else k + 1
            raise ShapeError(
                f"expected an array, received {type(array).__name__}", element=f"output {which} of {name}"
            )
