"""Physically consistent estimate: Newton's method on the pseudo-inertias of links, near prior bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..base_parameters.result import BaseParameters
from ..errors import ZvenoError, unknown_name
from ..geometry.bounding import link_bars
from ..mechanism import Mechanism
from ..spatial import inertia
from ..spatial.inertia import N_PARAMETERS, pseudo_inertia
from ._dissipation import Eliminated, friction_parts
from ._estimate import pseudo_inverse
from .model import FrictionColumn

ITERATIONS = 60
TOGETHER, ROUNDS = 4, 40
"""Numbers of changes to the friction held at zero: all at once at first, then one at a time."""
NOTHING = 1e-200
"""Information below which there is none."""
CONTINUATION = (1.0, 0.1, 0.01)
"""Successive weights of the prior on the way to a weaker one."""
ROUNDING = 4.0 * np.finfo(float).eps
"""Relative rounding error of the sum of the objective's terms."""
DECREMENT = 1e-9
"""Newton decrement at which the minimum is reached; the objective is in units of half a squared deviation."""
BASIS = np.array([pseudo_inertia(unit) for unit in np.eye(N_PARAMETERS)])
"""Basis (10, 4, 4) of pseudo-inertias, which are linear in the ten parameters."""
PRIOR_SHARE = 0.5
"""Share of the prior's variance above which a parameter counts as determined by the prior."""


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Parameters p that the consistent estimate moves.

    Attributes:
        links: numbers of the links whose parameters show in the torques.
        places: places in p: ten of every link, then drives.
        positive: places in this list of drive parameters that cannot be negative (rotor inertias).
        matrix: (kept base parameters, unknowns) their effect.
    """

    links: list[int]
    places: np.ndarray
    positive: np.ndarray
    matrix: np.ndarray


@dataclass(frozen=True, eq=False)
class Consistent:
    """Physically consistent estimate.

    Attributes:
        p: (n_parameters,) all parameters of links and drives.
        x: (p,) parameters of the torque model: base parameters of p, and friction as it follows.
        covariance: (p, p) of x, with the prior.
        link_std: (unknowns,) standard deviation of the unknowns.
        prior_share: (unknowns,) variance left by the data over that of the prior alone; 1 for prior only.
        cost: half the squared deviation from the least-squares estimate, in units of its own information.
        iterations: Newton iterations.
        converged: whether the decrement fell below its bound.
    """

    p: np.ndarray
    x: np.ndarray
    covariance: np.ndarray
    link_std: np.ndarray
    prior_share: np.ndarray
    cost: float
    iterations: int
    converged: bool


def unknowns_of(base: BaseParameters, kept: np.ndarray) -> Unknowns:
    """Return the parameters that show in the kept base parameters.

    Links without inertia on a fixed joint, such as tool0, are frames: any mass is their parent's.
    """
    Y = base.matrix[kept]
    shown = np.abs(Y).sum(axis=0) > 0
    n_links = len(base.mechanism.joints)
    frames = [
        joint.child
        for joint in base.mechanism.joints
        if joint.type.n_v == 0 and not np.any(base.mechanism.links[base.mechanism.link_number(joint.child)].inertia)
    ]
    massless = {*base.massless, *frames}
    links = [
        i
        for i in range(1, n_links + 1)
        if base.mechanism.link_names[i] not in massless and shown[10 * (i - 1) : 10 * i].any()
    ]
    first = 10 * n_links
    drives = [place for place in range(first, base.n_parameters) if shown[place]]
    places = np.array([*(10 * (i - 1) + k for i in links for k in range(10)), *drives], dtype=int)
    rotors = [10 * len(links) + k for k, place in enumerate(drives) if place < first + base.mechanism.n_v]
    return Unknowns(links, places, np.array(rotors, dtype=int), Y[:, places])


def consistent_estimate(
    unknowns: Unknowns,
    n_parameters: int,
    x: np.ndarray,
    information: np.ndarray,
    prior: Prior,
    rotors: np.ndarray,
    friction: Sequence[FrictionColumn] = (),
) -> Consistent:
    """Return the consistent parameters nearest to an estimate, in the metric of its information and the prior.

    The covariance is that without the bounds of friction: a factor at zero is uncertain too.

    Args:
        unknowns: parameters that may change.
        n_parameters: length of p.
        x: (p,) estimate: base parameters first, then friction and the user's own.
        information: (p, p) of x; zero along unobserved directions.
        prior: bodies of the links.
        rotors: (positive,) typical rotor inertias.
        friction: columns of friction, which is held to dissipate.
    """
    m, A = len(unknowns.matrix), unknowns.matrix
    parts = friction_parts(friction, len(x) - m - len(friction))
    whole = np.eye(len(x))  # from base parameters and parts to parameters
    whole[m:, m:] = parts.matrix
    estimate = np.concatenate([x[:m], parts.inverse @ x[m:]])
    free = Eliminated(estimate, whole.T @ information @ whole, m, np.zeros(len(x) - m, dtype=bool))
    barrier = _Barrier(unknowns, prior, rotors)
    z, iterations, converged = barrier.start(), 0, False
    fit: Eliminated | None = free
    weights = (*(w for w in CONTINUATION if w > prior.weight), prior.weight)
    for turn in range(ROUNDS):
        held = fit
        z, count, converged = _minimum(A, held, barrier, weights, z)
        if not converged:
            strong = _strong_weights(A, held, barrier)
            z, more, converged = _minimum(A, held, barrier, (*strong, *weights), barrier.start())
            count += more
        iterations, weights = iterations + count, weights[-1:]
        fit = held.changed(A @ z, parts.positive, turn >= TOGETHER)
        if fit is None:
            break
    y = whole @ held.whole(A @ z)
    _, B = barrier.derivatives(z)
    p = np.zeros(n_parameters)
    p[unknowns.places] = z
    H0 = A.T @ free.H @ A
    posterior = _inverse(H0 + B)
    T = whole @ np.concatenate([np.eye(m), free.follows])
    C = T @ (A @ posterior @ A.T) @ T.T
    C[m:, m:] += parts.matrix @ free.spread @ parts.matrix.T
    alone = _prior_variances(B, len(unknowns.links))
    share = np.ones(len(z))
    known = alone > 0
    share[known] = np.minimum(posterior.diagonal()[known] / alone[known], 1.0)
    share[~known] = 0.0
    cost = 0.5 * float((y - x) @ information @ (y - x))
    std = np.sqrt(np.maximum(posterior.diagonal(), 0.0))
    unknown = (H0 + B).diagonal() <= NOTHING  # neither data nor a prior say anything
    std[unknown] = np.inf
    blind = np.flatnonzero((A[:, unknown] != 0.0).any(axis=1))
    C[blind, blind] = np.inf
    return Consistent(p, y, C, std, share, cost, iterations, converged and fit is None)


def _minimum(A: np.ndarray, data: Eliminated, barrier: _Barrier, weights: Sequence[float], z: np.ndarray):
    """Return (minimum, iterations, whether it was reached) of the data term and the last weight of the prior.

    A weak prior is approached from strong ones: a long step would meet the boundary near its minimum.
    """
    H, g, iterations, converged = A.T @ data.H @ A, A.T @ data.g, 0, False
    for weight in weights:
        barrier.weight = weight
        z, count, converged = _newton(H, g, data.constant, barrier, z)
        iterations += count
    return z, iterations, converged


def _strong_weights(A: np.ndarray, data: Eliminated, barrier: _Barrier) -> list[float]:
    """Return weights from which the prior is approached if data of much weight are far from it: from that at which
    it would weigh as much as they do, by tens."""
    b = A @ barrier.start()
    objective = 0.5 * float(b @ data.H @ b) - float(data.g @ b) + data.constant
    steps = int(np.ceil(np.log10(max(objective / max(barrier.size, 1), 1.0))))
    return [10.0**k for k in range(steps, 0, -1)]


def _newton(H0: np.ndarray, g0: np.ndarray, constant: float, barrier: _Barrier, z: np.ndarray):
    """Run Newton's method with a line search: (minimum, iterations, whether it was reached)."""

    def objective(z: np.ndarray) -> float:
        return 0.5 * float(z @ H0 @ z) - float(g0 @ z) + constant + barrier.value(z)

    value = objective(z)
    for iteration in range(1, ITERATIONS + 1):
        g, B = barrier.derivatives(z)
        g = g + H0 @ z - g0
        step = -_solve(H0 + B, g)
        decrement = -float(g @ step)
        if decrement < max(DECREMENT, ROUNDING * max(constant, abs(value))):
            return z, iteration, True
        length = barrier.longest(z, step)
        while length > 1e-12:
            trial = objective(z + length * step)
            if trial <= value - 0.1 * length * decrement + 1e-13 * abs(constant):
                break
            length *= 0.5
        else:
            return z, iteration, False
        z, value = z + length * step, trial
    return z, ITERATIONS, False


