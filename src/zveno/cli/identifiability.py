"""The verb `identifiability`: which geometric parameters a kind of measurement can find."""

from __future__ import annotations

from .options import MODEL, OUTPUT, Flag, ModelFlags, OutputFlags, RobotName, Words
from .output import Answer, deliver, protect, write_report


def identifiability(
    robot: RobotName,
    /,
    *,
    measurement: str = "pose",
    strategy: str = "JL",
    parameters: Words = (),
    joint_terms: Words = (),
    rules: Flag = False,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Which geometric parameters a kind of measurement can find, alone or together.

    Args:
        measurement: pose, position, relative_pose, relative_position, distance, ball_bar, plane, line, point,
            sockets, self_touch, direction, camera, pixels or tilt.
        strategy: which of dependent parameters are kept: J (joints), B (base), T (tool) first, then from L or R.
        parameters: what is looked at: names, patterns such as Tx*, or classes (dh, controller, tcp, …); all.
        joint_terms: gear, compliance, eccentricity, ovality: more terms for every joint.
        rules: also write the model down by the rules of document 001.
    """
    from dataclasses import replace

    from ..calibration.identifiability.analysis import identifiability as find
    from ..calibration.measurements import measurement as named_measurement
    from ..report.text.calibration import identifiability_data, print_identifiability
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot], reports=True)
    arm = Robot(loaded(robot, model))
    kind = replace(named_measurement(measurement), frame=model.meant)
    structure = find(arm, kind, strategy=strategy, parameters=parameters or "all", joint_terms=joint_terms)
    by_rules = None
    if rules:
        from ..documents.calibration_001.rules import agrees

        by_rules = agrees(arm, kind)
    write_report(structure, output)
    deliver(
        Answer(
            lambda: identifiability_data(structure, by_rules),
            lambda console: print_identifiability(console, structure, by_rules=by_rules),
        ),
        output,
    )
