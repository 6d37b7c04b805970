"""The four-bar linkage as a cut tree, and its closed form."""

from __future__ import annotations

import numpy as np

from zveno.mechanism import Frame, Joint, Link, Loop, Revolute, assemble
from zveno.spatial.transforms import transform


def four_bar(crank, coupler, rocker, ground, gravity):
    def at(x):
        return transform(None, np.array([x, 0.0, 0.0]))

    links = [Link(name, np.ones(10)) for name in ("ground", "crank", "coupler", "rocker")]
    joints = [
        Joint("a", "ground", "crank", Revolute()),
        Joint("b", "crank", "coupler", Revolute(), at(crank)),
        Joint("c", "ground", "rocker", Revolute(), at(ground)),
    ]
    frames = [Frame("coupler_end", "coupler", at(coupler)), Frame("rocker_end", "rocker", at(rocker))]
    return assemble("four_bar", links, joints, frames, gravity=gravity)


PLANE, NORMAL = (0.0, -9.81, 0.0), (0.0, 0.0, -9.81)
GENERIC, PARALLEL = (0.3, 0.5, 0.45, 0.6), (0.3, 0.6, 0.3, 0.6)
LOOP = Loop("coupler_end", "rocker_end")


def closed_form(lengths, u):
    """Angles of the four-bar's joints (a, b, c) at the crank angle u; complex u gives the derivative."""
    l1, l2, l3, l4 = lengths
    x, y = l1 * np.cos(u) - l4, l1 * np.sin(u)
    d2 = x * x + y * y
    # The rocker's tip is on circles about its own pivot and about the crank's tip.
    along = (l3 * l3 - l2 * l2 + d2) / (2.0 * np.sqrt(d2))
    height = np.sqrt(l3 * l3 - along * along)
    d = np.sqrt(d2)
    px, py = along * x / d + height * y / d, along * y / d - height * x / d
    c = -1j * np.log((px + 1j * py) / l3)
    tx, ty = l4 + px - l1 * np.cos(u), py - l1 * np.sin(u)
    b = -1j * np.log((tx + 1j * ty) / l2) - u
    return np.array([u, b, c])
