"""A program compiled for this machine: a function of NumPy arrays over any batch of states."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from .._version import __version__
from ..errors import BuildError
from . import cache as disk
from .bound_call import bound_call
from .calls import CALL_SIGNATURE
from .lower import lower
from .notice import notice
from .operations import Operations, count_operations
from .program import Argument, Program
from .sources import SOURCES
from .straight_data import bind_data


class Kernel:
    """A compiled function: `kernel(q, v)` for arrays with any leading batch axes that broadcast.

    Integers and other floating-point types are converted, and so is whatever else NumPy can make an array of;
    masked entries and quantities with units are refused. `out=` takes an array, or a tuple of arrays and
    None for several outputs. Large batches use several threads (`zveno.kernels.threads.set_threads`). NaN
    and infinity propagate; floating-point warnings are NumPy's own, as `numpy.errstate` says.

    Kernels are made by `zveno.kernels.door`, or by `compile` from a program. They can be pickled; the code is
    compiled again, or taken from the cache, where they are unpickled.
    """

    if not TYPE_CHECKING:
        # Python looks for `__call__` in the class, and finds a slot: so each kernel has a function of its own
        # without one of Python's frames in between, which would take as long as a small kernel.
        __slots__ = ("__call__", "__dict__", "__weakref__")
    else:

        def __call__(self, *arrays: Any, out: Any = None) -> Any:
            """Evaluate for a batch of states.

            Raises:
                ShapeError: an argument has the wrong shape or type, or the batches do not broadcast.
            """

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    dtype: np.dtype
    lanes: int
    """States computed at once."""
    operations: Operations
    """Scalar operations per state."""
    build_seconds: float
    """Time it took to build the kernel, or to load it."""
    from_cache: bool

    def __init__(
        self,
        header: dict[str, Any],
        code: bytes,
        make_program: Callable[[], Program],
        *,
        key: str | bytes | None,
        started: float,
        from_cache: bool,
    ):
        from .host import Code  # LLVM is only loaded with the first kernel

        self.name = header["name"]
        self.inputs = tuple(Argument(name, tuple(shape)) for name, shape in header["inputs"])
        self.outputs = tuple(Argument(name, tuple(shape)) for name, shape in header["outputs"])
        self.dtype = np.dtype(header["dtype"])
        self.lanes = header["lanes"]
        self.operations = Operations(**header["operations"])
        self.from_cache = from_cache
        self._make_program, self._key = make_program, key
        loaded = Code(code)
        self._bind(bind_data(loaded), loaded)
        self.build_seconds = time.perf_counter() - started

    def _bind(self, data: int, memory: object) -> None:
        """Make the call from the address of the words that describe this kernel; `memory` keeps them alive."""
        described = self.name, self.inputs, self.outputs, self.dtype, self.lanes, self.operations.total
        self.__call__ = bound_call(*described, data, memory)
        self.__signature__ = CALL_SIGNATURE  # which `inspect` does not find through the slot

    @property
    def program(self) -> Program:
        """The program the kernel was compiled from; traced now if the kernel came from the cache."""
        program = self._make_program()
        self._make_program = lambda: program
        return program

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self.program, self.dtype.str, self.lanes, self._key)

    def __repr__(self) -> str:
        def side(arguments: tuple[Argument, ...]) -> str:
            return ", ".join(f"{argument.name} {argument.shape}" for argument in arguments) or "nothing"

        origin = "loaded from the cache" if self.from_cache else "built"
        return (
            f"<Kernel {self.name}: {side(self.inputs)} -> {side(self.outputs)}; "
            f"{self.dtype} in {self.lanes} lanes; {self.operations}; {origin} in {1e3 * self.build_seconds:.3g} ms>"
        )


def compile(
    program: Program, dtype: DTypeLike = np.float64, lanes: int | None = None, cache: str | bytes | None = None
) -> Kernel:
    """Compile a program for this machine.

    Args:
        program: what to compute.
        dtype: float64 or float32.
        lanes: states computed at once, a power of two; what the vector registers hold if None.
        cache: key under which the code is kept on disk, None to keep it in memory only. The key must
            determine the program.

    Raises:
        BuildError: the program or an option is not valid.
    """
    if cache is not None:
        return load_or_build(cache, lambda: program, dtype, lanes)
    started = time.perf_counter()
    header, code = _build(program, *checked_options(dtype, lanes))
    return Kernel(header, code, lambda: program, key=None, started=started, from_cache=False)


def load_or_build(
    key: str | bytes,
    make_program: Callable[[], Program],
    dtype: DTypeLike = np.float64,
    lanes: int | None = None,
    inputs: Mapping[str, Sequence[int]] | None = None,
) -> Kernel:
    """A kernel from the disk cache, or compiled and kept there.

    Args:
        key: determines the program, see `zveno.kernels.door`. CPU, versions, the sources of the compiler, dtype
            and lanes need not be part of it.
        make_program: makes the program. Only called if the kernel is not in the cache, is pickled, or is
            asked for its program.
        dtype: float64 or float32.
        lanes: states computed at once; what the vector registers hold if None.
        inputs: names and shapes of the inputs, where they are known: an entry with others is not taken.

    Raises:
        BuildError: the program or an option is not valid.
    """
    from .host import host

    started = time.perf_counter()
    element, width = checked_options(dtype, lanes)
    compiler = SOURCES.digest((__name__,)) or "unknown"
    entry = disk.digest(key, host().fingerprint(), f"zveno {__version__} {compiler} {element.str} {width}")
    stored = disk.read(entry)
    expected = None if inputs is None else [[name, list(shape)] for name, shape in inputs.items()]
    if stored is not None and _is_header(stored[0], element, width, expected):
        with contextlib.suppress(Exception):  # whatever is wrong with an entry, the kernel is built anew
            return Kernel(*stored, make_program, key=key, started=started, from_cache=True)
    program = make_program()
    header, code = _build(program, element, width)
    disk.write(entry, header, code)
    return Kernel(header, code, lambda: program, key=key, started=started, from_cache=False)


def checked_options(dtype: DTypeLike, lanes: int | None) -> tuple[np.dtype, int]:
    """Element type and number of lanes, that of the vector registers if None is asked for."""
    from .host import host

    element = np.dtype(dtype)
    if element not in (np.float64, np.float32):
        raise BuildError(f"kernels compute in float64 or float32, not {element}", element="dtype")
    return element, host().lanes(element.itemsize) if lanes is None else lanes


def _build(program: Program, dtype: np.dtype, lanes: int) -> tuple[dict, bytes]:
    """Metadata, as they go into the cache, and object code."""
    from .host import compile_object, host

    with notice(f"compiling {program.name}"):
        code = compile_object(lower(program, dtype, lanes, host().triple, host().fma))
    header = {
        "name": program.name,
        "inputs": [[argument.name, list(argument.shape)] for argument in program.inputs],
        "outputs": [[argument.name, list(argument.shape)] for argument in program.outputs],
        "dtype": dtype.str,
        "lanes": lanes,
        "operations": asdict(count_operations(program)),
    }
    return header, code


def _is_header(header: dict[str, Any], dtype: np.dtype, lanes: int, inputs: list | None) -> bool:
    """Whether metadata from the cache can be those of a kernel of this type and width."""

    def is_count(value: Any) -> bool:
        return type(value) is int and 0 <= value < 2**40

    def is_side(value: Any) -> bool:
        return isinstance(value, list) and all(
            isinstance(argument, list)
            and len(argument) == 2
            and isinstance(argument[0], str)
            and isinstance(argument[1], list)
            and all(map(is_count, argument[1]))
            for argument in value
        )

    counts = header.get("operations")
    return (
        isinstance(header.get("name"), str)
        and is_side(header.get("inputs"))
        and inputs in (None, header.get("inputs"))
        and is_side(header.get("outputs"))
        and (header.get("dtype"), header.get("lanes")) == (dtype.str, lanes)
        and isinstance(counts, dict)
        and counts.keys() == {field.name for field in fields(Operations)}
        and all(map(is_count, counts.values()))
    )


def _restore(program: Program, dtype: str, lanes: int, key: str | bytes | None) -> Kernel:
    return compile(program, dtype, lanes, key)
