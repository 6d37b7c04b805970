"""The verb `calibrate`: the true geometry from measurements."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Optional

import tyro

from .options import (
    MODEL,
    OUTPUT,
    READ,
    WORKERS,
    Count,
    Directory,
    File,
    Flag,
    ModelFlags,
    Number,
    OutputFlags,
    RobotName,
    Words,
    WorkersFlags,
    pairs,
    several,
    shown,
)
from .output import UNUSABLE, Answer, deliver, protect, say_written, write_report


def calibrate(
    robot: RobotName,
    data: Annotated[tuple, tyro.conf.Positional, shown("[DATA ...]"), several(Path), READ] = (),
    /,
    *,
    measurement: Annotated[Optional[str], shown("KIND")] = None,
    settings: Words = (),
    columns: Words = (),
    sigma: Number = None,
    parameters: Words = (),
    joint_terms: Words = (),
    fixed: Words = (),
    strategy: Annotated[Optional[str], shown("LETTERS")] = None,
    loss: str = "auto",
    events: str = "named",
    folds: int = 10,
    template: Flag = False,
    write: File = None,
    controller: Words = (),
    compensation: Directory = None,
    plot: File = None,
    postures: Count = None,
    cell: float = 0.1,
    directory: Directory = None,
    workers: WorkersFlags = WORKERS,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """The true geometry from measurements, its accuracy, and what to measure next.

    `--out x.json` keeps everything.

    Args:
        data: files of joint values and readings (CSV, .xlsx, .npz, .mat, .json, or a folder of sockets), all
            explained by one robot; see docs/calibration.md.
        measurement: what was measured, where the files do not say: pose, position, relative_pose,
            relative_position, distance, ball_bar, plane, line, point, sockets, self_touch, direction, camera,
            pixels or tilt.
        settings: what the files do not say, as KEY=VALUE: unit=mm, angle=deg, rotation=rotvec, distance=0.04, ….
        columns: what columns are, as NAME=COLUMN, where their names do not say it: x=laser_east joint1=J1.
        sigma: standard deviation of a reading, m or rad; estimated if not given.
        parameters: what may deviate: names, patterns such as Tx*, or classes (dh, controller, tcp, base, …); all.
        joint_terms: gear, compliance, eccentricity, ovality, hysteresis: more terms for every joint; by default
            those that the data are strong evidence for; none for none.
        fixed: names or patterns that stay nominal.
        strategy: which of dependent parameters are kept: J, B, T first, then from L or R; JL by default.
        events: what moved during a campaign is named, or fit with the rest, or ignored.
        loss: auto (rows that do not belong are left out), none, huber, cauchy or tukey.
        folds: parts for held-out errors; 0 for none.
        template: print a CSV file to fill in, and stop.
        write: the calibrated robot as .urdf, .toml (DH) or .ets (elementary); one that is worse than the nominal
            robot only with --force.
        controller: what a controller takes, as FORM=FILE: offsets, frames, dh, ur (calibration.yaml), kuka or abb;
            what the form cannot hold, and the accuracy that loses, is said.
        compensation: directory for compensate.h and compensate.c.
        plot: accuracy over the workspace before and after, in slices, as .png or .svg.
        postures: also sum up the accuracy in so many random postures, in cells of the workspace, and draw these.
        cell: side of the cells, m.
        directory: write the accuracy in all these postures there, one NPY file a piece with a manifest.
    """
    from dataclasses import replace

    from ..calibration.estimate import calibrate as fit
    from ..calibration.files.tables import read_campaign
    from ..calibration.files.tables import template as empty
    from ..calibration.measurements import measurement as named_measurement
    from ..calibration.measurements.campaigns import Campaign
    from ..calibration.use.accuracy_cells import accuracy_cells
    from ..errors import ZvenoError, visible
    from ..io.files import write_text
    from ..report.text.calibration import accuracy_data, calibration_data, print_calibration
    from ..robot import Robot
    from .model import loaded

    sources = [] if compensation is None else [compensation / name for name in ("compensate.h", "compensate.c")]
    forms = {form: Path(file) for form, file in pairs(controller, "controller", "ur=calibration.yaml").items()}
    protect(output, [robot, *data], [write, plot, *sources, *forms.values()], reports=True)
    mechanism = loaded(robot, model)
    if template:
        text = empty(mechanism, replace(named_measurement(measurement or "pose"), frame=model.meant))
        print(visible(text), end="")
        return
    if not data:
        raise ZvenoError(
            "there is no data file", remedy="Give one or several CSV files; --template prints an empty one"
        )

    said, renamed = pairs(settings, "settings", "unit=mm"), pairs(columns, "columns", "x=laser_east")

    def read(path) -> Campaign:
        kind = None if measurement is None else replace(named_measurement(measurement), frame=model.meant)
        campaign = read_campaign(path, mechanism, kind, settings=said, columns=renamed)
        what = campaign.measurement
        what = replace(what, frame=what.frame or model.meant, sigma=what.sigma if sigma is None else sigma)
        return replace(campaign, measurement=what, name=campaign.name or Path(path).stem)

    fitted = fit(
        Robot(mechanism),
        [read(path) for path in data],
        parameters=parameters or "all",
        joint_terms=() if joint_terms == ("none",) else joint_terms or "auto",
        fixed=fixed,
        strategy=strategy,
        loss=loss,
        events=events,
        folds=folds,
    )
    usable = fitted.status == "calibrated" or output.force
    if (write is not None or compensation is not None or forms) and not usable:
        print(f"{fitted.status}: no model was written (--force writes it)", file=sys.stderr)
    if write is not None and usable:
        say_written(fitted.write(write))
    for form, file in forms.items() if usable else ():
        made = fitted.controller(form)
        say_written(write_text(file, made.text))
        print(made.summary, file=sys.stderr)
    if compensation is not None and usable:
        for path in fitted.export_compensation(compensation):
            say_written(path)
    cells = None
    if postures is not None:
        shared = {"on": workers.place, "checkpoint": workers.checkpoint}
        cells = accuracy_cells(fitted, postures, cell, frame=model.meant, directory=directory, **shared)
    elif directory is not None or workers.place is not None or workers.checkpoint is not None:
        raise ZvenoError("there is nothing to share", element="--workers", remedy="Give --postures")
    if plot is not None:
        say_written((cells or fitted.accuracy_map()).plot(plot))
    write_report(fitted if cells is None else [fitted, cells], output)

    def show(console):
        print_calibration(console, fitted, model.deg)
        if cells is not None:
            console.print()
            console.print(f"Accuracy over the workspace: {cells.summary}")

    def plain():
        return calibration_data(fitted) | ({} if cells is None else {"accuracy": accuracy_data(cells)})

    deliver(Answer(plain, show), output)
    if not usable:
        raise SystemExit(UNUSABLE)
