"""One BLAS thread while many small problems are solved.

Fits factor thousands of matrices of a few dozen columns. Handing each to a team of threads costs more than the
work, on a busy machine many times more. NumPy and SciPy bring OpenBLAS along but no switch for it, so its own is
looked up through the extension modules that are linked to it; where it is not found, nothing changes.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable
from contextlib import contextmanager
from functools import cache, wraps
from typing import ParamSpec, TypeVar

_MODULES = ("numpy._core._multiarray_umath", "numpy.linalg._umath_linalg", "scipy.linalg._fblas")
_PREFIXES = ("scipy_openblas", "openblas")
_SUFFIXES = ("64_", "", "64")

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


@cache
def _switches() -> tuple[tuple[Callable, Callable], ...]:
    """(get, set) number of threads of every OpenBLAS in the process."""
    found: dict[int, tuple[Callable, Callable]] = {}
    for name in _MODULES:
        try:
            library = ctypes.CDLL(importlib.import_module(name).__file__)
        except (ImportError, OSError, TypeError):
            continue
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                try:
                    get = getattr(library, f"{prefix}_get_num_threads{suffix}")
                    put = getattr(library, f"{prefix}_set_num_threads{suffix}")
                except AttributeError:
                    continue
                get.restype, put.argtypes, put.restype = ctypes.c_int, [ctypes.c_int], None
                found[ctypes.cast(put, ctypes.c_void_p).value or 0] = (get, put)
    return tuple(found.values())


@contextmanager
def one_thread():
    """Inside, BLAS uses one thread; afterwards as many as before."""
    before = [get() for get, _ in _switches()]
    try:
        for _, put in _switches():
            put(1)
        yield
    finally:
        for n, (_, put) in zip(before, _switches(), strict=True):
            put(n)


def in_one_thread(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Decorator: the function's BLAS calls use one thread."""

    @wraps(function)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        with one_thread():
            return function(*args, **kwargs)

    return called
