"""Command `simulate`: motion of a robot over time."""

from __future__ import annotations

from typing import Literal

from .options import (
    HELD,
    MODEL,
    OUTPUT,
    Count,
    File,
    Flag,
    HeldFlags,
    ModelFlags,
    Number,
    OutputFlags,
    Quantities,
    RobotName,
    unused,
)
from .output import UNUSABLE, answer_of, apart, deliver, protect, say_written, write_plot, write_report

SAVED = (".npz", ".json", ".csv", ".parquet")
"""Suffixes of files that hold a motion."""


def simulate(
    robot: RobotName,
    /,
    *,
    duration: Number = None,
    q0: Quantities = (),
    v0: Quantities = (),
    control: Literal["none", "pd", "hold"] = "none",
    target: Quantities = (),
    integrator: Literal["default", "dop853", "rk4", "time-stepping"] = "default",
    step: Number = None,
    rtol: Number = None,
    sample_time: Number = None,
    joint_friction: Flag = False,
    joint_limits: Flag = False,
    walk: Flag = False,
    gait: Literal["default", "static", "dynamic"] = "default",
    steps: Count = None,
    uneven: Number = None,
    save: File = None,
    plot: File = None,
    held: HeldFlags = HELD,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Simulate the motion of a robot, passive or with a controller.

    `--out x.npz` (or .csv, .parquet) saves the motion.

    Example: `zveno simulate ur5 --q0 0 -60 60 0 0 0 --deg --control hold`.

    Args:
        duration: simulated time, s, 1 by default; for a walk, the time limit.
        q0: initial joint values, numbers in the order of `zveno info` or name=value pairs; neutral by default.
        v0: initial velocities, in the same form; zero by default.
        control: "pd" controls to --target with gravity compensation, "hold" compensates gravity only.
        target: joint values for --control pd; q0 by default.
        integrator: dop853 has adaptive steps; rk4 and time-stepping have fixed ones. By default time-stepping with
            --joint-limits, else dop853.
        step: length of fixed steps, s; 0.001 by default.
        rtol: relative tolerance of dop853, 1e-6 by default.
        sample_time: time between stored samples, s.
        joint_friction: include the friction of the drives.
        joint_limits: stop joints at their limits.
        walk: simulate a walk with sensors, estimator and controller. ROBOT is a built-in legged robot, or a file
            that names a model, its feet, start, gait, ground and cylinders.
        gait: gait of the walk; by default that of the file, else dynamic, which is a trot for a quadruped.
        steps: number of steps of the walk; by default those of the file, else 12.
        uneven: unexpected variation of the ground height, m; by default the ground of the file, else 0.
        save: write the whole motion to a .npz, .csv, .json or .parquet file.
        plot: draw the motion into a .png or .svg file.
    """
    from ..errors import ZvenoError
    from ..robot import Robot
    from ..simulation import PD
    from ..simulation.integrators import DOP853, RK4, TimeStepping
    from ..simulation.simulate import simulate as run
    from .configuration import parsed_velocities
    from .model import constraints_of, given, loaded

    protect(output, [robot], [save], reports=True, plot=plot)
    if save is not None and save.suffix.lower() not in SAVED:
        raise ZvenoError(
            f"a motion cannot be saved as {save.suffix!r}", file=save, remedy=f"Use {', '.join(SAVED)}"
        )
    if walk:
        from .walk import machine_of, walked

        plan, machine = machine_of(robot, model)
        refused = {"q0": q0, "v0": v0, "target": target, "control": () if control == "none" else control}
        refused |= {"integrator": integrator != "default", "rtol": rtol}
        refused |= {"joint-friction": joint_friction, "joint-limits": joint_limits}
        refused |= {"ball-joint": held.ball_joint, "weld": held.weld}
        times = {"duration": duration, "step": step, "sample_time": sample_time}
        walked(machine, plan, gait, steps, uneven, refused, (save, plot), output, times)
        return
    machine = Robot(loaded(robot, model))
    mechanism = machine.mechanism
    for name, value in {"gait": None if gait == "default" else gait, "steps": steps, "uneven": uneven}.items():
        if value is not None:
            raise ZvenoError("applies to walks only", element=f"--{name}", remedy="Add --walk")
    unused({"target": target if control != "pd" else ()}, "add --control pd")
    adaptive = integrator == "dop853" or (integrator == "default" and not joint_limits)
    unused({"step": step if adaptive else None}, "add --integrator rk4")
    unused({"rtol": None if adaptive else rtol}, "use --integrator dop853")
    method: RK4 | DOP853 | TimeStepping
    if adaptive:
        method = DOP853() if rtol is None else DOP853(rtol)
    else:
        kind = RK4 if integrator == "rk4" else TimeStepping
        method = kind() if step is None else kind(step)
    start = given(mechanism, q0, model)
    law = None
    if control == "hold":
        law = PD(start, kp=0.0, kd=0.0)
    elif control == "pd":
        law = PD(given(mechanism, target, model) if target else start)
    trajectory = run(
        machine,
        start,
        parsed_velocities(mechanism, v0, "v0", model.deg),
        1.0 if duration is None else duration,
        control=law,
        constraints=constraints_of(held),
        integrator=method,
        sample_time=sample_time,
        joint_friction=joint_friction,
        joint_limits=joint_limits,
    )
    output = apart(output, {".npz", ".csv", ".parquet"}, lambda file: trajectory.save(file, degrees=model.deg))
    if save is not None:
        say_written(trajectory.save(save, degrees=model.deg))
    write_plot(trajectory, plot)
    write_report(trajectory, output)
    deliver(answer_of(trajectory, model.deg), output)
    if trajectory.status in ("diverged", "energy error"):
        raise SystemExit(UNUSABLE)
