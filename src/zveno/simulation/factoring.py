"""Choice of the factorisation of the mass matrix for the constrained equations of a run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..algorithms.drives import couples_joints
from ..algorithms.factors import BodyFactors, MassFactors

if TYPE_CHECKING:
    from .equations import Equations

SHALLOW, DEEP = 10, 40
"""Velocities on the longest path to the root up to which the entries of M are always cheaper, and beyond which
separate bodies are; in between both are traced and counted.
"""
WORTH = 0.8
"""Share of the operations below which separate bodies are preferred: their operations are less parallel."""


def cheaper_factors(equations: Equations) -> type[MassFactors] | type[BodyFactors]:
    """Return the factorisation with the cheaper kernel for these constraints on this tree."""
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
    """Count the operations of one evaluation of the accelerations with the given factors."""
    return len(replace(equations, factors=factors).solution_program.graph.op)
