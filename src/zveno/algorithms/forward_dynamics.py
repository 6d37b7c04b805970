"""Forward dynamics by the method of separate bodies, O(n) (document 002; Vereshchagin 1974)."""

from __future__ import annotations

import numpy as np

from ..mechanism import Mechanism
from .drives import couples_joints
from .factors import BodyFactors, MassFactors
from .velocities import AT_REST, Motion


def forward_dynamics(
    mechanism: Mechanism,
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
    external: np.ndarray | None = None,
    base: Motion = AT_REST,
) -> np.ndarray:
    """Accelerations, (n_v,), under joint torques tau (n_v,) at the state (q, v).

    From the leaves to the root every joint takes its share of what drives it, from the root to the leaves it moves.
    Where rotors or mimic relations tie joints together the bodies do not separate, and M itself is factored.

    Args:
        mechanism: the mechanism; its rotors count, its friction does not.
        q, v, tau: (n_q,), (n_v,), (n_v,).
        external: wrenches `[f, n]` on the links as in `inverse_dynamics`, (n_links, 6).
        base: the motion of link 0, at rest unless given.
    """
    factors = (MassFactors if couples_joints(mechanism) else BodyFactors)(mechanism, q)
    return factors.whole(factors.r * factors.force(v, tau, external, base))
