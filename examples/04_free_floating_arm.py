"""An arm on a satellite: its motors turn the base, and momentum stays zero all the time.

Run it with `python examples/04_free_floating_arm.py`; the picture goes to out/.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import zveno
from zveno import ops as zm
from zveno.simulation import DOP853


def main():
    satellite = zveno.inertia.parameters(60.0, np.zeros(3), np.diag([4.0, 4.0, 4.0]))
    arm = zveno.load("ur5")
    base = arm.link_names[0]
    robot = arm.with_base("free").with_inertia({base: satellite}).with_gravity((0.0, 0.0, 0.0))

    def motors(t, q, v):
        """The joints follow slow sines; nothing acts on the base."""
        wanted = np.array([0.5 * (1.0 - zm.cos((0.5 + 0.1 * k) * t)) for k in range(6)])
        return np.concatenate(
            [np.zeros(6), 40.0 * (wanted - q[7:]) - np.array([8.0, 8.0, 4.0, 0.5, 0.5, 0.05]) * v[6:]]
        )

    run = robot.simulate(
        robot.neutral(),
        duration=10.0,
        control=zveno.simulation.Traced(motors),
        integrator=DOP853(1e-9),
        sample_time=0.02,
    )
    momentum = robot.momentum(run.q, run.v)
    turned = 2 * np.degrees(np.arccos(np.clip(abs(run.q[:, 3]), 0, 1)))
    print(run.summary)
    print(f"the base turned by {turned.max():.1f} degrees, momentum stayed below {abs(momentum).max():.1e}")
    assert turned.max() > 1.0
    assert abs(momentum).max() < 1e-6
    panels = {"turn of the base, degrees": turned, "joints, rad": run.q[:, 7:], "momentum": momentum}
    figure, axes = plt.subplots(len(panels), sharex=True, figsize=(9, 2.2 * len(panels)), layout="constrained")
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        ax.plot(run.t, values)
        ax.set_title(title, loc="left")
    Path("out").mkdir(exist_ok=True)
    figure.savefig("out/free_floating_arm.png")
    print("picture: out/free_floating_arm.png")


if __name__ == "__main__":
    main()
