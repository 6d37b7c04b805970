"""A crane on two hydraulic cylinders that share a pump: both move at once, and the pressure of the supply falls.

Run it with `python examples/11_hydraulic_crane.py`; the picture goes to out/.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import zveno
from zveno import ops as zm
from zveno import simulation

DURATION = 2.5


def crane() -> zveno.Robot:
    """A boom of 60 kg on a base and an arm of 30 kg on the boom, both in a vertical plane."""
    boom = zveno.inertia.parameters(60.0, np.array([0.8, 0.0, 0.0]), np.diag([1.0, 14.0, 14.0]))
    arm = zveno.inertia.parameters(30.0, np.array([0.6, 0.0, 0.0]), np.diag([0.3, 4.0, 4.0]))
    elbow = zveno.transforms.transform(p=(1.6, 0.0, 0.0))
    joints = [
        zveno.Joint("boom", "base", "boom_link", zveno.joints.Revolute((0, -1, 0))),
        zveno.Joint("arm", "boom_link", "arm_link", zveno.joints.Revolute((0, -1, 0)), elbow),
    ]
    links = [zveno.Link("base"), zveno.Link("boom_link", boom), zveno.Link("arm_link", arm)]
    return zveno.Robot(zveno.assemble("crane", links, joints))


def drives(supply: simulation.HydraulicSupply) -> simulation.HydraulicDrive:
    """A cylinder under the boom and one on top of it; 30 l/min valves with 3 % of overlap."""
    valve = simulation.ServoValve(rated_flow=30 / 60000, frequency=80.0, dead_zone=0.03)
    common = {"dead_volume": 4e-5, "leakage": 2e-13, "viscous": 400.0, "coulomb": 100.0}
    under = simulation.PivotLever(parent=(0.25, 0.0, -0.5), child=(0.5, 0.0, -0.05), retracted=0.46)
    on_top = simulation.PivotLever(parent=(1.1, 0.0, 0.25), child=(-0.15, 0.0, 0.2), retracted=0.30)
    return simulation.HydraulicDrive(
        {
            "boom": simulation.HydraulicCylinder(valve, 1.2e-3, 8e-4, stroke=0.30, lever=under, **common),
            "arm": simulation.HydraulicCylinder(valve, 8e-4, 5e-4, stroke=0.28, lever=on_top, **common),
        },
        supply,
    )


def path(t):
    """Both joints swing up and back, smoothly from rest."""
    lift = 0.5 * (1.0 - zm.cos(2.0 * np.pi * t / DURATION))
    return np.array([0.2 + 0.35 * lift, -0.4 - 0.5 * lift])


def main():
    robot = crane()
    start = np.array(path(0.0), dtype=float)
    control = simulation.ComputedTorque(path, kp=400.0, kd=40.0)
    runs = {}
    for name, pump in (("large pump", 40 / 60000), ("small pump", 14 / 60000)):
        supply = simulation.HydraulicSupply(16e6, pump_flow=pump, accumulator=4e-4)
        runs[name] = robot.simulate(
            start, duration=DURATION, control=control, drive=drives(supply), tau0=robot.gravity_torque(start)
        )
        wanted = np.array([np.array(path(t), dtype=float) for t in runs[name].t])
        error = abs(runs[name].q - wanted).max()
        pressure = runs[name].drive_state("supply.pressure").min() / 1e6
        print(f"{name}: path held to {error:.4f} rad, supply at least {pressure:.1f} MPa; {runs[name].status}")
        assert runs[name].finished
        assert error < 0.05
    large, small = runs.values()
    assert small.drive_state("supply.pressure").min() < large.drive_state("supply.pressure").min() - 1e6
    pressures = [small.drive_state(f"{joint}.pressure_{side}") / 1e6 for joint in ("boom", "arm") for side in "ab"]
    panels = {
        "joints, rad": small.q,
        "pressures of the chambers with the small pump, MPa": np.stack(pressures, 1),
        "spools": np.stack([small.drive_state(f"{joint}.spool") for joint in ("boom", "arm")], 1),
        "supply, MPa": np.stack([run.drive_state("supply.pressure") / 1e6 for run in runs.values()], 1),
    }
    names = {
        "joints, rad": ["boom", "arm"],
        "pressures of the chambers with the small pump, MPa": ["boom a", "boom b", "arm a", "arm b"],
        "spools": ["boom", "arm"],
        "supply, MPa": list(runs),
    }
    figure, axes = plt.subplots(len(panels), sharex=True, figsize=(9, 2.2 * len(panels)), layout="constrained")
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        ax.plot(small.t, values, label=names.get(title))
        ax.set_title(title, loc="left")
        if title in names:
            ax.legend(fontsize="small")
    Path("out").mkdir(exist_ok=True)
    figure.savefig("out/hydraulic_crane.png")
    print("picture: out/hydraulic_crane.png")


if __name__ == "__main__":
    main()
