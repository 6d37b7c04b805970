"""A kernel as a built-in function of Python, for one state without the ufunc.

The code is `call_one`, the same for all kernels. Python hands it an object, the `__self__` of the function: here an
array of words, which describes the kernel and is found in memory as every array is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .call_one import ARGUMENT_WORDS, N_WORDS, call_one_address
from .interpreter import ENTRIES, built_in

if TYPE_CHECKING:
    from .calls import UfuncCall

LONGEST = 20_000
"""Operations of a state up to which the function is worth having, about 5 µs. It keeps the lock of the interpreter,
which the ufunc lets go of."""


class Description(np.ndarray):
    """The words of one kernel that `call_one` reads, and what must live as long as they do."""

    call: UfuncCall
    memory: list[Any]

    def __reduce__(self) -> NoReturn:
        raise TypeError("the function of a kernel cannot be pickled; pickle the kernel")


def single_call(once: int, data: int, call: UfuncCall, operations: int) -> Callable[..., Any] | None:
    """A kernel as a built-in function; None if it is long, has arguments without elements, or Python is unknown.

    Args:
        once: address of `void (char **args, void *data)`, which computes one state, see `batch_once`.
        data: given to it.
        call: takes all that is not one state of plain arrays. It keeps alive what the two addresses refer to.
        operations: scalar operations for one state.
    """
    arguments = (*call.inputs, *call.outputs)
    if operations > LONGEST or not call.inputs or not call.outputs or not all(x.size for x in arguments):
        return None
    function = call_one_address()
    if function is None:
        return None
    description = np.array(_words(once, data, call), np.int64).view(Description)
    description.call = call
    names = [argument.name for argument in call.inputs]
    line = f"{call.name}({', '.join(names)}, /, *, out=None)\n--\n\n" if all(map(str.isidentifier, names)) else ""
    made, description.memory = built_in(function, call.name, f"{line}Compiled by zveno.", description)
    return made


def _words(once: int, data: int, call: UfuncCall) -> list[int]:
    """What `call_one` reads, see there."""
    arguments, itemsize = (*call.inputs, *call.outputs), call.dtype.itemsize
    n_words = N_WORDS + ARGUMENT_WORDS * len(arguments)
    of_arguments: list[int] = []
    sizes: list[int] = []
    for argument in arguments:
        of_arguments += [len(argument.shape), argument.size * itemsize, 8 * (n_words + len(sizes))]
        sizes += argument.shape
    of_kernel = [id(call), once, data, len(call.inputs), len(call.outputs), ENTRIES[call.dtype.name]]
    return [*of_kernel, *of_arguments, *sizes]
