"""The verb `export`: a robot's functions as C for a controller."""

from __future__ import annotations

from typing import Annotated, Optional

import tyro

from .options import MODEL, OUTPUT, Flag, ModelFlags, OutputFlags, RobotName, shown
from .output import Answer, deliver, protect


def export(
    robot: RobotName,
    /,
    *,
    functions: Annotated[str, tyro.conf.arg(metavar="NAME,NAME,…")] = (
        "inverse_dynamics,gravity_torque,forward_kinematics,jacobian,forward_dynamics"
    ),
    float: Flag = False,
    redundant: Annotated[Optional[str], shown("JOINT")] = None,
    no_measure: Flag = False,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Write a robot's functions as C99 without dependencies, with an example.

    `--out DIR` is the directory the files go to; made if it does not exist.

    Args:
        functions: names separated by commas; a wrong one lists those there are.
        float: numbers are `float` instead of `double`.
        redundant: the joint of seven whose angle is an argument of inverse kinematics.
        no_measure: do not compile and time the functions.
    """
    from dataclasses import replace

    from ..errors import ZvenoError
    from ..export import export_c
    from ..report.text.export import export_data, print_export
    from ..robot import Robot
    from .model import loaded

    if output.out is None:
        raise ZvenoError("there is no directory to write to", remedy="Give one: --out DIR")
    to_terminal = replace(output, out=None)
    protect(to_terminal, [robot])
    names = [name.strip() for name in functions.split(",") if name.strip()]
    done = export_c(
        Robot(loaded(robot, model)),
        names,
        output.out,
        single=float,
        frame=model.meant,
        redundant=redundant,
        timed=not no_measure,
        force=output.force,
    )
    deliver(Answer(lambda: export_data(done), lambda console: print_export(console, done)), to_terminal)
