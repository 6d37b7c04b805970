"""Simulated walk of a legged robot, for `zveno simulate --walk`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import ZvenoError
from ..robot import Robot
from .options import OutputFlags
from .output import UNUSABLE, answer_of, deliver, say_written, write_plot, write_report

if TYPE_CHECKING:
    from ..walking.machine_file import WalkingMachine
    from .model import Model


def machine_of(robot: str, model: Model) -> tuple[WalkingMachine | None, Robot]:
    """Return the walking machine of a file, if it is one, and the robot with the flags of its model applied."""
    from ..walking.machine_file import WalkingMachine, floating, is_machine_file
    from .model import loaded

    if not is_machine_file(robot):
        return None, Robot(loaded(robot, model))
    plan = WalkingMachine.read(robot)
    return plan, Robot(floating(loaded(plan.model, model)))


def walked(
    machine: Robot,
    plan: WalkingMachine | None,
    gait: str,
    steps: int | None,
    uneven: float | None,
    unused: Mapping[str, Any],
    files: tuple[Path | None, Path | None],
    output: OutputFlags,
    times: Mapping[str, float | None],
) -> None:
    """Simulate a walk and write the motion, its plot and the result."""
    from ..walking.feet import default_stance
    from ..walking.machine_file import GAITS, WalkingMachine
    from ..walking.terrain import uneven_ground

    for name, value in unused.items():
        if value is not None and value is not False and value != ():
            raise ZvenoError("cannot be combined with --walk", element=f"--{name}", remedy="Remove one of them")
    given: dict[str, Any] = {name: value for name, value in times.items() if value is not None}
    if plan is None:
        feet, start = default_stance(machine)
        plan = WalkingMachine(machine.name, feet, machine.unpack(start), GAITS["dynamic"](steps=12))
        uneven = 0.0 if uneven is None else uneven
    if gait != "default":
        plan = replace(plan, gait=GAITS[gait](steps=plan.gait.steps))
    if steps is not None:
        plan = replace(plan, gait=replace(plan.gait, steps=steps))
    if uneven is not None:
        plan = replace(plan, ground=uneven_ground(uneven, rng=0))
    walk = plan.walk(machine, **given)
    save, plot = files
    if save is not None:
        say_written(walk.trajectory.save(save))
    write_plot(walk, plot)
    write_report(walk, output)
    deliver(answer_of(walk), output)
    if not walk.walked:
        raise SystemExit(UNUSABLE)
