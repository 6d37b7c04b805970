"""Time limit of a call of `solve_ik`: long computations check between their steps whether the time is over.

Stopping early lowers the status of the poses that are left, with the note `OVER`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

OVER = "not finished: the time was over"
_deadline: ContextVar[float] = ContextVar("deadline of inverse kinematics", default=math.inf)


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Set the moment of `time.monotonic()` at which everything inside should end."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def time_is_over() -> bool:
    """Return True if the current call should end."""
    deadline = _deadline.get()
    return deadline < math.inf and time.monotonic() > deadline
