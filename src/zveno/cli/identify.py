"""Command `identify`: identification of the dynamics from recorded motions and torques."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from .options import (
    MODEL,
    OUTPUT,
    READ,
    RECORDING,
    WORKERS,
    Directory,
    File,
    ModelFlags,
    Number,
    OutputFlags,
    RecordingFlags,
    RobotName,
    Words,
    WorkersFlags,
    friction_of,
    several,
    shown,
)
from .output import UNUSABLE, Answer, answer_of, deliver, protect, say_written, write_plot, write_report


def identify(
    robot: RobotName,
    logs: Annotated[tuple, tyro.conf.Positional, shown("LOG [LOG ...]"), several(Path), READ] = (),
    /,
    *,
    validate: Annotated[tuple, shown("LOG ..."), several(Path), READ] = (),
    friction_terms: Words = (),
    prior: Literal["cad", "geometry", "none"] = "cad",
    band: Number = None,
    delay: Number = None,
    velocity: Literal["auto", "positions", "recorded"] = "auto",
    folds: int = 6,
    write: File = None,
    export: Directory = None,
    plot: File = None,
    recording: RecordingFlags = RECORDING,
    workers: WorkersFlags = WORKERS,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Identify inertia, friction and drives from recorded motions and torques.

    `--out x.json` saves the complete result.

    Example: `zveno identify ur5 motion.csv --write identified.urdf`.

    Args:
        logs: recordings: CSV, .parquet, .npz, .mat, bags of ROS 1 or 2, .mcap; files with positions or torques
            alone are combined; see docs/identification.md.
        validate: recordings for validation only; without them, blocks of the others are held out in turn.
        friction_terms: auto, default, basic, none, or terms (viscous, coulomb, root, load, ...).
        prior: prior of link parameters that the data do not determine: cad (the model), geometry, none.
        band: upper frequency of the fitted torques, Hz.
        delay: delay of torques after positions, s; estimated if not given.
        velocity: source of velocities: recorded, differentiated positions, or auto.
        folds: number of contiguous blocks that are held out in turn.
        write: write the identified robot as .urdf, .toml (DH) or .ets (elementary); an unusable one only with
            --overwrite.
        export: directory for C code of the identified torques.
        plot: plot torques, friction, residuals and parameters as .png or .svg.
    """
    from ..errors import ZvenoError
    from ..identification.identify import identify as fit
    from ..io.logs.read import read_logs
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot, *logs, *validate], reports=True, plot=plot, model=write)
    if not logs:
        raise ZvenoError("there is no recording", remedy="Give one or several files, such as log.csv")
    machine = Robot(loaded(robot, model))
    options = recording.reading(model.deg)
    recordings = read_logs(logs, machine, **options)
    held_out = read_logs(validate, machine, **options) if validate else None
    with workers.executor() as executor:
        fitted = fit(
            machine,
            recordings,
            validation=held_out,
            friction_terms=friction_of(friction_terms, "auto"),
            prior=prior,
            band=band,
            delay=delay,
            velocity=velocity,
            folds=folds,
            executor=executor,
        )
    usable = fitted.status == "usable" or output.overwrite
    if (write is not None or export is not None) and not usable:
        print(f"{fitted.status}: no model was written (--overwrite writes it)", file=sys.stderr)
    if write is not None and usable:
        say_written(fitted.write(write))
    if export is not None and usable:
        for path in fitted.export_c(export, overwrite=output.overwrite).files:
            say_written(path)
    write_plot(fitted, plot)
    read = (*recordings, *(held_out or ()))
    logs_read = [{"source": log.source, "rows": len(log), "account": list(log.account)} for log in read]
    plain = answer_of(fitted, model.deg, logs=logs_read)

    def show(console):
        plain.show(console)
        for log in read:
            console.print()
            console.print(log.source, style="bold")
            for line in log.account:
                console.print(f"  {line}")

    write_report(fitted, output)
    deliver(Answer(plain.data, show), output)
    if not usable:
        raise SystemExit(UNUSABLE)
