"""The verb `base`: the base inertial parameters of a robot."""

from __future__ import annotations

from typing import Literal

from .options import MODEL, OUTPUT, Flag, ModelFlags, OutputFlags, RobotName
from .output import Answer, deliver, protect, write_report


def base(
    robot: RobotName,
    /,
    *,
    drives: Flag = False,
    view: Literal["inertia", "pseudo", "center"] = "inertia",
    format: Literal["table", "md", "latex", "json", "csv"] = "table",
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """The base inertial parameters, which decide the dynamics, in link parameters.

    Args:
        drives: count rotor inertias, friction and offsets beside the links' parameters.
        view: how a link's parameters are counted: inertia tensor, pseudo-inertia of document 000, or tensor
            about the centre of mass.
        format: table for people, or Markdown, LaTeX, JSON, CSV.
    """
    from dataclasses import replace

    from ..base_parameters.analyse import base_parameters
    from ..base_parameters.base_dynamics import operations_sentence
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot], reports=True)
    parameters = base_parameters(loaded(robot, model), drives=drives, view=view)
    writers = {"md": parameters.to_markdown, "latex": parameters.to_latex, "csv": parameters.to_csv}

    def show(console):
        if format == "table":
            console.print(parameters.table())
            console.print(operations_sentence(Robot(parameters.mechanism)))
        else:
            console.print(writers[format](), soft_wrap=True, end="")

    write_report(parameters, output)
    deliver(Answer(parameters.to_dict, show), replace(output, json=output.json or format == "json"))
