"""Calls that need more than the ufunc: arguments without elements, conversions, and errors that explain."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError
from .foreign import check_plain_output, plain_arrays
from .gufunc import GeneralizedUfunc
from .program import Argument

_REAL_KINDS = "biuf"


def core_shape(array: np.ndarray, argument: Argument) -> tuple[int, ...]:
    """The trailing axes of an array that belong to an argument."""
    rank = len(argument.shape)
    return array.shape[array.ndim - rank :] if array.ndim >= rank else array.shape


def batch_shape(array: np.ndarray, argument: Argument) -> tuple[int, ...]:
    """The leading axes of an array, those of the batch."""
    return array.shape[: array.ndim - len(argument.shape)]


class UfuncCall:
    """The call of a kernel through its ufunc: for batches, and for all that has to be converted or explained."""

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
            if type(array) is not np.ndarray:  # others may compute in ways of their own
                arrays = plain_arrays(self.name, [argument.name for argument in self.inputs], arrays)
                break
        if out is not None and type(out) is not np.ndarray:
            check_plain_output(self.name, [argument.name for argument in self.outputs], out)
        try:
            if len(arrays) != self._n_inputs:  # NumPy would take more for outputs
                raise TypeError
            return self._ufunc(*arrays) if out is None else self._ufunc(*arrays, out=out)
        except (ValueError, TypeError) as error:
            return self._call_again(arrays, out, error)

    def _call_again(self, arrays: tuple[Any, ...], out: Any, error: Exception) -> Any:
        """Explain what was wrong, or convert what NumPy does not convert by itself, float64 to float32."""
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
"""How a kernel is called."""


class WithEmpty:
    """A ufunc some of whose arguments have no elements, or that has no inputs.

    NumPy has no core dimension of size 0. Such an argument takes part as a scalar with the shape of its
    batch, and its array is made here.
    """

    ufunc: Any
    inputs: Sequence[Argument]
    outputs: Sequence[Argument]
    dtype: np.dtype

    def __init__(self, ufunc: Any, inputs: Sequence[Argument], outputs: Sequence[Argument], dtype: np.dtype):
        self.ufunc, self.inputs, self.outputs, self.dtype = ufunc, inputs, outputs, dtype

    def __call__(self, *arrays: Any, out: Any = None) -> Any:
        """Call the ufunc with scalars in place of what has no elements."""
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
    """The arguments of a call that failed, as arrays, if nothing is wrong with them but their dtype.

    Raises:
        ShapeError: naming the argument, what was expected and what was received.
    """
    if len(arrays) != len(inputs):
        names = ", ".join(argument.name for argument in inputs) or "none"
        raise ShapeError(f"{name} takes {len(inputs)} arguments ({names}), received {len(arrays)}")
    converted = [_checked(name, *pair) for pair in zip(arrays, inputs, strict=True)]
    shapes = [batch_shape(*pair) for pair in zip(converted, inputs, strict=True)]
    batch = _broadcast(shapes)
    if batch is None:
        listed = ", ".join(f"{a.name} {shape}" for a, shape in zip(inputs, shapes, strict=True))
        raise ShapeError(f"{name}: the batch shapes do not fit together: {listed}", remedy="They must broadcast")
    if out is not None:
        _check_out(name, outputs, out, batch)
    return converted


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The common shape, None if there is none. NumPy's function stops at 32 axes, its arrays do not."""
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
