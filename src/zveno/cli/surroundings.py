"""Common behaviour of commands: `-` is the standard input; --quiet and --verbose control messages."""

from __future__ import annotations

import contextlib
import functools
import io
import logging
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_type_hints

from ..errors import ZvenoError
from .model import log
from .options import OUTPUT, READ, Output

STDIN = "-"
MOST = 128 * 2**20
"""Bytes of the standard input that are read at most."""


def surrounded(verb: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command for the parser, with the same signature."""
    names = _read_arguments(verb)

    @functools.wraps(verb)
    def call(*arguments: Any, **options: Any) -> None:
        output: Output = options.get("output", OUTPUT)
        if output.out == Path(STDIN):  # the answer goes there anyway
            options["output"] = output = replace(output, out=None)
        with contextlib.ExitStack() as stack:
            stack.enter_context(_loudness(output))
            read = functools.partial(_files, spool=functools.cache(lambda: stack.enter_context(_spool_stdin())))
            n_positional = len(arguments)
            given = dict(zip(names, arguments, strict=False)) | options
            given = {name: read(value) if names.get(name) else value for name, value in given.items()}
            if isinstance(seed := given.get("rng"), int) and seed < 0:
                raise ZvenoError(f"is {seed}", element="--rng", remedy="Give a seed that is not negative")
            verb(*list(given.values())[:n_positional], **{name: given[name] for name in options})

    verb.__doc__ = _join_lines(verb.__doc__ or "")  # the parser reads the docstring of the wrapped function
    return call


def _join_lines(text: str) -> str:
    """Join the lines of every description in a docstring, because the help wraps them to its own width."""
    return re.sub(r"(?<=\S)\n(?: {12,}|\t{3,})(?=\S)", " ", text)


def _read_arguments(verb: Callable[..., None]) -> dict[str, bool]:
    """Names of the arguments in order, each with True if it is an input file."""
    hints = get_type_hints(verb, include_extras=True)
    return {name: READ in getattr(hint, "__metadata__", ()) for name, hint in hints.items() if name != "return"}


def _files(value: Any, spool: Callable[[], Path]) -> Any:
    """Replace `-` in a robot, a file or several files by a copy of the standard input."""
    if isinstance(value, tuple):
        return tuple(_files(item, spool) for item in value)
    if value == STDIN:
        return str(spool())
    return spool() if value == Path(STDIN) else value


@contextlib.contextmanager
def _spool_stdin() -> Iterator[Path]:
    """Copy the standard input to a file with the suffix of its format."""
    if sys.stdin is None:
        raise ZvenoError("the standard input is closed", element=STDIN, remedy="Pipe a file into the command")
    stream = getattr(sys.stdin, "buffer", None)
    content = sys.stdin.read(MOST + 1).encode() if stream is None else stream.read(MOST + 1)
    if len(content) > MOST:
        raise ZvenoError(
            f"the standard input holds more than {MOST // 2**20} MB",
            element=STDIN,
            remedy="Give the name of a file",
        )
    if not content.strip():
        raise ZvenoError("the standard input is empty", element=STDIN, remedy="Pipe a file into the command")
    with tempfile.TemporaryDirectory(prefix="zveno_") as folder:
        file = Path(folder) / f"stdin{_suffix(content)}"
        file.write_bytes(content)
        yield file


def _suffix(content: bytes) -> str:
    """Guess the file suffix from the content."""
    for start, suffix in {b"PK": ".npz", b"\x93NUMPY": ".npy", b"PAR1": ".parquet"}.items():
        if content.startswith(start):
            return suffix
    text = content.decode("utf-8", errors="replace").strip()
    if text.startswith("<"):
        return ".xml"
    if text.startswith("{"):
        return ".json"
    from ..io.elementary import is_elementary_text

    lines = [line.strip() for line in text.splitlines()]
    if any(line.startswith("[") and line.endswith("]") for line in lines):
        return ".toml"
    return ".ets" if any(is_elementary_text(line) for line in lines) else ".csv"


@contextlib.contextmanager
def _loudness(output: Output) -> Iterator[None]:
    """Set the messages on stderr while a command runs; errors are always reported."""
    if output.quiet and output.verbose:
        raise ZvenoError("--quiet and --verbose exclude each other", remedy="Give one of them")
    if output.quiet:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
        return
    if not output.verbose:
        yield
        return
    handler, start = logging.StreamHandler(sys.stderr), time.process_time()
    log.addHandler(handler)
    level, propagates = log.level, log.propagate
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.info("%.2f s of CPU", time.process_time() - start)
        log.removeHandler(handler)
        log.setLevel(level)
        log.propagate = propagates
