"""Where to measure: document 001's two plans for a planar arm, judged and tried, and a better one for a real arm.

A planar arm (250 and 160 mm, noise 0.2 mm) is calibrated with sixteen postures of either plan, many times over.
The document's plan makes every parameter 1.8 to 2.4 times more accurate, as the formula predicts. Then thirty
postures are planned for a PUMA 560, and more or fewer of them compared. `python -m reproduction 001` repeats the
whole study of the document.

Run it with `python examples/09_calibration_plans.py [--experiments 100]`; the picture goes to the working
directory.
"""

from __future__ import annotations

import argparse

import numpy as np

import zveno
from zveno import calibration
from zveno.calibration import CalibrationModel

PARAMETERS = ("Txo", "Tyo", "Rzq1", "Tx1", "Rzq2", "Tx2")
"""Those of the plane: where the base stands, both joint offsets, both lengths."""


def plans() -> dict[str, np.ndarray]:
    """Sixteen postures each, rad: every combination of 0, 30, 60, 90°; and of ±90°, four times."""
    grid, ends = np.radians([0, 30, 60, 90]), np.radians([-90, 90])
    return {
        "a: 0, 30, 60, 90°": np.array([(a, b) for a in grid for b in grid]),
        "b: ±90°": np.array([(a, b) for a in ends for b in ends] * 4),
    }


def deviations(robot: zveno.Robot, tracker: calibration.Position, q: np.ndarray, experiments: int) -> np.ndarray:
    """Parameters found from measurements of the nominal arm with noise, (experiments, 6)."""
    rng = np.random.default_rng(0)
    p = robot.forward_kinematics(q)[:, :3, 3]
    found = []
    for _ in range(experiments):
        noise = np.array([2e-4, 2e-4, 0.0]) * rng.normal(size=p.shape)
        campaign = calibration.Dataset(tracker, q, p + noise)
        fit = robot.calibrate(
            campaign, model=CalibrationModel(parameters=PARAMETERS), loss="none", folds=0, prior=None
        )
        found.append(dict(zip(fit.names, fit.values, strict=True)))
    return np.array([[parameters[name] for name in PARAMETERS] for parameters in found])


def main(experiments: int) -> None:
    arm, tracker = zveno.load("Rz(q1) Tx(0.25) Rz(q2) Tx(0.16)"), calibration.Position(sigma=2e-4)
    a, b = (
        calibration.evaluate_poses(arm, tracker, q, model=CalibrationModel(parameters=PARAMETERS)).sigma
        for q in plans().values()
    )
    seen_a, seen_b = (deviations(arm, tracker, q, experiments).std(axis=0) for q in plans().values())
    print(
        f"parameter   σ plan a   σ plan b   ratio   in {experiments} calibrations, ± {100 / experiments**0.5:.0f} %"
    )
    for k, name in enumerate(PARAMETERS):
        print(f"{name:9}   {a[k]:.2e}   {b[k]:.2e}   {a[k] / b[k]:.2f}    {seen_a[k] / seen_b[k]:.2f}")

    robot, reflector = zveno.load("puma560"), calibration.Position(points=[[0.1, 0.0, 0.05]], sigma=5e-5)
    plan = zveno.calibration.plan_poses(robot, reflector, 30, candidates=2000)
    print(plan.summary)
    for n in (15, 20, 30, 40, 60):
        tool = zveno.calibration.plan_poses(robot, reflector, n, candidates=2000).tool_sigma
        print(f"{n} postures: the tool is known to {1e3 * np.sqrt(np.mean(tool**2)):.3f} mm (1σ)")
    plan.plot().savefig("plan_puma560.png")
    print("picture: plan_puma560.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiments", type=int, default=25, help="calibrations with each plan")
    main(parser.parse_args().experiments)
