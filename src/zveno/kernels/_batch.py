"""Loop over a batch, shared by all kernels: transposes rows of the batch to lanes and back.

Everything specific to a kernel is in the words of `data`: argument sizes, the workspace size, and the function that
computes `lanes` states in the workspace. The loop is therefore compiled once per machine instead of once per
kernel.

For every `lanes` states the rows of the inputs are transposed into slots of the workspace. Structured programs also
leave their results in slots. Straight-line programs write the rows of the outputs themselves. Outputs larger than
the caches are collected for a few states and then written past the caches, because a cache line that is written in
parts is read first. At the end of the batch the missing lanes are copies of the last state: they compute and write
the same numbers again. So nothing outside the arrays is accessed, and the only floating-point flags raised are
those of the last state.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from ._assembly import Function, Module, Types
from ._calls import MAX_OPERANDS
from ._instance import (
    ARGUMENT_WORDS,
    CONSTANTS,
    KEEPS_STATUS,
    N_INPUTS,
    N_OPERANDS,
    N_WORDS,
    RUN,
    SIZE,
    SLOTS,
    STREAM_FROM,
    TEAM,
    THRESHOLD,
    WORKSPACE,
)
from ._rows import (
    PACKED,
    has_rows,
    load_quickly,
    places,
    point_quickly,
    word,
    write_layout,
    write_load,
    write_point,
    write_store,
)
from ._shared import load_shared
from .threads import COMPLETE, INTERRUPTED

if TYPE_CHECKING:
    from ._host import Code


_QUICK, _CAREFUL, _STORED = 1, 2, 4
"""Bits that note the treatment of an argument: by code in the loop, by a function, or stored after every group."""


def write_batch_driver(dtype: np.dtype, lanes: int, triple: str) -> str:
    """Assembly of a module with the functions `loop` (for NumPy), `share` (for threads) and `once` (for a call)."""
    module = Module(Types(np.dtype(dtype), lanes))
    _write_loop(module)
    _write_share(module)
    _Serial(module).write()
    write_once(module)
    return module.text(triple)


def _write_loop(module: Module) -> None:
    """Write `loop`, which has NumPy's signature and hands large batches to the team of threads, if any.

    `share` finds `data` before the addresses of the operands.
    """
    f = Function(module, "void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data)")
    carried = f.let(f"alloca [{MAX_OPERANDS + 1} x ptr], align 8")
    reply = f.let("alloca i64, align 8")
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
    f.store("i64", str(INTERRUPTED), reply, 8)
    f.do(f"call void {team}(ptr {carried}, i64 {n}, ptr %steps, ptr @share, ptr {reply})")
    answer = f.load("i64", reply, 8)
    interrupted = f.let(f"icmp sge i64 {answer}, {INTERRUPTED}")
    f.branch_unlikely(interrupted, "interrupt", "check")
    f.start("interrupt")
    # Raised only here: no Python code runs between this point and NumPy, so the interrupt reaches the user.
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
    """Write `share(args, n, steps, next, block)`, which takes blocks of states from a shared counter."""
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
    """Writer of `serial(args, n, steps, data, total)`: n states of a batch of `total` on the calling thread.

    The treatment of each argument is noted before the first group of lanes. Simple layouts are read, or their
    output rows are pointed to, by code in the loop itself; all others by functions.
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
        # The fence makes data written past the caches visible to all threads.
        streamed = f.let(f"icmp sge i64 %total, {word(f, '%data', STREAM_FROM)}")
        f.when(streamed, lambda: f.do("fence seq_cst"))
        keep_status(f, "fesetexceptflag", status)
        release(f)
        f.finish()

    def _operand(self, k: str) -> tuple[str, str, str]:
        """Return address, step and words of an argument."""
        f, offset = self.f, self.f.let(f"mul i64 {k}, 8")
        words = f.at("%data", f.let(f"add i64 {8 * N_WORDS}, {f.let(f'mul i64 {k}, {8 * ARGUMENT_WORDS}')}"))
        return f.load("ptr", f.at("%args", offset), 8), f.load("i64", f.at("%steps", offset), 8), words

    def _output(self, k: str) -> str:
        return self.f.let(f"add i64 {k}, {self.n_inputs}")

    def _call(self, function: str, k: str, i: str = "%i") -> None:
        base, step, words = self._operand(k)
        self.f.do(f"call void {function}(ptr {base}, i64 {step}, ptr {words}, ptr %ws, i64 {i}, i64 %n)")

    def _way(self, k: str) -> tuple[str, str, str]:
        """Return the memory layout of an argument, its step and its words."""
        base, step, words = self._operand(k)
        rest = "ptr %steps, ptr %data, i64 %total"
        way = self.f.let(f"call i64 {self.layout}(ptr {base}, i64 {step}, ptr {words}, ptr %ws, {rest})")
        return way, step, words

    def _note(self, k: str) -> str:
        """Return the address of the note on an argument."""
        return self.f.at(self.notes, self.f.let(f"mul i64 {k}, 8"))

    def _note_input(self, k: str) -> None:
        """Note how an input is read. An input that all states share is read here, once."""
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
        """Note how an output is written. An output that is collected is pointed to here, once."""
        f, k = self.f, self._output(number)
        way, _, words = self._way(k)
        rows_of_its_own = has_rows(f, words)
        quick = f.let(f"and i1 {rows_of_its_own}, {f.let(f'icmp eq i64 {way}, {PACKED}')}")
        note = f.let(f"select i1 {quick}, i64 {_QUICK}, i64 {_STORED}")
        f.store("i64", note, self._note(k), 8)
        f.store("i64", f.let(f"or i64 {f.load('i64', all_notes, 8)}, {note}"), all_notes, 8)
        f.when(rows_of_its_own, lambda: self._call(self.point, k, "0"))

    def _places(self, base: str, step: str) -> list[str]:
        """Return the addresses of the rows of all lanes of a whole group."""
        f = self.f
        row = f.at(base, f.let(f"mul i64 %i, {step}"))
        return places(f, row, step, [str(lane) for lane in range(1, f.types.lanes)])

    def _choose(self, k: str, quickly: Callable[[list[str], str], None], function: str) -> None:
        """Treat a whole group in the loop if the note says so, otherwise by a function."""
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


