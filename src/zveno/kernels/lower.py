"""A program as LLVM assembly: chunks of vector code, one state of the batch in each lane.

Every value is a vector that holds the same quantity of `lanes` states. Additions and multiplications may
be fused, which only makes them more exact; no other liberty is taken, so NaN and infinity propagate.
"""

from __future__ import annotations

import numpy as np

from ..errors import BuildError
from . import rows
from .assembly import Function, Module, Types
from .plan import Block, Plan, check, make_plan
from .program import Program
from .straight_data import DATA, straight_words
from .vector_code import VectorCode
from .workspace import Workspace

CHUNK_SIZE = 500


def lower(program: Program, dtype: np.dtype, lanes: int, triple: str, fma: bool = True) -> str:
    """Assembly of a module with the functions `run(ws, data)` and, where results are constant, `constants(ws)`.

    Both work on `lanes` states in a workspace, which `batch_driver` fills; it finds the words `data` in the module.

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
    f = Function(module, "void @run(ptr noalias %ws, ptr %data)")
    for number in range(len(plan.chunks)):
        f.do(f"call void @chunk{number}(ptr %ws)")
    f.finish()
    module.words(DATA, straight_words(module.types, program, plan, workspace))
    return module.text(triple)


def _write_constants(module: Module, program: Program, plan: Plan, workspace: Workspace) -> None:
    """`constants(ws)`, which writes the parts of the outputs that are the same for all states."""
    if not plan.constants:
        return
    f = Function(module, "void @constants(ptr noalias %ws)")

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


class _Chunk(VectorCode):
    """Writes one chunk as a function of the workspace."""

    def __init__(self, module: Module, program: Program, plan: Plan, workspace: Workspace, fma: bool):
        super().__init__(program, fma)
        self.module, self.plan, self.workspace = module, plan, workspace
        self.places: dict[int, list[str]] = {}
        self.completes: dict[int, list[Block]] = {}

    def write(self, number: int) -> None:
        """Write the operations of the chunk and store what later chunks or the outputs need."""
        chunk = self.plan.chunks[number]
        position = {node: at for at, node in enumerate(chunk)}
        for block in self.plan.blocks[number]:
            last = max(block.nodes, key=lambda node: position.get(node, -1))
            self.completes.setdefault(last, []).append(block)
        self.begin(Function(self.module, f"internal void @chunk{number}(ptr noalias %ws)"))
        self.compute(chunk)
        for node in list(self.completes):
            self._complete(node)  # blocks of inputs and constants only
        self.f.finish()

    def fetch(self, node: int) -> str:
        """What another chunk or the caller left in the node's slot."""
        t = self.types
        return self.f.load(t.vector, self.f.at("%ws", self.workspace.slot(self.plan.slot[node])), t.stride)

    def computed(self, node: int) -> None:
        """Keep what later chunks read, and write the blocks of the outputs of which this node is the last."""
        t, slot = self.types, self.plan.slot[node]
        if slot >= 0:
            self.f.store(t.vector, self.read(node), self.f.at("%ws", self.workspace.slot(slot)), t.stride)
        self._complete(node)

    def _complete(self, node: int) -> None:
        f = self.f
        for block in self.completes.pop(node, ()):
            if block.output not in self.places:
                self.places[block.output] = _row_addresses(f, self.workspace, block.output)
            rows.store(f, self.places[block.output], block.first, [self.read(k) for k in block.nodes])
