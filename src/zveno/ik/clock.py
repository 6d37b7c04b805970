"""The time a call of `solve_ik` may take: what can be long asks between its steps whether the time is over.

Whoever stops early lowers what is claimed of the poses it leaves, and says `OVER`.
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
    """Everything inside should end at this moment of `time.monotonic()`."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def time_is_over() -> bool:
    """Whether the call that this is a part of should end."""
    deadline = _deadline.get()
    return deadline < math.inf and time.monotonic() > deadline