STACK_LIMIT = 65_536
"""Largest workspace on the stack in bytes. Most calls then need no allocator."""
_EXCEPTIONS = 0x3F


def allocate(f: Function) -> None:
    """Allocate the aligned workspace `%ws`."""
    size = word(f, "%data", WORKSPACE)
    small = f.let(f"icmp ule i64 {size}, {STACK_LIMIT}")
    f.do(f"br i1 {small}, label %stack, label %heap")
    f.start("stack")
    f.do(f"%near = alloca i8, i64 {size}, align 64")
    f.do("br label %ready")
    f.start("heap")
    room = f.let(f"add i64 {size}, 64")
    far = f.let(f"call ptr {f.module.declare('zveno_malloc', 'ptr', ['i64'])}(i64 {room})")
    failed = f.let(f"icmp eq ptr {far}, null")
    f.do(f"br i1 {failed}, label %exhausted, label %allocated")
    f.start("exhausted")
    # A loop cannot report an error, and numbers never written must not pass for results.
    f.do(f"call void {f.module.declare('llvm.trap', 'void', [])}()")
    f.do("unreachable")
    f.start("allocated")
    address = f.let(f"ptrtoint ptr {far} to i64")
    aligned = f.at(far, f.let(f"sub i64 64, {f.let(f'and i64 {address}, 63')}"))
    f.do("br label %ready")
    f.start("ready")
    f.do(f"%ws = phi ptr [ %near, %stack ], [ {aligned}, %allocated ]")
    f.do(f"%memory = phi ptr [ null, %stack ], [ {far}, %allocated ]")


def release(f: Function) -> None:
    """Free the heap memory taken by `allocate`."""
    free = f.module.declare("zveno_free", "void", ["ptr"])
    f.when(f.let("icmp ne ptr %memory, null"), lambda: f.do(f"call void {free}(ptr %memory)"))


