"""Fast call for one state, without the ufunc: a kernel as a built-in function of Python.

A ufunc needs a microsecond to find that nothing has to be converted, broadcast or allocated. This is several times
the time of one state. The function `call_one` checks it directly: all arguments are plain arrays of the kernel's
type and of exactly its core shapes, contiguous and aligned. The only keyword is `out`, whose array must not overlap
the inputs. All other calls go to the owner of the function, which calls the ufunc. So does a state that raised a
floating-point flag, because `numpy.errstate` decides how to report it.

The code of `call_one` is the same for all kernels. Python passes it an object, the `__self__` of the function. Here
this is an array of words that describes the kernel.

The code reads addresses of Python and NumPy functions from a table, because they differ from run to run while
object code is kept on disk. The address of the table is set when the code is loaded. The fields of an array follow
the object header in the order of `PyArrayObject_fields`, a part of NumPy's binary interface. This layout is checked
against live arrays before any code relies on it. If anything differs, there is no table, and all calls use the
ufunc.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ._assembly import Function, Module, Types
from ._calls import MAX_OPERANDS, numpy_interface
from ._shared import load_shared

if TYPE_CHECKING:
    from ._calls import UfuncCall
    from ._host import Code


# Offsets of the words of a description, in bytes: first those of the kernel, which begin with the object that takes
# all other calls, then those of each argument. The sizes of all axes follow.
_OWNER, _ONCE, _ONCE_DATA, _INPUTS, _OUTPUTS, _DTYPE = range(0, 48, 8)
_RANK, _BYTES, _SIZES = range(0, 24, 8)
N_WORDS, ARGUMENT_WORDS = 6, 3

_INVALID, _DIVISION, _OVERFLOW, _UNDERFLOW = 1, 4, 8, 16
_REPORTED = _INVALID | _DIVISION | _OVERFLOW | _UNDERFLOW
"""Flags of the status word that NumPy checks: all but that of inexact results."""


@functools.cache
def call_one_address() -> int | None:
    """Return the address of `call_one`; None if the layout of the interpreter is not the known one."""
    python = interpreter()
    if python is None:
        return None
    code = load_shared(f"call_one {python.head}", lambda: _assembly(python.head))
    code.set_word("interpreter", 0, python.address)
    _LOADED.append((code, python))
    return code.address("call_one")


_LOADED: list[tuple[Code, Interpreter]] = []
"""Loaded code and the table that it reads. They are never freed, because functions keep their addresses."""


def _assembly(head: int) -> str:
    from ._host import host

    module = Module(Types(np.dtype(np.float64), 2))
    _CallOne(module, head).write()
    return module.text(host().triple)


class _CallOne:
    """Writer of `call_one(self, args, n_args, keywords)`."""

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
        """Return the address of element k in an array of pointers or numbers."""
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
        """Return the address of the description of argument k."""
        place = self.f.let(f"mul i64 {k}, {8 * ARGUMENT_WORDS}")
        return self.f.at(self.f.at(self.description, 8 * N_WORDS), place)

    def _checked(self, k: str, looked_at: int, wanted: int) -> str:
        """Return the data of an argument, after a check of its type, flags and shape."""
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
        """Write to the array given as `out`, if it is the only keyword and does not overlap the inputs."""
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
        """Write to new arrays, and to scalars where an output has no axes, as NumPy returns them."""
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
        """Return the position of an output among the arguments, and its rank."""
        position = self.f.let(f"add i64 {self.n_inputs}, {k}")
        return position, self._word(self._argument(position), _RANK)

    def _make_output(self, k: str) -> None:
        """Make the array of an output; an output without axes gets a place on the stack."""
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
        """Release all objects made so far. Missing ones are null, which `Py_DecRef` allows."""
        f = self.f
        f.repeat(
            self.n_outputs, lambda k: self._reference("Py_DecRef", f.load("ptr", self._element(self.made, k), 8))
        )

    def _raises(self) -> str:
        """Compute the state, and return a flag that is set if this raised a status flag that NumPy checks."""
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
        """Return the status word, and a flag that is set if it contains a status flag that NumPy checks."""
        f = self.f
        f.do(f"call void {self.module.declare('llvm.x86.sse.stmxcsr', 'void', ['ptr'])}(ptr {self.status})")
        status = f.load("i32", self.status, 4)
        return status, f.let(f"icmp ne i32 {f.let(f'and i32 {status}, {_REPORTED}')}, 0")


LONGEST = 20_000
"""Largest number of operations per state for which `call_one` is used, about 5 µs. It holds the interpreter lock,
which the ufunc releases."""


class Description(np.ndarray):
    """Words of one kernel that `call_one` reads, with the objects that must live as long."""

    call: UfuncCall
    memory: list[Any]

    def __reduce__(self) -> NoReturn:
        raise TypeError("the function of a kernel cannot be pickled; pickle the kernel")


def single_call(once: int, data: int, call: UfuncCall, operations: int) -> Callable[..., Any] | None:
    """Return a kernel as a built-in function.

    The result is None if the kernel is long, has empty arguments, or the interpreter is unknown.

    Args:
        once: address of `void (char **args, void *data)`, which computes one state, see `_batch.write_once`.
        data: address passed to it.
        call: handles all other calls. It keeps the memory of the two addresses alive.
        operations: scalar operations for one state.
    """
    arguments = (*call.inputs, *call.outputs)
    if operations > LONGEST or not call.inputs or not call.outputs or not all(x.size for x in arguments):
        return None
    function = call_one_address()
    if function is None:
        return None
    description = np.array(_words(once, data, call), np.int64).view(Description)
    description.call = call
    names = [argument.name for argument in call.inputs]
    line = f"{call.name}({', '.join(names)}, /, *, out=None)\n--\n\n" if all(map(str.isidentifier, names)) else ""
    made, description.memory = built_in(function, call.name, f"{line}Compiled by zveno.", description)
    return made


def _words(once: int, data: int, call: UfuncCall) -> list[int]:
    """Return the words that `call_one` reads."""
    arguments, itemsize = (*call.inputs, *call.outputs), call.dtype.itemsize
    n_words = N_WORDS + ARGUMENT_WORDS * len(arguments)
    of_arguments: list[int] = []
    sizes: list[int] = []
    for argument in arguments:
        of_arguments += [len(argument.shape), argument.size * itemsize, 8 * (n_words + len(sizes))]
        sizes += argument.shape
    of_kernel = [id(call), once, data, len(call.inputs), len(call.outputs), ENTRIES[call.dtype.name]]
    return [*of_kernel, *of_arguments, *sizes]


_PYTHON = (
    "PyObject_Vectorcall",
    "Py_IncRef",
    "Py_DecRef",
    "PyTuple_Size",
    "PyTuple_GetItem",
    "PyTuple_New",
    "PyTuple_SetItem",
)
_NUMPY = {"PyArray_NewFromDescr": 94, "PyArray_Scalar": 60}  # positions in NumPy's table, fixed by its ABI
_OBJECTS: dict[str, Any] = {
    "ndarray": np.ndarray,
    "float64": np.dtype(np.float64),
    "float32": np.dtype(np.float32),
    "out": sys.intern("out"),
}
ENTRIES = {name: 8 * k for k, name in enumerate((*_PYTHON, *_NUMPY, *_OBJECTS))}
"""Offsets of the entries in the table, in bytes."""

DATA, RANK, SHAPE, DTYPE, FLAGS = 0, 8, 16, 40, 48
"""Offsets of array fields after the object header, in bytes."""
CONTIGUOUS, ALIGNED, WRITEABLE, WARN_ON_WRITE = 0x1, 0x100, 0x400, 0x80000000

_ABI_VERSION = 0x02000000
_FASTCALL_WITH_KEYWORDS = 0x80 | 0x02


@dataclass(frozen=True)
class Interpreter:
    """The running interpreter, as generated code sees it."""

    head: int
    """Size of the object header in bytes; its last word is the type."""
    table: Any
    """Addresses in the order of `ENTRIES`. Never freed, because code keeps the table's address."""

    @property
    def address(self) -> int:
        """Address of the table."""
        return ctypes.addressof(self.table)


