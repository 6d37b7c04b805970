"""Command `dynamics`: torques or accelerations of one state, with their contributions."""

from __future__ import annotations

from functools import partial

from .options import HELD, MODEL, OUTPUT, Flag, HeldFlags, ModelFlags, OutputFlags, Quantities, RobotName, Words
from .output import Answer, deliver, protect

LARGEST = 1e12
"""Numbers of a state beyond which products of them leave the range of floating point."""


def dynamics(
    robot: RobotName,
    /,
    *,
    q: Quantities = (),
    v: Quantities = (),
    a: Quantities = (),
    tau: Quantities = (),
    wrench: Words = (),
    joint_friction: Flag = False,
    held: HeldFlags = HELD,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Compute torques or accelerations, mass matrix, gravity, bias and energy.

    Frames may be held; the reactions are then printed, too.

    Example: `zveno dynamics ur5 --q 0 -90 90 0 0 0 --deg --payload 3`.

    Args:
        q: joint values, numbers in the order of `zveno info` or name=value pairs; neutral by default.
        v: velocities, in the same form; zero by default. A free joint has vx vy vz wx wy wz, in its own axes.
        a: accelerations for which torques are computed; zero by default.
        tau: torques and forces, N·m and N, for which accelerations are computed.
        wrench: forces and moments on frames, N and N·m in world axes at the frame's origin: tool=0,0,-50 or with
            three moments.
        joint_friction: include the friction of the drives.
    """
    from ..errors import ZvenoError
    from ..mechanism.plausibility import warn_without_masses
    from ..report.mechanism import dynamics_data, print_dynamics
    from ..robot import Robot
    from ..simulation.dynamics import constrained_dynamics
    from .configuration import parsed_velocities, parsed_wrenches
    from .model import constraints_of, given, loaded

    if a and tau:
        raise ZvenoError("--a and --tau exclude each other", remedy="Give one of them; the other is computed")
    constraints = constraints_of(held)
    if a and constraints:
        raise ZvenoError(
            "accelerations do not determine the torques of a robot under constraints",
            element="--a",
            remedy="Give --tau",
        )
    protect(output, [robot])
    mechanism = loaded(robot, model)
    if not tau and not constraints:
        warn_without_masses(mechanism, "its torques are")
    state = (
        given(mechanism, q, model),
        parsed_velocities(mechanism, v, "v", model.deg),
        parsed_velocities(mechanism, a, "a", model.deg),
        parsed_velocities(mechanism, tau, "tau") if tau or constraints else None,
    )
    for name, numbers in zip(("q", "--v", "--a", "--tau"), state, strict=True):
        if numbers is not None and abs(numbers).max(initial=0.0) > LARGEST:
            largest = abs(numbers).max()
            raise ZvenoError(f"holds {largest:.3g}", element=name, remedy=f"Give numbers up to {LARGEST:.0e}")
    solve = partial(
        constrained_dynamics, Robot(mechanism), *state[:2], constraints=constraints, joint_friction=joint_friction
    )
    loads = parsed_wrenches(mechanism, wrench)
    data = dynamics_data(mechanism, *state, joint_friction, loads, solve if constraints else None)
    deliver(Answer(lambda: data, lambda console: print_dynamics(console, data, model.deg)), output)
