"""Kernels of a chain, from the disk cache where they have been built before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..kernels.kernel import Kernel, load_or_build
from ..kernels.sources import source_digest
from ..kernels.trace import trace
from .ik_problem import IkProblem

_kernels: dict[tuple, Kernel] = {}


def kernel_of(
    problem: IkProblem,
    name: str,
    function: Callable,
    inputs: Mapping[str, tuple[int, ...]],
    options: tuple = (),
    dtype: str = "float64",
) -> Kernel:
    """The kernel of a function that depends on the chain's inner geometry, its task and `options` alone."""
    key = (problem.key, name, options, dtype)
    if key not in _kernels:
        identity = repr((*key, source_digest("ik", "spatial", "algorithms", "mechanism")))
        _kernels[key] = load_or_build(identity, lambda: trace(function, inputs, name=name), dtype)
    return _kernels[key]
