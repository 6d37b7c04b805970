"""What determines the code of a structured program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from ..door import identity
from ..kernel import checked_options
from ..sources import SOURCES

Write = Callable[..., None]
"""Writes a program: called with a builder and the arguments of `compiled_structured`."""


class Request:
    """What is asked for; equal to every other whose program has the same structure."""

    write: Write
    arguments: tuple[Any, ...]
    name: str | None
    dtype: np.dtype
    lanes: int
    identity: tuple[Any, ...]
    known: bool

    state_by_state: bool

    def __init__(
        self,
        write: Write,
        arguments: tuple[Any, ...],
        name: str | None,
        dtype: DTypeLike,
        lanes: int | None,
        state_by_state: bool,
    ):
        self.write, self.arguments, self.name, self.state_by_state = write, arguments, name, state_by_state
        self.dtype, self.lanes = checked_options(dtype, lanes)
        self.modules: set[str] = set()
        self.identity = (
            identity(write, self.modules),
            tuple(identity(argument, self.modules) for argument in arguments),
            self.dtype.str,
            self.lanes,
            state_by_state,
        )
        self.known = all(module.startswith(SOURCES.package + ".") for module in self.modules)
        """Whether the sources of all code that takes part are those of the package."""

    def __hash__(self) -> int:
        return hash(self.identity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Request) and self.identity == other.identity
