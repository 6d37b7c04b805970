"""Schedule of a graph: the order of operations, chunks of them, and workspace slots.

LLVM's time grows faster than linearly with the length of a block, so a long program becomes many chunks,
each a function of its own. A value that a later chunk reads is written to a slot of the workspace. Slots are reused
when their value is dead, which keeps the workspace in the nearest caches.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np

from .program import ARITY, Graph, Op

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
    """The schedule of a graph."""

    chunks: list[list[int]]
    """Nodes to compute, in order. Inputs and constants are not among them."""
    slot: list[int]
    """For each node its slot in the workspace, -1 if it has none."""
    n_slots: int
    """Number of slots, shared by values that are not live at the same time."""
    blocks: list[list[Block]]
    """For each chunk, the parts of direct outputs that it completes."""
    constants: list[Block]
    """The parts of direct outputs that are the same for all states."""


def computed_nodes(graph: Graph) -> list[int]:
    """Return the nodes to compute, in order: no inputs, no constants, and only nodes that a result depends on."""
    live = np.flatnonzero(graph.live).tolist()
    return _gather_trigonometry(live, graph.op.tolist(), graph.args.tolist())


def make_plan(graph: Graph, chunk_size: int, lanes: int, direct: Collection[int]) -> Plan:
    """Order the operations, split them into chunks, and assign a slot to every value that outlives its chunk.

    Elements of `direct` outputs (given by number) are written as soon as they are known. Those of other outputs
    stay in their slots.
    """
    op, args = graph.op.tolist(), graph.args.tolist()
    order = computed_nodes(graph)
    chunks = _cut(order, op, chunk_size) or [[]]
    made_in, read_in = [0] * len(op), [0] * len(op)
    for number, chunk in enumerate(chunks):
        for node in chunk:
            made_in[node] = number
            for operand in args[node][: _ARITY[op[node]]]:
                read_in[operand] = number
    blocks: list[list[Block]] = [[] for _ in chunks]
    constants = []
    for block in _blocks(graph, lanes, direct):
        if all(op[node] == Op.CONST for node in block.nodes):
            constants.append(block)
            continue
        number = max(made_in[node] for node in block.nodes)
        blocks[number].append(block)
        for node in block.nodes:
            read_in[node] = max(read_in[node], number)
    for output, result in enumerate(graph.results):
        if output not in direct:
            for node in result.tolist():
                read_in[node] = len(chunks)
    slot, n_slots = [-1] * len(op), 0
    free: list[int] = []
    expiring: list[list[int]] = [[] for _ in range(len(chunks) + 2)]
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


def _blocks(graph: Graph, lanes: int, direct: Collection[int]) -> Iterator[Block]:
    """Yield blocks of output elements, one per lane. The last block of an output may overlap the one before."""
    for output in sorted(direct):
        nodes = graph.results[output].tolist()
        size = lanes if len(nodes) >= lanes else 1
        for first in range(0, len(nodes), size):
            first = min(first, len(nodes) - size)
            yield Block(output, first, tuple(nodes[first : first + size]))


def _gather_trigonometry(live: list[int], op: list[int], args: list[list[int]]) -> list[int]:
    """Return the nodes to compute, with sines and cosines moved up to the first that could be computed.

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
    """Split the order into consecutive chunks of about equal weight; a sine costs as much as many additions."""
    weights = np.ones(len(Op))
    weights[list(TRIGONOMETRIC)] = 25
    weights[[Op.ASIN, Op.ACOS, Op.ATAN, Op.ATAN2, Op.EXP, Op.LOG, Op.TANH]] = 4
    total = np.cumsum(weights[np.asarray(op, dtype=np.intp)[order]]) if order else np.zeros(0)
    count = int(np.ceil(total[-1] / chunk_size)) if order else 0
    ends = np.searchsorted(total, np.arange(1, count + 1) * (total[-1] / count)) if count else []
    bounds = [0, *(min(int(end) + 1, len(order)) for end in ends)]
    pieces = [order[a:b] for a, b in itertools.pairwise(bounds)]
    return [piece for piece in pieces if piece]