@functools.cache
def interpreter() -> Interpreter | None:
    """Return the running interpreter, None if generated code cannot rely on its layout."""
    head = object.__basicsize__
    if (
        sys.implementation.name != "cpython"
        or platform.machine().lower() not in ("x86_64", "amd64")
        or ctypes.sizeof(ctypes.c_void_p) != 8
        or np.ndarray.__basicsize__ < head + FLAGS + 4
        or not all(_has_known_layout(array, head) for array in _samples())
    ):
        return None
    numpy_table = _numpy_table()
    if ctypes.PYFUNCTYPE(ctypes.c_uint)(numpy_table[0])() != _ABI_VERSION:
        return None
    functions = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _PYTHON]
    addresses = [*functions, *(numpy_table[at] for at in _NUMPY.values()), *map(id, _OBJECTS.values())]
    if not all(addresses) or not _makes_arrays(numpy_table):
        return None
    return Interpreter(head, (ctypes.c_void_p * len(addresses))(*addresses))


def _samples() -> list[np.ndarray]:
    """Return arrays that differ in every field."""
    block = np.arange(24.0)
    fixed = block.reshape(2, 3, 4).copy()
    fixed.flags.writeable = False
    return [block, block[3:15].reshape(3, 4), block[::2], np.array(1.5), fixed, block.astype(np.float32)]


