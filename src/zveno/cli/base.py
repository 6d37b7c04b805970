"""Command `base`: base inertial parameters of a robot."""

from __future__ import annotations

from typing import Literal

from .options import MODEL, OUTPUT, Flag, ModelFlags, OutputFlags, RobotName
from .output import Answer, answer_of, deliver, protect, write_report


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
    """Find the base inertial parameters, which determine the dynamics.

    Example: `zveno base puma560 --drives`.

    Args:
        drives: include rotor inertias, friction and offsets.
        view: link parameters: inertia tensor, pseudo-inertia of document 000, or tensor about the centre of mass.
        format: plain table, Markdown, LaTeX, JSON or CSV.
    """
    from dataclasses import replace

    from ..base_parameters.analyse import base_parameters
    from ..base_parameters.base_model import operations_sentence
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot], reports=True)
    parameters = base_parameters(loaded(robot, model), drives=drives, view=view)
    writers = {"md": parameters.to_markdown, "latex": parameters.to_latex, "csv": parameters.to_csv}

    def show(console):
        if format == "table":
            answer_of(parameters).show(console)
            console.print(operations_sentence(Robot(parameters.mechanism)))
        else:
            console.print(writers[format](), soft_wrap=True, end="")

    write_report(parameters, output)
    deliver(Answer(parameters.to_dict, show), replace(output, json=output.json or format == "json"))
