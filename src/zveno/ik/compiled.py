"""Kernels of a chain, from the disk cache where they have been built before."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from ..kernels.kernel import Kernel, load_or_build
from ..kernels.trace import trace
from .problem import Problem

_kernels: dict[tuple, Kernel] = {}


def kernel_of(
    problem: Problem,
    name: str,
    function: Callable,
    inputs: Mapping[str, tuple[int, ...]],
    options: tuple = (),
    dtype: str = "float64",
) -> Kernel:
    """The kernel of a function that depends on the chain's inner geometry, its task and `options` alone."""
    key = (problem.key, name, options, dtype)
    if key not in _kernels:
        identity = repr((*key, _sources()))
        _kernels[key] = load_or_build(identity, lambda: trace(function, inputs, name=name), dtype)
    return _kernels[key]


@cache
def _sources() -> str:
    """A hash of what the kernels are traced from, so that changed code never meets an old kernel."""
    here = Path(__file__).parent
    digest = hashlib.sha256()
    for folder in (here, here.parent / "kernels", here.parent / "spatial", here.parent / "algorithms"):
        for source in sorted(folder.glob("*.py")):
            digest.update(source.read_bytes())
    return digest.hexdigest()
