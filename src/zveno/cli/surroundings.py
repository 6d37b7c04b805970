"""What every verb runs in: `-` is the standard input, --quiet silences and --verbose tells more."""

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


def surrounded(verb: Callable[..., None]) -> Callable[..., None]:
    """The verb with the same signature, for the parser, which calls it."""
    names = _read_arguments(verb)

    @functools.wraps(verb)
    def call(*arguments: Any, **options: Any) -> None:
        output: Output = options.get("output", OUTPUT)
        if output.out == Path(STDIN):  # where answers go anyway
            options["output"] = output = replace(output, out=None)
        with contextlib.ExitStack() as stack:
            stack.enter_context(_loudness(output))
            read = functools.partial(_files, spool=functools.cache(lambda: stack.enter_context(_spooled())))
            n_positional = len(arguments)
            given = dict(zip(names, arguments, strict=False)) | options
            given = {name: read(value) if names.get(name) else value for name, value in given.items()}
            verb(*list(given.values())[:n_positional], **{name: given[name] for name in options})

    verb.__doc__ = _unfolded(verb.__doc__ or "")  # the parser reads that of what is wrapped
    return call


def _unfolded(text: str) -> str:
    """A docstring with every description in one line, so that the help folds it to its own width only."""
    return re.sub(r"(?<=\S)\n(?: {12,}|\t{3,})(?=\S)", " ", text)


def _read_arguments(verb: Callable[..., None]) -> dict[str, bool]:
    """Names of the arguments in order, and whether each is a file that is read."""
    hints = get_type_hints(verb, include_extras=True)
    return {name: READ in getattr(hint, "__metadata__", ()) for name, hint in hints.items() if name != "return"}


def _files(value: Any, spool: Callable[[], Path]) -> Any:
    """A robot, a file or several, with what is named `-` replaced by a copy of the standard input."""
    if isinstance(value, tuple):
        return tuple(_files(item, spool) for item in value)
    if value == STDIN:
        return str(spool())
    return spool() if value == Path(STDIN) else value


@contextlib.contextmanager
def _spooled() -> Iterator[Path]:
    """A file that holds the standard input, with the suffix that its first bytes ask for."""
    stream = getattr(sys.stdin, "buffer", None)
    content = sys.stdin.read().encode() if stream is None else stream.read()
    if not content.strip():
        raise ZvenoError("the standard input is empty", element=STDIN, remedy="Pipe a file into the command")
    with tempfile.TemporaryDirectory(prefix="zveno_") as folder:
        file = Path(folder) / f"stdin{_suffix(content)}"
        file.write_bytes(content)
        yield file


def _suffix(content: bytes) -> str:
    """What kind of file begins and reads like this."""
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
    """What is told on stderr while a verb runs; errors are told after it, in any case."""
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
