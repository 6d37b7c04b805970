"""The loop over a batch, once for all structured programs: from rows of the batch to lanes and back.

What differs from kernel to kernel are words of `data`: sizes of the arguments, the size of the workspace, and the
function that computes `lanes` states in it. So it is compiled once for a machine. As in `driver`, missing lanes at
the end of a batch are copies of the last state.
"""

from __future__ import annotations

import numpy as np

from .assembly import Function, Module, Types
from .batch_data import ARGUMENT_WORDS, KEEPS_STATUS, N_INPUTS, N_OPERANDS, N_WORDS, RUN, TEAM, THRESHOLD, WORKSPACE
from .batch_rows import word, write_layout, write_load, write_store
from .gufunc import MAX_OPERANDS
from .threads import COMPLETE, INTERRUPTED

_STACK_LIMIT = 65_536
_EXCEPTIONS = 0x3F


def write_batch_driver(dtype: np.dtype, lanes: int, triple: str) -> str:
    """Assembly of a module with the functions `loop` (for NumPy) and `share` (for threads)."""
    module = Module(Types(np.dtype(dtype), lanes))
    _write_loop(module)
    _write_share(module)
    _Serial(module).write()
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
    f.do(f"call void {module.declare('zveno_interrupt', 'void', [])}()")
    f.do("br label %check")
    f.start("check")
    incomplete = f.let(f"trunc i64 {f.let(f'xor i64 {answer}, {COMPLETE}')} to i1")
    f.branch_unlikely(incomplete, "alone", "finished")
    f.start("finished")
    f.do("ret void")
    f.start("alone")
    f.do(f"call void @serial(ptr {operands}, i64 {n}, ptr %steps, ptr %data)")
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
    f.do(f"call void @serial(ptr {mine}, i64 {states}, ptr %steps, ptr {data})")
    f.do("br label %take")
    f.start("done")
    f.finish()


class _Serial:
    """Writes `serial(args, n, steps, data)`, which runs n states on the calling thread."""

    def __init__(self, module: Module):
        self.module = module

    def write(self) -> None:
        layout, load, store = write_layout(self.module), write_load(self.module), write_store(self.module)
        f = self.f = Function(self.module, "void @serial(ptr %args, i64 %n, ptr %steps, ptr %data)")
        status = f.let("alloca i64, align 8")
        self._allocate()
        self._status("fegetexceptflag", status)
        self.n_inputs, self.n_operands = word(f, "%data", N_INPUTS), word(f, "%data", N_OPERANDS)
        f.repeat(self.n_operands, lambda k: self._call(layout, k))
        run, before = word(f, "%data", RUN, "ptr"), f.name("before")
        f.do(f"br label %{before}")
        f.start(before)
        nothing = f.let("icmp sle i64 %n, 0")
        f.do(f"br i1 {nothing}, label %finish, label %states")
        f.start("states")
        f.do(f"%i = phi i64 [ 0, %{before} ], [ %next, %advance ]")
        f.repeat(self.n_inputs, lambda k: self._call(load, k, states=True))
        f.do(f"call void {run}(ptr %ws, ptr %data)")
        outputs = f.let(f"sub i64 {self.n_operands}, {self.n_inputs}")
        f.repeat(outputs, lambda k: self._call(store, f.let(f"add i64 {k}, {self.n_inputs}"), states=True))
        f.do("br label %advance")
        f.start("advance")
        f.do(f"%next = add i64 %i, {f.types.lanes}")
        more = f.let("icmp slt i64 %next, %n")
        f.do(f"br i1 {more}, label %states, label %finish")
        f.start("finish")
        self._status("fesetexceptflag", status)
        f.do(f"call void {self.module.declare('zveno_free', 'void', ['ptr'])}(ptr %memory)")
        f.finish()

    def _call(self, function: str, k: str, states: bool = False) -> None:
        """Call a function of one argument: its operand and step, its words, and which states are meant."""
        f = self.f
        offset = f.let(f"mul i64 {k}, 8")
        base = f.load("ptr", f.at("%args", offset), 8)
        step = f.load("i64", f.at("%steps", offset), 8)
        own = f.at("%data", f.let(f"add i64 {8 * N_WORDS}, {f.let(f'mul i64 {k}, {8 * ARGUMENT_WORDS}')}"))
        which = ", i64 %i, i64 %n" if states else ", ptr %steps, ptr %data"
        f.do(f"call void {function}(ptr {base}, i64 {step}, ptr {own}, ptr %ws{which})")

    def _allocate(self) -> None:
        """The workspace, aligned; on the stack where it is small, so that single calls need no allocator."""
        f = self.f
        size = word(f, "%data", WORKSPACE)
        small = f.let(f"icmp ule i64 {size}, {_STACK_LIMIT}")
        f.do(f"br i1 {small}, label %stack, label %heap")
        f.start("stack")
        f.do(f"%near = alloca i8, i64 {size}, align 64")
        f.do("br label %ready")
        f.start("heap")
        room = f.let(f"add i64 {size}, 64")
        far = f.let(f"call ptr {self.module.declare('zveno_malloc', 'ptr', ['i64'])}(i64 {room})")
        failed = f.let(f"icmp eq ptr {far}, null")
        f.do(f"br i1 {failed}, label %exhausted, label %allocated")
        f.start("exhausted")
        # A loop cannot report an error, and numbers never written must not pass for results.
        f.do(f"call void {self.module.declare('llvm.trap', 'void', [])}()")
        f.do("unreachable")
        f.start("allocated")
        address = f.let(f"ptrtoint ptr {far} to i64")
        aligned = f.at(far, f.let(f"sub i64 64, {f.let(f'and i64 {address}, 63')}"))
        f.do("br label %ready")
        f.start("ready")
        f.do(f"%ws = phi ptr [ %near, %stack ], [ {aligned}, %allocated ]")
        f.do(f"%memory = phi ptr [ null, %stack ], [ {far}, %allocated ]")

    def _status(self, function: str, place: str) -> None:
        """Keep the floating-point status, or put it back: lanes that wait may raise flags no state has raised."""
        f = self.f
        call, done = f.name("status"), f.name("kept")
        keeps = f.let(f"icmp ne i64 {word(f, '%data', KEEPS_STATUS)}, 0")
        f.do(f"br i1 {keeps}, label %{call}, label %{done}")
        f.start(call)
        name = self.module.declare(f"zveno_{function}", "i32", ["ptr", "i32"])
        f.do(f"call i32 {name}(ptr {place}, i32 {_EXCEPTIONS})")
        f.do(f"br label %{done}")
        f.start(done)
