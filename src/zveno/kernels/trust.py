"""Which files native code may be loaded from: those that only this user and the administrator can change.

A file is trusted if it and every directory on the way to it belong to this user or to root and nobody else can
write to them, the group included. A shared cache is therefore one that an administrator fills. Directories such as
/tmp, where everybody may write but nobody may touch what is another's, may be on the way.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

_MOST_LINKS = 40


def is_trusted(directory: Path) -> bool:
    """Whether nobody else can change a directory or what it is reached by; links are followed one at a time.

    Raises:
        OSError: something on the way does not exist or cannot be looked at.
    """
    if os.name == "nt":
        return True
    place, waiting, links = "/", list(directory.parts[1:]), 0
    status = os.lstat(place)
    while True:
        if not _is_ours(status, on_the_way=bool(waiting)) or not stat.S_ISDIR(status.st_mode):
            return False
        if not waiting:
            return True
        name = waiting.pop(0)
        following = os.path.dirname(place) if name == ".." else os.path.join(place, name)
        status = os.lstat(following)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS or status.st_uid not in (0, os.getuid()):
                return False
            target = Path(os.readlink(following))
            waiting = [*(target.parts[1:] if target.is_absolute() else target.parts), *waiting]
            following = "/" if target.is_absolute() else place
            status = os.lstat(following)
        place = following


def read_trusted(file: Path, most: int) -> bytes | None:
    """The content of a file that nobody else can change, and that is a plain file of at most `most` bytes.

    Raises:
        OSError: it cannot be read.
    """
    if not is_trusted(file.parent):
        return None
    # Neither a link nor a pipe that nobody writes to is waited for.
    descriptor = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    with open(descriptor, "rb") as stream:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        if os.name != "nt" and not _is_ours(status, on_the_way=False):
            return None
        return stream.read(most)


def write_private(file: Path, data: bytes) -> None:
    """Write a new file that only this user can read; one that exists, or a link, is an error.

    Raises:
        OSError: it cannot be written.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | _BINARY
    with open(os.open(file, flags, 0o600), "wb") as stream:
        stream.write(data)


def make_private(directory: Path) -> None:
    """Make a directory and those above it that are missing, all for this user alone.

    Raises:
        OSError: one cannot be made.
    """
    for place in (*reversed(directory.parents), directory):
        if not place.exists():
            place.mkdir(mode=0o700, exist_ok=True)


def _is_ours(status: os.stat_result, on_the_way: bool) -> bool:
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    protected = on_the_way and status.st_mode & stat.S_ISVTX
    return status.st_uid in (0, os.getuid()) and (not shared or bool(protected))


_BINARY = getattr(os, "O_BINARY", 0)
