"""Compilation of a function to a kernel: taken from memory, from disk, or traced and compiled.

    kernel = compiled(torques, {"q": (6,), "v": (6,)}, constants=(mechanism,))
    kernel = compiled_structured(forward_dynamics, bodies)

The function takes arrays or, to write loops, a builder (`zveno.kernels.builder`). The key of a kernel consists of
the function's module and name, the constants it is traced with, the shapes of its inputs, and the source files of
the compiled packages (`zveno.kernels.cache`). So a kernel that was built before is loaded without tracing, and
never if its sources have changed. The sources of code from outside the package are unknown. Such a function is
always traced, and the traced program itself is the key, as in `compiled_program`.

Code depends only on the structure of a program. Anything the fingerprint of a constant leaves out, such as sizes
and tables, must not change the structure. A mechanism of a known structure then needs neither tracing nor
compilation.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import inspect
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from ..errors import BuildError
from . import cache as disk
from ._notice import notice
from .builder import Outline, structured_program
from .kernel import CompiledCode, Kernel, Options
from .program import (
    Argument,
    Array,
    Entry,
    For,
    Kind,
    Lane,
    Op,
    Operations,
    Program,
    Ref,
    Row,
    Run,
    Shifted,
    Statement,
    Switch,
    Variable,
    While,
    check,
    counters,
    graph_operations,
    runs,
    untraced,
    walk,
)
from .trace import trace

if TYPE_CHECKING:
    pass


KEPT = 512
"""Number of kernels kept in memory; others are loaded from disk again."""
PACKAGE = __name__.partition(".")[0] + "."
"""Prefix of the names of zveno's own modules."""
_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})

Write = Callable[..., None]
"""Function that writes a program, called with a builder and the arguments of `compiled_structured`."""
Make = Callable[[Outline | None], tuple[Program, Outline]]
"""Function that makes a program. Given an outline, it makes one of the same structure without tracing graphs."""


def compiled(
    function: Callable[..., Any],
    inputs: Mapping[str, tuple[int, ...]],
    *,
    constants: Sequence[Any] = (),
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    outputs: Sequence[str] | None = None,
    dtype: DTypeLike = "float64",
    lanes: int | None = None,
) -> Kernel:
    """Return the kernel of a function of arrays.

    Args:
        function: a module-level function, traced as `function(*constants, *arrays, **options)`; see
            `zveno.kernels.trace.trace`.
        inputs: name and shape of each array, in order.
        constants, options: numbers, text, arrays, module-level functions and classes, tuples and dataclasses of
            these, and objects whose `fingerprint` determines everything the function reads of them. Their optional
            `code_modules` names further modules whose code takes part.
        name: name of the kernel, that of the function by default.
        outputs: names of the function's results.
        dtype: float64 or float32.
        lanes: states computed at once; as many as the vector registers hold if None.

    Raises:
        BuildError: the function or a constant cannot be identified, or does not compile.
    """
    options = options or {}
    label = name or getattr(function, "__name__", "function").strip("<>")

    def traced() -> Program:
        with notice(f"tracing {label}"):
            return trace(function, inputs, name, outputs, constants, options)

    modules: set[str] = set()
    key = (
        identity(function, modules),
        tuple([(key, tuple(shape)) for key, shape in inputs.items()]),
        tuple([identity(constant, modules) for constant in constants]),
        tuple([(key, identity(options[key], modules)) for key in sorted(options)]),
        name,
        None if outputs is None else tuple(outputs),
    )
    if not _is_ours(modules):
        return compiled_program(traced(), dtype, lanes)
    return _kernel(_Request(key, modules, checked_options(dtype, lanes), made_by(traced, label, inputs)))


def compiled_structured(
    write: Write,
    *arguments: Any,
    name: str | None = None,
    dtype: DTypeLike = "float64",
    lanes: int | None = None,
    state_by_state: bool = False,
) -> Kernel:
    """Return the kernel of the program that `write(builder, *arguments)` writes.

    Args:
        write: a module-level function, see `zveno.kernels.builder`.
        arguments: as the constants of `compiled`. Anything their `fingerprint` leaves out must not change the
            structure of the program.
        name: name of the kernel, that of the function by default.
        dtype: float64 or float32.
        lanes: states computed at once; as many as the vector registers hold if None.
        state_by_state: True for kernels that are mostly called with one state. One state is computed at a time, and
            the lanes share the independent trips of its loops. Batches are possible but slower.

    Raises:
        BuildError: the program is not valid, or would access memory outside its arrays.
    """

    def make(known: Outline | None) -> tuple[Program, Outline]:
        if known is not None:
            return structured_program(write, *arguments, name=name, known=known)
        with notice(f"tracing {name or write.__name__}"):
            return structured_program(write, *arguments, name=name)

    modules: set[str] = set()
    key = identity(write, modules), tuple(identity(argument, modules) for argument in arguments)
    if not _is_ours(modules):
        return compiled_program(make(None)[0], dtype, lanes, state_by_state)
    request = _Request(key, modules, checked_options(dtype, lanes, state_by_state), make)
    return request.kernel(_code(request))


