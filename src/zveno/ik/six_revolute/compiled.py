"""Kernels of this package and of closed forms: traced and compiled once, kept on disk. None depends on an arm."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from ...kernels.kernel import Kernel, load_or_build
from ...kernels.trace import trace

TRACED = ("equations", "roots", "back_substitution", "polish")
"""Modules of this package with functions that are traced."""


@cache
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
    here = Path(__file__).parent
    for source in (*(here / f"{name}.py" for name in TRACED), *sorted(here.parent.glob("closed_form_*.py"))):
        digest.update(source.read_bytes())
    return digest.hexdigest()
