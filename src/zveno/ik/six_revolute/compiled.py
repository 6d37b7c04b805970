"""Kernels of this package and of closed forms: traced and compiled once, kept on disk. None depends on an arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from ...kernels.kernel import Kernel, load_or_build
from ...kernels.sources import source_digest
from ...kernels.trace import trace


@cache
def _compiled(function: Callable, inputs: tuple, options: tuple) -> Kernel:
    key = repr((function.__module__, function.__qualname__, inputs, options, source_digest("ik")))

    def program():
        return trace(lambda *arrays: function(*arrays, **dict(options)), dict(inputs), name=function.__name__)

    return load_or_build(key, program)


def compiled(function: Callable, inputs: Mapping[str, tuple[int, ...]], **options) -> Kernel:
    """The kernel of a function of arrays of the given shapes; `options` are constants of the trace."""
    return _compiled(function, tuple(inputs.items()), tuple(sorted(options.items())))
