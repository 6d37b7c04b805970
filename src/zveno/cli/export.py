"""The verb `export`: a robot's functions as C for a controller."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from .options import MODEL, Flag, ModelFlags, Name, RobotName


def export(
    robot: RobotName,
    /,
    *,
    out: Annotated[Path, tyro.conf.arg(metavar="DIR")],
    functions: Annotated[str, tyro.conf.arg(metavar="NAME,NAME,…")] = (
        "inverse_dynamics,gravity_torque,forward_kinematics,jacobian,forward_dynamics"
    ),
    float: Flag = False,
    frame: Name = None,
    no_measure: Flag = False,
    json: Flag = False,
    force: Flag = False,
    debug: Flag = False,
    model: ModelFlags = MODEL,
) -> None:
    """Write a robot's functions as C99 without dependencies, with an example.

    Args:
        out: the directory the files go to; made if it does not exist.
        functions: names separated by commas; a wrong one lists those there are.
        float: numbers are `float` instead of `double`.
        frame: the frame of kinematic functions; by default the one named tool, or that of the only end link.
        no_measure: do not compile and time the functions.
        json: print JSON instead of text.
        force: replace existing files, also those that zveno did not write.
        debug: show the full traceback of an error.
    """
    from ..export import export_c
    from ..report.text.export import export_data, print_export
    from ..robot import Robot
    from .options import Output
    from .output import Answer, deliver
    from .verbs import loaded

    del debug  # read by app.main
    names = [name.strip() for name in functions.split(",") if name.strip()]
    done = export_c(
        Robot(loaded(robot, model)), names, out, single=float, frame=frame, timed=not no_measure, force=force
    )
    deliver(Answer(lambda: export_data(done), lambda console: print_export(console, done)), Output(json=json))
