"""Evaluation of programs with NumPy: the reference for compiled kernels."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError
from . import ops as zm
from .program import (
    Argument,
    Array,
    Entry,
    For,
    Graph,
    Kind,
    Lane,
    Op,
    Program,
    Ref,
    Row,
    Run,
    Shifted,
    Statement,
    Variable,
    While,
)

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
        Op.SELECT: zm.where,
    }.items()
}
"""NumPy implementation of each operation, for numbers, arrays of numbers and traced scalars."""


def evaluate(program: Program, *arrays: Any) -> Any:
    """Evaluate a program for given inputs, statement by statement and operation by operation.

    Args:
        program: the program to run.
        arrays: one array per input, in order, of shape (..., *input shape). The leading batch
            axes broadcast. The computation uses the type NumPy promotes them to if it is float32, float64,
            longdouble or complex (for the complex step), else float64.

    Returns:
        One array of shape (..., *output shape), or a tuple of them if the program has several outputs. Memory that
        is read before it is written is NaN, unless it is declared to begin at zero.
    """
    batch, leaves, dtype = _checked_batch(program, arrays)
    memory = _Memory(program, math.prod(batch), leaves, dtype)
    with np.errstate(all="ignore" if program.has_masks else None):
        memory.execute(program.body, {}, None)
    outputs = tuple(memory.of(array).reshape(batch + array.shape) for array in program.of_kind(Kind.OUTPUT))
    return outputs[0] if len(outputs) == 1 else outputs


class _Memory:
    """All arrays, with the states of the batch as the first axis: (batch, rows, width)."""

    def __init__(self, program: Program, batch: int, leaves: list[np.ndarray], dtype: np.dtype):
        self.batch, self.dtype = batch, dtype
        given = iter(leaves)
        self.numbers: list[np.ndarray] = []
        for array in program.arrays:
            if array.kind is Kind.INPUT:
                values = next(given).reshape(batch, array.rows, array.width)
            elif array.in_lanes:
                values = np.full((batch, array.rows, array.width), 0.0 if array.zero else np.nan, dtype)
            else:
                assert array.values is not None
                values = array.values.astype(dtype) if array.kind is Kind.TABLE else array.values
            self.numbers.append(values)

    def of(self, array: Array) -> np.ndarray:
        return self.numbers[array.number]

    def execute(self, body: tuple[Statement, ...], counters: dict[Variable, int], mask: np.ndarray | None) -> None:
        for statement in body:
            match statement:
                case Run():
                    self._run(statement, counters, mask)
                case For():
                    trips = range(statement.variable.count)
                    for trip in reversed(trips) if statement.reverse else trips:
                        self.execute(statement.body, counters | {statement.variable: trip}, mask)
                case While():
                    self._while(statement, counters, mask)
                case _:
                    chosen = self._row(statement.row, counters)
                    cases = statement.cases
                    self.execute(cases[chosen if 0 <= chosen < len(cases) else 0], counters, mask)

    def _while(self, loop: While, counters: dict[Variable, int], mask: np.ndarray | None) -> None:
        for trip in range(loop.counter.count):
            active = self.of(loop.flag)[:, 0, 0] != 0
            if mask is not None:
                active &= mask
            if not active.any():
                return
            self.execute(loop.body, counters | {loop.counter: trip}, active)

    def _run(self, run: Run, counters: dict[Variable, int], mask: np.ndarray | None) -> None:
        nodes = _node_values(run.graph, [self._read(ref, counters) for ref in run.reads], self.dtype)
        values = []  # read before the first write: a node may be the value of a row
        for ref, result in zip(run.writes, run.graph.results, strict=True):
            values.append(np.empty((self.batch, ref.length), self.dtype))
            for element, node in enumerate(result.tolist()):
                values[-1][:, element] = nodes[node]
        for ref, value in zip(run.writes, values, strict=True):
            self._write(ref, value, counters, mask)

    def _read(self, ref: Ref, counters: dict[Variable, int]) -> np.ndarray:
        numbers = self.of(ref.array)
        if isinstance(ref.row, Lane):
            rows = self._lane_rows(ref.row, ref.array)
            table = ref.array.kind is Kind.TABLE
            return (numbers[rows] if table else numbers[np.arange(self.batch), rows])[:, : ref.length]
        first = self._row(ref.row, counters)
        rows = numbers[..., first : first + ref.count, :]
        return rows.reshape(*rows.shape[:-2], ref.count * ref.array.width)[..., : ref.length]

    def _write(self, ref: Ref, value: np.ndarray, counters: dict[Variable, int], mask: np.ndarray | None) -> None:
        numbers, states = self.of(ref.array), np.arange(self.batch) if mask is None else np.flatnonzero(mask)
        if isinstance(ref.row, Lane):
            rows = self._lane_rows(ref.row, ref.array)[states]
            numbers[states, rows, : ref.length] = value[states]
            return
        first = self._row(ref.row, counters) * ref.array.width
        flat = numbers.reshape(self.batch, ref.array.size)
        place = slice(first, first + ref.length)
        if ref.add is not None and self._row(ref.add, counters):
            value = flat[:, place] + value
        flat[states, place] = value[states]

    def _row(self, row: Row, counters: dict[Variable, int]) -> int:
        match row:
            case Variable():
                return counters[row]
            case Shifted():
                return self._row(row.row, counters) + row.offset
            case Entry():
                return int(self.of(row.table)[self._row(row.row, counters)])
            case _:
                assert isinstance(row, int)
                return row

    def _lane_rows(self, lane: Lane, array: Array) -> np.ndarray:
        """Return the row chosen by every lane, limited to existing rows; NaN gives the first."""
        chosen = self.of(lane.array)[:, 0, 0]
        return np.where(chosen > 0, np.minimum(chosen, array.rows - 1), 0).astype(np.int64)


def _node_values(graph: Graph, leaves: Sequence[np.ndarray], dtype: np.dtype) -> list:
    """Return the values of the nodes; those that are not outputs are dropped after their last use."""
    ops, args = graph.op.tolist(), graph.args.tolist()
    last_use = list(range(len(ops)))
    for k, (op, operands) in enumerate(zip(ops, args, strict=True)):
        if op > Op.CONST:
            for a in operands:
                if a >= 0:
                    last_use[a] = k
    for nodes in graph.results:
        for k in nodes.tolist():
            last_use[k] = len(ops)
    values: list = [None] * len(ops)
    for k, (op, operands) in enumerate(zip(ops, args, strict=True)):
        if op == Op.INPUT:
            values[k] = leaves[operands[0]][..., operands[1]]
        elif op == Op.CONST:
            values[k] = dtype.type(graph.value[k])
        else:
            operands = [a for a in operands if a >= 0]
            values[k] = np.asarray(FUNCTIONS[op](*[values[a] for a in operands]), dtype)[()]
            for a in operands:
                if last_use[a] == k:
                    values[a] = None
    return values


def _checked_batch(program: Program, arrays: Sequence[Any]) -> tuple[tuple[int, ...], list[np.ndarray], np.dtype]:
    """Return the common batch shape of the inputs, each input as (*batch, size), and their common type."""
    checked = _checked(program, arrays)
    dtype = _working_dtype(checked)
    batch = _batch_shape(program, checked, [len(argument.shape) for argument in program.inputs])
    leaves = [
        np.broadcast_to(array, batch + argument.shape).reshape(*batch, argument.size).astype(dtype, copy=False)
        for array, argument in zip(checked, program.inputs, strict=True)
    ]
    return batch, leaves, dtype


def _checked(program: Program, arrays) -> list[np.ndarray]:
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


def _batch_shape(program: Program, arrays, n_core) -> tuple[int, ...]:
    batches = []
    for array, argument, n in zip(arrays, program.inputs, n_core, strict=True):
        split = array.ndim - n
        if split < 0 or array.shape[split:] != argument.shape:
            raise wrong_shape(argument, array.shape)
        batches.append(array.shape[:split])
    try:
        return np.broadcast_shapes(*batches)
    except ValueError as error:
        raise ShapeError(f"the batch shapes {', '.join(map(str, batches))} do not broadcast") from error


def wrong_shape(argument: Argument, received: tuple[int, ...]) -> ShapeError:
    """Return the error for an array whose last axes differ from the argument's core shape."""
    shape = ", ".join(["...", *map(str, argument.shape)])
    return ShapeError(f"an array of shape ({shape}) is needed, not {received}", element=argument.name)