def keep_status(f: Function, function: str, place: str) -> None:
    """Save or restore the floating-point status: masked lanes may raise flags that no state has raised."""
    name = f.module.declare(f"zveno_{function}", "i32", ["ptr", "i32"])
    keeps = f.let(f"icmp ne i64 {word(f, '%data', KEEPS_STATUS)}, 0")
    f.when(keeps, lambda: f.do(f"call i32 {name}(ptr {place}, i32 {_EXCEPTIONS})"))


def write_constants(f: Function, needed: str) -> None:
    """Write results that are the same for all states: once to the staging area, every time to rows."""
    constants = word(f, "%data", CONSTANTS, "ptr")
    some = f.let(f"icmp ne ptr {constants}, null")
    f.when(f.let(f"and i1 {some}, {needed}"), lambda: f.do(f"call void {constants}(ptr %ws, ptr %data)"))


def write_once(module: Module) -> None:
    """Write `once(args, data)`, for arguments whose elements are contiguous in memory."""
    f = Function(module, "void @once(ptr %args, ptr %data)")
    status = f.let("alloca i64, align 8")
    allocate(f)
    keep_status(f, "fegetexceptflag", status)
    n_inputs = word(f, "%data", N_INPUTS)
    n_outputs = f.let(f"sub i64 {word(f, '%data', N_OPERANDS)}, {n_inputs}")

    def argument(k: str) -> tuple[str, str]:
        words = f.at("%data", f.let(f"add i64 {8 * N_WORDS}, {f.let(f'mul i64 {k}, {8 * ARGUMENT_WORDS}')}"))
        return word(f, "%args", k, "ptr"), words

    def output(number: str) -> tuple[str, str]:
        return argument(f.let(f"add i64 {number}, {n_inputs}"))

    def point(number: str) -> None:
        base, words = output(number)
        f.when(has_rows(f, words), lambda: point_quickly(f, [base] * f.types.lanes, words))

    def put(number: str) -> None:
        base, words = output(number)
        f.when(has_rows(f, words), lambda: None, lambda: _store(f, base, words))

    f.repeat(n_inputs, lambda k: _load(f, *argument(k)))
    f.repeat(n_outputs, point)
    write_constants(f, "true")
    f.do(f"call void {word(f, '%data', RUN, 'ptr')}(ptr %ws, ptr %data)")
    f.repeat(n_outputs, put)
    keep_status(f, "fesetexceptflag", status)
    release(f)
    f.finish()


def _load(f: Function, base: str, words: str) -> None:
    t, slots = f.types, f.at("%ws", word(f, words, SLOTS))

    def spread(j: str) -> None:
        number = f.load(t.scalar, f.at(base, f.let(f"mul i64 {j}, {t.itemsize}")), t.itemsize)
        first = f.let(f"insertelement {t.vector} poison, {t.scalar} {number}, i32 0")
        everywhere = f.let(
            f"shufflevector {t.vector} {first}, {t.vector} poison, <{t.lanes} x i32> zeroinitializer"
        )
        f.store(t.vector, everywhere, f.at(slots, f.let(f"mul i64 {j}, {t.stride}")), t.stride)

    f.repeat(word(f, words, SIZE), spread)


def _store(f: Function, base: str, words: str) -> None:
    t, slots = f.types, f.at("%ws", word(f, words, SLOTS))

    def put(j: str) -> None:
        number = f.load(t.scalar, f.at(slots, f.let(f"mul i64 {j}, {t.stride}")), t.itemsize)
        f.store(t.scalar, number, f.at(base, f.let(f"mul i64 {j}, {t.itemsize}")), t.itemsize)

    f.repeat(word(f, words, SIZE), put)


@cache
def driver_code(dtype: str, lanes: int) -> Code:
    """Load the loop over batches from disk, or compile it."""
    from ._host import host

    return load_shared(f"driver {dtype} {lanes}", lambda: write_batch_driver(np.dtype(dtype), lanes, host().triple))
