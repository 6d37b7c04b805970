"""`zveno simulate --walk`: a built-in walking machine walks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import ZvenoError
from ..robot import Robot
from .options import OutputFlags
from .output import Answer, deliver, say_written, write_report


def walked(
    machine: Robot,
    gait: str,
    steps: int | None,
    uneven: float | None,
    unused: Mapping[str, Any],
    files: tuple[Path | None, Path | None, Path | None],
    output: OutputFlags,
    times: Mapping[str, float | None],
) -> None:
    """Walk and deliver: the motion, its picture and its animation, and the walk itself."""
    from ..report.text.walking import print_walk, walk_data
    from ..walking.gaits.dynamic import DynamicGait
    from ..walking.gaits.static import StaticGait
    from ..walking.simulate_walk import simulate_walk
    from ..walking.stance import stance_of
    from ..walking.terrain import uneven_ground

    for name, value in unused.items():
        if value is not None and value is not False and value != ():
            raise ZvenoError("a walk chooses it itself", element=f"--{name}", remedy="Leave it out with --walk")
    steps = 12 if steps is None else steps
    chosen = StaticGait(steps=steps) if gait == "static" else DynamicGait(steps=steps)
    ground = uneven_ground(0.0 if uneven is None else uneven, rng=0)
    given: dict[str, Any] = {name: value for name, value in times.items() if value is not None}
    walk = simulate_walk(machine, *stance_of(machine), chosen, ground=ground, **given)
    save, plot, animate = files
    if save is not None:
        say_written(walk.trajectory.save(save))
    if plot is not None:
        say_written(walk.plot(plot))
    if animate is not None:
        say_written(walk.trajectory.animate(animate))
    write_report(walk, output)
    deliver(Answer(lambda: walk_data(walk), lambda console: print_walk(console, walk)), output)
