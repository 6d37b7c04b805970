"""Choice of templates to prove an arm by: in floats and by trial, it proves nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from flint import arb

from ...six_revolute.templates import chain, usable
from ..balls import NotProved, Rigid, precision, product, turned, widest
from .arm import loop_links
from .back_substitution import candidates
from .elimination import Elimination, Template

MOST = 6
"""Templates that are tried on a pose."""
TRIAL_BITS = 128
VANISHING = 1e-11
"""A determinant with a smaller ratio of singular values at a random angle vanishes identically."""


def chosen_templates(constants: Callable[[], Sequence[Rigid]], floats: np.ndarray, seed: int = 0) -> list[Template]:
    """Choose the best templates of an arm in the order in which they are tried.

    Args:
        constants: gives C_0 … C_6 in balls of the precision of the moment.
        floats: the same in floats, (7, 4, 4).
        seed: of the configuration that they are tried at.
    """
    rng = np.random.default_rng(seed)
    L = floats[:6].copy()
    L[0] = np.eye(4)
    size = np.linalg.norm(L[:, :3, 3], axis=1).sum()
    L[:, :3, 3] *= 2.0 / size if size > 0 else 1.0
    q = rng.uniform(-np.pi, np.pi, 6)
    X = chain(L, q[None])[:, :3]
    ranked = []
    for place, eliminated in enumerate(usable(L, rng)):
        E = eliminated.system(X)[0][0]
        s = np.linalg.svd(E[0] + np.cos(1.234) * E[1] + np.sin(1.234) * E[2], compute_uv=False)
        if s[-1] > VANISHING * s[0]:
            t = eliminated.template
            ranked.append((eliminated.dimension > 1, place, Template(t.order, t.backwards, t.scan)))
    ranked.sort(key=lambda entry: entry[:2])
    return _tried(constants, [template for *_, template in ranked[:MOST]], q)


def _tried(
    constants: Callable[[], Sequence[Rigid]], templates: Sequence[Template], q: np.ndarray
) -> list[Template]:
    """Order templates: first those that find candidates of a random pose, the narrowest first."""
    keys = {}
    with precision(TRIAL_BITS):
        C = constants()
        T = C[0]
        for angle, after in zip(q, C[1:], strict=True):
            ball = arb(float(angle))
            T = product(turned(T, (ball.cos(), ball.sin())), after)
        links = loop_links(C, T)
        for place, template in enumerate(templates):
            try:
                found = candidates(Elimination(template, C).system(links[0]))
                width = max((widest(angles) for angles in found), default=0.0)
                keys[template] = 0, np.floor(np.log10(width + 1e-300) / 6), place
            except NotProved:
                keys[template] = 1, 0.0, place
    return sorted(keys, key=lambda template: keys[template])
