"""Object code shared by all kernels, built once per machine and kept in the cache."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from . import cache as disk

if TYPE_CHECKING:
    from ._host import Code


def load_shared(name: str, write: Callable[[], str]) -> Code:
    """Load code from disk, or compile it.

    Args:
        name: name of the cache entry.
        write: returns the assembly.
    """
    from ._host import Code, compile_object

    entry = disk.entry_name(f"shared {name}")
    stored = disk.read(entry)
    if stored is not None:
        with contextlib.suppress(Exception):  # the code is recompiled if an entry is damaged in any way
            return Code(stored[1])
    data = compile_object(write())
    disk.write(entry, {}, data)
    return Code(data)
