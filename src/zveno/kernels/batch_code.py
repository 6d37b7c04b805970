"""The compiled loop over batches, one for every element type and number of lanes."""

from __future__ import annotations

import contextlib
from functools import cache
from typing import Any

import numpy as np

from .._version import __version__
from . import cache as disk
from .batch_driver import write_batch_driver
from .sources import SOURCES


@cache
def driver_code(dtype: str, lanes: int) -> Any:
    """The loop over batches, from the disk or compiled now."""
    from .host import Code, compile_object, host

    entry = disk.digest(
        f"driver {dtype} {lanes}", host().fingerprint(), f"zveno {__version__} {SOURCES.digest((__name__,))}"
    )
    stored = disk.read(entry)
    if stored is not None:
        with contextlib.suppress(Exception):
            return Code(stored[1])
    code = compile_object(write_batch_driver(np.dtype(dtype), lanes, host().triple))
    disk.write(entry, {}, code)
    return Code(code)
