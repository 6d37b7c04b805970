"""Command `workspace`: reachable workspace of a robot."""

from __future__ import annotations

from .options import (
    MODEL,
    OUTPUT,
    PICTURE,
    WORKERS,
    Box,
    Flag,
    ModelFlags,
    Number,
    OutputFlags,
    PictureFlags,
    RobotName,
    WorkersFlags,
)
from .output import UNUSABLE, answer_of, deliver, protect, write_plot, write_report


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
    workers: WorkersFlags = WORKERS,
    model: ModelFlags = MODEL,
    picture: PictureFlags = PICTURE,
    output: OutputFlags = OUTPUT,
) -> None:
    """Map the workspace: reachable positions, orientations and solutions.

    `--out x.json` saves the complete result.

    Example: `zveno workspace ur5 --cell 0.1 --plot reach.png`.

    Args:
        box: lowest and highest corner, m; by default about the reach of the robot.
        cell: side of the cells, m; a twentieth of the longest side of the box by default.
        orientations: number of evenly distributed orientations per position.
        task: pose, position or position+axis.
        no_limits: ignore the joint limits.
        method: as for `zveno ik`.
    """
    from ..ik.maps.workspace import workspace_map
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot], reports=True, plot=picture.plot)
    arm = Robot(loaded(robot, model))
    with workers.executor() as executor:
        result = workspace_map(
            arm,
            None if box is None else (box[:3], box[3:]),
            cell,
            orientations,
            model.meant,
            limits=not no_limits,
            task=task,
            method=method,
            executor=executor,
        )
    write_plot(result, picture.plot)
    write_report(result, output)
    deliver(answer_of(result, model.deg), output)
    if not result.n_reached:
        raise SystemExit(UNUSABLE)
