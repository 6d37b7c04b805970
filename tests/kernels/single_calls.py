"""What tests of single calls have in common."""

from __future__ import annotations

import numpy as np

from zveno.kernels.calls import UfuncCall
from zveno.kernels.kernel import Kernel, compile
from zveno.kernels.trace import trace


def made(function, dtype=np.float64, **inputs) -> Kernel:
    return compile(trace(function, inputs), dtype)


def owner(kernel: Kernel) -> UfuncCall:
    return kernel.__call__.__self__.call


def several(x, s):
    return x * s, s * s, np.stack([x, x + s]), x[0] - s
