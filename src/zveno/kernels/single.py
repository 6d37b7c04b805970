"""A kernel as a built-in function of Python, for one state without the ufunc.

The work is done by `zveno.kernels.call_one`, which all kernels share; the object code of each has a function
`single` that adds a description of its arguments to those of Python.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .assembly import Function, Module
from .call_one import ARGUMENT_SIZE, ARGUMENTS, call_one_address
from .interpreter import ENTRIES, built_in
from .program import Argument

if TYPE_CHECKING:
    from .calls import UfuncCall
    from .host import Code

LONGEST = 20_000
"""Operations of a state up to which the function is worth having, about 5 µs. It keeps the lock of the interpreter,
which the ufunc lets go of."""


def write_single(module: Module, inputs: Sequence[Argument], outputs: Sequence[Argument], operations: int) -> None:
    """Add the function `single` to a module with `serial(args, n, steps, total)`.

    Programs that are long, or that have arguments without elements, get none.
    """
    if operations > LONGEST or not inputs or not outputs or not all(x.size for x in (*inputs, *outputs)):
        return
    description = module.table("description", _description(inputs, outputs, module.types.itemsize))
    function = module.define("call_one", "dso_local global ptr null, align 8")
    given = "ptr %owner, ptr %args, i64 %n_args, ptr %keywords"
    f = Function(module, f"ptr @single({given})")
    shared = f.load("ptr", function, 8)
    result = f.let(f"tail call ptr {shared}({given}, ptr {description}, ptr @serial)")
    f.do(f"ret ptr {result}")
    f.close()


def _description(inputs: Sequence[Argument], outputs: Sequence[Argument], itemsize: int) -> list[int]:
    """The words that `call_one` reads, see there."""
    arguments = (*inputs, *outputs)
    sizes = ARGUMENTS + ARGUMENT_SIZE * len(arguments)
    rows: list[int] = []
    shapes: list[int] = []
    steps = [0] * len(arguments)
    for argument in arguments:
        rows += [len(argument.shape), argument.size * itemsize, sizes + 8 * len(shapes)]
        shapes += argument.shape
        steps += [itemsize * math.prod(argument.shape[axis + 1 :]) for axis in range(len(argument.shape))]
    dtype = ENTRIES[{8: "float64", 4: "float32"}[itemsize]]
    return [len(inputs), len(outputs), dtype, sizes + 8 * len(shapes), *rows, *shapes, *steps]


def single_call(code: Code, call: UfuncCall) -> Callable[..., Any] | None:
    """The kernel of loaded object code as a built-in function, None where it has none.

    Args:
        code: the object code.
        call: takes all that is not one state of plain arrays.
    """
    address, shared = code.address("single"), call_one_address()
    if not address or shared is None:
        return None
    code.set_pointer("call_one", shared)
    names = [argument.name for argument in call.inputs]
    line = f"{call.name}({', '.join(names)}, /, *, out=None)\n--\n\n" if all(map(str.isidentifier, names)) else ""
    return built_in(address, call.name, f"{line}Compiled by zveno.", call)
