"""The verb `simulate`: the motion of a robot over time."""

from __future__ import annotations

from typing import Literal

from .options import (
    MODEL,
    OUTPUT,
    WORKERS,
    Count,
    File,
    Flag,
    ModelFlags,
    Number,
    OutputFlags,
    Quantities,
    RobotName,
    Source,
    WorkersFlags,
)
from .output import Answer, apart, deliver, protect, say_written, write_report


def simulate(
    robot: RobotName,
    /,
    *,
    duration: Number = None,
    q0: Quantities = (),
    v0: Quantities = (),
    control: Literal["none", "pd", "hold"] = "none",
    target: Quantities = (),
    integrator: Literal[
        "default", "dop853", "lsoda", "adams", "rk4", "midpoint", "semi-implicit", "time-stepping"
    ] = "default",
    step: Number = None,
    rtol: Number = None,
    sample: Number = None,
    friction: Flag = False,
    limits: Flag = False,
    walk: Flag = False,
    gait: Literal["default", "static", "dynamic"] = "default",
    steps: Count = None,
    uneven: Number = None,
    runs: Count = None,
    states: Source = None,
    rng: int = 0,
    save: File = None,
    plot: File = None,
    animate: File = None,
    workers: WorkersFlags = WORKERS,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """The motion of a robot from one state or many: falling, or held by a controller.

    `--out x.npz` (or .csv, .parquet) takes the motion itself.

    Args:
        duration: seconds, 1 by default; of a walk, after which it is over whether or not all steps are made.
        q0: initial joint values, numbers in the order of `zveno info` or name=value pairs; neutral by default.
        v0: initial velocities, in the same way; at rest by default.
        control: "pd" pulls to --target with gravity compensated, "hold" compensates gravity only.
        target: joint values for --control pd; q0 by default.
        integrator: dop853, lsoda and adams choose their steps; rk4, midpoint and semi-implicit have fixed ones.
            dop853 by default, rk4 for many runs.
        step: seconds, for fixed steps; 0.001 by default.
        rtol: relative tolerance of the others, 1e-6 by default.
        sample: seconds between the samples kept.
        friction: count the drives' friction.
        limits: joints stop at their limits.
        walk: let a built-in walking machine walk, with sensors, estimator and controller.
        gait: of the walk; dynamic by default, in which a quadruped trots.
        steps: of the walk, 12 by default.
        uneven: metres by which the ground differs from what the machine expects, 0 by default.
        runs: simulate from so many random states within the limits, at rest, instead of --q0.
        states: simulate from every row of this .npy file, joint values or joint values and velocities.
        rng: seed of --runs.
        save: write the whole motion to a .npz, .csv, .json or .parquet file.
        plot: draw the motion into a .png or .svg file.
        animate: show the robot in motion in a .gif, .webp or .mp4 file.
    """
    from ..errors import ZvenoError
    from ..report.text.trajectory import print_trajectory, trajectory_data
    from ..robot import Robot
    from ..simulation import PD
    from ..simulation import simulate as run
    from .configuration import parsed_velocities
    from .model import given, loaded
    from .sweep import sweep_states

    protect(output, [robot, states], [save, plot, animate], reports=True)
    machine = Robot(loaded(robot, model))
    mechanism = machine.mechanism
    if walk:
        from .walk import walked

        unused = {"q0": q0, "v0": v0, "target": target, "control": () if control == "none" else control}
        unused |= {"runs": runs, "states": states, "workers": workers.place, "checkpoint": workers.checkpoint}
        unused |= {"integrator": integrator != "default", "friction": friction, "limits": limits, "rtol": rtol}
        times = {"duration": duration, "step": step, "sample": sample}
        walked(machine, gait, steps, uneven, unused, (save, plot, animate), output, times)
        return
    for name, value in {"gait": None if gait == "default" else gait, "steps": steps, "uneven": uneven}.items():
        if value is not None:
            raise ZvenoError("belongs to walks", element=f"--{name}", remedy="Add --walk")
    for_one = {"q0": q0, "v0": v0, "animate": animate, "plot": plot}
    many = sweep_states(machine, runs, states, rng, for_one, (save, output.out))
    if many is None and (workers.place is not None or workers.checkpoint is not None):
        raise ZvenoError("there is nothing to share", element="--workers", remedy="Give --runs or --states")
    start = given(mechanism, q0, model)
    law = None
    if control == "hold":
        law = PD(start, kp=0.0, kd=0.0)
    elif control == "pd":
        law = PD(given(mechanism, target, model) if target else start)
    trajectory = run(
        machine,
        *((start, parsed_velocities(mechanism, v0, "v0", model.deg)) if many is None else many),
        1.0 if duration is None else duration,
        control=law,
        integrator=None if integrator == "default" else integrator,
        step=1e-3 if step is None else step,
        rtol=1e-6 if rtol is None else rtol,
        sample=sample,
        friction=friction,
        limits=limits,
        on=workers.place,
        checkpoint=workers.checkpoint,
    )
    output = apart(output, {".npz", ".csv", ".parquet"}, lambda file: trajectory.save(file, degrees=model.deg))
    if save is not None:
        say_written(trajectory.save(save, degrees=model.deg))
    if plot is not None:
        say_written(trajectory.plot(plot))
    if animate is not None:
        say_written(trajectory.animate(animate))
    write_report(trajectory, output)
    deliver(
        Answer(
            lambda: trajectory_data(trajectory), lambda console: print_trajectory(console, trajectory, model.deg)
        ),
        output,
    )
