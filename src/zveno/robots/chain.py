"""Planar chain of equal rods, the example of document 002."""

from __future__ import annotations

import numpy as np

from ..errors import ModelError
from ..mechanism import Frame, Joint, Link, Mechanism, Revolute, assemble
from ..spatial import inertia

LENGTH, MASS = 1.0, 10.0
"""Length and mass of the whole chain, m and kg, as in the document's program."""
MAX_RODS = 10_000


def chain(n: int = 10) -> Mechanism:
    """Build a chain of n equal thin rods in the x–y plane, hinged about z; gravity points along −y.

    The whole chain is 1 m long and has a mass of 10 kg; at q = 0 it lies along x. Each link's frame is at its hinge
    with x along the rod; `tool` is the free end.
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or not 1 <= n <= MAX_RODS:
        raise ModelError(f"n must be an integer from 1 to {MAX_RODS}, got {n!r}", element="chain(n)")
    n = int(n)
    length, mass = LENGTH / n, MASS / n
    across = mass * length**2 / 12.0
    rod = inertia.parameters(mass, np.array([length / 2, 0.0, 0.0]), np.diag([0.0, across, across]))
    links = [Link("base", inertia_given=False)] + [Link(f"rod{k}", rod) for k in range(1, n + 1)]
    T_hinge = np.eye(4)
    T_hinge[0, 3] = length
    joints = [
        Joint(f"joint{k}", links[k - 1].name, links[k].name, Revolute(), np.eye(4) if k == 1 else T_hinge)
        for k in range(1, n + 1)
    ]
    return assemble(
        f"chain({n})",
        links,
        joints,
        [Frame("tool", links[-1].name, T_hinge)],
        gravity=(0.0, -9.81, 0.0),
        source="Document 002, example program: planar system of rods, total length 1 m, total mass 10 kg",
    )
