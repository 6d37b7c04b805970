"""Prior bodies of links: the model's, or solid bars along the links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import unknown_name
from ..mechanism import Mechanism
from ..mechanism.bars import link_bars
from ..spatial import inertia
from ..spatial.inertia import N_PARAMETERS

PRIORS = ("cad", "geometry", "none")
DENSITY = 1500.0
"""Density, kg/m³, of a link with its drive, between plastic housings and aluminium."""
RADIUS, LEAST_RADIUS = 0.05, 0.05
"""Radius of the bars as a share of the reach, and its minimum, m."""
SLENDER = 0.05
"""Share of the second moments of a solid aluminium ball of the same mass below which moments are rejected."""
ALUMINIUM = 2700.0
WEAK = 1e-3
"""Weight of the prior "none": it only keeps bodies from degenerating."""


@dataclass(frozen=True, eq=False)
class Prior:
    """Bodies that estimates are drawn toward.

    Attributes:
        kind: "cad", "geometry" or "none".
        bodies: (N, 10) parameters of links 1 … N, all of bodies that exist.
        weight: of the prior, in units of one body's worth.
        repaired: link → fault of the model's parameters and their replacement.
    """

    kind: str
    bodies: np.ndarray
    weight: float
    repaired: dict[str, str]


def prior_of(mechanism: Mechanism, kind: str, links: list[int]) -> Prior:
    """Build the prior for some links (numbers from 1); rows of the others are zero."""
    if kind not in PRIORS:
        raise unknown_name("prior", kind, PRIORS)
    bodies = np.zeros((mechanism.n_links - 1, N_PARAMETERS))
    solid = _solid_bars(mechanism)
    repaired = {}
    for i in links:
        name = mechanism.link_names[i]
        if kind == "cad":
            bodies[i - 1], problem = _repaired(np.array(mechanism.links[i].inertia, dtype=float), solid[i])
            if problem:
                repaired[name] = problem
        else:
            bodies[i - 1] = solid[i]
    return Prior(kind, bodies, WEAK if kind == "none" else 1.0, repaired)


def solid_ball(mass: float, first_moment: np.ndarray) -> np.ndarray:
    """Return ten parameters of an aluminium ball of some mass, at the centre given by a first moment."""
    square = 0.4 * mass * _ball_radius(mass) ** 2
    return inertia.parameters(mass, np.asarray(first_moment) / mass, square * np.eye(3))


def _ball_radius(mass: float) -> float:
    return (3.0 * mass / (4.0 * np.pi * ALUMINIUM)) ** (1.0 / 3.0)


def _repaired(p: np.ndarray, solid: np.ndarray) -> tuple[np.ndarray, str]:
    """Return a body near the ten parameters, and the fault of these."""
    if not np.isfinite(p).all() or p[0] <= 0:
        return solid, f"mass {p[0]:g} kg; a bar of {solid[0]:.3g} kg was taken"
    c = p[1:4] / p[0]
    P = inertia.pseudo_inertia(np.concatenate([p[:1], np.zeros(3), _central(p)]))
    moments = np.linalg.eigvalsh(P[:3, :3])
    least = SLENDER * p[0] * _ball_radius(p[0]) ** 2 / 5.0
    if moments[0] >= least:
        return p, ""
    words = "; ".join(inertia.problems(p)) or "a tensor of no or almost no extent"
    # Nobody has such a tensor, so it says nothing: a bar's is taken, which has the size of the link.
    tensor = inertia.tensor_at_center(solid) * p[0] / solid[0]
    return inertia.parameters(p[0], c, tensor), f"{words}; that of a bar of its mass was taken"


def _central(p: np.ndarray) -> np.ndarray:
    I = inertia.tensor_at_center(p)
    return np.array([I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])


def _solid_bars(mechanism: Mechanism) -> dict[int, np.ndarray]:
    """Return ten parameters per link, of solid cylinders with round ends along its bars, or of a ball."""
    bars = link_bars(mechanism)
    reach = sum(float(np.linalg.norm(b - a)) for _, a, b in bars)
    radius = max(RADIUS * reach, LEAST_RADIUS)
    bodies = {i: np.zeros(N_PARAMETERS) for i in range(mechanism.n_links)}
    for i, a, b in bars:
        bodies[i] = bodies[i] + _bar(a, b, radius)
    return {i: body if body.any() else _bar(np.zeros(3), np.zeros(3), radius) for i, body in bodies.items()}


def _bar(a: np.ndarray, b: np.ndarray, radius: float) -> np.ndarray:
    """Return a solid cylinder from a to b and half a ball's mass at each end."""
    length = float(np.linalg.norm(b - a))
    ball = DENSITY * 4.0 / 3.0 * np.pi * radius**3
    mass = DENSITY * np.pi * radius**2 * length
    u = (b - a) / length if length else np.array([0.0, 0.0, 1.0])
    axial = 0.5 * mass * radius**2
    across = mass * (radius**2 / 4.0 + length**2 / 12.0)
    I = across * np.eye(3) + (axial - across) * np.outer(u, u)
    total = inertia.parameters(mass, 0.5 * (a + b), I)
    for end in (a, b):
        total = total + inertia.parameters(0.5 * ball, end, 0.5 * ball * 0.4 * radius**2 * np.eye(3))
    return total
