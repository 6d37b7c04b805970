"""Impacts: the jump of velocity when constraints close."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .coulomb import Contact, contact_reactions
from .equations import Equations
from .inputs import Inputs


class Impact(NamedTuple):
    """Velocities after an impact."""

    v: np.ndarray
    """(n_v,)"""
    impulses: np.ndarray
    """(m,), N·s or N·m·s, with the sign and axes of the reactions; zero for rows that take no part"""
    energy: float
    """change of kinetic energy, J, never positive"""


def impact(
    equations: Equations,
    t: float,
    y: np.ndarray,
    inputs: Inputs,
    restitution: Any,
    contacts: Sequence[Contact] = (),
) -> Impact:
    """M (v⁺ − v⁻) = Jᵀ Λ with φ̇⁺ = −e φ̇⁻ on the active rows, in least squares where they are redundant.

    Contacts only push: one that leaves faster than −e φ̇⁻ takes no impulse. Their tangential impulses obey
    Coulomb's law. Where restitution and friction together would add energy, nothing bounces.

    Args:
        equations: of the run; the rows that take part are those active in `inputs.c`, and the contacts.
        t, y: time and state (n_y,) before the impact.
        restitution: e, (m,): 0 for rows that are to move no more, such as those already closed.
        contacts: those that can only push.
    """
    _, W, A, J, _, rate, _ = equations.terms(t, y, *inputs.arrays())
    v = np.asarray(y)[equations.v]
    held = np.array(inputs.c[1 : 1 + equations.n_rows]) > 0
    for contact in contacts:
        held[[contact.row, *contact.tangents]] = False
    for e in (np.asarray(restitution), 0.0):
        impulses = contact_reactions(A, (1.0 + e) * rate, held, contacts).R
        after = v + W @ impulses
        # Λᵀ J (v⁺ + v⁻)/2 is the change of kinetic energy.
        energy = float(0.5 * impulses @ (J @ (v + after)))
        if energy <= 0:
            break
    return Impact(after, impulses, energy)
