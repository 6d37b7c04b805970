"""The one door to files: what is read is a regular file of bounded size, what is written replaces a file whole.

Reading never blocks on a pipe or device, and never takes more memory than its limit. Writing goes to a temporary
file of an unpredictable name beside the target, which is renamed at the end: a failure leaves what was there.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import ModelError, ZvenoError

MAX_BYTES = 32 * 2**20
"""Larger models are refused: robots of a hundred links take 0.2 MB, so this much holds meshes or is a mistake."""
MAX_TEXT_BYTES = 4 * 2**20
"""Larger tables and products of transforms are refused: people type them, and parsing 4 MB takes seconds."""
MAX_DATA_BYTES = 128 * 2**20
"""Larger files of measurements and results are refused; text of this size takes a few GB once it is read."""

MAX_LOG_BYTES = 2**40
"""Larger recordings are refused; they are read piece by piece, so that memory does not limit them."""

_DIGITS = re.compile(r"\d{1000}")
_WRITTEN_HERE = re.compile(
    rb'\{\n  "zveno": "|\{\n "format": "zveno result"'  # answers of commands, saved results
    rb"|\x89PNG.*?tEXtSoftware\x00zveno|<\?xml.*?<dc:title>zveno</dc:title>"  # pictures
    rb"|/\* [^\n]*(?:written|generated) by zveno|/\* (\w+): see \1\.h \*/"  # C sources
    rb"|(?:#compdef zveno\n)?# \w+ completion of zveno; written by `zveno "  # scripts for shells
    rb'|<!doctype html><html lang="en"><head><meta name="generator" content="zveno'  # reports
    rb"|# [^\n]*\n\nWritten by zveno for ",  # their README.md
    re.DOTALL,
)
"""How the files begin that say themselves that zveno wrote them; the word alone may stand in anybody's file."""
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def read_bytes(source: object, limit: int = MAX_BYTES) -> bytes:
    """The content of a regular file of at most `limit` bytes; anything else is a `ModelError` with the file."""
    with opened(source, limit) as stream:
        data = stream.read(limit + 1)
    if len(data) > limit:  # such as those below /proc, which say that they are empty
        raise too_large(len(data), source, limit)
    return data


@contextmanager
def opened(source: object, limit: int = MAX_BYTES) -> Iterator[BinaryIO]:
    """A regular file of at most `limit` bytes, open for reading; anything else is a `ModelError` with the file."""
    if not isinstance(source, (str, os.PathLike)):
        raise ModelError(f"{source!r} is not the path of a file", remedy="Give a path as text or pathlib.Path")
    if isinstance(source, str) and source.lstrip().startswith("<"):
        raise ModelError("XML text was given where a path is needed", remedy="Use the parse function for text")
    try:
        _refuse_irregular(os.stat(source), source, limit)  # before opening: to open a device can do something
        descriptor = os.open(source, _OPEN)
        with os.fdopen(descriptor, "rb") as stream:
            _refuse_irregular(os.fstat(descriptor), source, limit)
            yield stream
    except FileNotFoundError:
        raise ModelError(
            "it cannot be read: there is no such file", file=source, remedy="Check the path and its spelling"
        ) from None
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"it cannot be read: {_reason(error)}", file=source, remedy="Check path and permissions"
        ) from None


def _refuse_irregular(status: os.stat_result, source: object, limit: int) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ModelError("this is a directory", file=source, remedy="Give the path of the file in it")
    if not stat.S_ISREG(status.st_mode):
        raise ModelError(
            "this is not a regular file", file=source, remedy="Save what a pipe or device gives to a file first"
        )
    if status.st_size > limit:
        raise too_large(status.st_size, source, limit)


