"""Programs of a robot's functions. Kernels and C sources are made of them."""

from __future__ import annotations

from collections.abc import Sequence

from .functions import function_named, traceable
from .kernels.program import Program
from .kernels.trace import trace
from .mechanism import Mechanism


def program(mechanism: Mechanism, name: str, parameters: Sequence[str] = (), **options) -> Program:
    """The program of a function of `zveno.functions.FUNCTIONS`; parameters and options as in `traceable`."""
    function, inputs = traceable(mechanism, name, parameters, **options)
    return trace(function, inputs, name=name, outputs=function_named(name).outputs)
