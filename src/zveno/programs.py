"""Programs and kernels of a robot's functions: straight-line code, or loops over the tree.

Straight-line code omits every operation with a zero or one of the particular robot, so arms and humanoids use it.
Its length grows with the tree: beyond some ten thousand operations it takes seconds to build. From about 600
operations per body it is not faster than a loop, whose code stays in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .algorithms.bodies import Bodies, Frames, bodies_of, frames_on
from .algorithms.center_of_mass import refuse_massless
from .algorithms.looped import write
from .algorithms.pairs import count_pairs
from .algorithms.references import checked_reference
from .algorithms.singular import RELATIVE, anywhere, margins, refuse_singular, surely_regular
from .errors import BuildError, ModelError
from .functions import evaluated, function_named, input_shapes
from .kernels.builder import structured_program
from .kernels.program import Program
from .kernels.trace import trace
from .mechanism import Mechanism

if TYPE_CHECKING:
    from .kernels.kernel import Kernel

ENGINES = ("loop", "straight")
SPECIAL_SHARE = 1 / 6
"""Fraction of the operations left in straight-line code if a rotation has zeros, measured on the regressor of a
humanoid."""
FROM_OPERATIONS, FROM_OPERATIONS_PER_BODY, FROM_BODIES = 30_000, 600, 20
"""Thresholds for a loop: total operations, or operations per body with a minimum number of bodies."""
COMPOSED_FROM = 60_000
"""Operations from which a function that inverts the mass matrix is composed of loops; humanoids stay below."""
MANY_BODIES = 100
"""Number of visited bodies from which a loop is used in any case. Straight-line code of special chains has few
operations, but takes several milliseconds per body to build and is not much faster."""
MOST_KINDS = 16
"""Maximum number of kinds of joints in one loop; each adds to the code."""


def program(mechanism: Mechanism, name: str, parameters: Sequence[str] = (), **options: Any) -> Program:
    """Trace a function of `zveno.functions.FUNCTIONS`; parameters and options as in `evaluated`."""
    return trace(evaluated, **_recipe(mechanism, name, parameters, options))


def exported_program(mechanism: Mechanism, name: str, parameters: Sequence[str] = (), **options: Any) -> Program:
    """Return the program for C: a loop over bodies if the kernel is one.

    Raises:
        ModelError: the function inverts the mass matrix, which is singular for this mechanism.
    """
    if function_named(name).inverts:
        try:
            refuse_singular(mechanism)
        except ModelError as error:
            remedy = f"{error.remedy}; or leave {name} out of the functions"
            raise ModelError(error.problem, element=error.element, remedy=remedy) from None
    if not is_looped(mechanism, name, tuple(parameters), None, options):
        _refuse_composed(mechanism, name, parameters, options)
        return program(mechanism, name, parameters, **options)
    return loop_program(mechanism, name, options)


def kernel(
    mechanism: Mechanism, name: str, parameters: Sequence[str] = (), engine: str | None = None, **options: Any
) -> Kernel:
    """Return the kernel of a function of `zveno.functions.FUNCTIONS`; parameters and options as in `evaluated`.

    Args:
        mechanism: the mechanism.
        name: the function.
        parameters: constants that become inputs.
        engine: "loop", "straight", or None for the faster one; see `is_looped`.
        options: options of the function.
    """
    looped = loop_kernel(mechanism, name, tuple(parameters), engine, options)
    if looped is not None:
        return looped
    if engine is None:
        _refuse_composed(mechanism, name, parameters, options)
    from .kernels.compile import compiled  # kernels are not needed to import the package

    return compiled(evaluated, **_recipe(mechanism, name, parameters, options))


def _recipe(mechanism: Mechanism, name: str, parameters: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
    return {
        "inputs": input_shapes(mechanism, name, parameters, options.get("external", False)),
        "constants": (mechanism, name, tuple(parameters), tuple(sorted(_given(options).items()))),
        "name": name,
        "outputs": tuple(function_named(name).outputs),
    }


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value not in (None, False)}


# --- loops


def is_looped(
    mechanism: Mechanism, name: str, parameters: tuple[str, ...], engine: str | None, options: Mapping[str, Any]
) -> bool:
    """Return True if a function runs as loops: on request, or because they are faster than straight-line code.

    Raises:
        BuildError: a loop is requested but not possible.
    """
    if engine not in (None, *ENGINES):
        raise BuildError(f"unknown engine {engine!r}", element="engine", remedy=f"Known: {', '.join(ENGINES)}")
    if engine == "straight" or (engine is None and not prefers_loop(mechanism, name, options)):
        return False
    reason = _refusal(mechanism, name, parameters, options)
    if reason is not None and engine == "loop":
        raise BuildError(reason, element=f"{mechanism.name}, {name}", remedy="Leave the choice of the engine open")
    return reason is None


def prefers_loop(mechanism: Mechanism, name: str, options: Mapping[str, Any] | None = None) -> bool:
    """Return True if loops are faster than straight-line code for a function that can run as loops."""
    loop = function_named(name).loop
    if len(mechanism.joints) < FROM_BODIES or loop is None:
        return False
    bodies = _bodies(mechanism)
    if bodies.n >= MANY_BODIES and _walked(mechanism, name, options or {})[0].n >= MANY_BODIES:
        return True
    operations = loop.per_body * bodies.n + (loop.per_pair * count_pairs(bodies.parents) if loop.per_pair else 0)
    operations *= 1.0 - bodies.n_special / bodies.n * (1.0 - SPECIAL_SHARE) if bodies.n else 0.0
    many = operations >= FROM_OPERATIONS_PER_BODY * bodies.n and bodies.n >= FROM_BODIES
    return many or operations >= FROM_OPERATIONS


def _refusal(
    mechanism: Mechanism, name: str, parameters: tuple[str, ...], options: Mapping[str, Any]
) -> str | None:
    """Return the reason why a function cannot run as loops, or None if it can."""
    loop = function_named(name).loop
    if loop is None:
        return f"{name} does not exist as a loop over bodies"
    if parameters:
        return f"loops over bodies do not take {', '.join(parameters)}"
    if any(joint.mimic is not None for joint in mechanism.joints) or mechanism.transmission is not None:
        return "mimic joints or transmissions couple joints, which a loop over bodies cannot treat"
    if not mechanism.n_v:
        return "nothing moves"
    bodies = _walked(mechanism, name, options)[0]
    if not bodies.n:
        return "the frame does not move"
    if len(bodies.kinds) > MOST_KINDS:
        return f"there are {len(bodies.kinds)} kinds of joints, more than the {MOST_KINDS} of a loop"
    return None


def loop_kernel(
    mechanism: Mechanism, name: str, parameters: tuple[str, ...], engine: str | None, options: Mapping[str, Any]
) -> Kernel | None:
    """Return the kernel of a function as loops, None if straight-line code is used; see `is_looped`."""
    if not is_looped(mechanism, name, parameters, engine, options):
        return None
    return _loop_kernel(mechanism, name, tuple(sorted(_given(options).items())))


def composed(mechanism: Mechanism, name: str, options: Mapping[str, Any]) -> Callable[..., Any] | None:
    """Return a function of a large tree computed from several loops, None if one kernel computes it."""
    parts = function_named(name).composed
    if parts is None or not _is_composed(mechanism, name, options):
        return None
    solve = mass_solver(mechanism)
    kernels = [
        _loop_kernel(mechanism, part, tuple(sorted(_given({**options, **more}).items())))
        for part, more in parts.parts
    ]

    def call(*arrays: Any, out: Any = None) -> Any:
        results = parts.join(solve, *kernels, *arrays)
        if out is None:
            return results
        for array, result in zip(out, results, strict=True) if isinstance(results, tuple) else [(out, results)]:
            np.copyto(array, result)
        return out

    return call


def mass_solver(mechanism: Mechanism) -> Callable[..., np.ndarray]:
    """Return the function (q, B) → M⁻¹ B of a large tree, by loops; without B it returns M⁻¹."""
    weightless = _loop_kernel(replace(mechanism, gravity=np.zeros(3)), "forward_dynamics", ())

    def solve(q: Any, B: Any = None) -> np.ndarray:
        """Return M⁻¹ B: a column is the acceleration at rest without gravity under the torques of B."""
        torques = np.eye(mechanism.n_v) if B is None else np.swapaxes(B, -1, -2)
        a = weightless(np.asarray(q)[..., None, :], np.zeros(mechanism.n_v), torques)
        return np.swapaxes(a, -1, -2)

    return solve


def has_many_bodies(mechanism: Mechanism) -> bool:
    """Return True if the dynamics run as loops because the tree has many bodies."""
    return (
        len(mechanism.joints) >= MANY_BODIES
        and _bodies(mechanism).n >= MANY_BODIES
        and _refusal(mechanism, "forward_dynamics", (), {}) is None
    )


def _is_composed(mechanism: Mechanism, name: str, options: Mapping[str, Any]) -> bool:
    parts = function_named(name).composed
    if parts is None or len(mechanism.joints) < FROM_BODIES:
        return False
    bodies = _bodies(mechanism)
    pairs = count_pairs(bodies.parents) * (bodies.n_v / max(bodies.n, 1)) ** 2
    return (
        parts.per_entry * bodies.n_v * pairs >= COMPOSED_FROM
        and _refusal(mechanism, "forward_dynamics", (), options) is None
    )


def _refuse_composed(
    mechanism: Mechanism, name: str, parameters: Sequence[str], options: Mapping[str, Any]
) -> None:
    """Raise an error for a function of a large tree that has no kernel of its own."""
    if not parameters and _is_composed(mechanism, name, options):
        raise BuildError(
            f"one kernel of {len(mechanism.joints)} joints would be too long",
            element=f"{mechanism.name}, {name}",
            remedy=f"Call the robot's method {name}, or ask for engine='straight'",
        )


@lru_cache(maxsize=256)
def _loop_kernel(mechanism: Mechanism, name: str, options: tuple[tuple[str, Any], ...]) -> Kernel:
    from .kernels.compile import compiled_structured  # not needed to import the package

    return compiled_structured(write, *_arguments(mechanism, name, dict(options)), name=name)


def loop_program(mechanism: Mechanism, name: str, options: Mapping[str, Any]) -> Program:
    """Return the program of a function as loops."""
    return structured_program(write, *_arguments(mechanism, name, _given(options)), name=name)[0]


def _arguments(mechanism: Mechanism, name: str, options: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the arguments of `looped.write` after the builder."""
    function = function_named(name)
    if "center" in function.outputs or name in ("center_of_mass_jacobian", "centroidal_matrix"):
        refuse_massless(mechanism)
    given = (*function.inputs, "external") if options.get("external") else function.inputs
    if "reference" in options:
        checked_reference(options["reference"])
    own_options = tuple(
        (key, options[key]) for key in ("joint_friction", "reference", "smoothing") if key in options
    )
    return function.compute, *_walked(mechanism, name, options), given, own_options