class _Barrier:
    """Entropic distance from the prior, its derivatives, and the largest feasible step."""

    def __init__(self, unknowns: Unknowns, prior: Prior, rotors: np.ndarray):
        self.n = len(unknowns.links)
        self.positive, self.rotors, self.weight = unknowns.positive, rotors, prior.weight
        self.size = len(unknowns.places)
        self.bodies = prior.bodies[[i - 1 for i in unknowns.links]]
        P0 = self._pseudo(self.bodies)
        if self.n and np.linalg.eigvalsh(P0).min() <= 0:
            raise ZvenoError(
                "a prior body does not exist",
                element="prior",
                remedy="Give it a positive mass and a tensor that a body can have",
            )
        self.linear = np.einsum("nij,kji->nk", np.linalg.inv(P0), BASIS).ravel() if self.n else np.zeros(0)

    @staticmethod
    def _pseudo(bodies: np.ndarray) -> np.ndarray:
        return np.einsum("nk,kij->nij", bodies, BASIS)

    def start(self) -> np.ndarray:
        z = np.zeros(self.size)
        z[: 10 * self.n] = self.bodies.ravel()
        z[self.positive] = self.rotors
        return z

    def value(self, z: np.ndarray) -> float:
        P = self._pseudo(z[: 10 * self.n].reshape(-1, 10))
        try:
            L = np.linalg.cholesky(P)
        except np.linalg.LinAlgError:
            return np.inf
        J = z[self.positive]
        if (J <= 0).any():
            return np.inf
        logs = 2.0 * np.log(np.diagonal(L, axis1=1, axis2=2)).sum() + np.log(J).sum()
        return self.weight * float(self.linear @ z[: 10 * self.n] + (J / self.rotors).sum() - logs)

    def derivatives(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n, g, H = self.n, np.zeros(self.size), np.zeros((self.size, self.size))
        half = np.linalg.inv(np.linalg.cholesky(self._pseudo(z[: 10 * n].reshape(-1, 10))))
        inverse = np.swapaxes(half, 1, 2) @ half
        PB = np.einsum("nij,kjl->nkil", inverse, BASIS)
        g[: 10 * n] = self.linear - np.einsum("nkii->nk", PB).ravel()
        blocks = np.einsum("nkil,nmli->nkm", PB, PB)
        for i in range(n):
            H[10 * i : 10 * i + 10, 10 * i : 10 * i + 10] = blocks[i]
        J = z[self.positive]
        g[self.positive] = 1.0 / self.rotors - 1.0 / J
        H[self.positive, self.positive] = 1.0 / J**2
        return self.weight * g, self.weight * H

    def longest(self, z: np.ndarray, step: np.ndarray) -> float:
        """Return the longest step up to 1 that stays well inside."""
        longest = 1.0
        J, d = z[self.positive], step[self.positive]
        if (d < 0).any():
            longest = min(longest, 0.95 * float(np.min(-J[d < 0] / d[d < 0])))
        if self.n:
            L = np.linalg.cholesky(self._pseudo(z[: 10 * self.n].reshape(-1, 10)))
            D = self._pseudo(step[: 10 * self.n].reshape(-1, 10))
            inside = np.linalg.solve(L, np.swapaxes(np.linalg.solve(L, D), 1, 2))
            lowest = float(np.linalg.eigvalsh(inside).min())
            if lowest < 0:
                longest = min(longest, -0.95 / lowest)
        return longest


def _prior_variances(B: np.ndarray, links: int) -> np.ndarray:
    """Return the variance of every unknown from the prior alone; 0 where there is no prior (offsets)."""
    out = np.zeros(len(B))
    for i in range(links):
        part = slice(10 * i, 10 * i + 10)
        out[part] = _inverse(B[part, part]).diagonal()
    rest = np.arange(10 * links, len(B))
    diagonal = B.diagonal()[rest]
    out[rest] = np.where(diagonal > 0, 1.0 / np.where(diagonal > 0, diagonal, 1.0), 0.0)
    return out


def _scaled(H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    diagonal = H.diagonal()
    s = np.where(diagonal > NOTHING, 1.0 / np.sqrt(np.maximum(diagonal, NOTHING)), 0.0)
    return s, H * s[:, None] * s + 1e-14 * np.eye(len(H))


def _solve(H: np.ndarray, g: np.ndarray) -> np.ndarray:
    s, scaled = _scaled(H)
    try:
        return s * cho_solve(cho_factor(scaled, check_finite=False), s * g, check_finite=False)
    except np.linalg.LinAlgError:
        return s * np.linalg.lstsq(scaled, s * g, rcond=1e-14)[0]


def _inverse(H: np.ndarray) -> np.ndarray:
    s, scaled = _scaled(H)
    return pseudo_inverse(scaled) * s[:, None] * s


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
