"""Programs and kernels of a robot's functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .algorithms.singular import refuse_singular
from .errors import ModelError
from .functions import INVERTING, evaluated, function_named, input_shapes
from .kernels.program import Program
from .kernels.structured.statements import Structured
from .kernels.trace import trace
from .mechanism import Mechanism
from .over_bodies.engine import loop_kernel, loop_program

if TYPE_CHECKING:
    from .kernels.kernel import Kernel


def program(mechanism: Mechanism, name: str, parameters: Sequence[str] = (), **options: Any) -> Program:
    """The program of a function of `zveno.functions.FUNCTIONS`; parameters and options as in `evaluated`."""
    return trace(evaluated, **_recipe(mechanism, name, parameters, options))


def exported_program(
    mechanism: Mechanism, name: str, parameters: Sequence[str] = (), **options: Any
) -> Program | Structured:
    """The program for C: a loop over bodies where the kernel is one, too.

    Raises:
        ModelError: the function inverts a mass matrix, and that of this mechanism is singular.
    """
    if name in INVERTING:
        try:
            refuse_singular(mechanism)
        except ModelError as error:
            remedy = f"{error.remedy}; or leave {name} out of the functions"
            raise ModelError(error.problem, element=error.element, remedy=remedy) from None
    looped = loop_program(mechanism, name, tuple(parameters), options)
    return program(mechanism, name, parameters, **options) if looped is None else looped


def kernel(
    mechanism: Mechanism, name: str, parameters: Sequence[str] = (), engine: str | None = None, **options: Any
) -> Kernel:
    """The kernel of a function of `zveno.functions.FUNCTIONS`; parameters and options as in `evaluated`.

    `engine` is as in `zveno.over_bodies.engine.loop_kernel`.
    """
    looped = loop_kernel(mechanism, name, tuple(parameters), engine, options)
    if looped is not None:
        return looped
    from .kernels.door import compiled  # kernels are not needed to import the package

    return compiled(evaluated, **_recipe(mechanism, name, parameters, options))


def _recipe(mechanism: Mechanism, name: str, parameters: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    given = tuple(sorted((key, value) for key, value in options.items() if value not in (None, False)))
    return {
        "inputs": input_shapes(mechanism, name, parameters, options.get("external", False)),
        "constants": (mechanism, name, tuple(parameters), given),
        "name": name,
        "outputs": function_named(name).outputs,
    }
