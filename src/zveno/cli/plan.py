"""Command `plan`: measurement configurations for a calibration."""

from __future__ import annotations

from typing import Annotated, Optional

from .options import (
    MODEL,
    OUTPUT,
    PICTURE,
    Box,
    Flag,
    ModelFlags,
    Number,
    OutputFlags,
    PictureFlags,
    RobotName,
    Source,
    Vector,
    Words,
    shown,
    unused,
)
from .output import UNUSABLE, answer_of, apart, deliver, protect, write_plot, write_report

Metres = Annotated[Optional[float], shown("M")]


def plan(
    robot: RobotName,
    /,
    *,
    measurement: str = "pose",
    n: int = 30,
    criterion: str = "D",
    sigma: Metres = None,
    existing: Source = None,
    parameters: Words = (),
    joint_terms: Words = (),
    candidates: int = 5000,
    box: Box = None,
    viewer: Vector = None,
    half_angle: Number = None,
    ground: Metres = None,
    radius: Metres = None,
    touching: Flag = False,
    margin: float = 0.01,
    rng: int = 0,
    model: ModelFlags = MODEL,
    picture: PictureFlags = PICTURE,
    output: OutputFlags = OUTPUT,
) -> None:
    """Plan configurations to measure, for the most accurate calibration.

    `--out x.csv` saves the configurations; those of --existing are in rad and m.

    Example: `zveno plan ur5 --measurement relative_position --n 40 --out plan.csv`.

    Args:
        measurement: pose, position, relative_pose, relative_position, distance, ball_bar, plane, line, point,
            sockets, self_touch, direction, camera, pixels or tilt.
        n: number of configurations to plan.
        criterion: D, A, E or G.
        sigma: standard deviation of a measurement, m or rad; 1e-4 if not given.
        existing: CSV file of earlier measurements, with columns named like the joints (and group, or place and
            hole, for contacts); the plan complements them.
        parameters: parameters to calibrate: names, patterns such as Tx*, or classes (dh, controller, …); all.
        joint_terms: additional terms per joint to calibrate: gear, compliance, eccentricity, ovality, hysteresis;
            with hysteresis every configuration is measured from both sides.
        candidates: number of random candidates.
        box: lowest and highest corner of the region for the frame, m.
        viewer: position of an instrument that must see the frame's z axis.
        half_angle: maximum angle between the axis and the direction to the viewer, degrees; 60 if not given.
        ground: height of the floor, m.
        radius: radius of the links, for clearance, m; 3 % of the reach if not given.
        touching: do not check clearance between links.
        margin: fraction of every joint's range kept free at both ends.
        rng: random seed.
    """
    from dataclasses import replace

    import numpy as np

    from ..calibration.files import read_dataset
    from ..calibration.measurements import measurement as named_measurement
    from ..calibration.models import CalibrationModel
    from ..calibration.planning import Clearance, Visibility, plan_poses
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot, existing], reports=True, plot=picture.plot)
    unused({"half-angle": half_angle if viewer is None else None}, "give --viewer")
    unused({"radius": radius if touching and ground is None else None}, "give --ground")
    mechanism = loaded(robot, model)
    arm = Robot(mechanism)
    kind = replace(named_measurement(measurement), frame=model.meant, sigma=sigma)
    cone = np.radians(60.0 if half_angle is None else half_angle)
    options = {
        "model": CalibrationModel(parameters or "all", joint_terms),
        "criterion": criterion,
        "candidates": candidates,
        "box": None if box is None else (box[:3], box[3:]),
        "visibility": None if viewer is None else Visibility(viewer, cone),
        "clearance": None if touching and ground is None else Clearance(radius, ground, not touching),
        "margin": margin,
        "rng": rng,
    }
    before = None if existing is None else read_dataset(existing, mechanism, kind, planned=True)
    chosen = plan_poses(arm, kind, n, existing=before, **options)
    output = apart(output, {".csv"}, lambda file: chosen.write_csv(file, degrees=model.deg))
    write_plot(chosen, picture.plot)
    answer = answer_of(chosen, model.deg)
    write_report(chosen, output)
    deliver(answer, output)
    if chosen.status == "singular":
        raise SystemExit(UNUSABLE)