def compiled_program(
    program: Program, dtype: DTypeLike = "float64", lanes: int | None = None, state_by_state: bool = False
) -> Kernel:
    """Return the kernel of a program made on the fly; the program itself is the key.

    The program may contain traced user functions. Tracing is repeated, which takes milliseconds; building is not.
    """
    return _program_kernel(_Content(program), checked_options(dtype, lanes, state_by_state))


def checked_options(dtype: DTypeLike, lanes: int | None, state_by_state: bool = False) -> Options:
    """Return element type and number of lanes, that of the vector registers if None is given."""
    from ._host import host

    element = np.dtype(dtype)
    if element not in (np.float64, np.float32):
        raise BuildError(f"kernels compute in float64 or float32, not {element}", element="dtype")
    return Options(element.str, host().lanes(element.itemsize) if lanes is None else lanes, state_by_state)


def made_by(trace: Callable[[], Program], name: str, inputs: Mapping[str, Sequence[int]]) -> Make:
    """Return a function that makes the program of a traced function."""

    def make(known: Outline | None) -> tuple[Program, Outline]:
        if known is None:
            program = trace()
            return program, Outline({}, (), program.outputs)
        arguments = tuple(Argument(key, tuple(shape)) for key, shape in inputs.items())
        return Program.straight(untraced(name, arguments, known.outputs)), known

    return make


class _Request:
    """Request for a kernel, equal to every other with the same key."""

    def __init__(self, key: Any, modules: Iterable[str], options: Options, make: Make):
        self.key, self.modules, self.options, self.make = (key, options), modules, options, make
        self.started = time.perf_counter()
        self._traced: Program | None = None
        self._hash = hash(self.key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Request) and self.key == other.key

    def code(self) -> CompiledCode:
        """Return the code, from disk or newly built."""
        entry = disk.entry_name(repr(self.key), self.modules)
        stored = disk.read(entry)
        if stored is not None:
            with contextlib.suppress(Exception):  # the code is rebuilt if an entry is damaged in any way
                return self._loaded(*stored, from_cache=True)
        header, code = self.built()
        disk.write(entry, header, code)
        return self._loaded(header, code, from_cache=False)

    def built(self) -> tuple[dict[str, Any], bytes]:
        """Build the code; returns the header of its cache entry and the object code."""
        from ._host import compile_object, host
        from ._lower import lower  # not needed to load a kernel

        program, outline = self.make(None)
        check(program)
        self._traced = program
        with notice(f"compiling {program.name}"):
            dtype, lanes, state_by_state = self.options
            lowered = lower(program, np.dtype(dtype), lanes, host().triple, host().fma, state_by_state)
            code = compile_object(lowered.text)
        header = {
            "patterns": {name: list(entries) for name, entries in outline.patterns.items()},
            "steps": [list(lengths) for lengths in outline.steps],
            "outputs": [[argument.name, list(argument.shape)] for argument in outline.outputs],
            "operations": [dataclasses.asdict(graph_operations(run.graph)) for run, _ in runs(program.body)],
            "n_slots": lowered.n_slots,
            "direct": list(lowered.direct),
            "unread": _unread(program),
        }
        return header, code

    def _loaded(self, header: dict[str, Any], code: bytes, from_cache: bool) -> CompiledCode:
        from ._host import Code

        patterns = {str(name): tuple(map(int, entries)) for name, entries in header["patterns"].items()}
        steps = tuple(tuple(map(int, lengths)) for lengths in header["steps"])
        outputs = tuple(Argument(str(name), tuple(map(int, shape))) for name, shape in header["outputs"])
        return CompiledCode(
            Code(code),
            self.options,
            Outline(patterns, steps, outputs),
            tuple(Operations(**counts) for counts in header["operations"]),
            int(header["n_slots"]),
            tuple(map(int, header["direct"])),
            tuple(map(int, header["unread"])),
            from_cache,
        )

    def kernel(self, code: CompiledCode) -> Kernel:
        """Return a kernel of this code."""
        traced, self._traced = self._traced, None
        program = traced
        if program is None:
            program, _ = self.make(code.outline)
            check(program)
        restore = _restored, self.key[0], tuple(self.modules), self.options
        return Kernel(program, code, lambda: traced or self.make(None)[0], restore, self.started)


def _restored(program: Program, key: Any, modules: Sequence[str], options: Options) -> Kernel:
    request = _Request(key, modules, options, lambda known: (program, Outline({}, ())))
    return request.kernel(request.code())


@lru_cache(maxsize=KEPT)
def _kernel(request: _Request) -> Kernel:
    return request.kernel(request.code())


@lru_cache(maxsize=256)
def _code(request: _Request) -> CompiledCode:
    return request.code()


@lru_cache(maxsize=KEPT)
def _program_kernel(content: _Content, options: Options) -> Kernel:
    return _restored(content.program, f"program {content.structure}", (__name__,), options)


