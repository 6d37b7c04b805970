"""The loop around the chunks: from rows of the batch to lanes and back.

For every `lanes` states the rows of the inputs are transposed into slots of the workspace, and the chunks run,
which write rows of the outputs. Outputs larger than the caches are collected for a few states and then written
past the caches, because a line of memory that is written piece by piece is first read. At the end of the batch
the missing lanes are copies of the last state: they compute and write the same numbers once more, so nothing
outside the arrays is touched and no flag is raised that the last state would not raise itself.
"""

from __future__ import annotations

import math

from . import rows
from .assembly import Function, Module
from .plan import Plan
from .program import Argument, Op, Program
from .threads import COMPLETE, INTERRUPTED
from .workspace import Workspace

PARALLEL_WORK = 5_000_000
"""Operations times states from which a batch is worth more than one thread, about 0.3 ms."""

STREAM_BYTES = 16 << 20
"""Bytes of all outputs of a batch from which they are written past the caches: half of a usual last cache.
Measured with 32 MB of it: 0.8 times as fast as stores through the caches at 8 MB, twice as fast at 32 MB."""

_STACK_LIMIT = 65_536
_LINE = 64


def write_driver(module: Module, program: Program, plan: Plan, workspace: Workspace) -> None:
    """Add the functions `loop`, `share` and `serial` to the module."""
    _write_loop(module, program, plan)
    _write_share(module, max(len(program.inputs), 1) + len(program.outputs))
    _Serial(module, program, plan, workspace).write()


