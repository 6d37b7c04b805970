"""Derivatives of straight-line programs, as programs: forward and reverse mode, Jacobians, Hessian times vector.

Names: `d_x` is the direction (tangent) of input or output `x`, `bar_x` the weight (adjoint) of `x`, and
`d_y_d_x` the Jacobian of output `y` by input `x`, of shape (*y, *x).

=================  =====================================  ==================================================
program            inputs besides those of the original   outputs
=================  =====================================  ==================================================
`forward`          `d_x` for each `x` in `wrt`            `d_y` = Σ_x ∂y/∂x d_x, for each `y` in `of`
`reverse`          `bar_y` for each `y` in `of`           `bar_x` = Σ_y bar_y ∂y/∂x, for each `x` in `wrt`
`jacobian`         none                                   `d_y_d_x` for each pair
`hessian_vector`   `d_x` for each `x` in `wrt`            `hd_x` = Σ_z ∂²y/∂x∂z d_z, for each `x` in `wrt`
=================  =====================================  ==================================================

`of` and `wrt` are a name, several names, or None for all. With ``values=True`` the original outputs come
first. The work of a mode is linear in the size of the program (Griewank and Walther, Evaluating Derivatives,
2008, chapter 3), for a Jacobian per column or row.

At kinks, the derivative of abs at 0 is 0, and that of sign, floor and comparisons is 0 everywhere. Minimum and
maximum take the derivative of the operand they choose; at a tie it is always that of the same operand. Select takes
the derivative of the chosen side. An infinite or NaN derivative of the other side does not propagate: in forward
mode tangents are selected like the values, and in reverse mode an adjoint stores the condition under which it is
nonzero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import TraceError, ZvenoError, unknown_name
from . import ops as zm
from .program import Argument, Graph, Op, Program
from .tape import Scalar
from .trace import apply, call, node_values, trace

Names = str | Sequence[str] | None


def forward(program: Program, *, of: Names = None, wrt: Names = None, values: bool = False) -> Program:
    """Return the derivative of a program along a direction (Jacobian times vector); see the module for names."""
    graph = program.graph
    rows, columns = _chosen(program.outputs, of, "output"), _chosen(program.inputs, wrt, "input")

    def function(*arrays):
        nodes = node_values(graph, arrays[: len(program.inputs)])
        directions = dict(zip(columns, arrays[len(program.inputs) :], strict=True))
        seeds = {
            (i, j): {0: direction}
            for i, array in directions.items()
            for j, direction in enumerate(np.asarray(array, object).flat)
        }
        tangents = push(graph, nodes, seeds)
        named = _originals(graph, nodes) if values else {}
        for y in rows:
            entries = [tangents[k].get(0, 0.0) for k in graph.results[y].tolist()]
            named[f"d_{program.outputs[y].name}"] = _shaped(entries, program.outputs[y])
        return named

    inputs = _extended(program, {f"d_{program.inputs[x].name}": program.inputs[x] for x in columns})
    return trace(function, inputs, name=f"{program.name}_forward")


def reverse(program: Program, *, of: Names = None, wrt: Names = None, values: bool = False) -> Program:
    """Return the derivative of a weighted sum of outputs (vector times Jacobian); see the module for names."""
    graph = program.graph
    rows, columns = _chosen(program.outputs, of, "output"), _chosen(program.inputs, wrt, "input")

    def function(*arrays):
        nodes = node_values(graph, arrays[: len(program.inputs)])
        weights = [
            (k, 0, weight)
            for y, array in zip(rows, arrays[len(program.inputs) :], strict=True)
            for k, weight in zip(graph.results[y].tolist(), np.asarray(array, object).flat, strict=True)
        ]
        adjoints = pull(graph, nodes, weights)
        named = _originals(graph, nodes) if values else {}
        for x in columns:
            entries = [adjoints.get((x, j), {}).get(0, 0.0) for j in range(program.inputs[x].size)]
            named[f"bar_{program.inputs[x].name}"] = _shaped(entries, program.inputs[x])
        return named

    inputs = _extended(program, {f"bar_{program.outputs[y].name}": program.outputs[y] for y in rows})
    return trace(function, inputs, name=f"{program.name}_reverse")


def jacobian(program: Program, *, of: Names = None, wrt: Names = None, values: bool = False) -> Program:
    """Return the derivatives of outputs by inputs as dense arrays; see the module for names.

    Structural zeros are the constant 0 and cost nothing: a column (or row) visits only the nodes that it reaches.
    This saves as much as a compression of columns would. The mode, forward or reverse, is the one that visits fewer
    nodes.
    """
    graph = program.graph
    rows, columns = _chosen(program.outputs, of, "output"), _chosen(program.inputs, wrt, "input")
    column_bits, row_bits = dependence(graph, columns), influence(graph, rows)
    both = [(c, r) for c, r in zip(column_bits, row_bits, strict=True) if c and r]
    go_forward = sum(c.bit_count() for c, _ in both) <= sum(r.bit_count() for _, r in both)

    def function(*arrays):
        nodes = node_values(graph, arrays)
        dense = {(y, x): _zeros(program, y, x) for y in rows for x in columns}
        if go_forward:
            places = [(x, j) for x in columns for j in range(program.inputs[x].size)]
            tangents = push(graph, nodes, {place: {c: 1.0} for c, place in enumerate(places)})
            for y in rows:
                for i, k in enumerate(graph.results[y].tolist()):
                    for c, entry in tangents[k].items():
                        x, j = places[c]
                        dense[y, x][i, j] = entry
        else:
            places = [(y, i) for y in rows for i in range(program.outputs[y].size)]
            weights = [(int(graph.results[y][i]), r, 1.0) for r, (y, i) in enumerate(places)]
            for (x, j), adjoint in pull(graph, nodes, weights).items():
                for r, entry in adjoint.items() if x in columns else ():
                    y, i = places[r]
                    dense[y, x][i, j] = entry
        named = _originals(graph, nodes) if values else {}
        for (y, x), entries in dense.items():
            target, source = program.outputs[y], program.inputs[x]
            named[f"d_{target.name}_d_{source.name}"] = entries.reshape(target.shape + source.shape)
        return named

    return trace(function, _extended(program, {}), name=f"{program.name}_jacobian")


def jacobian_sparsity(program: Program, *, of: str, wrt: str) -> np.ndarray:
    """Return the sparsity pattern of the Jacobian of output `of` by input `wrt`: booleans of shape (*of, *wrt).

    False means that the derivative is zero for every input, True that operations connect the two elements.
    """
    graph = program.graph
    (y,), (x,) = _chosen(program.outputs, of, "output"), _chosen(program.inputs, wrt, "input")
    target, source = program.outputs[y], program.inputs[x]
    bits = dependence(graph, [x])
    width = (source.size + 7) // 8
    packed = b"".join(bits[k].to_bytes(width, "little") for k in graph.results[y].tolist())
    rows = np.frombuffer(packed, np.uint8).reshape(target.size, width)
    pattern = np.unpackbits(rows, axis=1, count=source.size, bitorder="little").astype(bool)
    return pattern.reshape(target.shape + source.shape)


def hessian_vector(program: Program, *, of: Names = None, wrt: Names = None, values: bool = False) -> Program:
    """Return the Hessian of a scalar output times a direction, by forward over reverse mode."""
    graph = program.graph
    rows, columns = _chosen(program.outputs, of, "output"), _chosen(program.inputs, wrt, "input")
    if len(rows) != 1 or program.outputs[rows[0]].size != 1:
        raise TraceError(
            f"{program.name}: a Hessian needs a scalar output",
            remedy="Name one scalar output with of=, for example a weighted sum of the others",
        )
    target = program.outputs[rows[0]]
    names = [program.inputs[x].name for x in columns]
    inputs = _extended(program, {})
    backwards = reverse(program, of=target.name, wrt=names)
    gradient = trace(lambda *x: call(backwards, *x, np.full(target.shape, 1.0, object)), inputs, outputs=names)
    product = forward(gradient, wrt=names)

    def function(*arrays):
        named = _originals(graph, node_values(graph, arrays[: len(inputs)])) if values else {}
        products = call(product, *arrays)
        products = products if len(names) > 1 else (products,)
        return named | {f"hd_{name}": hd for name, hd in zip(names, products, strict=True)}

    directions = {f"d_{program.inputs[x].name}": program.inputs[x] for x in columns}
    return trace(function, _extended(program, directions), name=f"{program.name}_hessian_vector")


# Arguments and names.


def _chosen(arguments: tuple[Argument, ...], names: Names, kind: str) -> list[int]:
    known = [argument.name for argument in arguments]
    names = known if names is None else [names] if isinstance(names, str) else list(names)
    for name in names:
        if name not in known:
            raise unknown_name(kind, name, known)
    return [known.index(name) for name in names]


def _extended(program: Program, more: dict[str, Argument]) -> dict[str, tuple[int, ...]]:
    inputs = {argument.name: argument.shape for argument in program.inputs}
    for name in inputs.keys() & more.keys():
        raise ZvenoError(f"{program.name} already has an input named {name}", remedy="Rename it and try again")
    return inputs | {name: argument.shape for name, argument in more.items()}


def _originals(graph: Graph, nodes: list) -> dict[str, Any]:
    return {
        argument.name: _shaped([nodes[k] for k in places.tolist()], argument)
        for argument, places in zip(graph.outputs, graph.results, strict=True)
    }


def _shaped(entries: list, argument: Argument) -> np.ndarray:
    array = np.empty(len(entries), object)
    array[:] = entries
    return array.reshape(argument.shape)


def _zeros(program: Program, y: int, x: int) -> np.ndarray:
    return np.full((program.outputs[y].size, program.inputs[x].size), 0.0, object)


_CHOOSING = frozenset(int(op) for op in (Op.SELECT, Op.MINIMUM, Op.MAXIMUM))


def _divide(a, b):
    return apply(Op.DIV, a, b)


# ∂y/∂a and ∂y/∂b of y = op(a, b). Selecting operations are separate; all others have derivative zero.
_PARTIALS: dict[int, Callable[..., tuple]] = {
    int(op): partials
    for op, partials in {
        Op.NEG: lambda y, a: (-1.0,),
        Op.ADD: lambda y, a, b: (1.0, 1.0),
        Op.SUB: lambda y, a, b: (1.0, -1.0),
        Op.MUL: lambda y, a, b: (b, a),
        Op.DIV: lambda y, a, b: (_divide(1.0, b), -_divide(y, b)),
        Op.SQRT: lambda y, a: (_divide(0.5, y),),
        Op.SIN: lambda y, a: (zm.cos(a),),
        Op.COS: lambda y, a: (-zm.sin(a),),
        Op.TAN: lambda y, a: (1.0 + y * y,),
        Op.ASIN: lambda y, a: (_divide(1.0, zm.sqrt((1.0 - a) * (1.0 + a))),),
        Op.ACOS: lambda y, a: (_divide(-1.0, zm.sqrt((1.0 - a) * (1.0 + a))),),
        Op.ATAN: lambda y, a: (_divide(1.0, 1.0 + a * a),),
        Op.ATAN2: lambda y, a, b: (_divide(b, a * a + b * b), -_divide(a, a * a + b * b)),
        Op.EXP: lambda y, a: (y,),
        Op.LOG: lambda y, a: (_divide(1.0, a),),
        Op.TANH: lambda y, a: (1.0 - y * y,),
        Op.ABS: lambda y, a: (zm.sign(a),),
    }.items()
}
_ACTIVE = frozenset(_PARTIALS) | _CHOOSING


# The two modes. A tangent or adjoint is a dictionary from column or row to its entry, without zeros.


def push(graph: Graph, nodes: list[Any], seeds: dict[tuple[int, int], dict[int, Any]]) -> list[dict[int, Any]]:
    """Return the tangents of all nodes from those of the input elements."""
    tangents: list[dict] = []
    for k, (op, args) in enumerate(zip(graph.op.tolist(), graph.args.tolist(), strict=True)):
        tangent: dict[int, Any] = {}
        tangents.append(tangent)
        if op == Op.INPUT:
            tangent.update(seeds.get((args[0], args[1]), {}))
        elif type(nodes[k]) is not Scalar:
            continue  # a constant
        elif op in _CHOOSING:
            condition, a, b = _choice(op, args, nodes)
            for column in sorted(tangents[a].keys() | tangents[b].keys()):
                pair = tangents[a].get(column, 0.0), tangents[b].get(column, 0.0)
                tangent[column] = zm.where(condition, *pair)
        elif op in _PARTIALS:
            args = [a for a in args if a >= 0]
            if any(tangents[a] for a in args):
                partials = _PARTIALS[op](nodes[k], *[nodes[a] for a in args])
                for a, partial in zip(args, partials, strict=True):
                    for column, entry in tangents[a].items():
                        term = partial * entry
                        tangent[column] = tangent[column] + term if column in tangent else term
    return tangents


def pull(
    graph: Graph, nodes: list[Any], weights: list[tuple[int, int, Any]]
) -> dict[tuple[int, int], dict[int, Any]]:
    """Return the adjoints of the input elements from weights of nodes, given as (node, row, weight).

    An adjoint entry is a pair (condition, value). Its value counts as 0 if there is a condition and it is false.
    """
    adjoints: list[dict[int, tuple]] = [{} for _ in nodes]
    for k, row, weight in weights:
        _accumulate(adjoints[k], row, None, weight)
    ops, all_args = graph.op.tolist(), graph.args.tolist()
    pulled: dict[tuple[int, int], dict] = {}
    for k in reversed(range(len(nodes))):
        op, args, adjoint = ops[k], all_args[k], adjoints[k]
        adjoints[k] = {}
        if not adjoint or type(nodes[k]) is not Scalar:
            continue
        if op == Op.INPUT:
            pulled[args[0], args[1]] = {row: _guarded(*entry) for row, entry in adjoint.items()}
        elif op in _CHOOSING:
            condition, a, b = _choice(op, args, nodes)
            for node, case in ((a, condition), (b, zm.logical_not(condition))):
                for row, (given, value) in adjoint.items():
                    both = case if given is None else zm.logical_and(given, case)
                    _accumulate(adjoints[node], row, both, value)
        elif op in _PARTIALS:
            args = [a for a in args if a >= 0]
            partials = _PARTIALS[op](nodes[k], *[nodes[a] for a in args])
            for a, partial in zip(args, partials, strict=True):
                if ops[a] != Op.CONST:
                    for row, (given, value) in adjoint.items():
                        _accumulate(adjoints[a], row, given, partial * value)
    return pulled


def _choice(op: int, args: list[int], nodes: list) -> tuple[Any, int, int]:
    """Return a selecting operation as (condition, node if true, node if false)."""
    if op == Op.SELECT:
        return nodes[args[0]], args[1], args[2]
    a, b = args[:2]
    return (zm.less(nodes[a], nodes[b]) if op == Op.MINIMUM else zm.less(nodes[b], nodes[a])), a, b


def _accumulate(adjoint: dict[int, tuple], row: int, given, value) -> None:
    if row not in adjoint:
        adjoint[row] = given, value
        return
    before, total = adjoint[row]
    if given is before:
        adjoint[row] = given, total + value
    elif given is None or before is None:
        adjoint[row] = None, _guarded(before, total) + _guarded(given, value)
    elif given is zm.logical_not(before):
        adjoint[row] = None, zm.where(before, total, value)
    else:
        adjoint[row] = zm.logical_or(before, given), _guarded(before, total) + _guarded(given, value)


def _guarded(given, value):
    return value if given is None else zm.where(given, value, 0.0)


# Sparsity: which inputs reach a node, and which outputs a node reaches, as bits of an integer.


def dependence(graph: Graph, columns: list[int]) -> list[int]:
    """Return for each node the elements of the given inputs, numbered consecutively, that it depends on."""
    offsets, total = {}, 0
    for x in columns:
        offsets[x] = total
        total += graph.inputs[x].size
    bits: list[int] = []
    for op, (a, b, c) in zip(graph.op.tolist(), graph.args.tolist(), strict=True):
        if op == Op.INPUT:
            bits.append(1 << (offsets[a] + b) if a in offsets else 0)
        elif op == Op.SELECT:
            bits.append(bits[b] | bits[c])
        elif op in _ACTIVE:
            bits.append(bits[a] | bits[b] if b >= 0 else bits[a])
        else:
            bits.append(0)
    return bits


def influence(graph: Graph, rows: list[int]) -> list[int]:
    """Return for each node the elements of the given outputs, numbered consecutively, that depend on it."""
    bits = [0] * graph.n_nodes
    place = 0
    for y in rows:
        for k in graph.results[y].tolist():
            bits[k] |= 1 << place
            place += 1
    ops, all_args = graph.op.tolist(), graph.args.tolist()
    for k in reversed(range(len(ops))):
        if ops[k] in _ACTIVE and bits[k]:
            for a in all_args[k][1:] if ops[k] == Op.SELECT else all_args[k]:
                if a >= 0:
                    bits[a] |= bits[k]
    return bits
