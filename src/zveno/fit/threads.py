"""One BLAS thread while many small problems are solved.

Fits factor thousands of matrices with a few dozen columns. Distributing each over threads costs more than the work
itself, and many times more on a busy machine.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


@cache
def _controller() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401  (loads its own BLAS, which the controller must find)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which BLAS uses one thread."""
    return _controller().limit(limits=1, user_api="blas")


def in_one_thread(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Decorate a function so that its BLAS calls use one thread."""

    @wraps(function)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        with one_thread():
            return function(*args, **kwargs)

    return called
