"""One BLAS thread while many small problems are solved.

Fits factor thousands of matrices of a few dozen columns. Handing each to a team of threads costs more than the
work, on a busy machine many times more.
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
    import scipy.linalg  # noqa: F401  (brings a BLAS of its own, which must be there to be found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Inside, BLAS uses one thread; afterwards as many as before."""
    return _controller().limit(limits=1, user_api="blas")


def in_one_thread(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Decorator: the function's BLAS calls use one thread."""

    @wraps(function)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        with one_thread():
            return function(*args, **kwargs)

    return called
