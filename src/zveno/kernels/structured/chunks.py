"""A long step of a structured program as several functions: LLVM's time grows faster than the length of a block.

As in straight-line kernels (`zveno.kernels.plan`): what one chunk computes and a later one reads, and what the step
returns, lies in slots of the workspace in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..assembly import Function, Module
from ..plan import make_plan
from ..program import Op, Program
from ..vector_code import VectorCode

CHUNK_SIZE = 500
"""Operations of a chunk; a step of up to twice as many stays where it is."""

Reader = Callable[[Function, Sequence[str], int], str]
"""(function, addresses, element) → the vector of an element of what a step reads."""


def is_long(program: Program) -> bool:
    """Whether a step is worth chunks of its own."""
    return program.n_nodes > 2 * CHUNK_SIZE


class ChunkedStep:
    """The functions of one step, and where in the workspace its results are after they have run.

    Args:
        module: to which the functions are added.
        number: of the step, in their names.
        program: what the step computes.
        readers: for every input, how an element is read from the addresses of its rows.
        n_addresses: for every input, how many addresses it has.
        fma: whether the target fuses multiplications and additions.
    """

    def __init__(
        self,
        module: Module,
        number: int,
        program: Program,
        readers: Sequence[Reader],
        n_addresses: Sequence[int],
        fma: bool,
    ):
        self.program = program
        plan = make_plan(program, CHUNK_SIZE, module.types.lanes)
        n_inputs = sum(argument.size for argument in program.inputs)
        results = {node for nodes in program.results for node in nodes.tolist()}
        computed = [node for chunk in plan.chunks for node in chunk if node in results]
        self._result = {node: plan.n_slots - n_inputs + k for k, node in enumerate(computed)}
        self.n_slots: int = plan.n_slots - n_inputs + len(computed)
        names = [[f"%x{k}_{lane}" for lane in range(count)] for k, count in enumerate(n_addresses)]
        parameters = "".join(f", ptr {name}" for group in names for name in group)
        self._calls: list[str] = []
        for at, chunk in enumerate(plan.chunks):
            name = f"@step{number}_{at}"
            f = Function(module, f"internal void {name}(ptr noalias %slots{parameters})")
            kept = {node: plan.slot[node] - n_inputs for node in chunk if plan.slot[node] >= n_inputs}
            code = _Chunk(program, fma, list(zip(readers, names, strict=True)))
            code.places, code.kept, code.results = [slot - n_inputs for slot in plan.slot], kept, self._result
            code.begin(f)
            code.compute(chunk)
            f.finish()
            self._calls.append(name)

    def call(self, f: Function, slots: str, addresses: Sequence[Sequence[str]]) -> None:
        """Run all chunks, from another function."""
        arguments = "".join(f", ptr {address}" for group in addresses for address in group)
        for name in self._calls:
            f.do(f"call void {name}(ptr {slots}{arguments})")

    def result(self, f: Function, slots: str, node: int) -> str | None:
        """A computed result, after the call; None for inputs and constants."""
        if node not in self._result:
            return None
        t = f.types
        return f.load(t.vector, f.at(slots, self._result[node] * t.stride), t.stride)


class _Chunk(VectorCode):
    """One chunk as a function of the slots and of the addresses of what the step reads."""

    places: list[int]
    kept: dict[int, int]
    results: dict[int, int]

    def __init__(self, program: Program, fma: bool, readers: list):
        super().__init__(program, fma)
        self._readers = readers

    def fetch(self, node: int) -> str:
        if self.op[node] == Op.INPUT:
            argument, element, _ = self.args[node].tolist()
            reader, addresses = self._readers[argument]
            return reader(self.f, addresses, element)
        t = self.types
        return self.f.load(t.vector, self.f.at("%slots", self.places[node] * t.stride), t.stride)

    def computed(self, node: int) -> None:
        t = self.types
        for places in (self.kept, self.results):
            if node in places:
                self.f.store(t.vector, self.read(node), self.f.at("%slots", places[node] * t.stride), t.stride)
