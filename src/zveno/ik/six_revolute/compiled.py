"""Kernels of this package: traced once, compiled once, kept on disk. None of them depends on an arm."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from ...kernels.kernel import Kernel, load_or_build
from ...kernels.trace import trace


@lru_cache(maxsize=None)
def _compiled(function: Callable, inputs: tuple, options: tuple) -> Kernel:
    key = repr((function.__module__, function.__qualname__, inputs, options, _sources()))

    def program():
        return trace(lambda *arrays: function(*arrays, **dict(options)), dict(inputs), name=function.__name__)

    return load_or_build(key, program)


def compiled(function: Callable, inputs: Mapping[str, tuple[int, ...]], **options) -> Kernel:
    """The kernel of a function of arrays of the given shapes; `options` are constants of the trace."""
    return _compiled(function, tuple(inputs.items()), tuple(sorted(options.items())))


@cache
def _sources() -> str:
    """A hash of what is traced, so that changed code never meets an old kernel."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()
