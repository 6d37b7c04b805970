"""The compiled loop over batches, one for every element type and number of lanes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from .batch_driver import write_batch_driver
from .shared import load_shared

if TYPE_CHECKING:
    from .host import Code


@cache
def driver_code(dtype: str, lanes: int) -> Code:
    """The loop over batches, from the disk or compiled now."""
    from .host import host

    return load_shared(
        f"driver {dtype} {lanes}", __name__, lambda: write_batch_driver(np.dtype(dtype), lanes, host().triple)
    )
