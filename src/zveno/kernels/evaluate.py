"""Run a program with NumPy: the reference that compiled kernels are held against."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..errors import ShapeError
from . import math as zm
from .program import Argument, Op, Program

FUNCTIONS: dict[int, Callable[..., Any]] = {
    int(op): function
    for op, function in {
        Op.NEG: operator.neg,
        Op.ADD: operator.add,
        Op.SUB: operator.sub,
        Op.MUL: operator.mul,
        Op.DIV: operator.truediv,
        Op.SQRT: zm.sqrt,
        Op.SIN: zm.sin,
        Op.COS: zm.cos,
        Op.TAN: zm.tan,
        Op.ASIN: zm.asin,
        Op.ACOS: zm.acos,
        Op.ATAN: zm.atan,
        Op.ATAN2: zm.atan2,
        Op.EXP: zm.exp,
        Op.LOG: zm.log,
        Op.TANH: zm.tanh,
        Op.ABS: zm.abs,
        Op.SIGN: zm.sign,
        Op.FLOOR: zm.floor,
        Op.MINIMUM: zm.minimum,
        Op.MAXIMUM: zm.maximum,
        Op.LESS: zm.less,
        Op.LESS_EQUAL: zm.less_equal,
        Op.EQUAL: zm.equal,
        Op.AND: zm.logical_and,
        Op.OR: zm.logical_or,
        Op.NOT: zm.logical_not,
        Op.SELECT: zm.select,
    }.items()
}
"""What each operation computes; on numbers, arrays of numbers and traced scalars alike."""


def evaluate(program: Program, *arrays: Any) -> Any:
    """The outputs of a program for given inputs, computed operation by operation.

    Args:
        program: what to run.
        arrays: one array for each input, in their order, of shape (..., *input shape). The leading batch
            axes broadcast. They are computed in the type NumPy promotes them to, if it is float32, float64,
            longdouble or complex (for the complex step), else in float64.

    Returns:
        One array of shape (..., *output shape), or a tuple of them if the program has several outputs.
    """
    batch, leaves, dtype = checked_batch(program, arrays)
    values = _run(program, leaves, dtype)
    outputs = []
    for argument, nodes in zip(program.outputs, program.results, strict=True):
        out = np.empty((*batch, argument.size), dtype)
        for i, node in enumerate(nodes):
            out[..., i] = values[node]
        outputs.append(out.reshape(batch + argument.shape))
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


class _Takes(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def inputs(self) -> tuple[Argument, ...]: ...


def checked_batch(program: _Takes, arrays: Sequence[Any]) -> tuple[tuple[int, ...], list[np.ndarray], np.dtype]:
    """The common batch shape of a program's inputs, each as (*batch, size) elements, and their common type."""
    checked = _checked(program, arrays)
    dtype = _working_dtype(checked)
    batch = _batch_shape(program, checked, [len(argument.shape) for argument in program.inputs])
    leaves = [
        np.broadcast_to(array, batch + argument.shape).reshape(*batch, argument.size).astype(dtype, copy=False)
        for array, argument in zip(checked, program.inputs, strict=True)
    ]
    return batch, leaves, dtype


def _run(program: Program, leaves, dtype) -> list:
    """The values of the nodes; those that no output shows are dropped after their last use."""
    ops, args = program.op.tolist(), program.args.tolist()
    last_use = list(range(len(ops)))
    for k, (op, operands) in enumerate(zip(ops, args, strict=True)):
        if op > Op.CONST:
            for a in operands:
                if a >= 0:
                    last_use[a] = k
    for nodes in program.results:
        for k in nodes.tolist():
            last_use[k] = len(ops)
    values: list = [None] * len(ops)
    for k, (op, operands) in enumerate(zip(ops, args, strict=True)):
        if op == Op.INPUT:
            values[k] = leaves[operands[0]][..., operands[1]]
        elif op == Op.CONST:
            values[k] = dtype.type(program.value[k])
        else:
            operands = [a for a in operands if a >= 0]
            values[k] = np.asarray(FUNCTIONS[op](*[values[a] for a in operands]), dtype)[()]
            for a in operands:
                if last_use[a] == k:
                    values[a] = None
    return values


def _checked(program: _Takes, arrays) -> list[np.ndarray]:
    if len(arrays) != len(program.inputs):
        names = ", ".join(argument.name for argument in program.inputs)
        raise ShapeError(f"{program.name} takes {len(program.inputs)} inputs ({names}), not {len(arrays)}")
    checked = []
    for array, argument in zip(arrays, program.inputs, strict=True):
        array = np.asarray(array)
        if array.dtype.kind not in "fciub":
            raise ShapeError(f"an array of numbers is needed, not of {array.dtype}", element=argument.name)
        checked.append(array)
    return checked


def _working_dtype(arrays) -> np.dtype:
    dtype = np.result_type(*arrays) if arrays else np.dtype(float)
    return dtype if dtype.kind in "fc" and dtype != np.float16 else np.dtype(float)


def _batch_shape(program: _Takes, arrays, n_core) -> tuple[int, ...]:
    batches = []
    for array, argument, n in zip(arrays, program.inputs, n_core, strict=True):
        split = array.ndim - n
        if split < 0 or array.shape[split:] != argument.shape:
            raise wrong_shape(argument, array.shape)
        batches.append(array.shape[:split])
    try:
        return np.broadcast_shapes(*batches)
    except ValueError as error:
        raise ShapeError(f"the batch shapes {', '.join(map(str, batches))} do not go together") from error


def wrong_shape(argument: Argument, received: tuple[int, ...]) -> ShapeError:
    """The error for an array whose last axes are not the argument's core shape."""
    shape = ", ".join(["...", *map(str, argument.shape)])
    return ShapeError(f"an array of shape ({shape}) is needed, not {received}", element=argument.name)
