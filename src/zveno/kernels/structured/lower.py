"""A structured program as LLVM assembly: `run(ws, data)` computes `lanes` states that lie in the workspace.

Nothing of one instance is in the code: where an array begins in the workspace, how many rows it has, where a table
lies and how often a loop runs are words of `data`, whose layout is that of `Words`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..assembly import Function, Module, Types
from ..plan import computed_nodes
from ..program import Op, Program
from ..vector_code import VectorCode
from . import lane_rows
from .chunks import ChunkedStep, Reader, is_long
from .statements import (
    Array,
    Entry,
    For,
    Kind,
    Lane,
    Ref,
    Row,
    Run,
    Shifted,
    Statement,
    Structured,
    Switch,
    Variable,
    While,
)

Counters = dict[Variable, str]
"""The names of loop counters in the code."""
Readers = list[Reader]
"""How the inputs of a step are read."""


class Words:
    """Where the words of one instance are, counted in words of 8 bytes from the beginning of `data`."""

    def __init__(self, structured: Structured, first: int):
        self.first = first
        self._n_arrays = len(structured.arrays)
        self.count: int = 2 * self._n_arrays + structured.n_loops + 1

    def place(self, array: Array) -> int:
        """The offset of an array in the workspace, or the address of a table."""
        return self.first + 2 * array.number

    def rows(self, array: Array) -> int:
        """Its number of rows."""
        return self.place(array) + 1

    def trips(self, counter: Variable) -> int:
        """How often a loop runs."""
        return self.first + 2 * self._n_arrays + counter.number

    @property
    def slots(self) -> int:
        """The offset in the workspace of the slots of long steps."""
        return self.first + self.count - 1


class Lowered(NamedTuple):
    """A program as text."""

    text: str
    n_slots: int
    """vectors of the workspace that long steps need"""


def lower(
    structured: Structured, dtype: np.dtype, lanes: int, triple: str, first_word: int, fma: bool = True
) -> Lowered:
    """Assembly of a module with the function `run`; `first_word` is where the words of the instance begin."""
    module = Module(Types(np.dtype(dtype), lanes))
    writer = _Writer(module, structured, Words(structured, first_word), fma)
    writer.write()
    return Lowered(module.text(triple), writer.n_slots)


class _Writer:
    def __init__(self, module: Module, structured: Structured, words: Words, fma: bool):
        self.structured, self.words, self.types, self.fma = structured, words, module.types, fma
        self.module, self.n_slots, self._n_long = module, 0, 0
        self.f = Function(module, "void @run(ptr noalias %ws, ptr noalias %data)")

    def write(self) -> None:
        for array in self.structured.of_kind(Kind.OUTPUT, Kind.SCRATCH):
            if array.zero:
                self._clear(array)
        self._statements(self.structured.body, {}, None)
        self.f.finish()

    def _statements(self, body: tuple[Statement, ...], counters: Counters, mask: str | None) -> None:
        for statement in body:
            match statement:
                case Run():
                    self._run(statement, counters, mask)
                case For():
                    self._for(statement, counters, mask)
                case While():
                    self._while(statement, counters, mask)
                case Switch():
                    self._switch(statement, counters, mask)

    # --- memory

    def _word(self, number: int, kind: str = "i64") -> str:
        return self.f.load(kind, self.f.at("%data", 8 * number), 8)

    def _begin(self, array: Array) -> str:
        """The address of an array."""
        if array.in_lanes:
            return self.f.at("%ws", self._word(self.words.place(array)))
        return self._word(self.words.place(array), "ptr")

    def _row_bytes(self, array: Array) -> int:
        return array.width * (self.types.stride if array.in_lanes else self.types.itemsize)

    def _row(self, row: Row, counters: Counters) -> str:
        f = self.f
        match row:
            case Variable():
                return counters[row]
            case Shifted():
                return f.let(f"add i64 {self._row(row.row, counters)}, {row.offset}")
            case Entry():
                offset = f.let(f"mul i64 {self._row(row.row, counters)}, 8")
                return f.load("i64", f.at(self._begin(row.table), offset), 8)
            case _:
                return str(row)

    def _address(self, ref: Ref, counters: Counters) -> str:
        offset = self.f.let(f"mul i64 {self._row(ref.row, counters)}, {self._row_bytes(ref.array)}")
        return self.f.at(self._begin(ref.array), offset)

    def _lane_addresses(self, lane: Lane, array: Array) -> list[str]:
        """Addresses, one for every lane, of the first number of the row that the lane has chosen."""
        t = self.types
        chosen = self.f.load(t.vector, self._begin(lane.array), t.stride)
        rows = lane_rows.cut(self.f, chosen, self._word(self.words.rows(array)))
        step = t.itemsize if array.in_lanes else 0
        return lane_rows.addresses(self.f, self._begin(array), rows, self._row_bytes(array), step)

    def _clear(self, array: Array) -> None:
        f, t = self.f, self.types
        count = f.let(f"mul i64 {self._word(self.words.rows(array))}, {array.width}")
        begin = self._begin(array)

        def clear(j: str) -> None:
            f.store(t.vector, t.splat(0.0), f.at(begin, f.let(f"mul i64 {j}, {t.stride}")), t.stride)

        f.repeat(count, clear)

    # --- statements

    def _run(self, run: Run, counters: Counters, mask: str | None) -> None:
        addresses = [self._read_addresses(ref, counters) for ref in run.reads]
        readers = [_reader(ref) for ref in run.reads]
        value = self._chunked if is_long(run.program) else self._inline
        read = value(run.program, readers, addresses)
        results = [[read(node) for node in nodes.tolist()] for nodes in run.program.results]
        for ref, values in zip(run.writes, results, strict=True):
            self._put(ref, values, counters, mask)

    def _inline(self, program: Program, readers: Readers, addresses: list[list[str]]) -> Callable[[int], str]:
        code = _Inline(program, self.fma, readers, addresses)
        code.begin(self.f)
        code.compute(computed_nodes(program))
        return code.read

    def _chunked(self, program: Program, readers: Readers, addresses: list[list[str]]) -> Callable[[int], str]:
        n_addresses = [len(group) for group in addresses]
        step = ChunkedStep(self.module, self._n_long, program, readers, n_addresses, self.fma)
        self._n_long, self.n_slots = self._n_long + 1, max(self.n_slots, step.n_slots)
        slots = self.f.at("%ws", self._word(self.words.slots))
        step.call(self.f, slots, addresses)
        rest = _Inline(program, self.fma, readers, addresses)
        rest.begin(self.f)
        return lambda node: step.result(self.f, slots, node) or rest.read(node)

    def _read_addresses(self, ref: Ref, counters: Counters) -> list[str]:
        """Where the rows begin that are read, one for every lane if the lanes choose them."""
        if not ref.length:
            return []
        if isinstance(ref.row, Lane):
            return self._lane_addresses(ref.row, ref.array)
        return [self._address(ref, counters)]

    def _put(self, ref: Ref, values: list[str], counters: Counters, mask: str | None) -> None:
        f, t = self.f, self.types
        if isinstance(ref.row, Lane):
            places = self._lane_addresses(ref.row, ref.array)
            for element, value in enumerate(values):
                at = [f.at(place, element * t.stride) for place in places]
                if mask is not None:
                    value = self._chosen(mask, value, lane_rows.gather(f, at))
                lane_rows.scatter(f, at, value)
            return
        begin = self._address(ref, counters)

        def store(add: bool) -> None:
            for element, value in enumerate(values):
                at = f.at(begin, element * t.stride)
                if add:
                    value = f.let(f"fadd {t.vector} {f.load(t.vector, at, t.stride)}, {value}")
                if mask is not None:
                    value = self._chosen(mask, value, f.load(t.vector, at, t.stride))
                f.store(t.vector, value, at, t.stride)

        if ref.add is None:
            store(add=False)
            return
        adding, replacing, done = f.name("adding"), f.name("replacing"), f.name("put")
        adds = f.let(f"icmp ne i64 {self._row(ref.add, counters)}, 0")
        f.do(f"br i1 {adds}, label %{adding}, label %{replacing}")
        f.start(adding)
        store(add=True)
        f.do(f"br label %{done}")
        f.start(replacing)
        store(add=False)
        f.do(f"br label %{done}")
        f.start(done)

    def _chosen(self, mask: str, value: str, otherwise: str) -> str:
        t = self.types
        return self.f.let(f"select {t.mask} {mask}, {t.vector} {value}, {t.vector} {otherwise}")

    def _for(self, loop: For, counters: Counters, mask: str | None) -> None:
        f = self.f
        count = self._word(self.words.trips(loop.variable))

        def body(j: str) -> None:
            if loop.reverse:
                j = f.let(f"sub i64 {f.let(f'sub i64 {count}, 1')}, {j}")
            self._statements(loop.body, counters | {loop.variable: j}, mask)

        f.repeat(count, body)

    def _while(self, loop: While, counters: Counters, mask: str | None) -> None:
        f, t = self.f, self.types
        head, work, out, before = f.name("while"), f.name("work"), f.name("out"), f.block
        bound = self._word(self.words.trips(loop.counter))
        f.do(f"br label %{head}")
        f.start(head)
        f.do(f"%j{head} = phi i64 [ 0, %{before} ], [ %n{head}, %again{head} ]")
        flag = f.load(t.vector, self._begin(loop.flag), t.stride)
        active = f.let(f"fcmp une {t.vector} {flag}, {t.splat(0.0)}")
        if mask is not None:
            active = f.let(f"and {t.mask} {active}, {mask}")
        some = f.let(f"icmp ne i{t.lanes} {f.let(f'bitcast {t.mask} {active} to i{t.lanes}')}, 0")
        within = f.let(f"icmp slt i64 %j{head}, {bound}")
        f.do(f"br i1 {f.let(f'and i1 {some}, {within}')}, label %{work}, label %{out}")
        f.start(work)
        self._statements(loop.body, counters, active)
        f.do(f"br label %again{head}")
        f.start(f"again{head}")
        f.do(f"%n{head} = add i64 %j{head}, 1")
        f.do(f"br label %{head}")
        f.start(out)

    def _switch(self, switch: Switch, counters: Counters, mask: str | None) -> None:
        f = self.f
        chosen = self._row(switch.row, counters)
        labels, out = [f.name("case") for _ in switch.cases], f.name("chosen")
        targets = " ".join(f"i64 {number}, label %{label}" for number, label in enumerate(labels))
        f.do(f"switch i64 {chosen}, label %{labels[0]} [ {targets} ]")
        for label, case in zip(labels, switch.cases, strict=True):
            f.start(label)
            self._statements(case, counters, mask)
            f.do(f"br label %{out}")
        f.start(out)


def _reader(ref: Ref) -> Reader:
    """How an element of what a step reads is read from the addresses of its rows."""
    in_lanes, gathered = ref.array.in_lanes, isinstance(ref.row, Lane)

    def read(f: Function, addresses: Sequence[str], element: int) -> str:
        t = f.types
        offset = element * (t.stride if in_lanes else t.itemsize)
        if gathered:
            return lane_rows.gather(f, [f.at(address, offset) for address in addresses])
        at = f.at(addresses[0], offset)
        return f.load(t.vector, at, t.stride) if in_lanes else lane_rows.spread(f, f.load(t.scalar, at, t.itemsize))

    return read


class _Inline(VectorCode):
    """One straight-line program in the current block; its inputs are read from rows of arrays."""

    def __init__(self, program: Program, fma: bool, readers: Readers, addresses: list[list[str]]):
        super().__init__(program, fma)
        self._readers, self._addresses = readers, addresses

    def fetch(self, node: int) -> str:
        assert self.op[node] == Op.INPUT
        argument, element, _ = self.args[node].tolist()
        return self._readers[argument](self.f, self._addresses[argument], element)

    def computed(self, node: int) -> None:
        pass