def _unread(program: Program) -> list[int]:
    """Return the numbers of inputs that no operation reads and that choose no rows."""
    read: set[Array] = set()
    for statement, _ in walk(program.body):
        if isinstance(statement, While):
            read.add(statement.flag)
        elif isinstance(statement, Run):
            graph = statement.graph
            used = set(graph.args[graph.op == Op.INPUT, 0].tolist())
            read.update(ref.array for k, ref in enumerate(statement.reads) if k in used)
            chosen = [ref.row for ref in (*statement.reads, *statement.writes)]
            read.update(row.array for row in chosen if isinstance(row, Lane))
    return [number for number, array in enumerate(program.of_kind(Kind.INPUT)) if array not in read]


class _Content:
    """Content of a program, equal to every other that computes the same in the same way under the same names."""

    structure: str
    """Hash of everything that the code depends on."""

    def __init__(self, program: Program):
        self.program = program
        digest = hashlib.sha256()
        _hash_structure(program, digest.update)
        self.structure = digest.hexdigest()
        digest.update(repr((program.name, program.inputs, program.outputs)).encode())
        digest.update(repr([(array.name, array.rows) for array in program.arrays]).encode())
        digest.update(repr([counter.count for counter in counters(program.body)]).encode())
        for array in program.arrays:
            digest.update(b"" if array.values is None else np.ascontiguousarray(array.values).tobytes())
        self._digest = digest.hexdigest()

    def __hash__(self) -> int:
        return hash(self._digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Content) and self._digest == other._digest


def _hash_structure(program: Program, update: Callable[[bytes], None]) -> None:
    """Hash arrays and statements without sizes, tables and names, and graphs with all their operations."""

    def row_text(row: Row) -> Any:
        match row:
            case Variable():
                return "counter", row.number
            case Shifted():
                return "behind", row.offset, row_text(row.row)
            case Entry():
                return "entry", row.table.number, row_text(row.row)
            case Lane():
                return "lane", row.array.number
            case _:
                return row

    def rows(refs: Sequence[Ref]) -> list[Any]:
        return [
            (
                ref.array.number,
                row_text(ref.row),
                ref.count,
                ref.length,
                None if ref.add is None else row_text(ref.add),
            )
            for ref in refs
        ]

    def body(statements: Sequence[Statement]) -> None:
        for statement in statements:
            match statement:
                case Run():
                    graph = statement.graph
                    sizes = [argument.size for argument in (*graph.inputs, *graph.outputs)]
                    update(
                        repr(("run", graph.n_nodes, sizes, rows(statement.reads), rows(statement.writes))).encode()
                    )
                    for part in (graph.op, graph.args, graph.value, *graph.results):
                        update(np.ascontiguousarray(part).tobytes())
                case For():
                    update(repr(("for", statement.variable.number, statement.reverse)).encode())
                    body(statement.body)
                case While():
                    update(repr(("while", statement.flag.number, statement.counter.number)).encode())
                    body(statement.body)
                case Switch():
                    update(repr(("switch", row_text(statement.row), len(statement.cases))).encode())
                    for case in statement.cases:
                        body(case)
            update(b"end")

    shapes = [len(argument.shape) for argument in (*program.inputs, *program.outputs)]
    update(repr([shapes, [(array.kind.value, array.width, array.zero) for array in program.arrays]]).encode())
    body(program.body)


def _is_ours(modules: Iterable[str]) -> bool:
    """Return True if all code that takes part is from this package."""
    return all(module.startswith(PACKAGE) for module in modules)


def identity(value: Any, modules: set[str]) -> Any:
    """Return a hashable key of a constant with a distinct `repr`, and add the modules whose code it brings."""
    kind = type(value)
    if kind in _PLAIN:
        return repr(value)
    if kind is tuple or kind is list:
        return (kind.__name__, *[identity(part, modules) for part in value])
    if isinstance(value, np.ndarray | np.generic) and value.dtype != object:
        array = np.ascontiguousarray(value)
        return "array", array.dtype.str, np.shape(value), hashlib.sha256(array.tobytes()).hexdigest()
    if isinstance(value, type) or inspect.isfunction(value):
        return _named(value, modules)
    name = _named(kind, modules)
    fingerprint = getattr(value, "fingerprint", None)
    if isinstance(fingerprint, str):
        modules.update(getattr(value, "code_modules", ()))
        return name, fingerprint
    if dataclasses.is_dataclass(value):
        return name, *[identity(getattr(value, field.name), modules) for field in dataclasses.fields(value)]
    if isinstance(value, tuple):
        return name, *[identity(part, modules) for part in value]
    raise BuildError(
        f"nothing determines a constant of type {kind.__name__}",
        element=name,
        remedy="Give numbers, text, arrays, dataclasses of these, or an object with a fingerprint",
    )


def _named(value: Any, modules: set[str]) -> str:
    """Return module and name of a class or function."""
    name = f"{value.__module__}.{value.__qualname__}"
    if "<" in value.__qualname__ and value.__module__.startswith(PACKAGE):
        raise BuildError(
            "a function or class defined inside another one may depend on unknown values",
            element=name,
            remedy="Define it at the top level of a module and pass captured values as constants",
        )
    modules.add(value.__module__)
    return name
