"""Compiled kernels on disk.

An entry is a file of its own: a magic number, a header in JSON, the object code, and a checksum of all of it.
Its name is a hash of the caller's key and of everything the code depends on, so an entry made by another
version or for another CPU is never looked at. Entries and the directory must be such that nobody else can change
them, see `trust`. Whatever is wrong with the directory or an entry, the answer is "not found": a kernel can always
be built anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import struct
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .trust import is_trusted, make_private, read_trusted, write_private

MAGIC = b"zveno\x00k1"
_SUFFIX = ".kernel"
_PARTIAL = ".partial"
_LARGEST = 2**30
_DEFAULT_LIMIT = 512 * 2**20
_STALE_AFTER = 3600.0  # seconds until a partial file is taken for the rest of a process that died


@dataclass(frozen=True)
class CacheInfo:
    """The state of the cache directory."""

    directory: Path
    entries: int
    size: int
    """Bytes in use."""
    limit: int
    """Bytes beyond which the entries not used for longest are removed."""


def directory() -> Path:
    """The cache directory: ZVENO_CACHE_DIR, or the place the platform keeps caches in.

    Paths that are not absolute are ignored, as the XDG specification asks for: they would mean another place in
    every working directory.
    """
    chosen = _absolute("ZVENO_CACHE_DIR")
    if chosen is not None:
        return chosen
    home = Path(os.path.expanduser("~"))
    if not home.is_absolute():  # neither HOME nor an entry of the user
        return Path(tempfile.gettempdir()).absolute() / "zveno-cache"
    if sys.platform == "win32":
        return (_absolute("LOCALAPPDATA") or home / "AppData" / "Local") / "zveno" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "zveno"
    return (_absolute("XDG_CACHE_HOME") or home / ".cache") / "zveno"


def _absolute(variable: str) -> Path | None:
    """The path in an environment variable, `~` expanded for the one of zveno; None if it is not absolute."""
    text = os.environ.get(variable, "")
    path = Path(os.path.expanduser(text) if variable.startswith("ZVENO") else text)
    return path if path.is_absolute() and "\0" not in text else None


def limit() -> int:
    """Largest size of the cache in bytes: ZVENO_CACHE_SIZE (in megabytes), or 512 MB."""
    try:
        return max(int(float(os.environ["ZVENO_CACHE_SIZE"]) * 2**20), 0)
    except (KeyError, ValueError, OverflowError):
        return _DEFAULT_LIMIT


def digest(*parts: str | bytes) -> str:
    """A hash of several texts that does not confuse ("ab", "c") with ("a", "bc")."""
    result = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        result.update(struct.pack("<Q", len(data)))
        result.update(data)
    return result.hexdigest()


def read(name: str) -> tuple[dict[str, Any], bytes] | None:
    """Header and object code of an entry, None if there is none or it is damaged."""
    path = directory() / (name + _SUFFIX)
    try:
        data = read_trusted(path, _LARGEST)
    except (OSError, ValueError):
        return None
    if data is None:
        return None
    start = len(MAGIC) + 4
    body, checksum = data[:-32], data[-32:]
    if len(data) < start + 32 or not data.startswith(MAGIC) or hashlib.sha256(body).digest() != checksum:
        return None
    end = start + struct.unpack("<I", body[len(MAGIC) : start])[0]
    if end >= len(body):
        return None
    try:
        header = json.loads(body[start:end])
    except (ValueError, RecursionError):
        return None
    if not isinstance(header, dict) or header.get("entry") != name:  # the latter if copied from elsewhere
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # used now: the last to be removed
    return header, body[end:]


def write(name: str, header: dict[str, Any], code: bytes) -> None:
    """Keep an entry. A directory that cannot be written to is no error."""
    text = json.dumps({**header, "entry": name}).encode()
    body = MAGIC + struct.pack("<I", len(text)) + text + code
    place = directory()
    try:
        make_private(place)
        if not is_trusted(place):
            return
        partial = place / f"{name}.{os.urandom(8).hex()}{_PARTIAL}"
        try:
            write_private(partial, body + hashlib.sha256(body).digest())
            os.replace(partial, place / (name + _SUFFIX))
        finally:
            partial.unlink(missing_ok=True)
        _shrink(place, limit())
    except (OSError, ValueError):
        return


def clear() -> int:
    """Remove all entries; returns how many there were."""
    count = 0
    for path, _, _ in _files(directory()):
        with contextlib.suppress(OSError):
            path.unlink()
            count += path.suffix == _SUFFIX
    return count


def info() -> CacheInfo:
    """Where the cache is and how full."""
    place = directory()
    entries = [size for path, size, _ in _files(place) if path.suffix == _SUFFIX]
    return CacheInfo(place, len(entries), sum(entries), limit())


def _files(place: Path) -> list[tuple[Path, int, float]]:
    """Our files in the directory with size and time of last use; others are left alone."""
    files = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.name.endswith((_SUFFIX, _PARTIAL)):
                    with contextlib.suppress(OSError):
                        status = entry.stat(follow_symlinks=False)
                        files.append((Path(entry.path), status.st_size, status.st_mtime))
    except OSError:
        pass
    return files


def _shrink(place: Path, size_limit: int) -> None:
    """Remove the entries not used for longest until the rest fits, and what crashed processes left."""
    files = sorted(_files(place), key=lambda file: file[2])
    total = sum(size for _, size, _ in files)
    for path, size, used in files:
        stale = path.suffix == _PARTIAL and time.time() - used > _STALE_AFTER
        if stale or (total > size_limit and path.suffix == _SUFFIX):
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size
