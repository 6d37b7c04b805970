"""A program as LLVM assembly: chunks of vector code, one state of the batch in each lane.

Every value is a vector that holds the same quantity of `lanes` states. Additions and multiplications may
be fused, which only makes them more exact; no other liberty is taken, so NaN and infinity propagate.
"""

from __future__ import annotations

import numpy as np

from ..errors import BuildError
from . import elementary, rows
from .assembly import Function, Module, Types
from .driver import write_driver
from .plan import TRIGONOMETRIC, Block, Plan, check, make_plan
from .program import Op, Program
from .workspace import Workspace

CHUNK_SIZE = 500
_GROUP = 6
"""Angles that share one test for the slow path; more would not fit into the registers."""

_ARITHMETIC = {
    Op.ADD: "fadd contract",
    Op.SUB: "fsub contract",
    Op.MUL: "fmul contract",
    Op.DIV: "fdiv",
}
_INTRINSICS = {Op.SQRT: "sqrt", Op.ABS: "fabs", Op.FLOOR: "floor"}


def lower(program: Program, dtype: np.dtype, lanes: int, triple: str, fma: bool = True) -> str:
    """Assembly of a module with the functions `loop` (for NumPy) and `share` (for threads).

    Args:
        program: what to compute.
        dtype: float64 or float32.
        lanes: states per vector, a power of two.
        triple: LLVM's name of the target.
        fma: whether the target fuses multiplications and additions. Without it angles are left to the C
            library, because the range reduction is only exact when fused.
    """
    if lanes < 2 or lanes & (lanes - 1):
        raise BuildError(f"{lanes} lanes are not a power of two from 2", element=f"program {program.name}")
    check(program)
    module = Module(Types(np.dtype(dtype), lanes))
    plan = make_plan(program, CHUNK_SIZE, lanes)
    workspace = Workspace(module.types, program, plan)
    for number in range(len(plan.chunks)):
        _Chunk(module, program, plan, workspace, fma).write(number)
    _write_constants(module, program, plan, workspace)
    write_driver(module, program, plan, workspace)
    return module.text(triple)


def _write_constants(module: Module, program: Program, plan: Plan, workspace: Workspace) -> None:
    """`constants(ws)`, which writes the parts of the outputs that are the same for all states."""
    if not plan.constants:
        return
    f = Function(module, "internal void @constants(ptr noalias %ws)")

    places: dict[int, list[str]] = {}
    for block, count in _runs(plan.constants, program.value):
        if block.output not in places:
            places[block.output] = _row_addresses(f, workspace, block.output)
        rows.fill(f, places[block.output], block.first, count, program.value[list(block.nodes)].tolist())
    f.finish()


def _runs(blocks: list[Block], value: np.ndarray) -> list[tuple[Block, int]]:
    """Blocks of constants, those next to each other with the same numbers counted as one."""
    runs: list[tuple[Block, int]] = []
    for block in blocks:
        if runs:
            start, count = runs[-1]
            follows = (block.output, block.first) == (start.output, start.first + count * len(start.nodes))
            # bytes, because −0 is not 0, and NaN is itself
            if follows and value[list(block.nodes)].tobytes() == value[list(start.nodes)].tobytes():
                runs[-1] = start, count + 1
                continue
        runs.append((block, 1))
    return runs


def _row_addresses(f: Function, workspace: Workspace, output: int) -> list[str]:
    addresses = [f.at("%ws", workspace.row(output, lane)) for lane in range(f.types.lanes)]
    return [f.load("ptr", address, 8) for address in addresses]