def _has_known_layout(array: np.ndarray, head: int) -> bool:
    def word(address: int) -> int:
        return ctypes.c_uint64.from_address(address).value

    def half(address: int) -> int:
        return ctypes.c_uint32.from_address(address).value

    fields = id(array) + head
    return (
        word(fields - 8) == id(np.ndarray)
        and word(fields + DATA) == array.ctypes.data
        and half(fields + RANK) == array.ndim
        and word(fields + DTYPE) in (id(_OBJECTS["float64"]), id(_OBJECTS["float32"]))
        and word(fields + DTYPE) == id(array.dtype)
        and half(fields + FLAGS) == array.flags.num
        and all(word(word(fields + SHAPE) + 8 * k) == size for k, size in enumerate(array.shape))
        and array.flags.c_contiguous == bool(array.flags.num & CONTIGUOUS)
        and array.flags.aligned == bool(array.flags.num & ALIGNED)
        and array.flags.writeable == bool(array.flags.num & WRITEABLE)
    )


def _numpy_table() -> Any:
    from numpy._core import _multiarray_umath as module  # pyright: ignore[reportAttributeAccessIssue]  not in stubs

    return numpy_interface(module._ARRAY_API)


def _makes_arrays(numpy_table: Any) -> bool:
    """Return True if the two entries of NumPy's table are the functions that make an array and a scalar."""
    pointer, integer, thing = ctypes.c_void_p, ctypes.c_int, ctypes.py_object
    dtype = _OBJECTS["float64"]
    new = ctypes.PYFUNCTYPE(thing, thing, thing, integer, pointer, pointer, pointer, integer, pointer)
    scalar = ctypes.PYFUNCTYPE(thing, pointer, thing, pointer)
    sizes, number = (ctypes.c_ssize_t * 2)(2, 3), ctypes.c_double(1.5)
    ctypes.pythonapi.Py_IncRef(thing(dtype))  # the function that makes an array takes over the reference
    array = new(numpy_table[_NUMPY["PyArray_NewFromDescr"]])(
        np.ndarray, dtype, 2, ctypes.addressof(sizes), None, None, 0, None
    )
    value = scalar(numpy_table[_NUMPY["PyArray_Scalar"]])(ctypes.addressof(number), dtype, None)
    return (
        type(array) is np.ndarray
        and (array.shape, array.dtype) == ((2, 3), dtype)
        and array.flags.c_contiguous
        and array.flags.owndata
        and type(value) is np.float64
        and value == number.value
    )


class _MethodDefinition(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]


def built_in(address: int, name: str, doc: str, owner: Any) -> tuple[Callable[..., Any], list[Any]]:
    """Return a built-in function of Python for the address of its code, and the objects that must live as long.

    Args:
        address: `PyObject *(PyObject *owner, PyObject **args, ssize_t n_args, PyObject *keyword_names)`.
        name, doc: as Python shows them.
        owner: object passed to the code. The function keeps it alive; the owner must keep the second result alive.
    """
    definition = _MethodDefinition(name.encode(), address, _FASTCALL_WITH_KEYWORDS, doc.encode())
    make = ctypes.pythonapi.PyCMethod_New
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDefinition), ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p]
    return make(ctypes.byref(definition), owner, None, None), [definition]
