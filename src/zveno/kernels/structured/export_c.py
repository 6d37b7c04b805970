"""A structured program as C99: `for` and `switch`, tables as constants, and memory that the caller provides."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike

from ...errors import BuildError
from ..c_text import Expressions, identifier
from ..export_c import CSource, header_text
from ..plan import live_nodes
from ..program import Op
from .check import check
from .instance import counted_operations, runs
from .once import computed_once
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


def export_structured(structured: Structured, dtype: DTypeLike = np.float64, name: str | None = None) -> CSource:
    """The program as C99 text for one state; `NAME_memory` is a struct that the caller provides.

    Args:
        structured: what to compute.
        dtype: float64 for `double`, float32 for `float`.
        name: the function; the program's name if None.

    Raises:
        BuildError: the program or the dtype is not valid.
    """
    element = np.dtype(dtype)
    if element not in (np.float64, np.float32):
        raise BuildError(f"C is exported for float64 or float32, not {element}", element="dtype")
    check(structured)
    return _Writer(computed_once(structured), element, identifier(name or structured.name, set())).source()


class _Writer:
    def __init__(self, structured: Structured, dtype: np.dtype, name: str):
        self.structured, self.name, self.c = structured, name, Expressions(dtype, name)
        self.arguments = (*structured.of_kind(Kind.INPUT), *structured.of_kind(Kind.OUTPUT))
        taken = {name, "memory", f"{name}_memory", f"{name}_row", *(f"{name}_{op.name.lower()}" for op in Op)}
        self.names: dict[Array, str] = {array: identifier(array.name, taken) for array in self.arguments}
        for array in structured.of_kind(Kind.TABLE, Kind.INDEX):
            self.names[array] = identifier(f"{name}_{array.name}", taken)
        members: set[str] = set()
        for array in structured.of_kind(Kind.SCRATCH):
            self.names[array] = f"memory->{identifier(array.name, members)}"
        self.used: set[Array] = set()
        self.count = 0

    def source(self) -> CSource:
        """Header and source."""
        body = [*self._cleared(), *self._statements(self.structured.body, {})]
        operations = {Op(code) for run, _ in runs(self.structured.body) for code in _operations(run)}
        silent = [f"(void){self.names[array]};" for array in self.arguments if array not in self.used]
        if not any(array in self.used for array in self.structured.of_kind(Kind.SCRATCH)):
            silent.append("(void)memory;")
        lines = [
            f"/* {self.name}: see {self.name}.h */",
            f'#include "{self.name}.h"',
            "",
            "#include <math.h>",
            "",
            *self._tables(),
            *(f"{text}\n" for text in self.c.definitions(operations)),
            *(self._row_function() if any("_row(" in line for line in body) else []),
            f"{self._prototype()} {{",
            *(f"    {line}" for line in (*silent, *body)),
            "}",
            "",
        ]
        return CSource(self.name, self._header(), "\n".join(lines), f"{self.name}_memory")

    # --- declarations

    def _header(self) -> str:
        listed = []
        for array in self.arguments:
            shape = " x ".join(map(str, array.shape)) or "1"
            order = ", row-major" if len(array.shape) > 1 else ""
            side = "in " if array.kind is Kind.INPUT else "out"
            listed.append(f" *   {self.names[array]:<12} {side}  {shape}{order}")
        notes = [
            f"Operations: {counted_operations(self.structured)}.",
            "No allocation; memory needs no value, one for each thread. Outputs must not overlap inputs.",
        ]
        members = [
            f"    {self.c.type} {self.names[array].removeprefix('memory->')}[{max(array.size, 1)}];"
            for array in self.structured.of_kind(Kind.SCRATCH)
        ] or [f"    {self.c.type} unused;"]
        struct = ["typedef struct {", *members, f"}} {self.name}_memory;", ""]
        return header_text(self.name, listed, notes, [*struct, f"{self._prototype()};"])

    def _prototype(self) -> str:
        arguments = [
            f"{'const ' if array.kind is Kind.INPUT else ''}{self.c.type} {self.names[array]}[{max(array.size, 1)}]"
            for array in self.arguments
        ]
        return f"void {self.name}({', '.join([f'{self.name}_memory *memory', *arguments])})"

    def _tables(self) -> list[str]:
        lines = []
        for array in self.structured.of_kind(Kind.TABLE, Kind.INDEX):
            if array not in self.used or array.values is None:
                continue
            kind, write = (self.c.type, self.c.number) if array.kind is Kind.TABLE else ("long", str)
            numbers = [write(x) for x in array.values.ravel().tolist()] or ["0"]
            listed = ",\n".join(f"    {', '.join(numbers[k : k + 8])}" for k in range(0, len(numbers), 8))
            lines.append(f"static const {kind} {self.names[array]}[{len(numbers)}] = {{\n{listed}\n}};\n")
        return lines

    def _row_function(self) -> list[str]:
        """A row that is chosen by a number: one that exists, the first for NaN."""
        return [
            f"static long {self.name}_row({self.c.type} chosen, long last) {{",
            f"    return !(chosen > 0) ? 0 : chosen < ({self.c.type})last ? (long)chosen : last;",
            "}",
            "",
        ]

    # --- statements

    def _statements(self, body: tuple[Statement, ...], counters: Counters) -> list[str]:
        lines: list[str] = []
        for statement in body:
            match statement:
                case Run():
                    lines += self._run(statement, counters)
                case For():
                    i, n = self._counter("i"), statement.variable.count
                    head = f"for (long {i} = {n - 1}; {i} >= 0; --{i})" if statement.reverse else _counting(i, n)
                    inner = self._statements(statement.body, counters | {statement.variable: i})
                    lines += _block(f"{head} {{", [f"(void){i};", *inner])
                case While():
                    trip = self._counter("trip")
                    flag = f"{self._name(statement.flag)}[0] != 0"
                    head = f"for (long {trip} = 0; {trip} < {statement.counter.count} && {flag}; ++{trip}) {{"
                    lines += _block(head, self._statements(statement.body, counters | {statement.counter: trip}))
                case Switch():
                    lines += self._switch(statement, counters)
        return lines

    def _switch(self, switch: Switch, counters: Counters) -> list[str]:
        lines = [f"switch ({self._row(switch.row, counters)}) {{"]
        for number, case in reversed(list(enumerate(switch.cases))):
            label = f"case {number}:" if number else "default:"
            lines += [label, *(f"    {line}" for line in self._statements(case, counters)), "    break;"]
        return [*lines, "}"]

    def _run(self, run: Run, counters: Counters) -> list[str]:
        read: set[int] = set()

        def element(argument: int, number: int) -> str:
            read.add(argument)
            return f"x{argument}[{number}]"

        lines, text = self.c.assignments(run.program, element)
        pointers = [
            f"const {self.c.type} *const x{k} = {self._pointer(ref, counters)};"
            for k, ref in enumerate(run.reads)
            if k in read
        ]
        stores: list[str] = []
        for k, (ref, nodes) in enumerate(zip(run.writes, run.program.results, strict=True)):
            if not ref.length:
                continue
            # A row may be said by what this step has just written.
            place = stores if isinstance(ref.row, Lane) else pointers
            place.append(f"{self.c.type} *const y{k} = {self._pointer(ref, counters)};")
            values = [text[node] for node in nodes.tolist()]
            plain = [f"y{k}[{e}] = {value};" for e, value in enumerate(values)]
            if ref.add is None:
                stores += plain
                continue
            adding = [f"y{k}[{e}] += {value};" for e, value in enumerate(values)]
            stores += [*_block(f"if ({self._row(ref.add, counters)}) {{", adding)[:-1]]
            stores += _block("} else {", plain)
        return _block("{", [*pointers, *lines, *stores])

    # --- memory

    def _cleared(self) -> list[str]:
        lines = []
        for array in self.structured.of_kind(Kind.OUTPUT, Kind.SCRATCH):
            if array.zero and array.size:
                i = self._counter("i")
                lines += _block(f"{_counting(i, array.size)} {{", [f"{self._name(array)}[{i}] = 0;"])
        return lines

    def _name(self, array: Array) -> str:
        self.used.add(array)
        return self.names[array]

    def _pointer(self, ref: Ref, counters: Counters) -> str:
        return f"{self._name(ref.array)} + {ref.array.width} * ({self._row(ref.row, counters, ref.array)})"

    def _row(self, row: Row, counters: Counters, array: Array | None = None) -> str:
        match row:
            case Variable():
                return counters[row]
            case Shifted():
                return f"{self._row(row.row, counters)} + {row.offset}"
            case Entry():
                return f"{self._name(row.table)}[{self._row(row.row, counters)}]"
            case Lane():
                assert array is not None
                return f"{self.name}_row({self._name(row.array)}[0], {array.rows - 1})"
            case _:
                return str(row)

    def _counter(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"


def _operations(run: Run) -> list[int]:
    return sorted(set(run.program.op[live_nodes(run.program)].tolist()))


def _counting(i: str, n: int) -> str:
    return f"for (long {i} = 0; {i} < {n}; ++{i})"


def _block(head: str, lines: list[str]) -> list[str]:
    return [head, *(f"    {line}" for line in lines), "}"]
