"""A program compiled for this machine: a function of NumPy arrays over any batch of states."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._batch import driver_code
from ._calls import CALL_SIGNATURE, UfuncCall, make_ufunc
from ._instance import Instance
from ._single_call import single_call
from .program import Argument, Operations, Program, total_operations

if TYPE_CHECKING:
    from ._host import Code
    from .builder import Outline


class Options(NamedTuple):
    """Compilation options of a program."""

    dtype: str
    """float64 or float32, as NumPy writes them"""
    lanes: int
    """number of states computed at once"""
    state_by_state: bool = False
    """True if lanes share the trips of loops, for kernels that are mostly called with one state"""


class CompiledCode(NamedTuple):
    """Code for all programs of one structure, with properties found when it was compiled."""

    code: Code
    options: Options
    outline: Outline
    operations: tuple[Operations, ...]
    """operations of every `Run`"""
    n_slots: int
    """number of workspace vectors that outlive their chunk"""
    direct: tuple[int, ...]
    """outputs whose rows the code writes itself"""
    unread: tuple[int, ...]
    """inputs that the code never reads"""
    from_cache: bool


class Kernel:
    """A compiled function: `kernel(q, v)` for arrays with any leading batch axes that broadcast.

    Integers, other floating-point types and anything else that NumPy can convert to an array are converted. Masked
    entries and quantities with units are rejected. `out=` takes an array, or a tuple of arrays and None for several
    outputs. Large batches use several threads (`zveno.kernels.threads.set_threads`). NaN and infinity propagate.
    Floating-point warnings are NumPy's own and follow `numpy.errstate`.

    Kernels are made by `zveno.kernels.compile`. They can be pickled. Unpickling compiles the code again or loads it
    from the cache.
    """

    if not TYPE_CHECKING:
        # Python looks for `__call__` in the class and finds a slot. So each kernel has its own function without a
        # Python frame in between, which would take as long as a small kernel.
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
    """Number of states computed at once."""
    operations: Operations
    """Scalar operations per state."""
    workspace: int
    """Bytes per thread that a call needs beside its arrays."""
    build_seconds: float
    """Time in seconds it took to build or load the kernel."""
    from_cache: bool

    def __init__(
        self,
        program: Program,
        compiled: CompiledCode,
        make_program: Callable[[], Program],
        restore: tuple[Any, ...],
        started: float,
    ):
        """Make a kernel.

        Args:
            program: a program with the structure of the code. Its graphs need not be traced.
            compiled: the code.
            make_program: returns the program with its graphs.
            restore: function and arguments that make the kernel again; the program is passed before the arguments.
            started: time at which the build began.
        """
        dtype, lanes, state_by_state = compiled.options
        self.name, self.inputs, self.outputs = program.name, program.inputs, program.outputs
        self.dtype, self.lanes, self.from_cache = np.dtype(dtype), lanes, compiled.from_cache
        self.operations = total_operations(program, compiled.operations)
        self._make_program, self._restore = make_program, restore
        work, known = self.operations.total, (compiled.n_slots, compiled.direct, compiled.unread, state_by_state)
        instance = Instance(program, compiled.code, self.dtype, lanes, work, *known)
        self.workspace = instance.workspace
        driver = driver_code(self.dtype.str, lanes)
        shapes = [x.shape for x in self.inputs] or [()], [x.shape for x in self.outputs]
        ufunc = make_ufunc(driver.address("loop"), instance.address, *shapes, self.dtype, self.name)
        memory = driver, compiled.code, instance
        call = UfuncCall(self.name, self.inputs, self.outputs, self.dtype, ufunc, memory)
        self.__call__ = single_call(driver.address("once"), instance.address, call, work) or call
        self.__signature__ = CALL_SIGNATURE  # `inspect` does not find it through the slot
        self.build_seconds = time.perf_counter() - started

    @property
    def program(self) -> Program:
        """The program the kernel was compiled from; traced now if the kernel came from the cache."""
        program = self._make_program()
        self._make_program = lambda: program
        return program

    def __reduce__(self) -> tuple[Any, ...]:
        function, *arguments = self._restore
        return function, (self.program, *arguments)

    def __repr__(self) -> str:
        def side(arguments: tuple[Argument, ...]) -> str:
            return ", ".join(f"{argument.name} {argument.shape}" for argument in arguments) or "nothing"

        origin = "loaded from the cache" if self.from_cache else "built"
        return (
            f"<Kernel {self.name}: {side(self.inputs)} -> {side(self.outputs)}; "
            f"{self.dtype} in {self.lanes} lanes; {self.operations}; {origin} in {1e3 * self.build_seconds:.3g} ms>"
        )
