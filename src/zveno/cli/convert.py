"""Command `convert`: conversion between model formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from .options import MODEL, OUTPUT, ModelFlags, OutputFlags, RobotName
from .output import Answer, deliver, protect

Target = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")]


def convert(
    robot: RobotName,
    target: Target,
    /,
    *,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Convert a robot to another file format, and report what is lost.

    Example: `zveno convert puma560 puma.xml`.

    Args:
        target: output file: .urdf, .xml (MJCF), .toml (Denavit-Hartenberg table) or .ets (elementary transforms).
    """
    import warnings

    from ..errors import ZvenoWarning
    from ..io.write import write_model
    from .model import loaded

    protect(output, [robot], model=target)
    mechanism = loaded(robot, model)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ZvenoWarning)
        file = write_model(mechanism, target)
    lost = [str(warning.message) for warning in caught]
    data = {"robot": mechanism.name, "file": str(file), "lost": lost}

    def show(console):
        console.print(f"{mechanism.name}: {mechanism.n_links} links, {mechanism.n_v} velocities, written to {file}")
        for words in lost:
            console.print(f"Lost: {words}", style="yellow")

    deliver(Answer(lambda: data, show), output)
