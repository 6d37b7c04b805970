"""The call of a kernel: its data bound to the loop over batches, as a ufunc and as a built-in function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .batch_code import driver_code
from .calls import UfuncCall
from .gufunc import make_ufunc
from .program import Argument
from .single import single_call


def bound_call(
    name: str,
    inputs: Sequence[Argument],
    outputs: Sequence[Argument],
    dtype: np.dtype,
    lanes: int,
    operations: int,
    data: int,
    memory: object,
) -> Callable[..., Any]:
    """A function of arrays.

    Args:
        name, inputs, outputs, dtype, lanes: of the kernel.
        operations: scalar operations for one state.
        data: address of the words that the loop over batches reads of the kernel, see `batch_data`.
        memory: keeps alive what they refer to.
    """
    driver = driver_code(dtype.str, lanes)
    shapes = [argument.shape for argument in inputs] or [()], [argument.shape for argument in outputs]
    ufunc = make_ufunc(driver.address("loop"), data, *shapes, dtype, name)
    call = UfuncCall(name, inputs, outputs, dtype, ufunc, (driver, memory))
    return single_call(driver.address("once"), data, call, operations) or call
