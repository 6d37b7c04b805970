"""Command `axes`: a robot from motions of one joint at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from .options import OUTPUT, READ, Number, OutputFlags
from .output import answer_of, deliver, protect, say_written, write_report

Motions = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MOTIONS"), READ]
Target = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]


def axes(
    motions: Motions,
    target: Target,
    /,
    *,
    sigma: Number = None,
    output: OutputFlags = OUTPUT,
) -> None:
    """Find a robot from positions of a target while one joint at a time moves.

    No nominal model is needed. `zveno calibrate FILE …` then refines the robot.

    Example: `zveno axes axes.csv arm.urdf`.

    Args:
        motions: CSV file with the joint values and x, y, z of the target in every row.
        target: output file: .urdf, .xml (MJCF), .toml (Denavit-Hartenberg table) or .ets (elementary transforms).
        sigma: standard deviation of a measured coordinate, m; estimated by default.
    """
    from ..calibration.axes import identify_axes, read_axis_motions
    from ..errors import ZvenoError
    from ..io.write import write_model

    protect(output, [motions], reports=True, model=target)
    given = read_axis_motions(motions)
    try:
        identified = identify_axes(*given, sigma=sigma)
    except ZvenoError as error:
        raise error.located(file=motions) from error
    file = write_model(identified.mechanism, target)
    say_written(file)
    write_report(identified, output)
    deliver(answer_of(identified, file=str(file)), output)
