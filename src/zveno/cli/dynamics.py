"""The verb `dynamics`: torques or accelerations of one state, with everything that goes into them."""

from __future__ import annotations

from .options import MODEL, OUTPUT, Flag, ModelFlags, OutputFlags, Quantities, RobotName
from .output import Answer, deliver, protect


def dynamics(
    robot: RobotName,
    /,
    *,
    q: Quantities = (),
    v: Quantities = (),
    a: Quantities = (),
    tau: Quantities = (),
    friction: Flag = False,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Torques or accelerations of a state, with mass matrix, gravity, bias and energy.

    Args:
        q: joint values, numbers in the order of `zveno info` or name=value pairs; neutral by default.
        v: velocities, in the same way; zero by default. A free joint has vx vy vz wx wy wz, in its own axes.
        a: accelerations: the torques for them are found; zero by default.
        tau: torques and forces, N·m and N: the accelerations under them are found.
        friction: count the drives' friction.
    """
    from ..errors import ZvenoError
    from ..mechanism.plausibility import warn_without_masses
    from ..report.text.dynamics import dynamics_data, print_dynamics
    from .configuration import parsed_velocities
    from .model import given, loaded

    if a and tau:
        raise ZvenoError("--a and --tau exclude each other", remedy="Give what is known; the other is found")
    protect(output, [robot])
    mechanism = loaded(robot, model)
    if not tau:
        warn_without_masses(mechanism, "its torques are")
    data = dynamics_data(
        mechanism,
        given(mechanism, q, model),
        parsed_velocities(mechanism, v, "v", model.deg),
        parsed_velocities(mechanism, a, "a", model.deg),
        parsed_velocities(mechanism, tau, "tau") if tau else None,
        friction,
    )
    deliver(Answer(lambda: data, lambda console: print_dynamics(console, data, model.deg)), output)
