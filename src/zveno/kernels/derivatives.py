"""Derivatives of programs, as programs: forward and reverse mode, Jacobians and Hessian times vector.

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

At kinks: the derivative of abs at 0 is 0; of sign, floor and comparisons 0 everywhere; minimum and maximum
take the derivative of the operand they choose, and of one of the two (always the same) at a tie; select that
of the side taken, whatever the other side is: an infinite or NaN derivative there does not come through,
in forward mode because tangents are selected like the values, in reverse mode because an adjoint remembers
under which condition it is not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import TraceError, ZvenoError, unknown_name
from .modes import dependence, influence, pull, push
from .program import Argument, Program
from .trace import call, node_values, trace

Names = str | Sequence[str] | None


def forward(program: Program, *, of: Names = None, wrt: Names = None, values: bool = False) -> Program:
    """The derivative of a program along a direction (Jacobian times vector); see the module for names."""
    rows, columns = _chosen(program.outputs, of, "output"), _chosen(program.inputs, wrt, "input")

    def function(*arrays):
        nodes = node_values(program, arrays[: len(program.inputs)])
        directions = dict(zip(columns, arrays[len(program.inputs) :], strict=True))
        seeds = {
            (i, j): {0: direction}
            for i, array in directions.items()
            for j, direction in enumerate(np.asarray(array, object).flat)
        }
        tangents = push(program, nodes, seeds)
        named = _originals(program, nodes) if values else {}
        for y in rows:
            entries = [tangents[k].get(0, 0.0) for k in program.results[y].tolist()]
            named[f"d_{program.outputs[y].name}"] = _shaped(entries, program.outputs[y])
        return named

    inputs = _extended(program, {f"d_{program.inputs[x].name}": program.inputs[x] for x in columns})
    return trace(function, inputs, name=f"{program.name}_forward")


def reverse(program: Program, *, of: Names = None, wrt: Names = None, values: bool = False) -> Program:
    """The derivative of a weighted sum of outputs (vector times Jacobian); see the module for names."""
    rows, columns = _chosen(program.outputs, of, "output"), _chosen(program.inputs, wrt, "input")

    def function(*arrays):
        nodes = node_values(program, arrays[: len(program.inputs)])
        weights = [
            (k, 0, weight)
            for y, array in zip(rows, arrays[len(program.inputs) :], strict=True)
            for k, weight in zip(program.results[y].tolist(), np.asarray(array, object).flat, strict=True)
        ]
        adjoints = pull(program, nodes, weights)
        named = _originals(program, nodes) if values else {}
        for x in columns:
            entries = [adjoints.get((x, j), {}).get(0, 0.0) for j in range(program.inputs[x].size)]
            named[f"bar_{program.inputs[x].name}"] = _shaped(entries, program.inputs[x])
        return named

    inputs = _extended(program, {f"bar_{program.outputs[y].name}": program.outputs[y] for y in rows})
    return trace(function, inputs, name=f"{program.name}_reverse")


def jacobian(program: Program, *, of: Names = None, wrt: Names = None, values: bool = False) -> Program:
    """The derivatives of outputs by inputs as dense arrays; see the module for names.

    Entries that cannot depend on each other are the constant 0 and cost nothing: a column (or row) visits
    only the nodes it touches, which is what a compression of columns would save. Of forward and reverse
    mode the one that visits fewer is taken.
    """
    rows, columns = _chosen(program.outputs, of, "output"), _chosen(program.inputs, wrt, "input")
    column_bits, row_bits = dependence(program, columns), influence(program, rows)
    both = [(c, r) for c, r in zip(column_bits, row_bits, strict=True) if c and r]
    go_forward = sum(c.bit_count() for c, _ in both) <= sum(r.bit_count() for _, r in both)

    def function(*arrays):
        nodes = node_values(program, arrays)
        dense = {(y, x): _zeros(program, y, x) for y in rows for x in columns}
        if go_forward:
            places = [(x, j) for x in columns for j in range(program.inputs[x].size)]
            tangents = push(program, nodes, {place: {c: 1.0} for c, place in enumerate(places)})
            for y in rows:
                for i, k in enumerate(program.results[y].tolist()):
                    for c, entry in tangents[k].items():
                        x, j = places[c]
                        dense[y, x][i, j] = entry
        else:
            places = [(y, i) for y in rows for i in range(program.outputs[y].size)]
            weights = [(int(program.results[y][i]), r, 1.0) for r, (y, i) in enumerate(places)]
            for (x, j), adjoint in pull(program, nodes, weights).items():
                for r, entry in adjoint.items() if x in columns else ():
                    y, i = places[r]
                    dense[y, x][i, j] = entry
        named = _originals(program, nodes) if values else {}
        for (y, x), entries in dense.items():
            target, source = program.outputs[y], program.inputs[x]
            named[f"d_{target.name}_d_{source.name}"] = entries.reshape(target.shape + source.shape)
        return named

    return trace(function, _extended(program, {}), name=f"{program.name}_jacobian")


def jacobian_sparsity(program: Program, *, of: str, wrt: str) -> np.ndarray:
    """Which elements of output `of` can depend on which of input `wrt`: booleans of shape (*of, *wrt).

    False means that the derivative is zero for every input; True that operations connect the two.
    """
    (y,), (x,) = _chosen(program.outputs, of, "output"), _chosen(program.inputs, wrt, "input")
    target, source = program.outputs[y], program.inputs[x]
    bits = dependence(program, [x])
    width = (source.size + 7) // 8
    packed = b"".join(bits[k].to_bytes(width, "little") for k in program.results[y].tolist())
    rows = np.frombuffer(packed, np.uint8).reshape(target.size, width)
    pattern = np.unpackbits(rows, axis=1, count=source.size, bitorder="little").astype(bool)
    return pattern.reshape(target.shape + source.shape)


def hessian_vector(program: Program, *, of: Names = None, wrt: Names = None, values: bool = False) -> Program:
    """The Hessian of an output with one element times a direction, by forward over reverse mode."""
    rows, columns = _chosen(program.outputs, of, "output"), _chosen(program.inputs, wrt, "input")
    if len(rows) != 1 or program.outputs[rows[0]].size != 1:
        raise TraceError(
            f"{program.name}: a Hessian is that of one number",
            remedy="Name one output of one element with of=, for example a weighted sum of the others",
        )
    target = program.outputs[rows[0]]
    names = [program.inputs[x].name for x in columns]
    inputs = _extended(program, {})
    backwards = reverse(program, of=target.name, wrt=names)
    gradient = trace(lambda *x: call(backwards, *x, np.full(target.shape, 1.0, object)), inputs, outputs=names)
    product = forward(gradient, wrt=names)

    def function(*arrays):
        named = _originals(program, node_values(program, arrays[: len(inputs)])) if values else {}
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


def _originals(program: Program, nodes: list) -> dict[str, Any]:
    return {
        argument.name: _shaped([nodes[k] for k in places.tolist()], argument)
        for argument, places in zip(program.outputs, program.results, strict=True)
    }


def _shaped(entries: list, argument: Argument) -> np.ndarray:
    array = np.empty(len(entries), object)
    array[:] = entries
    return array.reshape(argument.shape)


def _zeros(program: Program, y: int, x: int) -> np.ndarray:
    return np.full((program.outputs[y].size, program.inputs[x].size), 0.0, object)
