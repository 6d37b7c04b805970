"""Command `studio`: a robot and results in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import tyro

from .options import MODEL, OUTPUT, READ, File, ModelFlags, OutputFlags, RobotName, shown
from .output import Answer, deliver, protect, say_written

Shown = Annotated[tuple[str, ...], tyro.conf.Positional, shown("[RESULT ...]"), READ]
"""Files of results, or other robots."""


def studio(
    robot: RobotName,
    results: Shown = (),
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    save: File = None,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Show a robot in the browser: its solutions, motions and errors.

    The printed link opens the studio, on this machine only. Ctrl-C ends it.

    Example: `zveno studio ur5 fit.json`.

    Args:
        results: files of saved results (.json, .npz), or other robots to show beside it.
        host: an address of this machine; any other than 127.0.0.1 opens the studio to the network.
        port: port number; 0 for any free port.
        save: write the scene as one offline .html page, and exit.
    """
    import sys

    from ..io.load import load_mechanism
    from ..io.results import load_result
    from ..robot import Robot
    from ..studio.studio import open_studio
    from .model import loaded

    protect(output, [robot, *results], [save])
    robots, shown = [Robot(loaded(robot, model))], []
    for word in results:
        if Path(word).suffix.lower() in (".json", ".npz"):
            shown.append(load_result(word))
        else:
            robots.append(Robot(load_mechanism(word)))
    with open_studio(robots, shown, frame=model.meant, host=host, port=port) as opened:
        if save is not None:
            say_written(opened.save(save))
        settings = {
            "robots": [stage.robot.name for stage in opened.stages],
            "results": [type(result).kind for result in shown],
            "url": None if save is not None else opened.url,
            "file": None if save is None else str(save),
        }
        said = f"open {opened.url}\nCtrl-C ends it." if save is None else f"open {save}"
        answer = Answer(lambda: settings, lambda console: console.print(said, markup=False, soft_wrap=True))
        if save is not None:
            deliver(answer, output)
            return
        try:
            deliver(answer, output)  # the reader of the link may end the studio before it waits
            opened.wait()
        except KeyboardInterrupt:
            print("ended", file=sys.stderr)
