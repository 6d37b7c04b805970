"""Calibrate an arm from simulated tracker positions: what can be found, the fit, its accuracy, and compensation.

A PUMA 560 that is not as drawn is measured in 50 postures by a tracker whose place is not known, with 0.05 mm
noise and two bad rows. Run it with `python examples/08_calibrate_an_arm.py`.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console

import zveno
from zveno.calibration.estimate import calibrate
from zveno.calibration.identifiability.analysis import identifiability
from zveno.calibration.measurements import RelativePosition
from zveno.calibration.measurements.campaigns import Campaign
from zveno.calibration.model.models import redundant_model
from zveno.calibration.use.output import calibrated_mechanism
from zveno.report.text.calibration import print_calibration, print_identifiability
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform


def main():
    rng = np.random.default_rng(0)
    console = Console(width=120)
    robot = zveno.load("puma560").with_tool(transform(None, np.array([0.04, 0.03, 0.08])))

    console.rule("what a tracker can find")
    found = identifiability(robot, "relative_position")
    print_identifiability(console, found)

    # The true robot: a millimetre and a few milliradians off.
    model = redundant_model(robot.mechanism)
    values = np.zeros(len(model.terms))
    for name in found.chosen:
        values[model.numbers[name]] = rng.normal() * (1e-3 if model.term(name).unit == "m" else 3e-3)
    truth = zveno.Robot(calibrated_mechanism(model, values))
    tracker = transform(exp(np.array([0.2, -0.4, 1.0])), np.array([2.0, -1.0, 0.5]))
    q = robot.random(50, rng)
    y = (tracker @ truth.forward_kinematics(q))[:, :3, 3] + 5e-5 * rng.normal(size=(50, 3))
    y[[7, 23]] += 0.005

    console.rule("calibration")
    result = calibrate(robot, Campaign(RelativePosition(), q, y))
    print_calibration(console, result)
    console.print("\n" + result.accuracy_map().summary, markup=False)

    console.rule("compensation")
    wanted = robot.random(1000, 5)
    target = _distances(robot.forward_kinematics(wanted))

    def miss(command):
        return 1e3 * np.median(abs(_distances(truth.forward_kinematics(command)) - target))

    console.print(
        f"median error of distances {miss(wanted):.2f} mm, compensated {miss(result.compensate(wanted).q):.2f} mm"
    )


def _distances(T):
    """Between the points of successive postures: what does not depend on where the base stands."""
    return np.linalg.norm(np.diff(T[:, :3, 3], axis=0), axis=1)


if __name__ == "__main__":
    main()
