"""Which functions of a mechanism run as loops over bodies, and their kernels.

Straight-line code leaves out every operation with a zero or one of one particular robot, so arms and humanoids keep
it. It is as long as the tree is large: it takes seconds to build from some ten thousand operations on, and from
about 600 operations a body on it is no faster than a loop, whose code stays in the nearest cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.references import checked_reference
from ..algorithms.singular import RELATIVE, anywhere
from ..errors import BuildError
from ..kernels.structured.build import structured_program
from ..mechanism import Fixed, Mechanism
from . import singular
from .bodies import Bodies, bodies_of
from .frames import Frames, frames_on
from .loops import LOOPS, OPTIONS
from .pairs import count_pairs

if TYPE_CHECKING:
    from ..kernels.structured.kernel import StructuredKernel
    from ..kernels.structured.statements import Structured

ENGINES = ("loop", "straight")
OPERATIONS_PER_BODY = {
    "forward_dynamics": 700,
    "inverse_dynamics": 232,
    "bias": 231,
    "gravity_torque": 94,
    "mass_matrix": 175,
    "energy": 204,
    "link_poses": 148,
    "forward_kinematics": 100,
    "frame_poses": 148,
    "jacobian": 140,
    "regressor": 412,
}
"""Operations of a body that turns about an axis, placed in no special way."""
OPERATIONS_PER_PAIR = {"mass_matrix": 42, "regressor": 420}
"""Operations for each body and each that carries it."""
SPECIAL_SHARE = 1 / 6
"""What is left of the operations in straight-line code where a rotation has zeros: of 65 000 of the regressor of
the humanoid TALOS 11 000, and the loop takes 8.7 µs a state instead of 3.1."""
FROM_OPERATIONS, FROM_OPERATIONS_PER_BODY, FROM_BODIES = 30_000, 600, 20
"""A loop is taken from so many operations in all, or from so many a body if there are some bodies."""
MOST_KINDS = 16
"""Kinds of joints in one loop: each adds to the code."""
MOST_PAIRS = 3_000_000


def refusal(mechanism: Mechanism, name: str, parameters: tuple[str, ...], options: Mapping[str, Any]) -> str | None:
    """Why a function cannot run as a loop over bodies, or None if it can."""
    given = [key for key, value in _given(options).items() if key not in OPTIONS.get(name, ())]
    if name not in LOOPS:
        return f"{name} does not exist as a loop over bodies, only {', '.join(LOOPS)} do"
    if parameters or given:
        return f"loops over bodies do not take {', '.join((*parameters, *given))}"
    if any(joint.mimic is not None for joint in mechanism.joints) or mechanism.transmission is not None:
        return "mimic joints and transmissions tie joints together, and a loop takes them one by one"
    if all(isinstance(joint.type, Fixed) for joint in mechanism.joints):
        return "nothing moves"
    bodies = _carrying(mechanism, name, options)[0]
    if not bodies.n:
        return "the frame does not move"
    if len(bodies.kinds) > MOST_KINDS:
        return f"there are {len(bodies.kinds)} kinds of joints, more than the {MOST_KINDS} a loop can tell apart"
    if name in OPERATIONS_PER_PAIR and count_pairs(bodies.parents) > MOST_PAIRS:
        return f"there are more than {MOST_PAIRS} pairs of bodies of which one carries the other"
    return None


def prefers_loop(mechanism: Mechanism, name: str) -> bool:
    """Whether a loop is the better engine for a function that can run as one."""
    if len(mechanism.joints) < FROM_BODIES or name not in LOOPS:
        return False
    bodies = _bodies(mechanism)
    operations = straight_operations(bodies, name)
    many = operations >= FROM_OPERATIONS_PER_BODY * bodies.n and bodies.n >= FROM_BODIES
    return many or operations >= FROM_OPERATIONS


def straight_operations(bodies: Bodies, name: str) -> float:
    """About how many operations the straight-line code has."""
    total = OPERATIONS_PER_BODY[name] * bodies.n
    if name in OPERATIONS_PER_PAIR:
        total += OPERATIONS_PER_PAIR[name] * count_pairs(bodies.parents)
    return total * (1.0 - bodies.n_special / bodies.n * (1.0 - SPECIAL_SHARE))


def is_looped(
    mechanism: Mechanism, name: str, parameters: tuple[str, ...], engine: str | None, options: Mapping[str, Any]
) -> bool:
    """Whether a function runs as a loop over bodies: where it is asked for, or better than straight-line code.

    Raises:
        BuildError: a loop is asked for and cannot be had.
    """
    if engine not in (None, *ENGINES):
        raise BuildError(f"there is no engine {engine!r}", element="engine", remedy=f"Known: {', '.join(ENGINES)}")
    if engine == "straight" or (engine is None and not prefers_loop(mechanism, name)):
        return False
    reason = refusal(mechanism, name, parameters, options)
    if reason is not None and engine == "loop":
        raise BuildError(reason, element=f"{mechanism.name}, {name}", remedy="Leave the choice of the engine open")
    return reason is None


def loop_kernel(
    mechanism: Mechanism, name: str, parameters: tuple[str, ...], engine: str | None, options: Mapping[str, Any]
) -> StructuredKernel | None:
    """The kernel of a function as a loop over bodies, None where straight-line code is taken; see `is_looped`."""
    if not is_looped(mechanism, name, parameters, engine, options):
        return None
    return _kernel(mechanism, name, tuple(sorted(_given(options).items())))


def loop_program(
    mechanism: Mechanism, name: str, parameters: tuple[str, ...], options: Mapping[str, Any]
) -> Structured | None:
    """The same as a program."""
    if not is_looped(mechanism, name, parameters, None, options):
        return None
    return structured_program(LOOPS[name], *_arguments(mechanism, name, _given(options)), name=name)[0]


def is_regular(mechanism: Mechanism) -> bool:
    """Whether every joint has an inertia well above rounding at a configuration without any special position.

    False does not say that one has none: `algorithms.singular.refuse_singular` decides, and names it.
    """
    from ..kernels.structured.kernel import compiled_structured  # not needed to import the package

    bodies = _bodies(mechanism)
    if singular.surely_regular(bodies, 2.0 * RELATIVE):
        return True
    with np.errstate(all="ignore"):
        margin = compiled_structured(singular.margins, bodies)(anywhere(mechanism))
    return bool((margin > 10.0 * bodies.most_velocities * RELATIVE).all())


@lru_cache(maxsize=64)
def _bodies(mechanism: Mechanism) -> Bodies:
    return bodies_of(mechanism)


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value not in (None, False)}


def _carrying(mechanism: Mechanism, name: str, options: Mapping[str, Any]) -> tuple[Bodies, Frames | None]:
    """The bodies that a function is about, and its frames if it is about frames."""
    if not {"frame", "frames"} & set(OPTIONS.get(name, ())):
        return _bodies(mechanism), None
    return frames_on(mechanism, _bodies(mechanism), options.get("frames", (options.get("frame"),)))


def _arguments(mechanism: Mechanism, name: str, options: Mapping[str, Any]) -> tuple[Any, ...]:
    """What the writer of a loop is given after the builder."""
    bodies, frames = _carrying(mechanism, name, options)
    if frames is not None:
        reference = (checked_reference(options.get("reference", "aligned")),) if name == "jacobian" else ()
        return bodies, frames, *reference
    switches = tuple(bool(options.get(key, False)) for key in OPTIONS.get(name, ()))
    return (bodies, ("q", "v", "a"), *switches) if name == "inverse_dynamics" else (bodies, *switches)


@lru_cache(maxsize=256)
def _kernel(mechanism: Mechanism, name: str, options: tuple[tuple[str, Any], ...]) -> StructuredKernel:
    from ..kernels.structured.kernel import compiled_structured  # not needed to import the package

    return compiled_structured(LOOPS[name], *_arguments(mechanism, name, dict(options)), name=name)
