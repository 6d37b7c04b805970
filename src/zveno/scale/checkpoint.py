"""Work that goes on where it stopped: one small file with what is merged so far and the next piece.

The file is plain JSON (nothing in it is executed) and is replaced whole. While a run uses it, a lock beside it
keeps others away.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import ModelError, ZvenoError
from ..io.files import read_json, write_text
from ..io.results import decode, encode

FORMAT = "zveno checkpoint"
EVERY = 1.0
"""Seconds between two writings at least; the last state is always written."""
SHARE = 0.05
"""Of the time that writing may take: a large state is written less often."""


class Checkpoint:
    """The file of one run."""

    def __init__(self, path: Path, digest: str, n_pieces: int):
        self.path: Path = path
        self.digest: str = digest
        self.n_pieces: int = n_pieces
        self._state: tuple[int, Any] = 0, None
        self._written: int = 0
        self._next = 0.0
        if path.exists():
            self._resume()

    def _resume(self) -> None:
        data = read_json(self.path)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ModelError("is not a checkpoint", file=self.path, remedy="Give another file for it")
        if data.get("digest") != self.digest:
            raise ZvenoError(
                "is the checkpoint of other work: another function, other arguments or pieces, or another zveno",
                file=self.path,
                remedy="Give another file, or remove it to begin again",
            )
        try:
            self._state = int(data["done"]), decode(data["total"])
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            raise ModelError(f"is damaged: {error!r:.200}", file=self.path, remedy="Remove it") from error
        if not 0 <= self.done <= self.n_pieces:
            raise ModelError(f"has {self.done} of {self.n_pieces} pieces", file=self.path, remedy="Remove it")
        self._written = self.done

    @property
    def done(self) -> int:
        """Pieces that are merged."""
        return self._state[0]

    @property
    def total(self) -> Any:
        """What they gave; None before the first."""
        return self._state[1]

    def keep(self, done: int, total: Any) -> None:
        """`done` pieces are merged to `total`: written now if the last writing is a while ago."""
        self._state = done, total  # at once: Ctrl-C may come between two statements
        if time.monotonic() >= self._next or done == self.n_pieces:
            self.write()

    def write(self) -> None:
        """The state, whole; what was there stays if that fails."""
        done, total = self._state
        if done == self._written:
            return
        began = time.monotonic()
        content = {"format": FORMAT, "digest": self.digest, "pieces": self.n_pieces, "done": done}
        try:
            text = json.dumps(content | {"total": encode(total)}, allow_nan=False)
        except ZvenoError as error:
            remedy = "Let `work` and `merge` return numbers, texts, arrays, lists or results"
            raise ZvenoError(f"cannot keep the answers: {error.problem}", file=self.path, remedy=remedy) from error
        try:
            write_text(self.path, text)
        except ZvenoError as error:
            raise ZvenoError(
                f"{error.problem}; {self._written} of {self.n_pieces} pieces are kept",
                file=self.path,
                remedy="Make room, then run again: it goes on from there",
            ) from error
        self._written = done
        ended = time.monotonic()
        self._next = ended + max(EVERY, (ended - began) / SHARE)


@contextmanager
def checkpoint_at(path: str | os.PathLike[str], digest: str, n_pieces: int) -> Iterator[Checkpoint]:
    """The checkpoint of a run, locked against other runs and written at the end, however that comes."""
    target = Path(path)
    with _locked(target):
        state = Checkpoint(target, digest, n_pieces)
        try:
            yield state
        finally:
            state.write()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = path.with_name(path.name + ".lock")
    try:
        import fcntl
    except ImportError:  # no such locks there: two runs would both write whole files
        yield
        return
    try:
        descriptor = _locked_descriptor(lock, fcntl)
    except BlockingIOError:
        raise ZvenoError(
            "is in use by another run", file=path, remedy="Wait for it, or give another checkpoint"
        ) from None
    except OSError as error:
        raise ZvenoError(
            f"the checkpoint cannot be written: {error.strerror or error}",
            file=path,
            remedy="Give a file in a folder that exists and can be written",
        ) from error
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _locked_descriptor(lock: Path, fcntl: Any) -> int:
    """An open file that is locked and still is the one of that name: another run may just have removed it."""
    while True:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.exists(lock) and os.path.samestat(os.fstat(descriptor), os.stat(lock)):
                return descriptor
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)
