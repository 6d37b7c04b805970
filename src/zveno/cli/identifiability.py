"""Command `identifiability`: geometric parameters that a type of measurement can identify."""

from __future__ import annotations

from .options import MODEL, OUTPUT, ModelFlags, OutputFlags, RobotName, Words
from .output import answer_of, deliver, protect, write_report


def identifiability(
    robot: RobotName,
    /,
    *,
    measurement: str = "pose",
    strategy: str = "JL",
    parameters: Words = (),
    joint_terms: Words = (),
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Find the geometric parameters that a type of measurement can identify.

    Example: `zveno identifiability ur5 --measurement position`.

    Args:
        measurement: pose, position, relative_pose, relative_position, distance, ball_bar, plane, line, point,
            sockets, self_touch, direction, camera, pixels or tilt.
        strategy: choice among dependent parameters: J (joints), B (base), T (tool) first, then from L or R.
        parameters: parameters to analyse: names, patterns such as Tx*, or classes (dh, controller, tcp, …); all.
        joint_terms: additional terms per joint: gear, compliance, eccentricity, ovality.
    """
    from dataclasses import replace

    from ..calibration._identifiability import identifiability as find
    from ..calibration.measurements import measurement as named_measurement
    from ..calibration.models import CalibrationModel
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot], reports=True)
    arm = Robot(loaded(robot, model))
    kind = replace(named_measurement(measurement), frame=model.meant)
    deviating = CalibrationModel(parameters or "all", joint_terms, strategy)
    structure = find(arm, kind, model=deviating)
    write_report(structure, output)
    deliver(answer_of(structure, model.deg), output)
