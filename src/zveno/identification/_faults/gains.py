"""Torques of one joint with a wrong sign or scale, from the parameters that joints share.

The normal equations are linear in the torques, so that with τ_j u in place of τ_j the estimate is x(u) = a + u b
and the residual of every joint a parabola in u. The criterion is J(u) = Σ n_k log(rss_k/|τ_k|²): relative
residuals, so that shrinking a torque gains nothing, and a joint that shares no parameters leaves J flat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._estimate import Normal, solved_scaled, total
from .fault import Fault

FACTORS = np.concatenate([-np.geomspace(4.0, 0.25, 65), np.geomspace(0.25, 4.0, 257)])
"""Trial factors u, 1 among them."""
WORTH = 0.1
"""Decrease of J per row from which a factor is reported: of 290 simulated sound recordings none exceeds 0.05."""
SMALLEST, DEVIATIONS = 0.05, 3.0
"""Relative error, and number of standard deviations (from blocks left out), from which a scale is reported."""
SURE = 0.3
"""Standard deviation of the logarithm of the factor below which a sign is reported, if all blocks agree on it."""
ALIKE = 0.5
"""Share of the best joint's explanation from which another joint cannot be distinguished from it."""


@dataclass(frozen=True)
class Gain:
    """Best factor of one joint's recorded torque, its standard deviation (of the logarithm) and its worth."""

    factor: float
    deviation: float
    worth: float


def torque_gains(parts: Sequence[Normal], sigma: np.ndarray) -> list[Gain]:
    """Return, for every joint, the estimated ratio of recorded to true torque.

    Args:
        parts: normal equations by block.
        sigma: (n,) standard deviations of the residuals.
    """
    whole = total(parts)
    factors, worth = _best(whole, sigma)
    again = np.array([_best(total(parts, [k]), sigma)[0] for k in range(len(parts))])
    n = len(parts)
    spread = np.sqrt((n - 1) / n * ((np.log(abs(again)) - np.log(abs(again)).mean(axis=0)) ** 2).sum(axis=0))
    spread = np.where((np.sign(again) == np.sign(factors)).all(axis=0), spread, np.inf)
    return [Gain(*map(float, each)) for each in zip(factors, spread, worth, strict=True)]


def _best(normal: Normal, sigma: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the estimated ratios (n,) of recorded to true torques, and their worth per row (n,)."""
    used = normal.counts > 0
    w = used / sigma**2
    solved = solved_scaled(np.einsum("j,jpq->pq", w, normal.H), w @ normal.g)
    factors, worth = np.ones(len(sigma)), np.zeros(len(sigma))
    unchanged = int(np.argmin(abs(FACTORS - 1.0)))
    for j in np.flatnonzero(used):
        b = solved.inverse @ (w[j] * normal.g[j])
        a = solved.x - b
        Ha, Hb = normal.H @ a, normal.H @ b
        A, B, C = Ha @ a - 2.0 * normal.g @ a + normal.s, 2.0 * (Ha @ b - normal.g @ b), Hb @ b
        # The torque of joint j itself has the factor: its terms move up a power of u.
        A[j], B[j] = Ha[j] @ a, 2.0 * (Ha[j] @ b - normal.g[j] @ a)
        C[j] = Hb[j] @ b - 2.0 * normal.g[j] @ b + normal.s[j]
        squares = A + FACTORS[:, None] * (B + FACTORS[:, None] * C)
        power = np.tile(normal.s, (len(FACTORS), 1))
        power[:, j] *= FACTORS**2
        floor = 1e-12 * power[:, used]
        J = np.log(np.maximum(squares[:, used], floor) / power[:, used]) @ normal.counts[used]
        best = int(np.argmin(J))
        factors[j] = 1.0 / FACTORS[best]
        worth[j] = (J[unchanged] - J[best]) / normal.counts.sum()
    return factors, worth


def gain_faults(gains: Sequence[Gain], names: Sequence[str]) -> list[Fault]:
    """Return the fault that gains show, with the joints it may concern."""
    clear = [
        k
        for k, gain in enumerate(gains)
        if gain.worth > WORTH
        and (
            gain.deviation < SURE
            if gain.factor < 0
            else abs(np.log(gain.factor)) > max(SMALLEST, DEVIATIONS * gain.deviation)
        )
    ]
    if not clear:
        return []
    best = max(clear, key=lambda k: gains[k].worth)
    group = [k for k in clear if gains[k].worth >= ALIKE * gains[best].worth]
    group.sort(key=lambda k: -gains[k].worth)
    factor = gains[best].factor
    joints = tuple(names[k] for k in group)
    kind = "torque sign" if factor < 0 else "torque scale"
    if factor < 0:
        text = f"the torque of {joints[0]} has the other sign"
        text += "" if abs(np.log(-factor)) < 0.3 else f", and {-factor:.3g} times its size"
    else:
        spread = gains[best].deviation
        text = f"the torque of {joints[0]} is recorded {factor:.3g} times (± {factor * spread:.2g}) its size"
    for k in group[1:]:
        text += f"; or that of {names[k]} {gains[k].factor:.3g} times"
    at_the_end = abs(factor) in (float(abs(FACTORS).min()), float(abs(FACTORS).max()))
    if at_the_end and factor > 0:
        size = "four times its size or more" if factor > 1.0 else "a quarter of its size or less"
        text = f"the torque of {joints[0]} is recorded with {size}"
    remedy = "Check sign, gain and gear ratio"
    if not at_the_end:
        remedy += f"; gains={{{joints[0]!r}: {1.0 / factor:.3g}}} would take it back"
    return [Fault(kind, joints, factor, f"{text}. {remedy}", gains[best].worth)]
