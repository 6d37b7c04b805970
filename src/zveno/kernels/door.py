"""The one way from a function to a kernel: from memory, from disk, or traced and compiled now.

    kernel = compiled(torques, {"q": (6,), "v": (6,)}, constants=(mechanism,))

A kernel is found by what determines it: the function's module and name, the constants it is traced with, the
shapes of its inputs, and a hash of every source file that its module and the classes of its constants reach by
imports (`zveno.kernels.sources`). So a kernel that was built before is loaded without tracing, and one of other
sources is never met. Where code from outside the package takes part, its sources are unknown: then the function is
traced, and the kernel is found by the program itself, as in `compiled_program`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..errors import BuildError
from .kernel import Kernel, load_or_build
from .notice import notice
from .program import Program
from .sources import SOURCES
from .trace import trace

KEPT = 512
"""Kernels kept in memory; others are loaded from disk again."""
_PACKAGE = SOURCES.package + "."
_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})


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
    """The kernel of a function of arrays.

    Args:
        function: a function of a module, traced as `function(*constants, *arrays, **options)`; see
            `zveno.kernels.trace.trace`.
        inputs: name and shape of each array, in order.
        constants, options: numbers, text, arrays, functions and classes of modules, tuples and dataclasses of
            these, and objects whose `fingerprint` determines what the function reads of them; `code_modules`, if
            they have it, names modules whose code they bring.
        name: of the kernel, the function's own if not given.
        outputs: names of what the function returns.
        dtype: float64 or float32.
        lanes: states computed at once; what the vector registers hold if None.

    Raises:
        BuildError: the function or a constant cannot be identified, or does not compile.
    """
    request = _Request(function, inputs, constants, options or {}, name, outputs, dtype, lanes)
    return _kernel(request) if request.known else compiled_program(request.program(), dtype, lanes)


def compiled_program(program: Program, dtype: DTypeLike = "float64", lanes: int | None = None) -> Kernel:
    """The kernel of a program made on the fly, found by what the program computes.

    Functions of the user may have taken part in it. Tracing is repeated, which takes milliseconds; building is not.
    """
    return _program_kernel(_Content(program), np.dtype(dtype), lanes)


class _Request:
    """Arguments of `compiled`; equal to every other that asks for the same kernel."""

    __slots__ = ("_hash", "arguments", "identity", "known", "lanes", "modules")

    def __init__(self, function, inputs, constants, options, name, outputs, dtype, lanes):
        self.arguments, self.lanes = (function, inputs, name, outputs, constants, options), lanes
        self.modules: set[str] = set()
        self.identity = (
            identity(function, self.modules),
            tuple([(key, tuple(shape)) for key, shape in inputs.items()]),
            tuple([identity(constant, self.modules) for constant in constants]),
            tuple([(key, identity(options[key], self.modules)) for key in sorted(options)]) if options else (),
            name,
            None if outputs is None else tuple(outputs),
            np.dtype(dtype).str,
            lanes,
        )
        self._hash = hash(self.identity)
        self.known = all(module.startswith(_PACKAGE) for module in self.modules)
        """Whether the sources of all code that takes part are those of the package."""

    def __hash__(self):
        return self._hash

    def __eq__(self, other):
        return isinstance(other, _Request) and self.identity == other.identity

    def program(self) -> Program:
        function, _, name, *_ = self.arguments
        with notice(f"tracing {name or function.__name__}"):
            return trace(*self.arguments)

    def key(self) -> str | None:
        """Finds the kernel on disk without tracing; None where the package came without its sources."""
        digest = SOURCES.digest({__name__, *self.modules})
        return None if digest is None else repr((self.identity[:-2], digest))


@lru_cache(maxsize=KEPT)
def _kernel(request: _Request) -> Kernel:
    key, dtype, lanes = request.key(), request.identity[-2], request.lanes
    if key is None:
        return compiled_program(request.program(), dtype, lanes)
    return load_or_build(key, request.program, dtype, lanes, request.arguments[1])


class _Content:
    """A program that equals every other which computes the same in the same way."""

    def __init__(self, program: Program):
        self.program = program
        digest = hashlib.sha256(repr((program.name, program.inputs, program.outputs)).encode())
        for part in (program.op, program.args, program.value, *program.results):
            digest.update(part.tobytes())
        self.digest = digest.hexdigest()

    def __hash__(self):
        return hash(self.digest)

    def __eq__(self, other):
        return isinstance(other, _Content) and self.digest == other.digest


@lru_cache(maxsize=KEPT)
def _program_kernel(content: _Content, dtype: np.dtype, lanes: int | None) -> Kernel:
    program = content.program
    inputs = {argument.name: argument.shape for argument in program.inputs}
    return load_or_build(f"program {content.digest}", lambda: program, dtype, lanes, inputs)


def identity(value: Any, modules: set[str]) -> Any:
    """What determines a constant, hashable and with a `repr` of its own; adds the modules whose code it brings."""
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
    """Module and name of a class or function."""
    name = f"{value.__module__}.{value.__qualname__}"
    if "<" in value.__qualname__ and value.__module__.startswith(_PACKAGE):
        raise BuildError(
            "a function or class made inside another one does not say what it depends on",
            element=name,
            remedy="Write it at the level of its module and give what it captured as constants",
        )
    modules.add(value.__module__)
    return name
