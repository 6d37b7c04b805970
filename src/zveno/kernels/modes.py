"""Forward and reverse mode on the nodes of a program, and its sparsity: the inside of `derivatives`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import math as zm
from .program import Op, Program
from .tape import Scalar
from .trace import apply

_CHOOSING = frozenset(int(op) for op in (Op.SELECT, Op.MINIMUM, Op.MAXIMUM))


def _divide(a, b):
    return apply(Op.DIV, a, b)


# ∂y/∂a and ∂y/∂b of y = op(a, b). Operations not listed, and not choosing, have derivative zero.
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


# The two modes. A tangent or adjoint is a dictionary from column or row to its entry, zeros left out.


def push(program: Program, nodes: list[Any], seeds: dict[tuple[int, int], dict[int, Any]]) -> list[dict[int, Any]]:
    """Tangents of all nodes from those of the input elements."""
    tangents: list[dict] = []
    for k, (op, args) in enumerate(zip(program.op.tolist(), program.args.tolist(), strict=True)):
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
                tangent[column] = zm.select(condition, *pair)
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
    program: Program, nodes: list[Any], weights: list[tuple[int, int, Any]]
) -> dict[tuple[int, int], dict[int, Any]]:
    """Adjoints of the input elements from weights of nodes, given as (node, row, weight).

    An adjoint entry is a pair (condition, value), worth 0 where the condition, if there is one, is false.
    """
    adjoints: list[dict[int, tuple]] = [{} for _ in nodes]
    for k, row, weight in weights:
        _accumulate(adjoints[k], row, None, weight)
    ops, all_args = program.op.tolist(), program.args.tolist()
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
    """A choosing operation as (condition, node if it holds, node if not)."""
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
        adjoint[row] = None, zm.select(before, total, value)
    else:
        adjoint[row] = zm.logical_or(before, given), _guarded(before, total) + _guarded(given, value)


def _guarded(given, value):
    return value if given is None else zm.select(given, value, 0.0)


# Sparsity: which inputs reach a node, and which outputs a node reaches, as bits of an integer.


def dependence(program: Program, columns: list[int]) -> list[int]:
    """For each node, the elements of the given inputs, counted through, that it depends on."""
    offsets, total = {}, 0
    for x in columns:
        offsets[x] = total
        total += program.inputs[x].size
    bits: list[int] = []
    for op, (a, b, c) in zip(program.op.tolist(), program.args.tolist(), strict=True):
        if op == Op.INPUT:
            bits.append(1 << (offsets[a] + b) if a in offsets else 0)
        elif op == Op.SELECT:
            bits.append(bits[b] | bits[c])
        elif op in _ACTIVE:
            bits.append(bits[a] | bits[b] if b >= 0 else bits[a])
        else:
            bits.append(0)
    return bits


def influence(program: Program, rows: list[int]) -> list[int]:
    """For each node, the elements of the given outputs, counted through, that depend on it."""
    bits = [0] * program.n_nodes
    place = 0
    for y in rows:
        for k in program.results[y].tolist():
            bits[k] |= 1 << place
            place += 1
    ops, all_args = program.op.tolist(), program.args.tolist()
    for k in reversed(range(len(ops))):
        if ops[k] in _ACTIVE and bits[k]:
            for a in all_args[k][1:] if ops[k] == Op.SELECT else all_args[k]:
                if a >= 0:
                    bits[a] |= bits[k]
    return bits
