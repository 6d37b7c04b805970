"""Code of structured programs, found by their structure in memory or on disk, or built now."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from ..._version import __version__
from .. import cache as disk
from ..notice import notice
from ..operations import Operations, count_operations
from ..sources import SOURCES
from .build import Outline, structured_program
from .check import check
from .instance import first_word, runs
from .lower import lower
from .request import Request


@dataclass(frozen=True)
class CompiledCode:
    """Code for all programs of one structure."""

    code: Any
    outline: Outline
    operations: list[Operations]
    n_slots: int
    """vectors of the workspace that long steps need"""
    from_cache: bool


def compiled_code(request: Request) -> CompiledCode:
    """The code of a program, in memory, on disk, or built now.

    It is found by the sources of all that takes part; where code from outside the package does, the program is
    traced, and its code found by the program itself.
    """
    return _stored(request) if request.known else _found_by_text(_traced(request))


class _Traced:
    """A program as assembly, equal to every other with the same text, and what tracing found out."""

    text: str
    name: str
    header: dict[str, Any]

    def __init__(self, text: str, name: str, header: dict[str, Any]):
        self.text, self.name, self.header = text, name, header

    def __hash__(self) -> int:
        return hash(self.text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Traced) and self.text == other.text


@lru_cache(maxsize=256)
def _stored(request: Request) -> CompiledCode:
    digest = SOURCES.digest({__name__, *request.modules})
    if digest is None:
        return _found_by_text(_traced(request))
    return _from_disk(f"structured {request.identity} {digest}", lambda: _traced(request))


@lru_cache(maxsize=64)
def _found_by_text(traced: _Traced) -> CompiledCode:
    content = f"{traced.header} {traced.text}"
    return _from_disk(f"text {hashlib.sha256(content.encode()).hexdigest()}", lambda: traced)


def _from_disk(key: str, traced: Callable[[], _Traced]) -> CompiledCode:
    from ..host import compile_object, host

    entry = disk.digest(key, host().fingerprint(), f"zveno {__version__}")
    stored = disk.read(entry)
    if stored is not None:
        with contextlib.suppress(Exception):  # whatever is wrong with an entry, the code is built anew
            return _loaded(*stored, from_cache=True)
    made = traced()
    with notice(f"compiling {made.name}"):
        code = compile_object(made.text)
    disk.write(entry, made.header, code)
    return _loaded(made.header, code)


def _loaded(header: dict[str, Any], code: bytes, from_cache: bool = False) -> CompiledCode:
    from ..host import Code

    patterns = {name: tuple(entries) for name, entries in header["patterns"].items()}
    outline = Outline(patterns, tuple(map(tuple, header["steps"])))
    operations = [Operations(**own) for own in header["operations"]]
    return CompiledCode(Code(code), outline, operations, int(header["n_slots"]), from_cache)


def _traced(request: Request) -> _Traced:
    with notice(f"tracing {request.name or request.write.__name__}"):
        return _assembled(request)


def _assembled(request: Request) -> _Traced:
    from ..host import host

    structured, outline = structured_program(request.write, *request.arguments, name=request.name)
    check(structured)
    machine = host().triple, first_word(structured), host().fma
    lowered = lower(structured, request.dtype, request.lanes, *machine, request.state_by_state)
    header = {
        "patterns": {name: list(entries) for name, entries in outline.patterns.items()},
        "steps": [list(lengths) for lengths in outline.steps],
        "operations": [asdict(count_operations(run.program)) for run, _ in runs(structured.body)],
        "n_slots": lowered.n_slots,
    }
    return _Traced(lowered.text, structured.name, header)
