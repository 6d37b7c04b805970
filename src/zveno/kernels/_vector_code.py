"""Operations of a graph as vector code inside a function, one state per lane."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from ..errors import BuildError
from . import _elementary as elementary
from ._assembly import Function, Types
from ._inverse_angles import INVERSE, inverse_angle
from ._plan import TRIGONOMETRIC
from .program import Graph, Op

_GROUP = 6
"""Number of angles that share one test for the slow path; more would not fit into the registers."""

_ARITHMETIC = {
    Op.ADD: "fadd contract",
    Op.SUB: "fsub contract",
    Op.MUL: "fmul contract",
    Op.DIV: "fdiv",
}
_INTRINSICS = {Op.SQRT: "sqrt", Op.ABS: "fabs", Op.FLOOR: "floor"}


class VectorCode(ABC):
    """Writer of graph nodes into the current block of a function.

    Subclasses define how a value computed elsewhere is read (`fetch`), and how a computed value is used
    (`computed`).
    """

    op: np.ndarray
    args: np.ndarray
    value: np.ndarray
    fma: bool
    f: Function
    types: Types

    def __init__(self, graph: Graph, fma: bool):
        self.op, self.args, self.value, self.fma = graph.op, graph.args, graph.value, fma

    def begin(self, f: Function) -> None:
        """Start writing into a function, in which nothing is computed yet."""
        self.f, self.types = f, f.types
        self.values: dict[int, str] = {}
        self.masks: dict[int, str] = {}  # of comparisons, converted to 1 and 0 only if needed

    @abstractmethod
    def fetch(self, node: int) -> str:
        """Return the vector of a node that is neither computed here nor a constant."""

    @abstractmethod
    def computed(self, node: int) -> None:
        """Handle a node that has just been computed."""

    def compute(self, nodes: Sequence[int]) -> None:
        """Write operations in their order. Inputs and constants are not among them."""
        ops = [Op(code) for code in self.op[list(nodes)].tolist()]
        operands = self.args[list(nodes)].tolist()
        at = 0
        while at < len(nodes):
            if ops[at] in TRIGONOMETRIC and self.fma:
                end = at
                while end < len(nodes) and ops[end] in TRIGONOMETRIC:
                    end += 1
                at += self._trigonometry(list(nodes[at:end]), ops[at:end], [a[0] for a in operands[at:end]])
                continue
            self._operation(nodes[at], ops[at], operands[at])
            self.computed(nodes[at])
            at += 1

    def read(self, node: int) -> str:
        """Return the vector of a node: computed here, a constant, or fetched."""
        value = self.values.get(node)
        if value is None:
            t = self.types
            if node in self.masks:
                ones, zeros = t.splat(1.0), t.splat(0.0)
                value = self.f.let(f"select {t.mask} {self.masks[node]}, {t.vector} {ones}, {t.vector} {zeros}")
            elif self.op[node] == Op.CONST:
                return self.f.constant(float(self.value[node]))
            else:
                value = self.fetch(node)
            self.values[node] = value
        return value

    def _truth(self, node: int) -> str:
        """Return the mask of a node used as a condition: true where it is nonzero, NaN included."""
        t, mask = self.types, self.masks.get(node)
        return mask or self.f.let(f"fcmp une {t.vector} {self.read(node)}, {t.splat(0.0)}")

    def _operation(self, node: int, op: Op, args: list[int]) -> None:
        f, t = self.f, self.types
        a, b, c = args
        if op in _ARITHMETIC:
            self.values[node] = f.let(f"{_ARITHMETIC[op]} {t.vector} {self.read(a)}, {self.read(b)}")
        elif op is Op.NEG:
            self.values[node] = f.let(f"fneg {t.vector} {self.read(a)}")
        elif op in _INTRINSICS:
            self.values[node] = f.intrinsic(_INTRINSICS[op], self.read(a))
        elif op is Op.SIGN:
            self.values[node] = elementary.sign(f, self.read(a))
        elif op in (Op.MINIMUM, Op.MAXIMUM):
            self.values[node] = elementary.extreme(f, op is Op.MINIMUM, self.read(a), self.read(b))
        elif op in INVERSE and self.fma:
            self.values[node] = inverse_angle(f, op, [self.read(x) for x in args if x >= 0])
        elif op in elementary.LIBRARY:
            operands = [self.read(x) for x in args if x >= 0]
            self.values[node] = elementary.library_call(f, op, *operands)
        elif op is Op.SELECT:
            self.values[node] = f.let(
                f"select {t.mask} {self._truth(a)}, {t.vector} {self.read(b)}, {t.vector} {self.read(c)}"
            )
        elif op in (Op.LESS, Op.LESS_EQUAL):
            predicate = "olt" if op is Op.LESS else "ole"
            self.masks[node] = elementary.less(f, predicate, self.read(a), self.read(b))
        elif op is Op.EQUAL:
            self.masks[node] = f.let(f"fcmp oeq {t.vector} {self.read(a)}, {self.read(b)}")
        elif op in (Op.AND, Op.OR):
            word = "and" if op is Op.AND else "or"
            self.masks[node] = f.let(f"{word} {t.mask} {self._truth(a)}, {self._truth(b)}")
        elif op is Op.NOT:
            ones = f"<{', '.join(['i1 true'] * t.lanes)}>"
            self.masks[node] = f.let(f"xor {t.mask} {self._truth(a)}, {ones}")
        else:
            raise BuildError(f"{op.name} cannot be computed", element=f"node {node}")

    def _trigonometry(self, nodes: list[int], ops: list[Op], angles: list[int]) -> int:
        """Write a group of neighbouring sines and cosines, and return its number of nodes."""
        wanted: dict[int, dict[Op, list[int]]] = {}
        taken = 0
        for node, op, angle in zip(nodes, ops, angles, strict=True):
            # An angle computed in this group, as in sin(sin(x)), belongs to the next one.
            if (angle not in wanted and len(wanted) == _GROUP) or angle in nodes[:taken]:
                break
            wanted.setdefault(angle, {}).setdefault(op, []).append(node)
            taken += 1
        requests = [(self.read(angle), frozenset(parts)) for angle, parts in wanted.items()]
        for parts, values in zip(wanted.values(), elementary.trigonometry(self.f, requests), strict=True):
            for op, value in values.items():
                self.values.update(dict.fromkeys(parts[op], value))
        for node in nodes[:taken]:
            self.computed(node)
        return taken
