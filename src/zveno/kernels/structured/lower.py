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
from .across_lanes import laid_across, varies
from .chunks import ChunkedStep, Reader, is_long
from .state_by_state import write_state_by_state
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
from .words import Words

Counters = dict[Variable, list[str]]
"""The names of loop counters in the code: one for all lanes, or one for every lane."""
Readers = list[Reader]
"""How the inputs of a step are read."""


class Lowered(NamedTuple):
    """A program as text."""

    text: str
    n_slots: int
    """vectors of the workspace that long steps need"""


def lower(
    structured: Structured,
    dtype: np.dtype,
    lanes: int,
    triple: str,
    first_word: int,
    fma: bool = True,
    state_by_state: bool = False,
) -> Lowered:
    """Assembly of a module with the function `run`.

    Args:
        structured, dtype, lanes: what to compute, with how many lanes.
        triple, fma: of the machine.
        first_word: where the words of the instance begin.
        state_by_state: lay loops whose trips are independent across the lanes, which then hold the same state.
    """
    module = Module(Types(np.dtype(dtype), lanes))
    words = Words(structured, first_word)
    across = laid_across(structured) if state_by_state else frozenset()
    writer = _Writer(module, structured, words, fma, across, "one_state" if state_by_state else "run")
    writer.write()
    if state_by_state:
        inputs, outputs = (
            [(words.place(array), words.rows(array), array.width) for array in structured.of_kind(kind)]
            for kind in (Kind.INPUT, Kind.OUTPUT)
        )
        write_state_by_state(module, "one_state", inputs, outputs, words.kept)
    return Lowered(module.text(triple), writer.n_slots)


class _Writer:
    def __init__(
        self,
        module: Module,
        structured: Structured,
        words: Words,
        fma: bool,
        across: frozenset[Variable],
        name: str,
    ):
        self.structured, self.words, self.types, self.fma = structured, words, module.types, fma
        self.module, self.n_slots, self._n_long = module, 0, 0
        self.across, self._laid = across, False
        linkage = "" if name == "run" else "internal "
        self.f = Function(module, f"{linkage}void @{name}(ptr noalias %ws, ptr noalias %data)")

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

    def _rows(self, row: Row, counters: Counters) -> list[str]:
        """The number of a row: one for all lanes, or one for every lane of a loop that is laid across them."""
        f = self.f
        match row:
            case Variable():
                return counters[row]
            case Shifted():
                return [f.let(f"add i64 {number}, {row.offset}") for number in self._rows(row.row, counters)]
            case Entry():
                begin = self._begin(row.table)
                offsets = [f.let(f"mul i64 {number}, 8") for number in self._rows(row.row, counters)]
                return [f.load("i64", f.at(begin, offset), 8) for offset in offsets]
            case _:
                return [str(row)]

    def _addresses(self, ref: Ref, counters: Counters, step: int) -> list[str]:
        """Where a row begins: one address, or one for every lane, whose numbers lie `step` bytes apart."""
        array = ref.array
        if isinstance(ref.row, Lane):
            chosen = self.f.load(self.types.vector, self._begin(ref.row.array), self.types.stride)
            rows = lane_rows.cut(self.f, chosen, self._word(self.words.rows(array)))
        else:
            rows = self._rows(ref.row, counters)
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
        readers = [_reader(ref, len(group) > 1) for ref, group in zip(run.reads, addresses, strict=True)]
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
        return self._addresses(ref, counters, self.types.itemsize if ref.array.in_lanes else 0)

    def _put(self, ref: Ref, values: list[str], counters: Counters, mask: str | None) -> None:
        f, t = self.f, self.types
        if self._laid and varies(ref.row, self.across):
            places = self._addresses(ref, counters, 0)
            for element, value in enumerate(values):
                lane_rows.spread_each(f, [f.at(place, element * t.stride) for place in places], value)
            return
        if isinstance(ref.row, Lane):
            places = self._addresses(ref, counters, t.itemsize)
            for element, value in enumerate(values):
                at = [f.at(place, element * t.stride) for place in places]
                if mask is not None:
                    value = self._chosen(mask, value, lane_rows.gather(f, at))
                lane_rows.scatter(f, at, value)
            return
        (begin,) = self._addresses(ref, counters, 0)

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
        (flag,) = self._rows(ref.add, counters)
        adds = f.let(f"icmp ne i64 {flag}, 0")
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
        if loop.variable in self.across:
            self._for_across(loop, count, counters, mask)
            return

        def body(j: str) -> None:
            if loop.reverse:
                j = f.let(f"sub i64 {f.let(f'sub i64 {count}, 1')}, {j}")
            self._statements(loop.body, counters | {loop.variable: [j]}, mask)

        f.repeat(count, body)

    def _for_across(self, loop: For, count: str, counters: Counters, mask: str | None) -> None:
        """As many trips at once as there are lanes; lanes behind the last trip are copies of it."""
        f, lanes = self.f, self.types.lanes
        last = f.let(f"sub i64 {count}, 1")
        smaller = self.module.declare("llvm.smin.i64", "i64", ["i64", "i64"])

        def body(group: str) -> None:
            first = f.let(f"mul i64 {group}, {lanes}")
            trips = [f.let(f"add i64 {first}, {lane}") for lane in range(lanes)]
            trips = [f.let(f"call i64 {smaller}(i64 {trip}, i64 {last})") for trip in trips]
            self._laid = True
            self._statements(loop.body, counters | {loop.variable: trips}, mask)
            self._laid = False

        f.repeat(f.let(f"udiv i64 {f.let(f'add i64 {count}, {lanes - 1}')}, {lanes}"), body)

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
        self._statements(loop.body, counters | {loop.counter: [f"%j{head}"]}, active)
        f.do(f"br label %again{head}")
        f.start(f"again{head}")
        f.do(f"%n{head} = add i64 %j{head}, 1")
        f.do(f"br label %{head}")
        f.start(out)

    def _switch(self, switch: Switch, counters: Counters, mask: str | None) -> None:
        f = self.f
        (chosen,) = self._rows(switch.row, counters)
        labels, out = [f.name("case") for _ in switch.cases], f.name("chosen")
        targets = " ".join(f"i64 {number}, label %{label}" for number, label in enumerate(labels))
        f.do(f"switch i64 {chosen}, label %{labels[0]} [ {targets} ]")
        for label, case in zip(labels, switch.cases, strict=True):
            f.start(label)
            self._statements(case, counters, mask)
            f.do(f"br label %{out}")
        f.start(out)


def _reader(ref: Ref, gathered: bool) -> Reader:
    """How an element of what a step reads is read from the addresses of its rows, one or one for every lane."""
    in_lanes = ref.array.in_lanes

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
