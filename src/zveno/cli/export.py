"""Command `export`: functions of a robot as C for a controller."""

from __future__ import annotations

from typing import Annotated, Optional

import tyro

from .options import MODEL, OUTPUT, Flag, ModelFlags, OutputFlags, RobotName, shown
from .output import answer_of, deliver, protect


def export(
    robot: RobotName,
    /,
    *,
    functions: Annotated[str, tyro.conf.arg(metavar="NAME,NAME,…")] = (
        "inverse_dynamics,gravity_torque,forward_kinematics,jacobian,forward_dynamics"
    ),
    float: Flag = False,
    redundant_joint: Annotated[Optional[str], shown("JOINT")] = None,
    no_measure: Flag = False,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Export functions of a robot as C99 without dependencies, with an example.

    `--out DIR` is the output directory; it is created if it does not exist.

    Example: `zveno export ur5 --functions inverse_kinematics --out ur5_c`.

    Args:
        functions: names separated by commas; an unknown name lists the available ones.
        float: use `float` instead of `double`.
        redundant_joint: redundant joint of a seven-joint arm, whose angle is an argument of inverse kinematics.
        no_measure: do not compile and time the functions.
    """
    from dataclasses import replace

    from ..errors import ZvenoError
    from ..export import export_c
    from ..robot import Robot
    from .model import loaded

    if output.out is None:
        raise ZvenoError("no output directory was given", remedy="Give one: --out DIR")
    to_terminal = replace(output, out=None)
    protect(to_terminal, [robot])
    names = [name.strip() for name in functions.split(",") if name.strip()]
    done = export_c(
        Robot(loaded(robot, model)),
        names,
        output.out,
        single=float,
        frame=model.meant,
        redundant_joint=redundant_joint,
        timed=not no_measure,
        overwrite=output.overwrite,
    )
    deliver(answer_of(done), to_terminal)
