"""Which factorisation of the mass matrix the constrained equations of a run go through."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..algorithms.drives import couples_joints
from ..algorithms.factors import BodyFactors, MassFactors

if TYPE_CHECKING:
    from .equations import Equations

SHALLOW, DEEP = 10, 40
"""Velocities on the longest way to the root up to which the entries of M are always cheaper, and beyond which the
separate bodies are; in between both are traced and counted."""
WORTH = 0.8
"""Separate bodies are taken below this share of the operations: theirs wait for one another more often."""


def cheaper_factors(equations: Equations) -> type[MassFactors] | type[BodyFactors]:
    """The factorisation with the cheaper kernel for these constraints on this tree."""
    mechanism = equations.dynamic
    if couples_joints(mechanism):
        return MassFactors
    depth = np.zeros(mechanism.n_links, dtype=int)
    for i, f, joint in mechanism.outward():
        depth[i] = depth[f] + joint.type.n_v
    if depth.max() <= SHALLOW:
        return MassFactors
    if depth.max() > DEEP or operations(equations, BodyFactors) < WORTH * operations(equations, MassFactors):
        return BodyFactors
    return MassFactors


def operations(equations: Equations, factors: type[MassFactors] | type[BodyFactors]) -> int:
    """Operations of one evaluation of the accelerations through the given factors."""
    return len(replace(equations, factors=factors).solution_program.op)
