"""Reading and writing files, and the threat model of everything that is read.

A model file is configuration: use files of people whom you would let configure your robot. Guaranteed:

- no code from files: no pickles, no `eval`, no XML entities or document types;
- regular files of bounded size, never pipes or devices;
- sizes that are checked before anything is unpacked (.npz, .xlsx, .mat, bags);
- one error, a `ZvenoError` that names the file, the element and a remedy.

Not guaranteed: that MuJoCo, polars, SciPy, openpyxl, rosbags or viser survive a file that was made to crash them.
These libraries run in this process.

Output is written to a temporary file of an unpredictable name beside the target, which is renamed at the end: a
failure leaves the old file unchanged.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import ModelError, ZvenoError

MAX_BYTES = 32 * 2**20
"""Size limit of models: robots of a hundred links take 0.2 MB; larger files hold meshes or are not models."""
MAX_TEXT_BYTES = 4 * 2**20
"""Size limit of tables and products of transforms: people type them, and parsing 4 MB takes seconds."""
MAX_DATA_BYTES = 128 * 2**20
"""Size limit of measurement and result files; text of this size takes a few GB once it is read."""

MAX_LOG_BYTES = 2**40
"""Size limit of recordings, which are read in chunks, so that memory does not limit them."""

MAX_DIRECTORY_BYTES = 2**20
"""Size limit of the table of contents of an archive: this much names some ten thousand members."""

_DIGITS = re.compile(r"\d{1000}")
_WRITTEN_HERE = re.compile(
    rb'\{\n  "zveno": "|\{\n "format": "zveno result"'  # answers of commands, saved results
    rb"|\x89PNG.*?tEXtSoftware\x00zveno|<\?xml.*?<dc:title>zveno</dc:title>"  # pictures
    rb"|/\* [^\n]*(?:written|generated) by zveno|/\* (\w+): see \1\.h \*/"  # C sources
    rb'|<!doctype html><html lang="en"><head><meta name="generator" content="zveno'  # reports
    rb"|# [^\n]*\n\nWritten by zveno for ",  # their README.md
    re.DOTALL,
)
"""Beginnings of files that zveno wrote; the word alone may occur in any file."""
_OPEN = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def read_bytes(source: object, limit: int = MAX_BYTES) -> bytes:
    """Read a regular file of at most `limit` bytes; anything else is a `ModelError` with the file."""
    with opened(source, limit) as stream:
        data = stream.read(os.fstat(stream.fileno()).st_size + 1)
        while len(data) <= limit and (more := stream.read(2**20)):  # files below /proc say that they are empty
            data += more
    if len(data) > limit:
        raise too_large(len(data), source, limit)
    return data


@contextmanager
def opened(source: object, limit: int = MAX_BYTES) -> Iterator[BinaryIO]:
    """Open a regular file of at most `limit` bytes for reading; anything else is a `ModelError` with the file."""
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
    """Return the error for a file or text of too many bytes."""
    remedies = {
        MAX_BYTES: "Keep meshes in files of their own; <visual> and <collision> elements can be deleted",
        MAX_DATA_BYTES: "Split it into several files, or thin the data out",
    }
    return ModelError(
        f"it has {size / 2**20:.0f} MB, and at most {limit // 2**20} MB are read",
        file=file,
        remedy=remedies.get(limit, "Check that it is the right file"),
    )


def over_limit(size: int, limit: int, file: object | None = None) -> ModelError:
    """Return the error for content that would take too much memory once it is unpacked."""
    return ModelError(
        f"it would take {size / 2**20:.0f} MB unpacked, and at most {limit // 2**20} MB are read",
        file=file,
        remedy="Split it into several files, or thin the data out",
    )


@contextmanager
def opened_archive(stream: BinaryIO, limit: int, file: object, remedy: str) -> Iterator[zipfile.ZipFile]:
    """Open the zip archive in a file after a check of its members' sizes; zipfile reads no more than these."""
    try:
        with zipfile.ZipFile(_with_small_directory(stream)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
            if size > limit:
                raise over_limit(size, limit)
            yield archive
    except ModelError as error:
        raise error.located(file=file) from None
    except RuntimeError as error:  # encrypted, or of another version or compression
        raise ModelError(f"it is packed in a way that is not read: {error}", file=file, remedy=remedy) from None
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, LookupError, OSError) as error:
        raise ModelError(f"it is damaged, or not a zip archive: {error}", file=file, remedy=remedy) from None


