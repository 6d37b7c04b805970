"""A double pendulum forgets where it started: 1000 of them, started within a millionth of a radian, at once.

Run it with `python examples/04_double_pendulum.py`; the picture goes to out/.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import zveno
from zveno.simulation import RK4


def main():
    robot = zveno.load("chain(2)")
    rng = np.random.default_rng(0)
    q0 = np.array([2.0, 0.5]) + 1e-6 * rng.normal(size=(1000, 2))
    run = robot.simulate(q0, duration=8.0, integrator=RK4(5e-4), sample_time=0.01)
    spread = run.q.std(axis=0).max(axis=-1)
    early, late = (run.t > 0.2) & (run.t < 4.0), spread > 0.05
    rate = np.polyfit(run.t[early & ~late], np.log(spread[early & ~late]), 1)[0]
    print(f"spread {spread[0]:.1e} rad at the start, {spread[-1]:.1e} rad at the end, e-fold in {1 / rate:.2f} s")
    print(run.summary)
    assert spread[-1] > 1e3 * spread[0]
    assert run.energy_drift < 1e-4
    panels = {"log10 of the spread, rad": np.log10(spread), "joint 2 of 20 of them, rad": run.q[:20, :, 1].T}
    figure, axes = plt.subplots(len(panels), sharex=True, figsize=(9, 2.2 * len(panels)), layout="constrained")
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        ax.plot(run.t, values)
        ax.set_title(title, loc="left")
    Path("out").mkdir(exist_ok=True)
    figure.savefig("out/double_pendulum.png")
    print("picture: out/double_pendulum.png")


if __name__ == "__main__":
    main()
