"""Kernels of a chain, from the disk cache where they have been built before."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from ..kernels.kernel import Kernel, load_or_build
from ..kernels.trace import trace
from ..robot import _algorithms
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
    """The compiled kernel of a function that depends on the chain's inner geometry, its task and `options` alone."""
    key = (problem.key, name, options, dtype)
    if key not in _kernels:
        identity = repr((*key, _algorithms(), _sources()))
        _kernels[key] = load_or_build(identity, lambda: trace(function, inputs, name=name), dtype)
    return _kernels[key]


@cache
def _sources() -> str:
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()
