"""Gyroscopic moments of free bodies, evaluated at the midpoint of a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...mechanism import Mechanism
from ...spatial.vectors import cross, skew


def free_joints(mechanism: Mechanism) -> list[int]:
    """Return the first velocity index of every free joint."""
    kinds = ((name, mechanism.joint(name).type.kind) for name in mechanism.joint_names)
    return [mechanism.v_slices[name].start for name, kind in kinds if kind == "free"]


def turning(mechanism: Mechanism, M: Any, v: Any, h: Any) -> Any:
    """Return the correction of the gyroscopic moments of free bodies to the midpoint of the step, (n_v,).

    With I about the centre of mass of all that the joint carries, ω × I ω of the beginning is replaced by
    I (ω − ω′)/h, ω′ being one Newton step of the midpoint rule: taken explicitly, spinning bodies gain energy.
    """
    force: Any = np.zeros(mechanism.n_v)
    for at in free_joints(mechanism):
        w = v[at + 3 : at + 6]
        mass, first = M[at, at], M[at : at + 3, at + 3 : at + 6]  # m and −[m c]×
        c = np.array([first[1, 2], first[2, 0], first[0, 1]]) * (1.0 / mass)
        spread = mass * (np.eye(3) * (c @ c) - np.outer(c, c))
        inertia = M[at + 3 : at + 6, at + 3 : at + 6] - spread
        momentum = inertia @ w
        moment = cross(w, momentum)
        slope = inertia + (0.5 * h) * (skew(w) @ inertia - skew(momentum))
        moment = moment - inertia @ _solved(slope, moment)
        force = np.concatenate([force[: at + 3], moment, force[at + 6 :]])
    return force


def _solved(A: Any, b: Any) -> Any:
    """Solve A x = b for a regular A (3, 3), by Cramer's rule."""
    columns = [A[:, 0], A[:, 1], A[:, 2]]
    across = [cross(columns[1], columns[2]), cross(columns[2], columns[0]), cross(columns[0], columns[1])]
    return np.array([b @ part for part in across]) / (columns[0] @ across[0])
