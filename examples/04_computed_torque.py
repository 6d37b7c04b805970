"""An arm follows a path by computed torque; a wrong payload in the controller's model shows as an error.

Run it with `python examples/04_computed_torque.py`; the picture goes to out/.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import zveno
from zveno import ops as zm

KP, KD = 400.0, 40.0


def path(t):
    """Every joint swings with its own amplitude and rhythm."""
    return np.array(
        [0.6 * zm.sin(1.0 * t), -0.8 + 0.3 * zm.cos(1.3 * t)] + [0.4 * zm.sin((1 + 0.2 * k) * t) for k in range(4)]
    )


def main():
    robot = zveno.load("puma560")
    start = np.array(path(0.0), dtype=float)
    v0 = (np.array(path(1e-6), dtype=float) - np.array(path(-1e-6), dtype=float)) / 2e-6
    run = robot.simulate(start, v0, duration=4.0, control=zveno.simulation.ComputedTorque(path, KP, KD))
    wanted = np.array([np.array(path(t), dtype=float) for t in run.t])
    error = abs(run.q - wanted).max(axis=1)
    print("exact model:", f"off by at most {error.max():.1e} rad;", run.summary)
    assert error.max() < 1e-5

    # The same law, but the arm carries 2 kg that the model does not know of.
    def law(t, q, v):
        h = 1e-4
        before, r, after = (np.array(path(t + s), dtype=float) for s in (-h, 0.0, h))
        r1, r2 = (after - before) / (2 * h), (after - 2 * r + before) / h**2
        return robot.inverse_dynamics(q, v, r2 + KD * (r1 - v) + KP * (r - q))

    loaded = robot.with_payload(2.0, (0.0, 0.0, 0.1)).simulate(start, v0, duration=4.0, control=law)
    off = abs(loaded.q - wanted).max(axis=1)
    print(f"unknown payload of 2 kg: off by up to {off.max():.3f} rad")
    assert 1e-3 < off.max() < 0.5
    panels = {"log10 of the error, rad": np.log10(np.stack([error, off], 1) + 1e-12), "torques, N·m": run.tau}
    figure, axes = plt.subplots(len(panels), sharex=True, figsize=(9, 2.2 * len(panels)), layout="constrained")
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        ax.plot(run.t, values)
        ax.set_title(title, loc="left")
    Path("out").mkdir(exist_ok=True)
    figure.savefig("out/computed_torque.png")
    print("picture: out/computed_torque.png")


if __name__ == "__main__":
    main()
