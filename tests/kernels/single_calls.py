"""What tests of single calls have in common."""

from __future__ import annotations

import numpy as np

from kernels.programs import compile
from zveno.kernels._calls import UfuncCall
from zveno.kernels.kernel import Kernel
from zveno.kernels.trace import trace


def made(function, dtype=np.float64, **inputs) -> Kernel:
    return compile(trace(function, inputs), dtype)


def owner(kernel: Kernel) -> UfuncCall:
    return kernel.__call__.__self__.call


def several(x, s):
    return x * s, s * s, np.stack([x, x + s]), x[0] - s
