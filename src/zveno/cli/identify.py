"""The verb `identify`: the true dynamics from recorded motions and torques."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from .options import (
    MODEL,
    OUTPUT,
    READ,
    WORKERS,
    Directory,
    File,
    ModelFlags,
    Number,
    Numbers,
    OutputFlags,
    RobotName,
    Words,
    WorkersFlags,
    pairs,
    several,
    shown,
)
from .output import UNUSABLE, Answer, deliver, protect, say_written, write_report


def identify(
    robot: RobotName,
    logs: Annotated[tuple, tyro.conf.Positional, shown("LOG [LOG ...]"), several(Path), READ] = (),
    /,
    *,
    validate: Annotated[tuple, shown("LOG ..."), several(Path), READ] = (),
    columns: Words = (),
    units: Words = (),
    gains: Numbers = (),
    offsets: Numbers = (),
    side: Literal["joint", "motor"] = "joint",
    gears: Numbers = (),
    rate: Number = None,
    friction: Words = (),
    prior: Literal["cad", "geometry", "none"] = "cad",
    band: Number = None,
    delay: Number = None,
    velocity: Literal["auto", "positions", "recorded"] = "auto",
    blocks: int = 6,
    write: File = None,
    export: Directory = None,
    plot: File = None,
    workers: WorkersFlags = WORKERS,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Inertia, friction and drives from recorded positions and torques.

    `--out x.json` keeps everything.

    Args:
        logs: recordings: CSV, .parquet, .npz, .mat, bags of ROS 1 or 2, .mcap; files that hold a part only
            (positions, torques) are put together; see docs/identification.md.
        validate: recordings that are only predicted; without them, blocks of the others are held out in turn.
        columns: what columns are, as ROLE=NAME, where their names do not say it: time=t_msg position=q_*
            torque=a,b,c velocity=none topic=/joint_states; * stands for the joint or its number.
        units: of roles, where names do not say them: position=deg time=ms torque=mNm.
        gains: torque by what was recorded, one number or one a joint: N*m/A of currents.
        offsets: added to the positions of the joints, one number or one a joint (--deg for degrees).
        side: motor, where positions and torques of motors were recorded.
        gears: turns of the motor in one of the joint, one number or one a joint, for --side motor where the model
            has no transmission.
        rate: samples a second, where there is no column of time.
        friction: auto, default, basic, none, or terms (viscous, coulomb, root, load, ...).
        prior: what links are drawn toward where data say nothing: cad (the model), geometry, none.
        band: Hz; torques are fitted up to there.
        delay: s by which torques are recorded after positions; found if not given.
        velocity: whether recorded velocities are used.
        blocks: contiguous blocks that are held out in turn.
        write: the identified robot as .urdf, .toml (DH) or .ets (elementary); one that is not usable only with
            --force.
        export: directory for the C code of the identified torques.
        plot: torques, friction, residuals and parameters as .png or .svg.
    """
    import numpy as np

    from ..errors import ZvenoError
    from ..identification.identify import identify as fit
    from ..io.logs.read import read_logs
    from ..report.text.identification import identification_data, print_identification
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot, *logs, *validate], [write, plot], reports=True)
    if not logs:
        raise ZvenoError("there is no recording", remedy="Give one or several files, such as log.csv")
    machine = Robot(loaded(robot, model))
    added = np.radians(offsets) if model.deg else np.array(offsets)
    options = {
        "columns": pairs(columns, "columns", "position=q_*"),
        "units": {role: _unit(word) for role, word in pairs(units, "units", "position=deg").items()},
        "gains": _numbers(gains),
        "offsets": _numbers(tuple(map(float, added))),
        "side": side,
        "gears": _numbers(gears),
        "rate": rate,
    }
    recordings = read_logs(logs, machine, **options)
    held_out = read_logs(validate, machine, **options) if validate else None
    fitted = fit(
        machine,
        recordings,
        validation=held_out,
        friction=friction[0] if len(friction) == 1 else friction or "auto",
        prior=prior,
        band=band,
        delay=delay,
        velocity=velocity,
        blocks=blocks,
        on=workers.place,
        checkpoint=workers.checkpoint,
    )
    usable = fitted.status == "usable" or output.force
    if (write is not None or export is not None) and not usable:
        print(f"{fitted.status}: no model was written (--force writes it)", file=sys.stderr)
    if write is not None and usable:
        say_written(fitted.write(write))
    if export is not None and usable:
        for path in fitted.export_c(export, force=output.force).files:
            say_written(path)
    if plot is not None:
        say_written(fitted.plot(plot))
    read = (*recordings, *(held_out or ()))
    answer = Answer(
        lambda: identification_data(fitted, read),
        lambda console: print_identification(console, fitted, model.deg, logs=read),
    )
    write_report(fitted, output)
    deliver(answer, output)
    if not usable:
        raise SystemExit(UNUSABLE)


def _unit(word: str) -> str | float | tuple[str, ...]:
    """A name, several (deg,mm), or a factor."""
    try:
        return float(word)
    except ValueError:
        return tuple(word.split(",")) if "," in word else word


def _numbers(values: tuple[float, ...]) -> float | tuple[float, ...] | None:
    if not values:
        return None
    return values[0] if len(values) == 1 else values
