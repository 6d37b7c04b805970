"""The loop over a batch, once for all kernels: from rows of the batch to lanes and back.

What differs from kernel to kernel are words of `data`: sizes of the arguments, the size of the workspace, and the
function that computes `lanes` states in it. So it is compiled once for a machine; LLVM would take 20 ms for each.

For every `lanes` states the rows of the inputs are transposed into slots of the workspace. Structured programs
leave their results in slots as well; straight-line ones write rows of the outputs themselves. Outputs larger than
the caches are collected for a few states and then written past the caches, because a line of memory that is written
piece by piece is first read. At the end of the batch the missing lanes are copies of the last state: they compute
and write the same numbers once more, so nothing outside the arrays is touched and no flag is raised that the last
state would not raise itself.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from . import rows
from .assembly import Function, Module, Types
from .batch_data import ARGUMENT_WORDS, N_INPUTS, N_OPERANDS, N_WORDS, RUN, SIZE, STREAM_FROM, TEAM, THRESHOLD
from .batch_frame import allocate, keep_status, release, write_constants
from .batch_once import write_once
from .batch_rows import (
    PACKED,
    has_rows,
    load_quickly,
    point_quickly,
    word,
    write_layout,
    write_load,
    write_point,
    write_store,
)
from .gufunc import MAX_OPERANDS
from .threads import COMPLETE, INTERRUPTED

_QUICK, _CAREFUL, _STORED = 1, 2, 4
"""Notes on an argument: read or pointed to in the loop itself, or by a function; stored after every group."""


def write_batch_driver(dtype: np.dtype, lanes: int, triple: str) -> str:
    """Assembly of a module with the functions `loop` (for NumPy), `share` (for threads) and `once` (for a call)."""
    module = Module(Types(np.dtype(dtype), lanes))
    _write_loop(module)
    _write_share(module)
    _Serial(module).write()
    write_once(module)
    return module.text(triple)


def _write_loop(module: Module) -> None:
    """`loop`, with NumPy's signature: hand a large batch to the team of threads, if there is one.

    `share` finds `data` before the addresses of the operands.
    """
    f = Function(module, "void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data)")
    carried = f.let(f"alloca [{MAX_OPERANDS + 1} x ptr], align 8")
    n = f.load("i64", "%dimensions", 8)
    f.store("ptr", "%data", carried, 8)
    operands = f.at(carried, 8)
    f.repeat(word(f, "%data", N_OPERANDS), lambda k: _copy(f, k, "%args", operands))
    many = f.let(f"icmp sge i64 {n}, {word(f, '%data', THRESHOLD)}")
    f.do(f"br i1 {many}, label %ask, label %alone")
    f.start("ask")
    team = f.load("ptr", word(f, "%data", TEAM, "ptr"), 8)
    absent = f.let(f"icmp eq ptr {team}, null")
    f.do(f"br i1 {absent}, label %alone, label %together")
    f.start("together")
    answer = f.let(f"call i64 {team}(ptr {carried}, i64 {n}, ptr %steps, ptr @share)")
    interrupted = f.let(f"icmp sge i64 {answer}, {INTERRUPTED}")
    f.branch_unlikely(interrupted, "interrupt", "check")
    f.start("interrupt")
    # Only now, with no Python left on the way to NumPy, will it be raised where the user can see it.
    f.do(f"call void {module.declare('zveno_interrupt', 'void', [])}()")
    f.do("br label %check")
    f.start("check")
    incomplete = f.let(f"trunc i64 {f.let(f'xor i64 {answer}, {COMPLETE}')} to i1")
    f.branch_unlikely(incomplete, "alone", "finished")
    f.start("finished")
    f.do("ret void")
    f.start("alone")
    f.do(f"call void @serial(ptr {operands}, i64 {n}, ptr %steps, ptr %data, i64 {n})")
    f.finish()


def _copy(f: Function, k: str, source: str, target: str) -> None:
    offset = f.let(f"mul i64 {k}, 8")
    f.store("ptr", f.load("ptr", f.at(source, offset), 8), f.at(target, offset), 8)


def _write_share(module: Module) -> None:
    """`share(args, n, steps, next, block)`: take blocks of states from a common counter until none is left."""
    f = Function(module, "void @share(ptr %args, i64 %n, ptr %steps, ptr %next, i64 %block)")
    mine = f.let(f"alloca [{MAX_OPERANDS} x ptr], align 8")
    data = f.load("ptr", "%args", 8)
    count = word(f, data, N_OPERANDS)
    f.do("br label %take")
    f.start("take")
    start = f.let("atomicrmw add ptr %next, i64 %block monotonic, align 8")
    left = f.let(f"sub i64 %n, {start}")
    some = f.let(f"icmp sgt i64 {left}, 0")
    f.do(f"br i1 {some}, label %work, label %done")
    f.start("work")

    def move(k: str) -> None:
        offset = f.let(f"mul i64 {k}, 8")
        base = f.load("ptr", f.at(f.at("%args", 8), offset), 8)
        step = f.load("i64", f.at("%steps", offset), 8)
        f.store("ptr", f.at(base, f.let(f"mul i64 {start}, {step}")), f.at(mine, offset), 8)

    f.repeat(count, move)
    smaller = module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
    states = f.let(f"call i64 {smaller}(i64 %block, i64 {left})")
    f.do(f"call void @serial(ptr {mine}, i64 {states}, ptr %steps, ptr {data}, i64 %n)")
    f.do("br label %take")
    f.start("done")
    f.finish()


class _Serial:
    """Writes `serial(args, n, steps, data, total)`: n states on the calling thread, of a batch of `total`.

    What to do with an argument for every group of lanes is noted before the first: rows of an input are read, or
    those of an output pointed to, by code in the loop itself if that is simple, otherwise by functions.
    """

    def __init__(self, module: Module):
        self.module = module

    def write(self) -> None:
        """Write the function."""
        module = self.module
        self.layout, self.load, self.point, self.store = (
            write(module) for write in (write_layout, write_load, write_point, write_store)
        )
        f = self.f = Function(module, "void @serial(ptr %args, i64 %n, ptr %steps, ptr %data, i64 %total)")
        status = f.let("alloca i64, align 8")
        self.notes = f.let(f"alloca [{MAX_OPERANDS} x i64], align 8")
        all_notes = f.let("alloca i64, align 8")
        allocate(f)
        keep_status(f, "fegetexceptflag", status)
        self.n_inputs = word(f, "%data", N_INPUTS)
        self.n_outputs = f.let(f"sub i64 {word(f, '%data', N_OPERANDS)}, {self.n_inputs}")
        f.do(f"br i1 {f.let('icmp sle i64 %n, 0')}, label %finish, label %setup")
        f.start("setup")
        f.store("i64", "0", all_notes, 8)
        f.repeat(self.n_inputs, self._note_input)
        f.repeat(self.n_outputs, lambda k: self._note_output(k, all_notes))
        run, notes, before = word(f, "%data", RUN, "ptr"), f.load("i64", all_notes, 8), f.name("before")
        f.do(f"br label %{before}")
        f.start(before)
        f.do("br label %states")
        f.start("states")
        f.do(f"%i = phi i64 [ 0, %{before} ], [ %next, %advance ]")
        self.whole = f.let(f"icmp sge i64 {f.let('sub i64 %n, %i')}, {f.types.lanes}")
        f.repeat(self.n_inputs, self._read)
        f.repeat(self.n_outputs, self._point)
        write_constants(f, f.let(f"or i1 {f.let('icmp eq i64 %i, 0')}, {_has(f, notes, _QUICK)}"))
        f.do(f"call void {run}(ptr %ws, ptr %data)")
        f.when(_has(f, notes, _STORED), lambda: f.repeat(self.n_outputs, self._put))
        f.do("br label %advance")
        f.start("advance")
        f.do(f"%next = add i64 %i, {f.types.lanes}")
        more = f.let("icmp slt i64 %next, %n")
        f.do(f"br i1 {more}, label %states, label %finish")
        f.start("finish")
        # What was written past the caches is seen by all threads from here on.
        streamed = f.let(f"icmp sge i64 %total, {word(f, '%data', STREAM_FROM)}")
        f.when(streamed, lambda: f.do("fence seq_cst"))
        keep_status(f, "fesetexceptflag", status)
        release(f)
        f.finish()

    def _operand(self, k: str) -> tuple[str, str, str]:
        """Address, step and words of an argument."""
        f, offset = self.f, self.f.let(f"mul i64 {k}, 8")
        words = f.at("%data", f.let(f"add i64 {8 * N_WORDS}, {f.let(f'mul i64 {k}, {8 * ARGUMENT_WORDS}')}"))
        return f.load("ptr", f.at("%args", offset), 8), f.load("i64", f.at("%steps", offset), 8), words

    def _output(self, k: str) -> str:
        return self.f.let(f"add i64 {k}, {self.n_inputs}")

    def _call(self, function: str, k: str, i: str = "%i") -> None:
        base, step, words = self._operand(k)
        self.f.do(f"call void {function}(ptr {base}, i64 {step}, ptr {words}, ptr %ws, i64 {i}, i64 %n)")

    def _way(self, k: str) -> tuple[str, str, str]:
        """How an argument lies; its step and words."""
        base, step, words = self._operand(k)
        rest = "ptr %steps, ptr %data, i64 %total"
        way = self.f.let(f"call i64 {self.layout}(ptr {base}, i64 {step}, ptr {words}, ptr %ws, {rest})")
        return way, step, words

    def _note(self, k: str) -> str:
        """Where the note on an argument is."""
        return self.f.at(self.notes, self.f.let(f"mul i64 {k}, 8"))

    def _note_input(self, k: str) -> None:
        """An input that is the same for all states is read now, once for all."""
        f = self.f
        way, step, words = self._way(k)
        size = word(f, words, SIZE)
        packed = f.let(f"icmp eq i64 {way}, {PACKED}")
        quick = f.let(f"and i1 {packed}, {f.let(f'icmp sge i64 {size}, {f.types.lanes}')}")
        note = f.let(f"select i1 {quick}, i64 {_QUICK}, i64 {_CAREFUL}")
        same = f.let(f"icmp eq i64 {step}, 0")
        f.store("i64", f.let(f"select i1 {same}, i64 0, i64 {note}"), self._note(k), 8)
        f.when(same, lambda: self._call(self.load, k, "0"))

    def _note_output(self, number: str, all_notes: str) -> None:
        """An output that is collected is pointed to now, once for all."""
        f, k = self.f, self._output(number)
        way, _, words = self._way(k)
        rows_of_its_own = has_rows(f, words)
        quick = f.let(f"and i1 {rows_of_its_own}, {f.let(f'icmp eq i64 {way}, {PACKED}')}")
        note = f.let(f"select i1 {quick}, i64 {_QUICK}, i64 {_STORED}")
        f.store("i64", note, self._note(k), 8)
        f.store("i64", f.let(f"or i64 {f.load('i64', all_notes, 8)}, {note}"), all_notes, 8)
        f.when(rows_of_its_own, lambda: self._call(self.point, k, "0"))

    def _places(self, base: str, step: str) -> list[str]:
        """The rows of all lanes of a whole group."""
        f = self.f
        row = f.at(base, f.let(f"mul i64 %i, {step}"))
        return rows.places(f, row, step, [str(lane) for lane in range(1, f.types.lanes)])

    def _choose(self, k: str, quickly: Callable[[list[str], str], None], function: str) -> None:
        """Treat a whole group quickly if the note says so, otherwise by a function."""
        f = self.f
        note = f.load("i64", self._note(k), 8)
        quick = f.let(f"and i1 {self.whole}, {f.let(f'icmp eq i64 {note}, {_QUICK}')}")

        def in_the_loop() -> None:
            base, step, words = self._operand(k)
            quickly(self._places(base, step), words)

        def otherwise() -> None:
            f.when(_has(f, note, _QUICK | _CAREFUL), lambda: self._call(function, k))

        f.when(quick, in_the_loop, otherwise)

    def _read(self, k: str) -> None:
        self._choose(k, lambda places, words: load_quickly(self.f, places, words), self.load)

    def _point(self, number: str) -> None:
        k = self._output(number)
        self._choose(k, lambda places, words: point_quickly(self.f, places, words), self.point)

    def _put(self, number: str) -> None:
        f, k = self.f, self._output(number)
        note = f.load("i64", self._note(k), 8)
        f.when(_has(f, note, _STORED), lambda: self._call(self.store, k))


def _has(f: Function, note: str, bits: int) -> str:
    return f.let(f"icmp ne i64 {f.let(f'and i64 {note}, {bits}')}, 0")
