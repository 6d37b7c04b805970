"""Dry friction: a block on a slope that tilts slowly slips at atan μ, and slides to rest as the slope sinks back.

Contacts stick and slide by Coulomb's law. Time stepping finds their forces in every step of 1 ms.

Run it with `python examples/04_block_on_an_incline.py`; the picture goes to out/.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import zveno
from zveno import Frame, Joint, Link, Robot, assemble, inertia, transforms
from zveno.simulation import Contact, TimeStepping

MASS, G, MU = 2.0, 9.81, 0.4
TILTING = 0.5
"""rad/s"""
TOP = 0.5
"""The slope is tilted up to this angle, rad, and back."""
STEP = 1e-3
"""s"""


def block() -> Robot:
    """A free block with a foot at each lower corner; its weight is a force, so that the slope can tilt."""
    body = inertia.parameters(MASS, np.zeros(3), np.diag([0.02, 0.03, 0.04]))
    corners = [
        Frame(f"corner{k}", "block", transforms.transform(None, [x, y, -0.05]))
        for k, (x, y) in enumerate(((0.2, 0.1), (-0.2, 0.1), (-0.2, -0.1), (0.2, -0.1)))
    ]
    links = [Link("slope"), Link("block", body)]
    return Robot(
        assemble("block", links, [Joint("free", "slope", "block", zveno.joints.Free())], corners, gravity=(0, 0, 0))
    )


def angle(t):
    """Of the slope: up, and down again to level."""
    return np.maximum(TOP - abs(TILTING * t - TOP), 0.0)


def weight(t, q, v):
    """Gravity as the tilted slope sees it; the block keeps its attitude, so its axes are the slope's."""
    a = angle(t)
    return MASS * G * np.array([np.sin(a), 0.0, -np.cos(a), 0.0, 0.0, 0.0])


def main():
    robot = block()
    q0 = robot.neutral()
    q0[2] = 0.05
    feet = [Contact(f"corner{k}", friction=MU) for k in range(4)]
    run = robot.simulate(q0, duration=3.0, constraints=feet, control=weight, integrator=TimeStepping(STEP))
    print(run.summary)
    forces = run.reactions.reshape(len(run.t), 4, 3)[1:]  # at the first sample nothing has acted
    N, T = forces[..., 0].sum(axis=1), abs(forces[..., 1].sum(axis=1))
    sliding = run.t[1:][T > (1 - 1e-3) * MU * N]
    slips, rests = sliding[0], sliding[-1]
    print(f"slips at {np.degrees(angle(slips)):.2f}°, atan μ is {np.degrees(np.arctan(MU)):.2f}°")
    print(f"rests at {rests:.3f} s")
    assert abs(angle(slips) - np.arctan(MU)) < 2 * TILTING * STEP + 1e-3 * MU
    # It rests when the slope has given as much speed as friction has taken.
    t = np.linspace(slips, rests, 20001)
    gained = np.trapezoid(G * (np.sin(angle(t)) - MU * np.cos(angle(t))), t)
    assert abs(gained) < 2 * G * STEP
    panels = {
        "angle of the slope, degrees": np.degrees(angle(run.t)),
        "way down the slope, m": run.q[:, 0],
        "friction over pressure": np.concatenate([[0.0], T / N]),
        "energy, J": np.stack([run.kinetic, run.work], axis=1),
    }
    names = {"energy, J": ("kinetic", "work done")}
    figure, axes = plt.subplots(len(panels), sharex=True, figsize=(9, 2.2 * len(panels)), layout="constrained")
    for ax, (title, values) in zip(axes, panels.items(), strict=True):
        ax.plot(run.t, values, label=names.get(title))
        ax.axvline(slips, color="gray", linewidth=0.5)
        ax.axvline(rests, color="gray", linewidth=0.5)
        ax.set_title(title, loc="left")
        if title in names:
            ax.legend(fontsize="small")
    Path("out").mkdir(exist_ok=True)
    figure.savefig("out/block_on_an_incline.png")
    print("picture: out/block_on_an_incline.png")


if __name__ == "__main__":
    main()
