"""The verb `dynamics`: torques or accelerations of one state, with everything that goes into them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
import tyro

from .options import MODEL, OUTPUT, Flag, ModelFlags, OutputFlags, RobotName
from .output import Answer, deliver, protect

Numbers = Annotated[tuple[str, ...], tyro.conf.arg(metavar="X ...", help_behavior_hint="")]
"""Numbers in order, or name=value pairs."""


def dynamics(
    robot: RobotName,
    /,
    *,
    q: Numbers = (),
    v: Numbers = (),
    a: Numbers = (),
    tau: Numbers = (),
    friction: Flag = False,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Torques or accelerations of a state, with mass matrix, gravity, bias and energy.

    Args:
        robot: a built-in (see `zveno robots`), a .urdf, .xml, .toml or .ets file, or elementary transforms.
        q: joint values, numbers in the order of `zveno info` or name=value pairs; neutral by default.
        v: velocities, in the same way; zero by default. A free joint has vx vy vz wx wy wz, in its own axes.
        a: accelerations: the torques for them are found; zero by default.
        tau: torques and forces, N·m and N: the accelerations under them are found.
        friction: count the drives' friction.
        model: how the robot is read.
        output: where the answer goes.
    """
    from ..errors import ZvenoError
    from ..report.text.dynamics import dynamics_data, print_dynamics
    from .verbs import given, loaded

    if a and tau:
        raise ZvenoError("--a and --tau exclude each other", remedy="Give what is known; the other is found")
    protect(output, [robot])
    mechanism = loaded(robot, model)
    data = dynamics_data(
        mechanism,
        given(mechanism, q, model),
        parsed_velocities(mechanism, v, "v", model.deg),
        parsed_velocities(mechanism, a, "a", model.deg),
        parsed_velocities(mechanism, tau, "tau") if tau else None,
        friction,
    )
    deliver(Answer(lambda: data, lambda console: print_dynamics(console, data, model.deg)), output)


def parsed_velocities(mechanism: Any, words: Sequence[str], what: str, degrees: bool = False) -> Any:
    """(n_v,) numbers from words in order, or from name=value pairs with zero for the others."""

    from ..errors import ShapeError, unknown_name
    from ..report.text.dynamics import velocity_names
    from .configuration import number

    names = velocity_names(mechanism)
    units = [unit for name in mechanism.joint_names for unit in mechanism.joint(name).type.units]
    angles = what != "tau"
    values = np.zeros(mechanism.n_v)
    pairs = [word for word in words if "=" in word]
    if pairs and len(pairs) < len(words):
        mixed = next(word for word in words if "=" not in word)
        raise ShapeError(
            f"{mixed!r} stands among name=value pairs", element=what, remedy="Give numbers only, or pairs only"
        )
    if words and not pairs and len(words) != mechanism.n_v:
        raise ShapeError(
            f"{len(words)} numbers given where {mechanism.name} has {mechanism.n_v} velocities",
            element=what,
            remedy="Order: " + (", ".join(names) or "none"),
        )
    for k, word in enumerate(words):
        name, _, value = word.rpartition("=")
        if pairs and name not in names:
            raise unknown_name("velocity", name, names)
        place = names.index(name) if pairs else k
        values[place] = number(value, name or what, units[place] if angles else "", degrees)
    return values
