"""Command `axes`: a robot from motions of one joint at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from .options import OUTPUT, Number, OutputFlags
from .output import Answer, deliver, protect

Motions = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="MOTIONS")]
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

    Args:
        motions: CSV file with the joint values and x, y, z of the target in every row.
        target: output file: .urdf, .xml (MJCF), .toml (Denavit-Hartenberg table) or .ets (elementary transforms).
        sigma: standard deviation of a measured coordinate, m; estimated by default.
    """
    from ..calibration.axes import identify_axes, read_axis_motions
    from ..errors import ZvenoError
    from ..io.write import write_model

    protect(output, [motions], model=target)
    given = read_axis_motions(motions)
    try:
        found = identify_axes(*given, sigma=sigma)
    except ZvenoError as error:
        raise error.located(file=motions) from error
    file = write_model(found.mechanism, target)
    data = {
        "file": str(file),
        "q_rest": dict(zip(given.names, found.q_rest.tolist(), strict=True)),
        "axes": [
            {"joint": name, "type": axis.kind, "direction": axis.direction.tolist(), "point": axis.t.tolist()}
            | {"radius": axis.radius, "residual": axis.residual, "covariance": axis.covariance.tolist()}
            for name, axis in zip(given.names, found.axes, strict=True)
        ],
    }

    def show(console):
        console.print(str(found))
        console.print(f"{len(found.axes)} axes, written to {file}")

    deliver(Answer(lambda: data, show), output)
