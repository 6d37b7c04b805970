"""Where every value of a program lives: the order of operations, chunks of it, and slots of a workspace.

LLVM's time grows faster than linearly with the length of a block, so a long program becomes many chunks,
each a function of its own. What one chunk computes and a later one reads is written to a slot of the
workspace; slots are used again once their value is dead, which keeps the workspace in the nearest caches.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..errors import BuildError
from .program import ARITY, Op, Program

TRIGONOMETRIC = (Op.SIN, Op.COS, Op.TAN)
_FREE = (Op.INPUT, Op.CONST)
_ARITY = [ARITY[op] for op in Op]


@dataclass(frozen=True)
class Block:
    """Neighbouring elements of an output that are written together: one, or as many as there are lanes."""

    output: int
    first: int
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """The schedule of a program."""

    chunks: list[list[int]]
    """Nodes to compute, in order. Inputs and constants are not among them."""
    slot: list[int]
    """For each node its slot in the workspace, -1 if it has none."""
    n_slots: int
    """Slots: first all elements of the inputs, then those shared by computed values."""
    blocks: list[list[Block]]
    """For each chunk the parts of the outputs it completes."""
    constants: list[Block]
    """The parts of the outputs that are the same for all states."""


def check(program: Program) -> None:
    """Refuse a program whose arrays do not describe one.

    Raises:
        BuildError: sizes differ, an operand comes after its use, or an index is out of range.
    """
    n, element = program.n_nodes, f"program {program.name}"
    if program.args.shape != (n, 3) or program.value.shape != (n,):
        raise BuildError("the arrays of the program differ in length", element=element)
    if len(program.results) != len(program.outputs) or not program.outputs:
        raise BuildError("the program needs results for one output or more", element=element)
    if n and program.op.max() > max(Op):
        raise BuildError(f"unknown operation {program.op.max()}", element=element)
    arity = np.array([ARITY[op] for op in Op])[program.op]
    for place in range(3):
        used, args = arity > place, program.args[:, place]
        if np.any(used & ((args < 0) | (args >= np.arange(n)))):
            raise BuildError("an operand does not come before the operation that reads it", element=element)
    for node in np.flatnonzero(program.op == Op.INPUT):
        number, index = program.args[node, :2]
        if not (0 <= number < len(program.inputs) and 0 <= index < program.inputs[number].size):
            raise BuildError(f"node {node} reads an input that does not exist", element=element)
    for output, result in zip(program.outputs, program.results, strict=True):
        if len(result) != output.size or np.any((result < 0) | (result >= n)):
            raise BuildError(f"output {output.name} does not name one node per element", element=element)


def live_nodes(program: Program) -> np.ndarray:
    """Which nodes a result depends on, as booleans."""
    op, args = program.op.tolist(), program.args.tolist()
    live = bytearray(len(op))
    for result in program.results:
        for node in result.tolist():
            live[node] = 1
    for node in range(len(op) - 1, -1, -1):
        if live[node]:
            for operand in args[node][: _ARITY[op[node]]]:
                live[operand] = 1
    return np.frombuffer(bytes(live), dtype=np.bool_)


def computed_nodes(program: Program) -> list[int]:
    """The nodes to compute, in order: without inputs, constants and what no result depends on."""
    live = np.flatnonzero(live_nodes(program)).tolist()
    return _gather_trigonometry(live, program.op.tolist(), program.args.tolist())


def make_plan(program: Program, chunk_size: int, lanes: int) -> Plan:
    """Order the operations, cut them into chunks and give every value that outlives its chunk a slot."""
    op, args = program.op.tolist(), program.args.tolist()
    order = computed_nodes(program)
    chunks = _cut(order, op, chunk_size) or [[]]
    made_in, read_in = [0] * len(op), [0] * len(op)
    for number, chunk in enumerate(chunks):
        for node in chunk:
            made_in[node] = number
            for operand in args[node][: _ARITY[op[node]]]:
                read_in[operand] = number
    blocks: list[list[Block]] = [[] for _ in chunks]
    constants = []
    for block in _blocks(program, lanes):
        if all(op[node] == Op.CONST for node in block.nodes):
            constants.append(block)
            continue
        number = max(made_in[node] for node in block.nodes)
        blocks[number].append(block)
        for node in block.nodes:
            read_in[node] = max(read_in[node], number)
    slot = [-1] * len(op)
    n_slots = _place_inputs(program, slot)
    free: list[int] = []
    expiring: list[list[int]] = [[] for _ in range(len(chunks) + 1)]
    for number, chunk in enumerate(chunks):
        free += expiring[number]
        for node in chunk:
            if read_in[node] > number:
                if free:
                    slot[node] = free.pop()
                else:
                    slot[node], n_slots = n_slots, n_slots + 1
                expiring[read_in[node] + 1].append(slot[node])
    return Plan(chunks, slot, n_slots, blocks, constants)


def _blocks(program: Program, lanes: int) -> Iterator[Block]:
    """The outputs in blocks of as many elements as lanes, the last of which may overlap the one before."""
    for output, result in enumerate(program.results):
        nodes = result.tolist()
        size = lanes if len(nodes) >= lanes else 1
        for first in range(0, len(nodes), size):
            first = min(first, len(nodes) - size)
            yield Block(output, first, tuple(nodes[first : first + size]))


def _place_inputs(program: Program, slot: list[int]) -> int:
    offsets = np.cumsum([0, *(argument.size for argument in program.inputs)])
    nodes = np.flatnonzero(program.op == Op.INPUT)
    places = offsets[program.args[nodes, 0]] + program.args[nodes, 1]
    for node, place in zip(nodes.tolist(), places.tolist(), strict=True):
        slot[node] = place
    return int(offsets[-1])


def _gather_trigonometry(live: list[int], op: list[int], args: list[list[int]]) -> list[int]:
    """The nodes to compute, with sines and cosines moved up next to the first that could be computed.

    Neighbours share one range reduction if their operand is the same, and one test for operands that
    need the slow path, instead of a branch each.
    """
    waiting: dict[int, list[int]] = {}
    for node in live:
        if op[node] in TRIGONOMETRIC:
            waiting.setdefault(args[node][0], []).append(node)
    order: list[int] = []
    ready = [angle for node in live if op[node] in _FREE for angle in waiting.pop(node, ())]
    done: set[int] = set()
    for node in live:
        if op[node] in _FREE or node in done:
            continue
        if op[node] in TRIGONOMETRIC:
            order += ready
            done.update(ready)
            ready = [angle for earlier in ready for angle in waiting.pop(earlier, ())]
        else:
            order.append(node)
            ready += waiting.pop(node, ())
    return order


def _cut(order: list[int], op: list[int], chunk_size: int) -> list[list[int]]:
    """Consecutive chunks of about equal weight; a sine is worth many additions."""
    weights = np.ones(len(Op))
    weights[list(TRIGONOMETRIC)] = 25
    weights[[Op.ASIN, Op.ACOS, Op.ATAN, Op.ATAN2, Op.EXP, Op.LOG, Op.TANH]] = 4
    total = np.cumsum(weights[np.asarray(op, dtype=np.intp)[order]]) if order else np.zeros(0)
    count = int(np.ceil(total[-1] / chunk_size)) if order else 0
    ends = np.searchsorted(total, np.arange(1, count + 1) * (total[-1] / count)) if count else []
    bounds = [0, *(min(int(end) + 1, len(order)) for end in ends)]
    pieces = [order[a:b] for a, b in itertools.pairwise(bounds)]
    return [piece for piece in pieces if piece]
