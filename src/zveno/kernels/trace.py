"""Tracing of a function to a program, and calls of programs inside another trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError, TraceError
from ._simplify import ADD, DIV, MUL, NEG, SUB, mixed_traces
from .evaluate import FUNCTIONS, evaluate
from .program import Argument, Graph, Op, Program
from .tape import Scalar, Tape, number, used_as_a_number

_INPUT, _CONST = int(Op.INPUT), int(Op.CONST)


def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    name: str | None = None,
    outputs: Sequence[str] | None = None,
    constants: Sequence[Any] = (),
    options: Mapping[str, Any] | None = None,
) -> Program:
    """Record a function as a program that runs one graph; arguments as those of `traced_graph`."""
    return Program.straight(traced_graph(function, inputs, name, outputs, constants, options))


def traced_graph(
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    name: str | None = None,
    outputs: Sequence[str] | None = None,
    constants: Sequence[Any] = (),
    options: Mapping[str, Any] | None = None,
) -> Graph:
    """Record the operations of a function as a graph.

    Args:
        function: called once, with the constants, then one object array of scalars for each input (a bare
            `Scalar` where the shape is ``()``), by position, and the options by keyword. It returns an array, a
            number, a tuple of these, or a dictionary of these by name; entries may be plain numbers.
        inputs: name and shape of each input, in order.
        name: name of the graph, that of the function by default.
        outputs: names of the results if the function does not return a dictionary; "out0", "out1", ... by default.
        constants: arguments passed before the inputs.
        options: arguments passed by keyword.

    Returns:
        The graph, with only the operations that the outputs need. Traces in several threads or within one another
        are independent, and keep nothing after they end.
    """
    arguments = [Argument(str(key), tuple(shape)) for key, shape in inputs.items()]
    tape = Tape()
    try:
        arrays = [_input_array(tape, i, argument) for i, argument in enumerate(arguments)]
        try:
            returned = function(*constants, *arrays, **(options or {}))
        except (ZeroDivisionError, OverflowError) as error:
            raise TraceError(f"a computation with constants fails: {error}") from error
        except IndexError as error:
            if "valid indices" not in str(error):
                raise
            # NumPy's error for an index that is not an integer replaces that of the scalar.
            raise used_as_a_number() from error
        named = _named(returned, outputs)
        results = [_output_entries(tape, key, value) for key, value in named.items()]
        own_name = getattr(function, "__name__", "function").strip("<>")
        return listed(name or own_name, arguments, results, len(tape.table))
    finally:
        tape.close()


def listed(
    name: str, inputs: Sequence[Argument], outputs: Sequence[tuple[Argument, list]], n_scalars: int
) -> Graph:
    """Return the graph of outputs with floats and scalars of one tape, which recorded `n_scalars` scalars."""
    listing = _Listing(n_scalars)
    nodes = [[listing.place(entry) for entry in entries] for _, entries in outputs]
    return Graph(
        name=name,
        inputs=tuple(inputs),
        outputs=tuple(argument for argument, _ in outputs),
        op=np.array(listing.op, np.uint8),
        args=np.array(listing.args, np.int32).reshape(-1, 3),
        value=np.array(listing.value, float),
        results=tuple(np.array(entries, np.int32) for entries in nodes),
    )


def call(program: Program, *arrays: Any) -> Any:
    """Run a program on arrays of traced scalars or numbers. Its operations join their trace.

    Args:
        program: the program to run.
        arrays: one array per input, of exactly its shape.

    Returns:
        The outputs, as the traced function would have returned them: one array (a bare value for shape
        ``()``), or a tuple of them. For numbers alone, the result of :func:`zveno.kernels.evaluate.evaluate`.
    """
    inputs = [np.asarray(array) for array in arrays]
    if all(array.dtype != object for array in inputs):
        return evaluate(program, *inputs)
    graph = program.graph
    values = node_values(graph, inputs)
    outputs = []
    for argument, nodes in zip(graph.outputs, graph.results, strict=True):
        out = np.empty(argument.size, object)
        out[:] = [values[k] for k in nodes.tolist()]
        outputs.append(out.reshape(argument.shape) if argument.shape else out[0])
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def node_values(graph: Graph, arrays: Sequence[Any]) -> list[Any]:
    """Return the value of every node, scalar or float, when a graph runs on traced arrays (see :func:`call`)."""
    if len(arrays) != len(graph.inputs):
        raise ShapeError(f"{graph.name} takes {len(graph.inputs)} inputs, not {len(arrays)}")
    leaves = []
    for array, argument in zip(arrays, graph.inputs, strict=True):
        array = np.asarray(array, object)
        if array.shape != argument.shape:
            raise ShapeError(f"shape {argument.shape} is needed, not {array.shape}", element=argument.name)
        leaves.append([x if type(x) is Scalar else _constant(x, argument.name) for x in array.flat])
    values: list = []
    for op, args, value in zip(graph.op.tolist(), graph.args.tolist(), graph.value.tolist(), strict=True):
        if op == Op.INPUT:
            values.append(leaves[args[0]][args[1]])
        elif op == Op.CONST:
            values.append(value)
        else:
            values.append(apply(op, *[values[a] for a in args if a >= 0]))
    return values


def apply(op: int, *operands: Any) -> Any:
    """Apply one operation to scalars or floats. Floats alone are folded by IEEE 754, without warnings."""
    if any(type(x) is Scalar for x in operands):
        result = FUNCTIONS[op](*operands)
        return result if type(result) is Scalar else float(result)
    with np.errstate(all="ignore"):
        return float(FUNCTIONS[op](*map(np.float64, operands)))


def _input_array(tape: Tape, number: int, argument: Argument) -> Any:
    scalars = [tape.input(number, i) for i in range(argument.size)]
    if not argument.shape:
        return scalars[0]
    array = np.empty(argument.size, object)
    array[:] = scalars
    return array.reshape(argument.shape)


def _named(returned, names: Sequence[str] | None) -> dict[str, Any]:
    if isinstance(returned, Mapping):
        if names is not None and list(names) != list(returned):
            raise TraceError(f"the function returns {', '.join(returned)}, not {', '.join(names)}")
        return dict(returned)
    values = returned if isinstance(returned, tuple) else (returned,)
    names = [f"out{i}" for i in range(len(values))] if names is None else list(names)
    if len(names) != len(values) or len(set(names)) != len(names):
        raise TraceError(
            f"the function returns {len(values)} outputs, but the names are {', '.join(names)}",
            remedy="Give each output one name, different from the others",
        )
    return dict(zip(names, values, strict=True))


def _output_entries(tape: Tape, name: str, value) -> tuple[Argument, list]:
    """Return shape and flat entries of one output, whose entries are scalars of this trace or floats."""
    try:
        array = np.asarray(value, object)
    except ValueError as error:
        raise TraceError(f"the result is not an array: {error}", element=name) from error
    entries = [x if type(x) is Scalar else _constant(x, name) for x in array.ravel().tolist()]
    if any(type(x) is Scalar and x.tape is not tape for x in entries):
        raise mixed_traces().located(element=name)
    return Argument(str(name), array.shape), entries


def _constant(x, name: str) -> float:
    value = number(x)
    if value is NotImplemented:
        raise TraceError(f"an entry is {type(x).__name__}, not a real number", element=name)
    return value


class _Listing:
    """Nodes that outputs need, in an order in which they can be computed.

    The order is depth first from the outputs, operands before the operation. A value is computed shortly before it
    is used, which keeps the number of live values low.
    """

    def __init__(self, n_scalars: int):
        self.op: list[int] = []
        self.args: list[tuple[int, int, int]] = []
        self.value: list[float] = []
        self.places = [-1] * n_scalars
        self.constants: dict[str, int] = {}

    def place(self, entry: Scalar | float) -> int:
        """Return the node of an output entry, after listing everything it needs."""
        if not isinstance(entry, Scalar):
            return self._constant(entry)
        places = self.places
        stack: list[Scalar] = [entry]
        while stack:
            x = stack[-1]
            if places[x.number] >= 0:
                stack.pop()
            elif x.op == _INPUT:
                places[x.number] = self._append(_INPUT, (x.a, x.b, -1))
            else:
                op, *operands = _without_sign(x) if x.op == NEG else (x.op, x.a, x.b, x.c)
                operand_places = []
                for y in operands:
                    if type(y) is not Scalar:
                        operand_places.append(-1 if y is None else self._constant(y))
                    elif places[y.number] >= 0:
                        operand_places.append(places[y.number])
                    else:
                        stack.append(y)
                        break
                else:
                    places[x.number] = self._append(op, tuple(operand_places))
        return places[entry.number]

    def _constant(self, value: float) -> int:
        key = value.hex()  # distinguishes -0.0 from 0.0, and is the same for every NaN
        if key not in self.constants:
            self.constants[key] = self._append(_CONST, (-1, -1, -1), value)
        return self.constants[key]

    def _append(self, op: int, args, value: float = 0.0) -> int:
        self.op.append(op)
        self.args.append(args)
        self.value.append(value)
        return len(self.op) - 1


def _without_sign(x: Scalar) -> tuple:
    """Return a negation as operation and three operands, merged into its operand if that can absorb the sign.

    Signs were moved outwards while recording, but -(a-b), -(a*2) and similar expressions need only one operation.
    """
    y = x.a
    if y.op == SUB:
        return SUB, y.b, y.a, None
    if y.op in (MUL, DIV) and type(y.a) is float:
        return y.op, -y.a, y.b, None
    if y.op in (MUL, DIV) and type(y.b) is float:
        return y.op, y.a, -y.b, None
    if y.op == ADD and type(y.b) is float:
        return SUB, -y.b, y.a, None
    return NEG, y, None, None
