"""Where to measure: document 001's simulated calibration, its two plans, and better ones for a real arm.

A planar arm (a1 = 250, a2 = 160 mm, noise 0.2 mm, an instrument that is off by a constant) is calibrated a hundred
times with each plan. The plan of the document makes every parameter 1.8 to 2.4 times more accurate, as the formula
predicts; the constant error ends up in the base. Then thirty postures are planned for a PUMA 560.

Run it with `python examples/09_calibration_plans.py [--experiments 10000]`; figures go to the working directory.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from rich.console import Console
from rich.progress import Progress

import zveno
from zveno.documents.calibration_001 import plan_study as study
from zveno.documents.calibration_001.pictures import draw_axis_errors, draw_study


def main(experiments: int):
    studies = {}
    with Progress(console=Console(stderr=True), disable=not sys.stderr.isatty()) as bar:
        for seed, (name, q) in enumerate(
            {"a: 0, 30, 60, 90°": study.usual_plan(), "b: ±90°": study.proposed_plan()}.items()
        ):
            task = bar.add_task(name, total=experiments)
            studies[name] = study.simulate_study(
                q,
                experiments,
                bias=(0.5, -0.4),
                seed=seed,
                progress=lambda done, task=task: bar.update(task, completed=done),
            )
    a, b = studies.values()
    low, high = study.ratio_band(experiments)
    print("parameter   σ plan a      σ plan b      ratio   seen    95 % band")
    for k, name in enumerate(study.NAMES):
        ratio, seen = a.predicted[k] / b.predicted[k], a.std[k] / b.std[k]
        band = f"{ratio * low:.2f} … {ratio * high:.2f}"
        print(f"{name:9}   {a.predicted[k]:.6f}      {b.predicted[k]:.6f}      {ratio:.3f}   {seen:.3f}   {band}")
    print(f"the constant error of (0.5, -0.4) mm went to x0, y0: mean errors {np.round(b.mean, 4) + 0.0}")
    print("figure 1:", draw_axis_errors("plan_figure1.png"))
    print("figure 2:", draw_study(studies, "plan_figure2.png"))

    robot, tracker = zveno.load("puma560"), zveno.Position(points=[[0.1, 0.0, 0.05]], sigma=5e-5)
    plan = robot.plan_poses(tracker, 30, candidates=2000)
    print(plan.summary)
    curve = zveno.accuracy_curve(robot, tracker, 60, candidates=2000)
    print(curve.summary)
    print("picture:", plan.plot("plan_puma560.png", curve=curve))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=100, help="calibrations with each plan")
    main(parser.parse_args().experiments)
