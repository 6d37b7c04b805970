"""The verb `plan`: where to measure so that a calibration is best."""

from __future__ import annotations

from typing import Annotated, Optional

from .options import (
    MODEL,
    OUTPUT,
    PICTURE,
    WORKERS,
    Box,
    Count,
    Flag,
    ModelFlags,
    OutputFlags,
    PictureFlags,
    RobotName,
    Source,
    Vector,
    Words,
    WorkersFlags,
    shown,
)
from .output import Answer, apart, deliver, protect, say_written, write_report

Metres = Annotated[Optional[float], shown("M")]


def plan(
    robot: RobotName,
    /,
    *,
    measurement: str = "pose",
    n: int = 30,
    criterion: str = "D",
    sigma: Metres = None,
    have: Source = None,
    parameters: Words = (),
    joint_terms: Words = (),
    candidates: int = 5000,
    box: Box = None,
    viewer: Vector = None,
    half_angle: float = 60.0,
    ground: Metres = None,
    radius: Metres = None,
    touching: Flag = False,
    margin: float = 0.0,
    places: Count = None,
    once: Flag = False,
    no_refine: Flag = False,
    rng: int = 0,
    starts: int = 1,
    trials: Count = None,
    workers: WorkersFlags = WORKERS,
    model: ModelFlags = MODEL,
    picture: PictureFlags = PICTURE,
    output: OutputFlags = OUTPUT,
) -> None:
    """Postures to measure in, for the most accurate calibration.

    `--out x.csv` takes the postures; those of --have are in rad and m.

    Args:
        measurement: pose, position, relative_pose, relative_position, distance, ball_bar, plane, line, point,
            sockets, self_touch, direction, camera, pixels or tilt.
        n: postures to plan.
        criterion: D, A, E, G, T, or O1 to O5.
        sigma: standard deviation of a reading, m or rad; 1e-4 if not given.
        have: a CSV of postures already measured, columns named like the joints (and group, or place and hole, for
            contacts); the plan completes them.
        parameters: what will be calibrated: names, patterns such as Tx*, or classes (dh, controller, …); all.
        joint_terms: gear, compliance, eccentricity, ovality, hysteresis: terms of every joint that will be
            calibrated, too; with hysteresis every posture is measured from both sides.
        candidates: random postures to choose from.
        box: lowest and highest corner the frame must stay between, m.
        viewer: place of an instrument that must see the frame's z axis.
        half_angle: how far the axis may point past the viewer, degrees.
        ground: height of the floor, m.
        radius: of the links, for clearance, m; 3 % of the reach if not given.
        touching: do not check that links keep clear of each other.
        margin: share of every joint's range kept free at both ends.
        places: new places to touch (plane, point, sockets); six holes, or none where --have has touched some.
        once: use no posture twice.
        no_refine: stay with the candidates.
        rng: seed of the random candidates.
        starts: how often to plan among other candidates; the best plan is taken.
        trials: also calibrate so many simulated robots by the plan, and say how accurate they become.
    """
    from dataclasses import replace

    import numpy as np

    from ..calibration.files.tables import read_campaign
    from ..calibration.measurements import measurement as named_measurement
    from ..design import Clearance, Visibility, accuracy_curve, plan_poses
    from ..design.trials import calibration_trials
    from ..errors import ZvenoError
    from ..report.text.plan import plan_data, print_plan
    from ..robot import Robot
    from .model import loaded

    protect(output, [robot, have], [picture.plot], reports=True)
    mechanism = loaded(robot, model)
    arm = Robot(mechanism)
    kind = replace(named_measurement(measurement), frame=model.meant, sigma=sigma)
    options = {
        "parameters": parameters or "all",
        "joint_terms": joint_terms,
        "candidates": candidates,
        "box": None if box is None else (box[:3], box[3:]),
        "visibility": None if viewer is None else Visibility(viewer, np.radians(half_angle)),
        "clearance": None if touching and ground is None else Clearance(radius, ground, not touching),
        "margin": margin,
        "rng": rng,
    }
    before = None if have is None else read_campaign(have, mechanism, kind, planned=True)
    again = {"repeats": not once, "refine": not no_refine, "places": places}
    shared = {"on": workers.place, "checkpoint": workers.checkpoint}
    if trials is None and starts == 1 and (workers.place is not None or workers.checkpoint is not None):
        raise ZvenoError("there is nothing to share", element="--workers", remedy="Give --starts or --trials")
    if starts > 1:
        again |= {"starts": starts, **shared}
    chosen = plan_poses(arm, kind, n, criterion, have=before, **again, **options)
    # Written first, so that the plan stays if what follows is interrupted.
    output = apart(output, {".csv"}, lambda file: chosen.write_csv(file, degrees=model.deg))
    tried = None
    if trials is not None:
        if starts > 1 and workers.checkpoint is not None:
            shared["checkpoint"] = workers.checkpoint.with_suffix(".trials" + workers.checkpoint.suffix)
        tried = calibration_trials(arm, chosen, trials, measurement=kind, rng=rng, **shared)
    curve = None
    if chosen.status == "good":
        whole = [chosen] if before is None else [before, chosen]
        curve = accuracy_curve(arm, kind, max(20, 4 * n), have=whole, **options)
    if picture.plot is not None:
        say_written(chosen.plot(picture.plot, curve=curve))

    def show(console):
        print_plan(console, chosen, model.deg, curve=curve)
        if tried is not None:
            console.print()
            console.print(tried.summary)

    def data():
        more = {} if tried is None else {"trials": tried.data()}
        return plan_data(chosen, curve) | more

    answer = Answer(data, show)
    write_report([each for each in (chosen, curve, tried) if each is not None], output)
    deliver(answer, output)
