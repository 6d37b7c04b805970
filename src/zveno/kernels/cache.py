"""Disk cache of compiled kernels.

An entry is a file: a magic number, a header in JSON, the object code, and a checksum of all of it.
Its name is a hash of everything the code depends on: the version, the source files of the packages that are
compiled, the CPU, LLVM, and the requested options. Entries are native code, so only a directory of this user with
mode 0700 is used. Any problem with the directory or an entry counts as "not found", because a kernel can always be
rebuilt.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from .._version import __version__
from ..errors import ZvenoWarning

MAGIC = b"zveno\x00k1"
_SUFFIX = ".kernel"
_PARTIAL = ".partial"
_DEFAULT_LIMIT = 512 * 2**20
ROOT = Path(__file__).parent.parent
"""Folder of the package."""
COMPILED = ("kernels", "spatial", "mechanism", "algorithms", "fit", "clearance")
"""Packages whose code affects every kernel."""
BUILT_ON: dict[str, tuple[str, ...]] = {
    "walking": ("simulation",),
    "identification": ("base_parameters",),
}
"""Further packages that affect the kernels of a package."""
_STALE_AFTER = 3600.0  # seconds after which a partial file counts as left behind by a crashed process


@dataclass(frozen=True)
class CacheInfo:
    """The state of the cache directory."""

    directory: Path
    entries: int
    size: int
    """Size of all entries in bytes."""
    limit: int
    """Size in bytes above which the least recently used entries are removed."""


def directory() -> Path:
    """Return the cache directory: ZVENO_CACHE_DIR, or the platform's directory for caches.

    Relative paths are ignored, as the XDG specification requires: they would depend on the working directory.
    """
    chosen = _absolute("ZVENO_CACHE_DIR")
    if chosen is not None:
        return chosen
    home = Path(os.path.expanduser("~"))
    if not home.is_absolute():  # no HOME, and no home directory in the user database
        return Path(tempfile.gettempdir()).absolute() / "zveno-cache"
    if sys.platform == "win32":
        return (_absolute("LOCALAPPDATA") or home / "AppData" / "Local") / "zveno" / "cache"
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "zveno"
    return (_absolute("XDG_CACHE_HOME") or home / ".cache") / "zveno"


def _absolute(variable: str) -> Path | None:
    """Return the absolute path in an environment variable, else None; `~` is expanded for zveno's own variable."""
    text = os.environ.get(variable, "")
    path = Path(os.path.expanduser(text) if variable.startswith("ZVENO") else text)
    return path if path.is_absolute() and "\0" not in text else None


def limit() -> int:
    """Return the maximum cache size in bytes: ZVENO_CACHE_SIZE (in megabytes), or 512 MB."""
    try:
        return max(int(float(os.environ["ZVENO_CACHE_SIZE"]) * 2**20), 0)
    except (KeyError, ValueError, OverflowError):
        return _DEFAULT_LIMIT


def entry_name(key: str | bytes, modules: Iterable[str] = (__name__,)) -> str:
    """Return the name of a kernel's entry for this machine, this version and the sources it depends on.

    Args:
        key: determines the kernel for given sources.
        modules: modules of the package whose functions and classes were traced.
    """
    from ._host import host

    folders = {module.split(".")[1] if module.count(".") > 1 else "" for module in modules}
    if folders != {"kernels"}:
        folders.update(COMPILED, *(BUILT_ON.get(folder, ()) for folder in folders))
    sources = " ".join(f"{folder} {_folder_digest(ROOT / folder)}" for folder in sorted(folders))
    return digest(key, host().fingerprint(), f"zveno {__version__} {sources}")


@cache
def _folder_digest(folder: Path) -> str:
    """Return a hash of the Python files in a folder and its subfolders; for the package itself, only its
    modules."""
    files = []
    for place, inner, names in os.walk(folder):
        if folder == ROOT:
            inner.clear()
        files += [os.path.join(place, name) for name in names if name.endswith(".py")]
    start = len(str(folder))
    return digest(*[part for file in sorted(files) for part in (file[start:], _content(file))])


def _content(file: str) -> bytes:
    with open(file, "rb", buffering=0) as stream:  # a buffer would double the time
        return stream.read()


def digest(*parts: str | bytes) -> str:
    """Return a hash of several texts that distinguishes ("ab", "c") from ("a", "bc")."""
    result = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        result.update(struct.pack("<Q", len(data)))
        result.update(data)
    return result.hexdigest()


def read(name: str) -> tuple[dict[str, Any], bytes] | None:
    """Return header and object code of an entry, None if it is missing or damaged."""
    path = directory() / (name + _SUFFIX)
    try:
        if not _is_private(path.parent):
            return None
        data = path.read_bytes()
    except (OSError, ValueError):
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
    if not isinstance(header, dict) or header.get("entry") != name:  # copied from elsewhere
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # marks the entry as recently used
    return header, body[end:]


def write(name: str, header: dict[str, Any], code: bytes) -> None:
    """Store an entry. Failure to write to the directory is not an error."""
    text = json.dumps({**header, "entry": name}).encode()
    body = MAGIC + struct.pack("<I", len(text)) + text + code
    place = directory()
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(place):
            _warn_once(place)
            return
        partial = place / f"{name}.{os.urandom(8).hex()}{_PARTIAL}"
        try:
            partial.write_bytes(body + hashlib.sha256(body).digest())
            os.replace(partial, place / (name + _SUFFIX))
        finally:
            partial.unlink(missing_ok=True)
        _shrink(place, limit())
    except (OSError, ValueError):
        return


def _is_private(place: Path) -> bool:
    """Return True if a directory belongs to this user and nobody else can enter it; on Windows always."""
    if os.name == "nt":
        return True
    status = place.stat()
    return status.st_uid == os.getuid() and stat.S_ISDIR(status.st_mode) and status.st_mode & 0o777 == 0o700


@cache
def _warn_once(place: Path) -> None:
    """Warn once that compiled functions are not kept, and why."""
    text = f"compiled functions are not kept: {place} must be yours alone (chmod 700 {place})"
    warnings.warn(text, ZvenoWarning, stacklevel=3)


def clear() -> int:
    """Remove all entries and return their number."""
    count = 0
    for path, _, _ in _files(directory()):
        with contextlib.suppress(OSError):
            path.unlink()
            count += path.suffix == _SUFFIX
    return count


def info() -> CacheInfo:
    """Return location and size of the cache."""
    place = directory()
    entries = [size for path, size, _ in _files(place) if path.suffix == _SUFFIX]
    return CacheInfo(place, len(entries), sum(entries), limit())


def _files(place: Path) -> list[tuple[Path, int, float]]:
    """Return the cache files with size and time of last use; files of other programs are ignored."""
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
    """Remove the least recently used entries until the rest fits, and partial files of crashed processes."""
    files = sorted(_files(place), key=lambda file: file[2])
    total = sum(size for _, size, _ in files)
    for path, size, used in files:
        stale = path.suffix == _PARTIAL and time.time() - used > _STALE_AFTER
        if stale or (total > size_limit and path.suffix == _SUFFIX):
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size
