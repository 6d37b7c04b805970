"""From a function to a program: trace it, or run a program inside another trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import ShapeError, TraceError
from .evaluate import FUNCTIONS, evaluate
from .program import Argument, Op, Program
from .simplify import ADD, DIV, MUL, NEG, SUB, mixed_traces
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
    """Record what a function computes.

    Args:
        function: called once, with the constants, then one object array of scalars for each input (a bare
            `Scalar` where the shape is ``()``), by position, and the options by keyword. It returns an array, a
            number, a tuple of these, or a dictionary of these by name; entries may be plain numbers.
        inputs: name and shape of each input, in order.
        name: the program's name, the function's own if not given.
        outputs: names of what the function returns, if that is not a dictionary; else "out0", "out1", ...
        constants: what the function is given before the inputs.
        options: what it is given by keyword.

    Returns:
        The program, with only the operations that the outputs need. Traces in several threads or within
        one another do not know of each other, and keep nothing after they end.
    """
    arguments = [Argument(str(key), tuple(shape)) for key, shape in inputs.items()]
    tape = Tape()
    try:
        arrays = [_input_array(tape, i, argument) for i, argument in enumerate(arguments)]
        try:
            returned = function(*constants, *arrays, **(options or {}))
        except (ZeroDivisionError, OverflowError) as error:
            raise TraceError(f"the function computes with constants, and that fails: {error}") from error
        except IndexError as error:
            if "valid indices" not in str(error):
                raise
            # NumPy's word for an index that is no integer; it hides what the scalar has to say.
            raise used_as_a_number() from error
        named = _named(returned, outputs)
        results = [_output_entries(tape, key, value) for key, value in named.items()]
        listing = _Listing(len(tape.table))
        nodes = [[listing.place(entry) for entry in entries] for _, entries in results]
    finally:
        tape.close()
    return Program(
        name=name or getattr(function, "__name__", "function").strip("<>"),
        inputs=tuple(arguments),
        outputs=tuple(argument for argument, _ in results),
        op=np.array(listing.op, np.uint8),
        args=np.array(listing.args, np.int32).reshape(-1, 3),
        value=np.array(listing.value, float),
        results=tuple(np.array(entries, np.int32) for entries in nodes),
    )


def call(program: Program, *arrays: Any) -> Any:
    """Run a program on arrays of traced scalars, numbers or both: its operations join their trace.

    Args:
        program: what to run.
        arrays: one for each input, of exactly its shape.

    Returns:
        The outputs, as the traced function would have returned them: one array (a bare value for shape
        ``()``), or a tuple of them. Of numbers alone, what :func:`zveno.kernels.evaluate.evaluate` gives.
    """
    inputs = [np.asarray(array) for array in arrays]
    if all(array.dtype != object for array in inputs):
        return evaluate(program, *inputs)
    values = node_values(program, inputs)
    outputs = []
    for argument, nodes in zip(program.outputs, program.results, strict=True):
        out = np.empty(argument.size, object)
        out[:] = [values[k] for k in nodes.tolist()]
        outputs.append(out.reshape(argument.shape) if argument.shape else out[0])
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def node_values(program: Program, arrays: Sequence[Any]) -> list[Any]:
    """What every node of a program is, scalar or float, when it runs on traced arrays (see :func:`call`)."""
    if len(arrays) != len(program.inputs):
        raise ShapeError(f"{program.name} takes {len(program.inputs)} inputs, not {len(arrays)}")
    leaves = []
    for array, argument in zip(arrays, program.inputs, strict=True):
        array = np.asarray(array, object)
        if array.shape != argument.shape:
            raise ShapeError(f"shape {argument.shape} is needed, not {array.shape}", element=argument.name)
        leaves.append([x if type(x) is Scalar else _constant(x, argument.name) for x in array.flat])
    values: list = []
    for op, args, value in zip(program.op.tolist(), program.args.tolist(), program.value.tolist(), strict=True):
        if op == Op.INPUT:
            values.append(leaves[args[0]][args[1]])
        elif op == Op.CONST:
            values.append(value)
        else:
            values.append(apply(op, *[values[a] for a in args if a >= 0]))
    return values


def apply(op: int, *operands: Any) -> Any:
    """One operation on scalars or floats. Floats alone are folded, quietly, by the rules of IEEE 754."""
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
            f"the function returns {len(values)} outputs, and the names given are {', '.join(names)}",
            remedy="Give each output one name, different from the others",
        )
    return dict(zip(names, values, strict=True))


def _output_entries(tape: Tape, name: str, value) -> tuple[Argument, list]:
    """Shape and flat entries of one output, every entry a scalar of this trace or a float."""
    try:
        array = np.asarray(value, object)
    except ValueError as error:
        raise TraceError(f"what it returns is not an array: {error}", element=name) from error
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
    """The nodes that outputs need, in an order in which they can be computed.

    Depth first from the outputs in their order, operands before the operation: a value is computed shortly
    before it is used, which keeps the number of values alive at a time low.
    """

    def __init__(self, n_scalars: int):
        self.op: list[int] = []
        self.args: list[tuple[int, int, int]] = []
        self.value: list[float] = []
        self.places = [-1] * n_scalars
        self.constants: dict[str, int] = {}

    def place(self, entry: Scalar | float) -> int:
        """Where an output entry is found, once everything it needs has been listed."""
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
        key = value.hex()  # tells -0.0 from 0.0, and is the same for every NaN
        if key not in self.constants:
            self.constants[key] = self._append(_CONST, (-1, -1, -1), value)
        return self.constants[key]

    def _append(self, op: int, args, value: float = 0.0) -> int:
        self.op.append(op)
        self.args.append(args)
        self.value.append(value)
        return len(self.op) - 1


def _without_sign(x: Scalar) -> tuple:
    """A negation as operation and three operands, merged into its operand where that has room for a sign.

    Signs were moved outwards while recording; -(a-b), -(a*2) and the like are one operation all the same.
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
