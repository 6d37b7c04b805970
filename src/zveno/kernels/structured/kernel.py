"""Structured programs compiled for this machine: code by structure, and kernels that give it their data.

    kernel = compiled_structured(forward_dynamics, bodies)

The code is found by what determines it: the function that writes the program, the fingerprint of what it is given,
and the sources that both reach. What is not part of the fingerprint, such as sizes and tables, must not change the
structure. So a mechanism of a known structure traces and compiles nothing.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..kernel import Kernel
from ..operations import Operations
from ..program import Argument
from .build import structured_program
from .check import check
from .code import CompiledCode, compiled_code
from .instance import Instance, total_operations
from .request import Request, Write
from .statements import Structured


class StructuredKernel(Kernel):
    """A kernel of a structured program. It is called as every other; its batches need no copy of the code."""

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    dtype: np.dtype
    lanes: int
    from_cache: bool
    operations: Operations
    build_seconds: float

    def __init__(self, structured: Structured, compiled: CompiledCode, request: Request, started: float):
        self.name = structured.name
        self.inputs, self.outputs = structured.inputs, structured.outputs
        self.dtype, self.lanes, self.from_cache = request.dtype, request.lanes, compiled.from_cache
        self.operations = total_operations(structured, compiled.operations)
        self._request = request
        run = compiled.code.address("run")
        code = self.dtype, self.lanes, self.operations.total, compiled.n_slots, request.state_by_state
        self._instance = Instance(structured, run, *code)
        self._bind(self._instance.address, (compiled.code, self._instance))
        self.build_seconds = time.perf_counter() - started

    @property
    def structured(self) -> Structured:
        """The program, traced now."""
        return structured_program(self._request.write, *self._request.arguments, name=self._request.name)[0]

    @property
    def workspace(self) -> int:
        """Bytes that a call needs beside its arrays, for every thread."""
        return self._instance.workspace

    def __reduce__(self) -> tuple[Any, ...]:
        request = self._request
        options = request.name, request.dtype.str, request.lanes, request.state_by_state
        return _restore, (request.write, request.arguments, *options)


def compiled_structured(
    write: Write,
    *arguments: Any,
    name: str | None = None,
    dtype: DTypeLike = "float64",
    lanes: int | None = None,
    state_by_state: bool = False,
) -> StructuredKernel:
    """The kernel of the program that `write(builder, *arguments)` writes.

    Args:
        write: a function of a module, see `zveno.kernels.structured.build`.
        arguments: as the constants of `zveno.kernels.door.compiled`; what their `fingerprint` leaves out must not
            change the structure of the program.
        name: of the kernel, the function's own if not given.
        dtype: float64 or float32.
        lanes: states computed at once; what the vector registers hold if None.
        state_by_state: for kernels that are called with one state: one at a time is computed, and lanes share the
            trips of loops that carry nothing from one to the next. Batches are computed too, more slowly.

    Raises:
        BuildError: the program is not valid, or would leave its arrays.
    """
    started = time.perf_counter()
    request = Request(write, arguments, name, dtype, lanes, state_by_state)
    compiled = compiled_code(request)
    structured, _ = structured_program(write, *arguments, name=name, known=compiled.outline)
    check(structured)
    return StructuredKernel(structured, compiled, request, started)


def _restore(
    write: Write, arguments: tuple[Any, ...], name: str | None, dtype: str, lanes: int, state_by_state: bool
) -> StructuredKernel:
    options: Any = {"name": name, "dtype": dtype, "lanes": lanes, "state_by_state": state_by_state}
    return compiled_structured(write, *arguments, **options)
