"""One state without the ufunc: the function behind all built-in functions of `zveno.kernels.single`.

A call of a ufunc takes a microsecond to find out that there is nothing to convert, broadcast or allocate, several
times what one state takes. The function `call_one` looks whether that is so: plain arrays of the kernel's type and
of exactly its core shapes, contiguous and aligned, at most `out` by keyword, and that apart from the inputs. Then
it computes. Everything else is handed to the owner of the function, the call through the ufunc; so is a state that
raised a floating-point flag, because `numpy.errstate` says what is then to be done.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from .assembly import Function, Module, Types
from .gufunc import MAX_OPERANDS
from .interpreter import (
    ALIGNED,
    CONTIGUOUS,
    DATA,
    DTYPE,
    ENTRIES,
    FLAGS,
    RANK,
    SHAPE,
    WARN_ON_WRITE,
    WRITEABLE,
    interpreter,
)
from .shared import load_shared

if TYPE_CHECKING:
    from .host import Code

# Where the words of a description are, in bytes: those of the kernel, which begin with the object that takes all
# other calls, and those of each argument. Then follow the sizes of all axes.
_OWNER, _ONCE, _ONCE_DATA, _INPUTS, _OUTPUTS, _DTYPE = range(0, 48, 8)
_RANK, _BYTES, _SIZES = range(0, 24, 8)
N_WORDS, ARGUMENT_WORDS = 6, 3

_INVALID, _DIVISION, _OVERFLOW, _UNDERFLOW = 1, 4, 8, 16
_REPORTED = _INVALID | _DIVISION | _OVERFLOW | _UNDERFLOW
"""Flags of the status word that NumPy looks at; not the one of inexact results."""


@functools.cache
def call_one_address() -> int | None:
    """Where the function is; None where the interpreter is none that it can rely on."""
    python = interpreter()
    if python is None:
        return None
    code = load_shared(f"call_one {python.head}", __name__, lambda: _assembly(python.head))
    code.set_word("interpreter", 0, python.address)
    _LOADED.append(code)
    return code.address("call_one")


_LOADED: list[Code] = []
"""The code, never freed: functions keep its address."""


def _assembly(head: int) -> str:
    from .host import host

    module = Module(Types(np.dtype(np.float64), 2))
    _CallOne(module, head).write()
    return module.text(host().triple)


class _CallOne:
    """Writes `call_one(self, args, n_args, keywords)`."""

    def __init__(self, module: Module, head: int):
        self.module, self.head = module, head
        self.f = Function(module, "ptr @call_one(ptr %self, ptr %args, i64 %n_args, ptr %keywords)")

    def write(self) -> None:
        """Write the function."""
        f = self.f
        variable = self.module.words("interpreter", [0])
        self.operands, self.made = (f.let(f"alloca [{MAX_OPERANDS} x ptr], align 8") for _ in range(2))
        self.numbers = f.let(f"alloca [{MAX_OPERANDS} x double], align 8")
        self.status = f.let("alloca i32, align 4")
        self.table = f.load("ptr", variable, 8)
        self.description = f.load("ptr", f.at("%self", self.head + DATA), 8)
        self.array_type = self._entry("ndarray")
        self.dtype = f.load("ptr", f.at(self.table, self._word(self.description, _DTYPE)), 8)
        self.n_inputs, self.n_outputs = (self._word(self.description, at) for at in (_INPUTS, _OUTPUTS))
        self._go_on_if(f"icmp eq i64 %n_args, {self.n_inputs}")
        plain = CONTIGUOUS | ALIGNED
        f.repeat(self.n_inputs, lambda k: self._operand(k, self._checked(k, plain, plain)))
        f.do(f"br i1 {f.let('icmp eq ptr %keywords, null')}, label %new, label %given")
        f.start("given")
        self._into_given()
        f.start("new")
        self._into_new()
        f.start("slow")
        owner = f.load("ptr", f.at(self.description, _OWNER), 8)
        call = f"ptr {owner}, ptr %args, i64 %n_args, ptr %keywords"
        answer = self._call("ptr", "PyObject_Vectorcall", call)
        f.do(f"ret ptr {answer}")
        f.start("failed")  # no memory: Python's error is set
        self._let_go_of_made()
        f.do("ret ptr null")
        f.close()

    def _word(self, base: str, at: int | str) -> str:
        return self.f.load("i64", self.f.at(base, at), 8)

    def _element(self, base: str, k: str) -> str:
        """Address of a pointer or number in an array of them."""
        return self.f.let(f"getelementptr i64, ptr {base}, i64 {k}")

    def _entry(self, name: str) -> str:
        return self.f.load("ptr", self.f.at(self.table, ENTRIES[name]), 8)

    def _call(self, result: str, name: str, arguments: str) -> str:
        return self.f.let(f"call {result} {self._entry(name)}({arguments})")

    def _reference(self, name: str, thing: str) -> None:
        self.f.do(f"call void {self._entry(name)}(ptr {thing})")

    def _go_on_if(self, condition: str, otherwise: str = "slow") -> None:
        f, label = self.f, self.f.name("go")
        f.do(f"br i1 {f.let(condition)}, label %{label}, label %{otherwise}")
        f.start(label)

    def _operand(self, k: str, data: str) -> None:
        self.f.store("ptr", data, self._element(self.operands, k), 8)

    def _argument(self, k: str) -> str:
        """Where argument k is described."""
        place = self.f.let(f"mul i64 {k}, {8 * ARGUMENT_WORDS}")
        return self.f.at(self.f.at(self.description, 8 * N_WORDS), place)

    def _checked(self, k: str, looked_at: int, wanted: int) -> str:
        """The data of an argument of the call, if it is a plain array with these flags and the shape described."""
        f = self.f
        thing = f.load("ptr", self._element("%args", k), 8)
        self._go_on_if(f"icmp eq ptr {f.load('ptr', f.at(thing, self.head - 8), 8)}, {self.array_type}")
        array, argument = f.at(thing, self.head), self._argument(k)
        self._go_on_if(f"icmp eq ptr {f.load('ptr', f.at(array, DTYPE), 8)}, {self.dtype}")
        flags = f.let(f"and i32 {f.load('i32', f.at(array, FLAGS), 4)}, {looked_at}")
        self._go_on_if(f"icmp eq i32 {flags}, {wanted}")
        rank, given = self._word(argument, _RANK), f.load("i32", f.at(array, RANK), 4)
        self._go_on_if(f"icmp eq i64 {f.let(f'sext i32 {given} to i64')}, {rank}")
        sizes, shape = f.at(self.description, self._word(argument, _SIZES)), f.load("ptr", f.at(array, SHAPE), 8)

        def compare(axis: str) -> None:
            size = f.load("i64", self._element(sizes, axis), 8)
            self._go_on_if(f"icmp eq i64 {f.load('i64', self._element(shape, axis), 8)}, {size}")

        f.repeat(rank, compare)
        return f.load("ptr", f.at(array, DATA), 8)

    def _into_given(self) -> None:
        """Write to the array given as `out`, if that is the only keyword and the array is apart from the inputs."""
        f, n = self.f, self.n_inputs
        self._go_on_if(f"icmp eq i64 {self.n_outputs}, 1")
        self._go_on_if(f"icmp eq i64 {self._call('i64', 'PyTuple_Size', 'ptr %keywords')}, 1")
        keyword = self._call("ptr", "PyTuple_GetItem", "ptr %keywords, i64 0")
        self._go_on_if(f"icmp eq ptr {keyword}, {self._entry('out')}")
        wanted = CONTIGUOUS | ALIGNED | WRITEABLE
        data = self._checked(n, wanted | WARN_ON_WRITE, wanted)
        end = f.at(data, self._word(self._argument(n), _BYTES))

        def compare(k: str) -> None:
            start = f.load("ptr", self._element(self.operands, k), 8)
            behind = f.let(f"icmp uge ptr {data}, {f.at(start, self._word(self._argument(k), _BYTES))}")
            before = f.let(f"icmp uge ptr {start}, {end}")
            self._go_on_if(f"or i1 {behind}, {before}")

        f.repeat(n, compare)
        self._operand(n, data)
        f.branch_unlikely(self._raises(), "slow", "written")
        f.start("written")
        result = f.load("ptr", self._element("%args", n), 8)
        self._reference("Py_IncRef", result)
        f.do(f"ret ptr {result}")

    def _into_new(self) -> None:
        """Write to arrays made here, and to numbers where an output has no axes, as NumPy returns them."""
        f = self.f
        f.repeat(self.n_outputs, lambda k: f.store("ptr", "null", self._element(self.made, k), 8))
        f.repeat(self.n_outputs, self._make_output)
        f.branch_unlikely(self._raises(), "again", "computed")
        f.start("again")
        self._let_go_of_made()
        f.do("br label %slow")
        f.start("computed")
        f.repeat(self.n_outputs, self._make_number)
        f.do(f"br i1 {f.let(f'icmp eq i64 {self.n_outputs}, 1')}, label %one, label %several")
        f.start("one")
        f.do(f"ret ptr {f.load('ptr', self.made, 8)}")
        f.start("several")
        together = self._call("ptr", "PyTuple_New", f"i64 {self.n_outputs}")
        self._go_on_if(f"icmp ne ptr {together}, null", otherwise="failed")

        def insert(k: str) -> None:
            result = f.load("ptr", self._element(self.made, k), 8)
            self._call("i32", "PyTuple_SetItem", f"ptr {together}, i64 {k}, ptr {result}")

        f.repeat(self.n_outputs, insert)
        f.do(f"ret ptr {together}")

    def _output(self, k: str) -> tuple[str, str]:
        """Position of an output among the arguments, and its rank."""
        position = self.f.let(f"add i64 {self.n_inputs}, {k}")
        return position, self._word(self._argument(position), _RANK)

    def _make_output(self, k: str) -> None:
        """Make the array of an output; one without axes gets a place on the stack."""
        f = self.f
        array, number, done = f.name("array"), f.name("number"), f.name("made")
        position, rank = self._output(k)
        f.do(f"br i1 {f.let(f'icmp eq i64 {rank}, 0')}, label %{number}, label %{array}")
        f.start(number)
        self._operand(position, self._element(self.numbers, k))
        f.do(f"br label %{done}")
        f.start(array)
        self._reference("Py_IncRef", self.dtype)  # the function that makes an array takes over the reference
        shape = f.at(self.description, self._word(self._argument(position), _SIZES))
        shaped = f"i32 {f.let(f'trunc i64 {rank} to i32')}, ptr {shape}, ptr null"
        arguments = f"ptr {self.array_type}, ptr {self.dtype}, {shaped}, ptr null, i32 0, ptr null"
        result = self._call("ptr", "PyArray_NewFromDescr", arguments)
        self._go_on_if(f"icmp ne ptr {result}, null", otherwise="failed")
        f.store("ptr", result, self._element(self.made, k), 8)
        self._operand(position, f.load("ptr", f.at(result, self.head + DATA), 8))
        f.do(f"br label %{done}")
        f.start(done)

    def _make_number(self, k: str) -> None:
        """Make the scalar of an output without axes."""
        f, number, done = self.f, self.f.name("number"), self.f.name("made")
        f.do(f"br i1 {f.let(f'icmp eq i64 {self._output(k)[1]}, 0')}, label %{number}, label %{done}")
        f.start(number)
        arguments = f"ptr {self._element(self.numbers, k)}, ptr {self.dtype}, ptr null"
        result = self._call("ptr", "PyArray_Scalar", arguments)
        self._go_on_if(f"icmp ne ptr {result}, null", otherwise="failed")
        f.store("ptr", result, self._element(self.made, k), 8)
        f.do(f"br label %{done}")
        f.start(done)

    def _let_go_of_made(self) -> None:
        """Drop the references to all that was made; what was not is null, which `Py_DecRef` allows."""
        f = self.f
        f.repeat(
            self.n_outputs, lambda k: self._reference("Py_DecRef", f.load("ptr", self._element(self.made, k), 8))
        )

    def _raises(self) -> str:
        """Compute the state; whether that raised a flag which NumPy looks at."""
        f = self.f
        before, stale = self._flags()
        clear, compute = f.name("clear"), f.name("compute")
        f.branch_unlikely(stale, clear, compute)
        f.start(clear)
        f.store("i32", f.let(f"and i32 {before}, {~_REPORTED}"), self.status, 4)
        f.do(f"call void {self.module.declare('llvm.x86.sse.ldmxcsr', 'void', ['ptr'])}(ptr {self.status})")
        f.do(f"br label %{compute}")
        f.start(compute)
        once, data = (f.load("ptr", f.at(self.description, at), 8) for at in (_ONCE, _ONCE_DATA))
        f.do(f"call void {once}(ptr {self.operands}, ptr {data})")
        return self._flags()[1]

    def _flags(self) -> tuple[str, str]:
        """The status word, and whether a flag is set that NumPy looks at."""
        f = self.f
        f.do(f"call void {self.module.declare('llvm.x86.sse.stmxcsr', 'void', ['ptr'])}(ptr {self.status})")
        status = f.load("i32", self.status, 4)
        return status, f.let(f"icmp ne i32 {f.let(f'and i32 {status}, {_REPORTED}')}, 0")
