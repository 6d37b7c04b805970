"""Polynomial of the scan angle for a pose: the functions of `zveno.ik.six_revolute.equations` in loops."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ....kernels.builder import Builder, Rows
from ....kernels.ops import less, less_equal, where
from ...six_revolute import roots
from ...six_revolute.arm import N_EQUATIONS
from ...six_revolute.equations import (
    N_FEATURES,
    SIZE,
    coefficients,
    columns_mixed,
    determinant,
    left_features,
    placed,
    product,
    reflected,
    reflections,
    right_features,
    row_mixing,
    rows_mixed,
)
from ...targets import place
from .tables import SixRevoluteClass

N_SAMPLES = 27
"""Three values of each of three angles."""
RANK = N_FEATURES - N_EQUATIONS
"""Rank of the annihilated part."""
N_MIRRORS = sum(2 * (N_FEATURES - k) for k in range(RANK))
"""Numbers of all reflections."""
NOISE_MARGIN = 8.0
"""Another order of operations measures another noise: results certified here must be so there."""
MOST_NOISE = 1e-8
"""Largest noise of a polynomial whose greatest sample is 1. Beyond it, cancellation has lost half of the digits."""


def seen_from_arm(kind: SixRevoluteClass, row: Any, T: Any) -> Any:
    """Return the target (3, 4) for evaluation, that for elimination, and whether T is rigid."""
    arm, T = kind.numbers(row), T.reshape(4, 4)
    target, off = place(T, arm.before, 1.0 / arm.length)
    X = product(product(arm.before, T[:3]), arm.after)
    return target, np.concatenate([X[:, :3], arm.scale * X[:, 3:]], axis=1), less_equal(off, kind.bounds.rigid)


def eliminate(
    program: Builder, kind: SixRevoluteClass, numbers: Rows, features: Rows | None, X: Rows
) -> tuple[Rows, Rows]:
    """Write E (36 rows of 12) of M(y) = E0 + cos y E1 + sin y E2, and the links (one row), of a target X.

    `features` (27 rows of 14) are those of the last axis where they do not depend on the target.
    """
    n = N_EQUATIONS
    links = program.scratch("links", 1, 72)
    left_out = program.scratch("left_out", N_SAMPLES, n)
    if kind.turning_link:
        samples = program.scratch("samples", N_SAMPLES, N_FEATURES)
        constant, mirrors = program.scratch("constant", 1, N_FEATURES), program.scratch("mirrors", 1, N_MIRRORS)
        links[0], samples[0, N_SAMPLES] = program.step(partial(seen_anywhere, kind), numbers[0], X[0])
        constant[0], mirrors[0] = program.step(to_annihilate, links[0])
        with program.each(N_SAMPLES) as i:
            left_out[i] = program.step(mirrored, constant[0], mirrors[0], samples[i])
    elif kind.left:
        samples = program.scratch("samples", N_SAMPLES, N_FEATURES)
        links[0], samples[0, N_SAMPLES] = program.step(partial(seen_left, kind), numbers[0], X[0])
        with program.each(N_SAMPLES) as i:
            left_out[i] = program.step(partial(annihilated, kind), numbers[0], samples[i])
    else:
        assert features is not None
        constant, mirrors = program.scratch("constant", 1, N_FEATURES), program.scratch("mirrors", 1, N_MIRRORS)
        links[0], constant[0], mirrors[0] = program.step(partial(seen_right, kind), numbers[0], X[0])
        with program.each(N_SAMPLES) as i:
            left_out[i] = program.step(mirrored, constant[0], mirrors[0], features[i])
    S, SZ = program.scratch("S", 3 * n, 9), program.scratch("SZ", 3 * n, 2 * SIZE)
    S[0, 3 * n] = program.step(partial(of_scan_angle, kind), numbers[0], left_out[0, N_SAMPLES])
    with program.each(3 * n) as i:
        SZ[i] = program.step(columns_mixed, S[i])
    E, W = program.scratch("E", 3 * SIZE, SIZE), program.table("row_mixing", row_mixing(n))
    first = program.index("coefficient", np.repeat([0, n, 2 * n], SIZE))
    mixing = program.index("mixing", np.tile(np.arange(SIZE), 3))
    with program.each(3 * SIZE) as i:
        E[i] = program.step(row_mixed, W[mixing[i]], SZ[first[i], n])
    return E, links


def polynomial(program: Builder, E: Rows) -> Rows:
    """Write the coefficients of the polynomial (one row), see `zveno.ik.six_revolute.roots.polynomial`."""
    points = program.table("points", roots.SAMPLE_POINTS)
    values, c = program.scratch("values", roots.SAMPLES, 1), program.scratch("c", 1, roots.N_COEFFICIENTS)
    with program.each(roots.SAMPLES) as i:
        values[i] = program.step(projected, E[0, 3 * SIZE], points[i])
    c[0] = program.step(cautious, values[0, roots.SAMPLES])
    return c


def cautious(values: Any) -> Any:
    """Return `zveno.ik.six_revolute.roots.polynomial` with more noise than is measured, which depends on rounding.

    From `MOST_NOISE` on, noise is infinite, so that nothing is certified.
    """
    c = roots.polynomial(values)
    noise = where(less(c[-2], MOST_NOISE), NOISE_MARGIN * c[-2], np.inf)
    return np.array([*c[:-2], noise, c[-1]])


def seen_left(kind: SixRevoluteClass, row: Any, X: Any) -> Any:
    """Return the links, and features (27, 14) over samples of y2, y3, y4, for a target among M2 … M5."""
    arm = kind.numbers(row)
    links = placed(X.reshape(3, 4), arm.cut, arm.at, arm.backwards, (2, 3, 4, 5))
    return links, left_features(*links[2:])


def annihilated(kind: SixRevoluteClass, row: Any, features: Any) -> Any:
    """Return the rest (6,) of the features (14,) of a sample after annihilation."""
    arm = kind.numbers(row)
    return arm.annihilator @ features - arm.constant


def seen_right(kind: SixRevoluteClass, row: Any, X: Any) -> Any:
    """Return the links, the constant term (14,) and the reflections, for a target in M0 or M1."""
    arm = kind.numbers(row)
    links = placed(X.reshape(3, 4), arm.cut, arm.at, arm.backwards, (0, 1))
    return links, *to_annihilate(links)


def seen_anywhere(kind: SixRevoluteClass, row: Any, X: Any) -> Any:
    """Return the links, and features (27, 14) over samples of y2, y3, y4, for any target and turning link."""
    arm = kind.numbers(row)
    links = placed(X.reshape(3, 4), arm.cut, arm.at, arm.backwards, range(6))
    return links, left_features(*links[2:])


def to_annihilate(links: Any) -> Any:
    """Return the constant term (14,) of the last axis seen through M0 and M1, and reflections for the rest."""
    links = links.reshape(6, 3, 4)
    Q = right_features(links[0], links[1])
    mirrors = reflections(Q[1:].T)
    return Q[0], np.concatenate([part for pair in mirrors for part in pair])


def mirrored(constant: Any, mirrors: Any, features: Any) -> Any:
    """Return the rest (6,) of the features (14,) of a sample after reflection."""
    pairs, at = [], 0
    for k in range(RANK):
        n = N_FEATURES - k
        pairs.append((mirrors[at : at + n], mirrors[at + n : at + 2 * n]))
        at += 2 * n
    return reflected((features - constant)[:, None], pairs)[RANK:, 0]


def of_scan_angle(kind: SixRevoluteClass, row: Any, left_out: Any) -> Any:
    """Return coefficients (3, 6, 9) of 1, cos, sin of the scan angle from samples (27, 6)."""
    return coefficients(left_out.reshape(N_SAMPLES, N_EQUATIONS), kind.numbers(row).scan)


def row_mixed(W: Any, SZ: Any) -> Any:
    """Return a row of one of E0, E1, E2."""
    return rows_mixed(W, SZ.reshape(-1, 2 * SIZE))


def projected(E: Any, point: Any) -> Any:
    """Return the determinant of M(y) at a point (cos y, sin y)."""
    return determinant(E.reshape(3, SIZE, SIZE), point, size=SIZE)