def _with_small_directory(stream: BinaryIO) -> BinaryIO:
    """Return the stream after a check of the archive's end: zipfile reads the whole table of contents at once."""
    end = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, end - 2**16 - 22))
    tail = stream.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) < at + 22:
        raise zipfile.BadZipFile("its end is missing" if end else "it is empty")
    (size,) = struct.unpack_from("<L", tail, at + 12)
    if size > MAX_DIRECTORY_BYTES or tail[max(0, at - 20) :].startswith(b"PK\x06\x07"):  # zip64: for huge archives
        raise ModelError("its archive has too many parts", remedy="Split it into several files")
    return stream


def read_text(path: object, limit: int = MAX_BYTES) -> str:
    """Read the text of a regular UTF-8 file of at most `limit` bytes."""
    data = read_bytes(path, limit)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ModelError(
            "it is not UTF-8 text", file=path, element=f"line {line}", remedy="Save it as UTF-8"
        ) from None


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of named values, or raise an error for a name that occurs twice: one would be lost."""
    values = dict(pairs)
    if len(values) < len(pairs):
        twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise ModelError("is there twice in one object", element=f"name {twice!r}", remedy="Keep one of the two")
    return values


def read_json(path: object, limit: int = MAX_DATA_BYTES) -> Any:
    """Read the value in a JSON file of at most `limit` bytes."""
    text = read_text(path, limit)
    try:
        return json.loads(text, object_pairs_hook=_distinct)
    except ModelError as error:
        raise error.located(file=path) from None
    except json.JSONDecodeError as error:
        spot = f"line {error.lineno}, column {error.colno}"
        raise ModelError(
            f"it is not JSON: {error.msg}", file=path, element=spot, remedy="Correct the file at that place"
        ) from None
    except RecursionError:
        raise ModelError("its lists are nested too deeply", file=path, remedy="Nest lists less deeply") from None
    except ValueError:  # Python reads no integer of more than 4300 digits
        digits = _DIGITS.search(text)
        line = text.count("\n", 0, digits.start() if digits else 0) + 1
        raise ModelError(
            "it has a number of too many digits",
            file=path,
            element=f"line {line}",
            remedy="Write numbers with fewer digits",
        ) from None


def write_text(
    path: str | os.PathLike[str],
    text: str,
    *,
    inputs: Iterable[str | os.PathLike[str]] = (),
    force: bool = True,
) -> Path:
    """Write text completely or not at all, as UTF-8; for the arguments see `replacing`."""
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
    """Create an empty file beside `path`, of the same suffix, that replaces it at the end of the block.

    If the block fails, the temporary file is removed and `path` stays unchanged.

    Args:
        path: the file to write. Links, directories and devices are refused: only a regular file is replaced.
        inputs: files that the content was computed from; none of them is overwritten, not even with `force`.
        force: True to replace any other file; otherwise only files marked as written by zveno.
    """
    try:
        path = Path(path)
        mode = check_replaceable(path, inputs, force)
    except (OSError, ValueError, TypeError) as error:
        raise _unwritable(error, path) from None
    temporary = _created_beside(path)
    try:
        yield temporary
        if mode is not None:
            os.chmod(temporary, mode)
        os.replace(temporary, path)
    except (OSError, UnicodeError) as error:
        raise _unwritable(error, path) from None
    finally:
        temporary.unlink(missing_ok=True)


def check_creatable(path: Path) -> None:
    """Raise an error if `replacing` cannot create its file beside `path`."""
    _created_beside(path).unlink()


def _created_beside(path: Path) -> Path:
    """Create an empty file of the same suffix in the folder of `path`."""
    try:
        temporary = path.with_name(f".{secrets.token_hex(8)}{path.suffix}")
        os.close(os.open(temporary, _CREATE, 0o666))
    except (OSError, ValueError) as error:
        raise _unwritable(error, path) from None
    return temporary


def check_replaceable(path: Path, inputs: Iterable[str | os.PathLike[str]] = (), force: bool = True) -> int | None:
    """Return the permissions of the file to replace, None if there is none; raise an error if it must stay.

    The arguments are those of `replacing`.
    """
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unwritable(error, path) from None
    if stat.S_ISLNK(status.st_mode):
        raise ZvenoError("it is a link, and links are not followed", file=path, remedy="Give the path it leads to")
    if not stat.S_ISREG(status.st_mode):
        description = "a directory" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise ZvenoError(f"it is {description}", file=path, remedy="Give the path of a file")
    if any(os.path.exists(read_from) and os.path.samestat(status, os.stat(read_from)) for read_from in inputs):
        raise ZvenoError("it is read as input and would be overwritten", file=path, remedy="Give another path")
    if not force and not _WRITTEN_HERE.match(_beginning(path)):
        raise ZvenoError(
            "it exists and does not say that zveno wrote it",
            file=path,
            remedy="Give another path, or use --overwrite (overwrite=True)",
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
