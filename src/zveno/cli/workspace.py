"""The verb `workspace`: what a robot reaches."""

from __future__ import annotations

from .options import (
    MODEL,
    OUTPUT,
    PICTURE,
    WORKERS,
    Box,
    Directory,
    Flag,
    ModelFlags,
    Number,
    OutputFlags,
    PictureFlags,
    RobotName,
    WorkersFlags,
)
from .output import UNUSABLE, Answer, deliver, protect, say_written, write_report


def workspace(
    robot: RobotName,
    /,
    *,
    box: Box = None,
    cell: Number = None,
    orientations: int = 32,
    task: str = "pose",
    no_limits: Flag = False,
    method: str = "auto",
    directory: Directory = None,
    workers: WorkersFlags = WORKERS,
    model: ModelFlags = MODEL,
    picture: PictureFlags = PICTURE,
    output: OutputFlags = OUTPUT,
) -> None:
    """Which positions a robot reaches, in how many orientations and ways.

    `--out x.json` keeps everything.

    Args:
        box: lowest and highest corner, m; about all that the robot can reach by default.
        cell: side of the cells, m; a twentieth of the longest side of the box by default.
        orientations: how many are tried at every position, spread evenly.
        task: pose, position or position+axis.
        no_limits: ignore the joint limits.
        method: as for `zveno ik`.
        directory: write what is known of every position there, one NPY file a piece; memory is bounded then.
    """
    from ..ik.maps.workspace import workspace_map
    from ..report.text.maps import print_workspace, workspace_data
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot], [picture.plot], reports=True)
    arm = Robot(loaded(robot, model))
    result = workspace_map(
        arm,
        None if box is None else (box[:3], box[3:]),
        cell,
        orientations,
        model.meant,
        limits=not no_limits,
        task=task,
        method=method,
        directory=directory,
        on=workers.place,
        checkpoint=workers.checkpoint,
    )
    if picture.plot is not None:
        say_written(result.plot(picture.plot))
    write_report(result, output)
    deliver(Answer(lambda: workspace_data(result), lambda console: print_workspace(console, result)), output)
    if not result.n_reached:
        raise SystemExit(UNUSABLE)
