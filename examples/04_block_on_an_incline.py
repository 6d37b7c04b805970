"""Dry friction: a block on a slope that tilts slowly slips at atan μ, and slides to rest as the slope sinks back.

Contacts stick and slide by Coulomb's law; the moments at which they begin and end to slide are events of the run.

Run it with `python examples/04_block_on_an_incline.py`; the picture goes to out/.
"""

from __future__ import annotations

import numpy as np

from zveno import Frame, Free, GroundContact, Joint, Link, Robot, assemble, draw_lines, inertia, transforms

MASS, G, MU = 2.0, 9.81, 0.4
TILTING = 0.5
"""rad/s"""
TOP = 0.5
"""The slope is tilted up to this angle, rad, and back."""


def block() -> Robot:
    """A free block with a foot at each lower corner; its weight is a force, so that the slope can tilt."""
    body = inertia.parameters(MASS, np.zeros(3), np.diag([0.02, 0.03, 0.04]))
    corners = [
        Frame(f"corner{k}", "block", transforms.transform(None, [x, y, -0.05]))
        for k, (x, y) in enumerate(((0.2, 0.1), (-0.2, 0.1), (-0.2, -0.1), (0.2, -0.1)))
    ]
    links = [Link("slope"), Link("block", body)]
    return Robot(assemble("block", links, [Joint("free", "slope", "block", Free())], corners, gravity=(0, 0, 0)))


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
    feet = [GroundContact(f"corner{k}", friction=MU) for k in range(4)]
    run = robot.simulate(q0, duration=3.0, constraints=feet, control=weight, max_step=0.02)
    print(run.summary)
    slips = next(one.t for one in run.events if one.what == "slips")
    sticks = next(one.t for one in run.events if one.what == "sticks")
    print(f"slips at {np.degrees(angle(slips)):.4f}°, atan μ is {np.degrees(np.arctan(MU)):.4f}°")
    print(f"rests at {sticks:.4f} s")
    assert abs(angle(slips) - np.arctan(MU)) < 1e-5
    # It rests when the slope has given as much speed as friction has taken.
    t = np.linspace(slips, sticks, 20001)
    gained = np.trapezoid(G * (np.sin(angle(t)) - MU * np.cos(angle(t))), t)
    assert abs(gained) < 1e-5
    friction = run.reactions.reshape(len(run.t), 4, 3)
    N, T = friction[..., 0].sum(axis=1), friction[..., 1].sum(axis=1)
    panels = {
        "angle of the slope, degrees": np.degrees(angle(run.t)),
        "way down the slope, m": run.q[:, 0],
        "friction over pressure": abs(T) / N,
        "energy, J": np.stack([run.kinetic, run.work], axis=1),
    }
    names = {"energy, J": ("kinetic", "work done")}
    print(
        "picture:",
        draw_lines(run.t, panels, "out/block_on_an_incline.png", run.summary, names, marks=(slips, sticks)),
    )


if __name__ == "__main__":
    main()
