"""Object code that all kernels use, built once for a machine and kept in the cache."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from .._version import __version__
from . import cache as disk
from .sources import SOURCES

if TYPE_CHECKING:
    from .host import Code


def load_shared(name: str, module: str, write: Callable[[], str]) -> Code:
    """The code that a module writes, from the disk or compiled now.

    Args:
        name: what it is written for.
        module: whose sources, and those it reaches by imports, determine the code.
        write: makes the assembly.
    """
    from .host import Code, compile_object, host

    sources = SOURCES.digest((module,))
    entry = disk.digest(f"shared {name}", host().fingerprint(), f"zveno {__version__} {sources}")
    stored = None if sources is None else disk.read(entry)
    if stored is not None:
        with contextlib.suppress(Exception):  # whatever is wrong with an entry, the code is compiled anew
            return Code(stored[1])
    data = compile_object(write())
    if sources is not None:
        disk.write(entry, {}, data)
    return Code(data)