class _Chunk:
    """Writes one chunk as a function of the workspace."""

    def __init__(self, module: Module, program: Program, plan: Plan, workspace: Workspace, fma: bool):
        self.module, self.types, self.fma = module, module.types, fma
        self.plan, self.workspace = plan, workspace
        self.op, self.args, self.value = program.op, program.args, program.value
        self.values: dict[int, str] = {}
        self.masks: dict[int, str] = {}  # of comparisons, which become 1 and 0 only where needed
        self.places: dict[int, list[str]] = {}
        self.completes: dict[int, list[Block]] = {}

    def write(self, number: int) -> None:
        """Write the operations of the chunk and store what later chunks or the outputs need."""
        chunk = self.plan.chunks[number]
        position = {node: at for at, node in enumerate(chunk)}
        for block in self.plan.blocks[number]:
            last = max(block.nodes, key=lambda node: position.get(node, -1))
            self.completes.setdefault(last, []).append(block)
        self.f = Function(self.module, f"internal void @chunk{number}(ptr noalias %ws)")
        ops = [Op(code) for code in self.op[chunk].tolist()]
        operands = self.args[chunk].tolist()
        at = 0
        while at < len(chunk):
            if ops[at] in TRIGONOMETRIC and self.fma:
                end = at
                while end < len(chunk) and ops[end] in TRIGONOMETRIC:
                    end += 1
                at += self._trigonometry(chunk[at:end], ops[at:end], [a[0] for a in operands[at:end]])
                continue
            self._operation(chunk[at], ops[at], operands[at])
            self._keep(chunk[at])
            at += 1
        for node in list(self.completes):
            self._complete(node)  # blocks of inputs and constants only
        self.f.finish()

    def _keep(self, node: int) -> None:
        t, slot = self.types, self.plan.slot[node]
        if slot >= 0:
            self.f.store(t.vector, self._read(node), self.f.at("%ws", self.workspace.slot(slot)), t.stride)
        self._complete(node)

    def _complete(self, node: int) -> None:
        """Write the blocks of the outputs of which this node is the last."""
        f = self.f
        for block in self.completes.pop(node, ()):
            if block.output not in self.places:
                self.places[block.output] = _row_addresses(f, self.workspace, block.output)
            rows.store(f, self.places[block.output], block.first, [self._read(k) for k in block.nodes])

    def _read(self, node: int) -> str:
        """The vector of a node: computed here, a constant, or loaded from its slot."""
        value = self.values.get(node)
        if value is None:
            t = self.types
            if node in self.masks:
                ones, zeros = t.splat(1.0), t.splat(0.0)
                value = self.f.let(f"select {t.mask} {self.masks[node]}, {t.vector} {ones}, {t.vector} {zeros}")
            elif self.op[node] == Op.CONST:
                return self.f.constant(float(self.value[node]))
            else:
                value = self.f.load(t.vector, self.f.at("%ws", self.workspace.slot(self.plan.slot[node])), t.stride)
            self.values[node] = value
        return value

    def _truth(self, node: int) -> str:
        """The mask of a node used as a condition: true where it is not zero, NaN included."""
        t, mask = self.types, self.masks.get(node)
        return mask or self.f.let(f"fcmp une {t.vector} {self._read(node)}, {t.splat(0.0)}")

    def _operation(self, node: int, op: Op, args: list[int]) -> None:
        f, t = self.f, self.types
        a, b, c = args
        if op in _ARITHMETIC:
            self.values[node] = f.let(f"{_ARITHMETIC[op]} {t.vector} {self._read(a)}, {self._read(b)}")
        elif op is Op.NEG:
            self.values[node] = f.let(f"fneg {t.vector} {self._read(a)}")
        elif op in _INTRINSICS:
            self.values[node] = f.intrinsic(_INTRINSICS[op], self._read(a))
        elif op is Op.SIGN:
            self.values[node] = elementary.sign(f, self._read(a))
        elif op in (Op.MINIMUM, Op.MAXIMUM):
            self.values[node] = elementary.extreme(f, op is Op.MINIMUM, self._read(a), self._read(b))
        elif op in elementary.LIBRARY:
            operands = [self._read(x) for x in args if x >= 0]
            self.values[node] = elementary.library_call(f, op, *operands)
        elif op is Op.SELECT:
            self.values[node] = f.let(
                f"select {t.mask} {self._truth(a)}, {t.vector} {self._read(b)}, {t.vector} {self._read(c)}"
            )
        elif op in (Op.LESS, Op.LESS_EQUAL):
            predicate = "olt" if op is Op.LESS else "ole"
            self.masks[node] = elementary.less(f, predicate, self._read(a), self._read(b))
        elif op is Op.EQUAL:
            self.masks[node] = f.let(f"fcmp oeq {t.vector} {self._read(a)}, {self._read(b)}")
        elif op in (Op.AND, Op.OR):
            word = "and" if op is Op.AND else "or"
            self.masks[node] = f.let(f"{word} {t.mask} {self._truth(a)}, {self._truth(b)}")
        elif op is Op.NOT:
            ones = f"<{', '.join(['i1 true'] * t.lanes)}>"
            self.masks[node] = f.let(f"xor {t.mask} {self._truth(a)}, {ones}")
        else:
            raise BuildError(f"{op.name} cannot be computed", element=f"node {node}")

    def _trigonometry(self, nodes: list[int], ops: list[Op], angles: list[int]) -> int:
        """Write a group of neighbouring sines and cosines; returns how many nodes it took."""
        wanted: dict[int, dict[Op, list[int]]] = {}
        taken = 0
        for node, op, angle in zip(nodes, ops, angles, strict=True):
            # An angle that is itself in the group, as in sin(sin(x)), is for the next one.
            if (angle not in wanted and len(wanted) == _GROUP) or angle in nodes[:taken]:
                break
            wanted.setdefault(angle, {}).setdefault(op, []).append(node)
            taken += 1
        asked = [(self._read(angle), frozenset(parts)) for angle, parts in wanted.items()]
        for parts, values in zip(wanted.values(), elementary.trigonometry(self.f, asked), strict=True):
            for op, value in values.items():
                self.values.update(dict.fromkeys(parts[op], value))
        for node in nodes[:taken]:
            self._keep(node)
        return taken
