"""Closed loops: a four-bar against its geometry, and a parallelogram whose bar stays level.

Run it with `python examples/04_four_bar.py`; the picture goes to out/.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import zveno
from zveno import Frame, Joint, Link, Loop, Robot, assemble, inertia, transforms

transform = transforms.transform


def four_bar(crank: float, coupler: float, rocker: float, ground: float) -> Robot:
    """Crank and coupler are one branch of the tree, the rocker is another; the loop is closed by a constraint."""

    def bar(length):
        across = length**2 / 12
        return inertia.parameters(1.0, np.array([length / 2, 0, 0]), np.diag([0.0, across, across]))

    links = [Link("ground"), Link("crank", bar(crank)), Link("coupler", bar(coupler)), Link("rocker", bar(rocker))]
    joints = [
        Joint("crank", "ground", "crank", zveno.joints.Revolute()),
        Joint("coupler", "crank", "coupler", zveno.joints.Revolute(), transform(None, [crank, 0, 0])),
        Joint("rocker", "ground", "rocker", zveno.joints.Revolute(), transform(None, [ground, 0, 0])),
    ]
    ends = [
        Frame("coupler_end", "coupler", transform(None, [coupler, 0, 0])),
        Frame("rocker_end", "rocker", transform(None, [rocker, 0, 0])),
    ]
    return Robot(assemble("four_bar", links, joints, ends, gravity=(0.0, -9.81, 0.0)))


# In a plane two rows close the loop; a third one would be redundant (and be reported as such).
CLOSURE = Loop("coupler_end", "rocker_end", locked=("x", "y"))


def main():
    Path("out").mkdir(exist_ok=True)
    crank, coupler, rocker, ground = 0.2, 0.5, 0.4, 0.45
    robot = four_bar(crank, coupler, rocker, ground)
    # A rough start is enough: it is put onto the loop, and the run says how far that was.
    run = robot.simulate([1.0, -0.55, 1.3], duration=5.0, constraints=[CLOSURE])
    print(run.summary)
    # Freudenstein: the crank's angle a and the rocker's angle b are tied by one equation.
    a, b = run.q[:, 0], run.q[:, 2]
    tied = 2 * ground * (rocker * np.cos(b) - crank * np.cos(a)) - 2 * crank * rocker * np.cos(a - b)
    residual = abs(tied + crank**2 + rocker**2 + ground**2 - coupler**2).max()
    print(f"Freudenstein's equation holds to {residual:.1e} m²")
    assert residual < 1e-6

    parallelogram = four_bar(0.2, 0.5, 0.2, 0.5)
    swing = parallelogram.simulate([-0.4, 0.4, -0.4], duration=5.0, constraints=[CLOSURE])
    tilt = abs(swing.q[:, 0] + swing.q[:, 1]).max()
    print(f"the parallelogram's bar stays level to {tilt:.1e} rad")
    assert tilt < 1e-5
    run.plot().savefig("out/four_bar.png")
    print("picture: out/four_bar.png")


if __name__ == "__main__":
    main()
