"""A constant error of the measuring system: where it goes, and why the robot does not suffer.

Document 001: it ends up in the translation of the base; all other parameters stay as they were. Run it with
`python examples/08_bias_goes_into_the_base.py`.
"""

from __future__ import annotations

import numpy as np

import zveno
from zveno import calibration


def main():
    rng = np.random.default_rng(1)
    robot = zveno.load("ur5").with_tool(zveno.transforms.transform(None, np.array([0.05, 0.02, 0.1])))
    q = robot.random(50, rng)
    T = robot.forward_kinematics(q)
    T[:, :3, 3] += 5e-5 * rng.normal(size=(50, 3))
    kind = calibration.Pose(sigma={"position": 5e-5, "rotation": 1e-5})
    plain = robot.calibrate(calibration.Dataset(kind, q, T), folds=0)
    biased = T.copy()
    biased[:, :3, 3] += [0.003, -0.002, 0.001]
    shifted = robot.calibrate(calibration.Dataset(kind, q, biased), folds=0)
    print("parameter     without bias        with bias 3, -2, 1 mm   (mm, mrad)")
    for name in plain.names:
        change = shifted.parameters[name] - plain.parameters[name]
        mark = "  <-- the bias" if abs(change) > 1e-4 else ""
        print(f"{name:10} {1e3 * plain.parameters[name]:12.4f} {1e3 * shifted.parameters[name]:16.4f}{mark}")


if __name__ == "__main__":
    main()
