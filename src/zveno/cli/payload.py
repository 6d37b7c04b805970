"""Command `payload`: identification of a body that the robot carries."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from .options import (
    MODEL,
    OUTPUT,
    READ,
    RECORDING,
    ModelFlags,
    Number,
    OutputFlags,
    RecordingFlags,
    RobotName,
    Words,
    friction_of,
    several,
    shown,
)
from .output import UNUSABLE, answer_of, deliver, protect, write_report


def payload(
    robot: RobotName,
    logs: Annotated[tuple, tyro.conf.Positional, shown("LOG [LOG ...]"), several(Path), READ] = (),
    /,
    *,
    without: Annotated[tuple, shown("LOG ..."), several(Path), READ] = (),
    friction_terms: Words = (),
    band: Number = None,
    recording: RecordingFlags = RECORDING,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Identify mass, centre of mass and inertia of a payload from recorded torques.

    The payload is a body on the last link; its parameters are those in --frame.

    Example: `zveno payload ur5 loaded.csv --without bare.csv`.

    Args:
        logs: recordings with the payload, as for `zveno identify`.
        without: recordings of the same arm without the payload; by default the inertia of ROBOT is taken as exact.
        friction_terms: default, basic, none, or terms (viscous, coulomb, root, load, ...), fitted again.
        band: upper frequency of the fitted torques, Hz.
    """
    from ..errors import ZvenoError
    from ..identification.identify import identify
    from ..identification.payload import identify_payload
    from ..io.logs.read import read_logs
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot, *logs, *without], reports=True)
    if not logs:
        raise ZvenoError("there is no recording", remedy="Give one or several files, such as loaded.csv")
    arm = Robot(loaded(robot, model))
    options = recording.reading(model.deg)
    terms = friction_of(friction_terms, "default")
    known = identify(arm, read_logs(without, arm, **options), friction_terms=terms, band=band) if without else arm
    result = identify_payload(
        known, read_logs(logs, arm, **options), frame=model.meant, band=band, friction_terms=terms
    )
    write_report(result, output)
    deliver(answer_of(result, model.deg), output)
    if not result.consistent:
        raise SystemExit(UNUSABLE)