def parallel_threshold(program: Program, plan: Plan) -> int:
    """States from which a batch is given to several threads."""
    arguments = (*program.inputs, *program.outputs)
    work = sum(map(len, plan.chunks)) + 4 * sum(argument.size for argument in arguments) + 1
    return max(64, PARALLEL_WORK // work)


def _write_loop(module: Module, program: Program, plan: Plan) -> None:
    """`loop`, with NumPy's signature: hand a large batch to the function `data` points to, if there is one."""
    f = Function(module, "void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data)")
    n = f.load("i64", "%dimensions", 8)
    many = f.let(f"icmp sge i64 {n}, {parallel_threshold(program, plan)}")
    f.do(f"br i1 {many}, label %ask, label %alone")
    f.start("ask")
    team = f.load("ptr", "%data", 8)
    absent = f.let(f"icmp eq ptr {team}, null")
    f.do(f"br i1 {absent}, label %alone, label %together")
    f.start("together")
    answer = f.let(f"call i64 {team}(ptr %args, i64 {n}, ptr %steps, ptr @share)")
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
    f.do(f"call void @serial(ptr %args, i64 {n}, ptr %steps, i64 {n})")
    f.finish()


def _write_share(module: Module, n_operands: int) -> None:
    """`share(args, n, steps, next, block)`: take blocks of states from a common counter until none is left.

    Several threads run it at once on the same counter, without coming back to Python between blocks.
    """
    f = Function(module, "void @share(ptr %args, i64 %n, ptr %steps, ptr %next, i64 %block)")
    mine = f.let(f"alloca [{n_operands} x ptr], align 8")
    f.do("br label %take")
    f.start("take")
    start = f.let("atomicrmw add ptr %next, i64 %block monotonic, align 8")
    left = f.let(f"sub i64 %n, {start}")
    some = f.let(f"icmp sgt i64 {left}, 0")
    f.do(f"br i1 {some}, label %work, label %done")
    f.start("work")
    for k in range(n_operands):
        base = f.load("ptr", f.at("%args", 8 * k), 8)
        step = f.load("i64", f.at("%steps", 8 * k), 8)
        f.store("ptr", f.at(base, f.let(f"mul i64 {start}, {step}")), f.at(mine, 8 * k), 8)
    smaller = module.declare("llvm.smin.i64", "i64", ["i64", "i64"])
    count = f.let(f"call i64 {smaller}(i64 %block, i64 {left})")
    f.do(f"call void @serial(ptr {mine}, i64 {count}, ptr %steps, i64 %n)")
    f.do("br label %take")
    f.start("done")
    f.finish()


class _Serial:
    """Writes `serial(args, n, steps, total)`, which runs n states on the calling thread, of a batch of `total`."""

    def __init__(self, module: Module, program: Program, plan: Plan, workspace: Workspace):
        self.module, self.types, self.program, self.plan = module, module.types, program, plan
        self.inputs, self.outputs = program.inputs, program.outputs
        self.arguments = (*program.inputs, *program.outputs)
        self.n_operands = max(len(program.inputs), 1) + len(program.outputs)
        self.workspace = workspace
        self.base: dict[int, str] = {}
        self.step: dict[int, str] = {}
        self.packed: dict[int, str] = {}
        self.streamed: dict[int, str] = {}
        self.direct: dict[int, str] = {}
        self.row: dict[int, str] = {}

    def operand(self, k: int) -> int:
        """Position of an argument among NumPy's operands: a function of nothing has a dummy input."""
        return k if self.inputs else k + 1

    def write(self) -> None:
        """Write the function."""
        f = self.f = Function(self.module, "void @serial(ptr %args, i64 %n, ptr %steps, i64 %total)")
        self._allocate()
        nothing = f.let("icmp sle i64 %n, 0")
        f.do(f"br i1 {nothing}, label %finish, label %setup")
        f.start("setup")
        self._read_arguments()
        setup = f.block
        f.do("br label %states")
        f.start("states")
        f.do(f"%i = phi i64 [ 0, %{setup} ], [ %next, %advance ]")
        self._find_rows()
        for k in range(len(self.inputs)):
            if self._is_read(k):
                self._gather(k)
        for k in self._written():
            self._point(k)
        if self.plan.constants:
            self._write_constants()
        for number in range(len(self.plan.chunks)):
            f.do(f"call void @chunk{number}(ptr %ws)")
        for k in self._written():
            if self.arguments[k].size > 1:
                self._unload(k)
        f.do("br label %advance")
        f.start("advance")
        f.do(f"%next = add i64 %i, {self.types.lanes}")
        more = f.let("icmp slt i64 %next, %n")
        f.do(f"br i1 {more}, label %states, label %finish")
        f.start("finish")
        if self.streamed:
            f.do("fence seq_cst")  # what was written past the caches is seen by all threads from here on
        if self.on_heap:
            f.do(f"call void {self.module.declare('zveno_free', 'void', ['ptr'])}(ptr %memory)")
        f.finish()

    def _find_rows(self) -> None:
        """Addresses of the row of the first lane, and the distances of those of the others."""
        f = self.f
        self.left = f.let(f"sub i64 {f.let('sub i64 %n, %i')}, 1")
        self.ahead = rows.distances(f, self.left)
        for k in self.base:
            self.row[k] = f.at(self.base[k], f.let(f"mul i64 %i, {self.step[k]}"))

    def _written(self) -> list[int]:
        return [k for k in self.base if k >= len(self.inputs)]

    def _write_constants(self) -> None:
        """Constants stay in the staging area from one pass to the next; in rows they must be written anew."""
        f = self.f
        needed = f.let("icmp eq i64 %i, 0")
        for k in self._written():
            needed = f.let(f"or i1 {needed}, {self.direct[k]}")
        constants, done = f.name("constants"), f.name("written")
        f.do(f"br i1 {needed}, label %{constants}, label %{done}")
        f.start(constants)
        f.do("call void @constants(ptr %ws)")
        f.do(f"br label %{done}")
        f.start(done)

    def _allocate(self) -> None:
        f, size = self.f, self.workspace.size
        self.on_heap = size > _STACK_LIMIT
        if not self.on_heap:
            f.do(f"%ws = alloca [{size} x i8], align 64")
            return
        f.do(f"%memory = call ptr {self.module.declare('zveno_malloc', 'ptr', ['i64'])}(i64 {size + 64})")
        failed = f.let("icmp eq ptr %memory, null")
        f.do(f"br i1 {failed}, label %exhausted, label %allocated")
        f.start("exhausted")
        # A loop cannot report an error, and numbers never written must not pass for results.
        f.do(f"call void {self.module.declare('llvm.trap', 'void', [])}()")
        f.do("unreachable")
        f.start("allocated")
        address = f.let("ptrtoint ptr %memory to i64")
        shift = f.let(f"sub i64 64, {f.let(f'and i64 {address}, 63')}")
        f.do(f"%ws = getelementptr i8, ptr %memory, i64 {shift}")

    def _read_arguments(self) -> None:
        """Base address and step of every argument; offsets of its elements unless they are contiguous."""
        f = self.f
        position = self.n_operands
        for k, argument in enumerate(self.arguments):
            if not argument.size:
                continue  # a dummy operand without core dimensions
            self.base[k] = f.load("ptr", f.at("%args", 8 * self.operand(k)), 8)
            self.step[k] = f.load("i64", f.at("%steps", 8 * self.operand(k)), 8)
            strides = [
                f.load("i64", f.at("%steps", 8 * (position + axis)), 8) for axis in range(len(argument.shape))
            ]
            position += len(strides)
            self._tell_layout(k, argument, strides)
            if k >= len(self.inputs):
                self._tell_way(k, argument.size * self.types.itemsize)

    def _tell_way(self, k: int, row: int) -> None:
        """Find out how an output is written: as it comes, or, if it has gaps or is too large, from staging."""
        self.direct[k] = self.packed[k]
        if row < _LINE:
            return
        f, together = self.f, self.types.itemsize * sum(output.size for output in self.outputs)
        large = f.let(f"icmp sge i64 %total, {-(-STREAM_BYTES // together)}")
        adjacent = f.let(f"icmp eq i64 {self.step[k]}, {row}")
        whole = f.let(f"and i1 {self.packed[k]}, {adjacent}")
        self.streamed[k] = f.let(f"and i1 {whole}, {large}")
        self.direct[k] = f.let(f"and i1 {self.packed[k]}, {f.let(f'xor i1 {self.streamed[k]}, true')}")

    def _tell_layout(self, k: int, argument: Argument, strides: list[str]) -> None:
        """Find out whether the elements are packed; where not, tabulate their offsets in bytes."""
        f = self.f
        packed = "true"
        terms = []
        for axis, stride in enumerate(strides):
            behind = math.prod(argument.shape[axis + 1 :])
            if argument.shape[axis] > 1:
                terms.append((behind, argument.shape[axis], stride))
                same = f.let(f"icmp eq i64 {stride}, {behind * self.types.itemsize}")
                packed = f.let(f"and i1 {packed}, {same}")
        self.packed[k] = packed
        if not terms:
            return
        tabulate, done = f.name("tabulate"), f.name("known")
        f.do(f"br i1 {packed}, label %{done}, label %{tabulate}")
        f.start(tabulate)
        table = f.at("%ws", self.workspace.table(k))

        def enter(j: str) -> None:
            offset = "0"
            for behind, size, stride in terms:
                index = f.let(f"urem i64 {f.let(f'udiv i64 {j}, {behind}')}, {size}")
                offset = f.let(f"add i64 {offset}, {f.let(f'mul i64 {index}, {stride}')}")
            f.store("i64", offset, f.at(table, f.let(f"mul i64 {j}, 8")), 8)

        f.repeat(str(argument.size), enter)
        f.do(f"br label %{done}")
        f.start(done)

    def _is_read(self, k: int) -> bool:
        return bool(((self.program.op == Op.INPUT) & (self.program.args[:, 0] == k)).any())

    def _gather(self, k: int) -> None:
        """Rows of an input to its slots. An input that is the same for all states is read once."""
        f, size = self.f, self.arguments[k].size
        begin, done = f.name("gather"), f.name("gathered")
        first = f.let("icmp eq i64 %i, 0")
        varies = f.let(f"icmp ne i64 {self.step[k]}, 0")
        f.do(f"br i1 {f.let(f'or i1 {first}, {varies}')}, label %{begin}, label %{done}")
        f.start(begin)
        places = rows.places(f, self.row[k], self.step[k], self.ahead)
        start = f.at("%ws", self.workspace.first_slot(k))
        if size > 1:
            packed, loose = f.name("packed"), f.name("loose")
            f.do(f"br i1 {self.packed[k]}, label %{packed}, label %{loose}")
            f.start(loose)
            self._call_loose(rows.load_loose(self.module), k, start)
            f.do(f"br label %{done}")
            f.start(packed)
        rows.load_packed(f, places, start, size)
        f.do(f"br label %{done}")
        f.start(done)

    def _point(self, k: int) -> None:
        """Tell the chunks where to write an output: to its rows, or to the staging area."""
        f, output = self.f, k - len(self.inputs)
        places = rows.places(f, self.row[k], self.step[k], self.ahead)
        for lane, place in enumerate(places):
            if self.arguments[k].size > 1:
                staged = f.at("%ws", self.workspace.staging(output, lane))
                place = f.let(f"select i1 {self.direct[k]}, ptr {place}, ptr {staged}")
            f.store("ptr", place, f.at("%ws", self.workspace.row(output, lane)), 8)

    def _unload(self, k: int) -> None:
        """Move an output from the staging area to its rows, if it was written there."""
        f, size = self.f, self.arguments[k].size
        move, loose, done = f.name("move"), f.name("loose"), f.name("stored")
        f.do(f"br i1 {self.direct[k]}, label %{done}, label %{move}")
        f.start(move)
        staged = f.at("%ws", self.workspace.staging(k - len(self.inputs), 0))
        if k in self.streamed:
            stream = f.name("stream")
            f.do(f"br i1 {self.streamed[k]}, label %{stream}, label %{loose}")
            f.start(stream)
            last = self.ahead[-1]
            count = f.let(f"mul i64 {f.let(f'add i64 {last}, 1')}, {size}")
            f.do(f"call void {rows.store_stream(self.module)}(ptr {self.row[k]}, ptr {staged}, i64 {count})")
            f.do(f"br label %{done}")
        else:
            f.do(f"br label %{loose}")
        f.start(loose)
        self._call_loose(rows.store_loose(self.module), k, staged)
        f.do(f"br label %{done}")
        f.start(done)

    def _call_loose(self, function: str, k: int, inside: str) -> None:
        f = self.f
        table = f.at("%ws", self.workspace.table(k))
        f.do(
            f"call void {function}(ptr {self.row[k]}, i64 {self.step[k]}, i64 {self.left}, ptr {inside}, "
            f"ptr {table}, i64 {self.arguments[k].size})"
        )
