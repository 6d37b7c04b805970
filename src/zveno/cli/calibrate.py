"""Command `calibrate`: geometric calibration from measurements."""

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
    unused,
)
from .output import UNUSABLE, Answer, answer_of, deliver, protect, say_written, write_plot, write_report


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
    folds: int = 10,
    template: Flag = False,
    write: File = None,
    controller: Words = (),
    compensation: Directory = None,
    plot: File = None,
    postures: Count = None,
    cell: Number = None,
    workers: WorkersFlags = WORKERS,
    model: ModelFlags = MODEL,
    output: OutputFlags = OUTPUT,
) -> None:
    """Calibrate the geometry from measurements, and report its accuracy.

    `--out x.json` saves the complete result.

    Examples: `zveno calibrate ur5 --measurement position --template` and
    `zveno calibrate ur5 data.csv --write calibrated.urdf --report report.html`.

    Args:
        data: files of joint values and measurements (CSV, .xlsx, .npz, .mat, .json, or a folder of sockets) of
            one robot; see docs/calibration.md.
        measurement: type of measurement, if the files do not specify it: pose, position, relative_pose,
            relative_position, distance, ball_bar, plane, line, point, sockets, self_touch, direction, camera,
            pixels or tilt.
        settings: settings missing from the files, as KEY=VALUE: unit=mm, angle=deg, rotation=rotvec, ….
        columns: meaning of columns with other names, as NAME=COLUMN: x=laser_east joint1=J1.
        sigma: standard deviation of a measurement, m or rad; estimated if not given.
        parameters: parameters to calibrate: names, patterns such as Tx*, or classes (dh, controller, tcp, …); all.
        joint_terms: additional terms per joint: gear, compliance, eccentricity, ovality, hysteresis, or none;
            by default all of them if the data support them.
        fixed: names or patterns that stay nominal.
        strategy: choice among dependent parameters: J, B, T first, then from L or R; JL by default.
        loss: auto (outliers are rejected) or none (all rows count).
        folds: number of cross-validation folds; 0 for none.
        template: print a CSV file to fill in, and stop.
        write: write the calibrated robot as .urdf, .toml (DH) or .ets (elementary); a robot that is worse than the
            nominal one only with --overwrite.
        controller: write controller parameters, as FORM=FILE: offsets, frames, dh, ur (calibration.yaml), kuka or
            abb; parameters that the form cannot represent, and the lost accuracy, are reported.
        compensation: directory for compensate.h and compensate.c.
        plot: plot the accuracy over the workspace before and after, in slices, as .png or .svg.
        postures: number of random configurations for an accuracy map in cells of the workspace.
        cell: side of the cells, m; 0.1 if not given.
    """
    from dataclasses import replace

    from ..calibration.accuracy import accuracy_cells
    from ..calibration.calibrate import calibrate as fit
    from ..calibration.controller import FORMS
    from ..calibration.files import read_dataset
    from ..calibration.files import template as empty
    from ..calibration.measurements import measurement as named_measurement
    from ..calibration.measurements.datasets import Dataset
    from ..calibration.models import CalibrationModel
    from ..errors import ModelError, ZvenoError, unknown_name, visible
    from ..io.files import write_text
    from ..report.json import values
    from ..robot import Robot
    from .model import loaded

    sources = [compensation]  # made where it does not exist
    if compensation is not None and compensation.is_dir():
        sources = [compensation / name for name in ("compensate.h", "compensate.c")]
    forms = {form: Path(file) for form, file in pairs(controller, "controller", "ur=calibration.yaml").items()}
    protect(output, [robot, *data], [*sources, *forms.values()], reports=True, plot=plot, model=write)
    unused({"cell": cell if postures is None else None}, "give --postures")
    unknown = [form for form in forms if form not in FORMS]
    if unknown:
        raise unknown_name("form", unknown[0], FORMS)
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

    def read(path) -> Dataset:
        kind = None if measurement is None else replace(named_measurement(measurement), frame=model.meant)
        campaign = read_dataset(path, mechanism, kind, settings=said, columns=renamed)
        kind = campaign.measurement
        kind = replace(kind, frame=kind.frame or model.meant, sigma=kind.sigma if sigma is None else sigma)
        return replace(campaign, measurement=kind, name=campaign.name or Path(path).stem)

    fitted = fit(
        Robot(mechanism),
        [read(path) for path in data],
        model=CalibrationModel(
            parameters or "all", () if joint_terms == ("none",) else joint_terms or None, strategy, fixed
        ),
        loss=loss,
        folds=folds,
    )
    usable = fitted.status == "calibrated" or output.overwrite
    made = {}
    for form, file in forms.items() if usable else ():
        try:
            made[file] = fitted.controller(form)
        except ModelError as error:  # not even by force: offsets would go to a controller
            print(f"{error}: {file} was not written", file=sys.stderr)
    if (write is not None or compensation is not None or forms) and not usable:
        print(f"{fitted.status}: no model was written (--overwrite writes it)", file=sys.stderr)
    if write is not None and usable:
        say_written(fitted.write(write))
    for file, form in made.items():
        say_written(write_text(file, form.text))
        print(form.summary, file=sys.stderr)
    compensated = compensation is None
    if compensation is not None and usable:
        try:
            for path in fitted.export_compensation(compensation):
                say_written(path)
            compensated = True
        except ModelError as error:
            print(f"{error}: nothing was written to {compensation}", file=sys.stderr)
    cells = None
    if postures is not None:
        with workers.executor() as executor:
            cells = accuracy_cells(
                fitted, postures, 0.1 if cell is None else cell, frame=model.meant, executor=executor
            )
    elif workers.workers is not None:
        raise ZvenoError("there is nothing to share", element="--workers", remedy="Give --postures")
    if plot is not None:
        write_plot(cells or fitted.accuracy_map(), plot)
    write_report(fitted if cells is None else [fitted, cells], output)
    accuracy = {} if cells is None else {"accuracy": values(cells.describe())}
    plain = answer_of(fitted, model.deg, **accuracy)

    def show(console):
        plain.show(console)
        if cells is not None:
            console.print(f"\nAccuracy over the workspace: {cells.summary}")

    deliver(Answer(plain.data, show), output)
    if not usable or len(made) < len(forms) or not compensated:
        raise SystemExit(UNUSABLE)