def too_large(size: int, file: object | None = None, limit: int = MAX_BYTES) -> ModelError:
    """The error for a file or text of too many bytes."""
    remedies = {
        MAX_BYTES: "Keep meshes in files of their own; <visual> and <collision> elements can be deleted",
        MAX_DATA_BYTES: "Split it into several files, or thin the data out",
    }
    return ModelError(
        f"it has {size / 2**20:.0f} MB, and at most {limit // 2**20} MB are read",
        file=file,
        remedy=remedies.get(limit, "Check that it is the right file"),
    )


def read_text(path: object, limit: int = MAX_BYTES) -> str:
    """The text of a regular UTF-8 file of at most `limit` bytes."""
    data = read_bytes(path, limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelError(
            "it is not UTF-8 text", file=path, element=f"line {line}", remedy="Save it as UTF-8"
        ) from None


def read_json(path: object, limit: int = MAX_DATA_BYTES) -> Any:
    """The value in a JSON file of at most `limit` bytes."""
    text = read_text(path, limit)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        spot = f"line {error.lineno}, column {error.colno}"
        raise ModelError(f"it is not JSON: {error.msg}", file=path, element=spot) from None
    except RecursionError:
        raise ModelError("its lists are nested too deeply", file=path) from None
    except ValueError:  # Python reads no integer of more than 4300 digits
        digits = _DIGITS.search(text)
        line = text.count("\n", 0, digits.start() if digits else 0) + 1
        raise ModelError("it has a number of too many digits", file=path, element=f"line {line}") from None


def write_text(
    path: str | os.PathLike[str],
    text: str,
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    force: bool = True,
) -> Path:
    """Text written whole or not at all, as UTF-8; for the arguments see `replacing`."""
    with replacing(path, inputs=inputs, force=force) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


@contextmanager
def replacing(
    path: str | os.PathLike[str],
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    force: bool = True,
) -> Iterator[Path]:
    """A new empty file beside `path`, of the same suffix, that takes its place at the end of the block.

    If the block fails the temporary file goes and `path` stays as it was.

    Args:
        path: the file to write. Links, directories and devices are refused: only a regular file is replaced.
        inputs: files that the content was computed from; none of them is overwritten, not even with `force`.
        force: whether any other file may be replaced; without it, only one that says that zveno wrote it.
    """
    try:
        path = Path(path)
        mode = check_replaceable(path, inputs, force)
        temporary = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
        os.close(os.open(temporary, _CREATE, 0o666))
    except (OSError, ValueError, TypeError) as error:
        raise _unwritable(error, path) from None
    try:
        yield temporary
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except (OSError, UnicodeError) as error:
        raise _unwritable(error, path) from None
    finally:
        temporary.unlink(missing_ok=True)


def check_replaceable(path: Path, inputs: Iterable[str | os.PathLike[str]] = (), force: bool = True) -> int | None:
    """The permissions of the file that may be replaced, None where there is none; refused if it may not be.

    The arguments are those of `replacing`.
    """
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode):
        raise ZvenoError("it is a link, and links are not followed", file=path, remedy="Give the path it leads to")
    if not stat.S_ISREG(status.st_mode):
        what = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise ZvenoError(f"it is {what}", file=path, remedy="Give the path of a file")
    if any(os.path.exists(read_from) and os.path.samestat(status, os.stat(read_from)) for read_from in inputs):
        raise ZvenoError("it is read as input and would be overwritten", file=path, remedy="Give another path")
    if not force and not _WRITTEN_HERE.match(_beginning(path)):
        raise ZvenoError(
            "it exists and does not say that zveno wrote it",
            file=path,
            remedy="Give another path, or use --force (force=True)",
        )
    return stat.S_IMODE(status.st_mode)


def _beginning(path: Path) -> bytes:
    with os.fdopen(os.open(path, _OPEN), "rb") as stream:
        return stream.read(4096)


def _unwritable(error: Exception, path: object) -> ZvenoError:
    return ZvenoError(
        f"it cannot be written: {_reason(error)}", file=path, remedy="Give a path in a directory that exists"
    )


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