def _walked(mechanism: Mechanism, name: str, options: Mapping[str, Any]) -> tuple[Bodies, Frames]:
    """Return the bodies that a function visits, and the frames on them."""
    loop = function_named(name).loop
    assert loop is not None
    if loop.over == "frames":
        return frames_on(mechanism, _bodies(mechanism), options.get("frames", (options.get("frame"),)))
    bodies = _bodies(mechanism) if loop.over == "bodies" else _links(mechanism)
    return bodies, Frames(bodies.carriers, bodies.T_body_link)


def is_regular(mechanism: Mechanism) -> bool:
    """Return True if every joint's inertia is well above rounding in a general configuration.

    False is not conclusive: `algorithms.singular.refuse_singular` decides, and names the joint.
    """
    from .kernels.compile import compiled_structured  # not needed to import the package

    bodies = _bodies(mechanism)
    if surely_regular(bodies, 2.0 * RELATIVE):
        return True
    with np.errstate(all="ignore"):
        margin = compiled_structured(write, margins, bodies, None, ("q",), (), name="margins")(anywhere(mechanism))
    return bool((margin > 10.0 * bodies.most_velocities * RELATIVE).all())


@lru_cache(maxsize=64)
def _bodies(mechanism: Mechanism) -> Bodies:
    return bodies_of(mechanism)


@lru_cache(maxsize=16)
def _links(mechanism: Mechanism) -> Bodies:
    return bodies_of(mechanism, merge=False)
