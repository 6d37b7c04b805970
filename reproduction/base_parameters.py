"""Document 000, base inertial parameters by the method of projections: the PUMA 560."""

from __future__ import annotations

import math
import re
import time
from fractions import Fraction

import numpy as np

import zveno
from zveno.base_parameters._views import PAIRS
from zveno.base_parameters.result import BaseParameters
from zveno.documents.base_parameters import (
    BASES,
    coordinate_matrix,
    echelon_columns,
    energy_regressor,
    grouping,
    joint_functions,
    n_matrices,
    n_rows,
    parts,
)
from zveno.documents.base_parameters import Row as DhRow
from zveno.spatial import inertia
from zveno.spatial.exact_numbers import decimal

from .table import Document, Row, error

DOCUMENT = Document("000")
MILLIMETRES = 1000
GRAVITY = (0.0, 0.0, -9.81)
PUMA = tuple(
    DhRow(1, 0.0, math.radians(alpha), a, d)
    for alpha, a, d in ((-90, 0, 0), (0, 431.8, 150), (90, -20.3, 0), (-90, 0, 433.1), (90, 0, 0), (0, 0, 70))
)
"""The document's table, lengths in mm."""
PRINTED = (
    "I1xx + I1zz + I2zz + I3yy + 300·(S2z + S3y) + 22500·(m2 + m3 + m4 + m5 + m6)",
    "I3zz + I4yy - 866.2·S4y + 187576·(m4 + m5 + m6)",
    "I2xx - 186451·(m2 + m3 + m4 + m5 + m6)",
    "S2x + 431.8·(m2 + m3 + m4 + m5 + m6)",
    "I3xx - 412.09·(m3 + m4 + m5 + m6)",
    "S3z - S4y + 433.1·(m4 + m5 + m6)",
    "S3x - 20.3·(m3 + m4 + m5 + m6)",
    "I5zz + I6zz + 140·S6z + 4900·m6",
    "I2xz + 431.8·(S2z + S3y)",
    "S5z + S6z + 70·m6",
    "I3xy - 20.3·S3y",
    "I4zz + I5yy",
    "S4z + S5y",
    "I2yy",
    "I2xy",
    "I2yz",
    "S2y",
    "I3xz",
    "I3yz",
    *(f"I4{ij}" for ij in ("xx", "xy", "xz", "yz")),
    "S4x",
    *(f"I5{ij}" for ij in ("xx", "xy", "xz", "yz")),
    "S5x",
    *(f"I6{ij}" for ij in ("xx", "yy", "xy", "xz", "yz")),
    "S6x",
    "S6y",
)
"""p̃1 … p̃36 as printed, coefficients in mm and mm²; the document rounds 187575.61 and 186451.24."""
_TERM = re.compile(r"([+-])?\s*(?:([\d.]+)·)?(?:\(([^)]*)\)|([ISm]\w+))")


def printed_terms(text: str) -> dict[str, Fraction]:
    """Symbol → coefficient of an expression as printed."""
    coefficients = {}
    for sign, factor, inner, symbol in _TERM.findall(text):
        x = Fraction(factor or 1) * (-1 if sign == "-" else 1)
        for name in inner.split("+") if inner else [symbol]:
            coefficients[name.strip()] = x
    return coefficients


def in_millimetres(base: BaseParameters) -> dict[str, dict[str, Fraction]]:
    """Base parameters by their own symbol: symbol → exact coefficient in mm and mm²."""
    degree = {"I": 2, "S": 1, "m": 0}
    names = base.parameter_names
    expressions = {}
    for place, terms in zip(base.columns.tolist(), base.terms, strict=True):
        degree_of_base = degree[names[place][0]]
        expressions[names[place]] = {
            names[p]: _exactly(x) * MILLIMETRES ** (degree_of_base - degree[names[p][0]]) for p, x in terms.items()
        }
    return expressions


def _exactly(x) -> Fraction:
    return decimal(x) if isinstance(x, float) else Fraction(x)


def rows() -> list[Row]:
    """All 36 expressions, ranks, sizes, formulas and both recursions."""
    start = time.process_time()
    base = zveno.load("puma560").base_parameters(view="pseudo")
    taken = time.process_time() - start
    return [
        DOCUMENT.same("PUMA 560: number of base parameters", 36, base.rank),
        *_expressions(base),
        *_corrections(),
        *_sizes(taken),
        _transforms(),
        *_energies(),
        *_recursions(),
    ]


def _expressions(base: BaseParameters) -> list[Row]:
    ours = in_millimetres(base)
    rows = []
    for k, text in enumerate(PRINTED, start=1):
        printed = printed_terms(text)
        computed = ours.get(next(iter(printed)), {})
        # The document prints whole square millimetres from six digits on.
        same = computed.keys() == printed.keys() and all(
            abs(computed[name] - x) <= (Fraction(1, 2) if abs(x) > 1e5 else 0) for name, x in printed.items()
        )
        rounded = any(computed.get(name) != x for name, x in printed.items())
        other = {computed[name] for name, x in printed.items() if computed.get(name) not in (x, None)}
        exact = sorted({abs(float(x)) for x in other})
        why = f"rounded: {', '.join(f'{x:.9g}' for x in exact)}" if same and rounded else ""
        rows.append(DOCUMENT.equal(f"p̃{k}", text, sentence(computed), same, why))
    return rows


def sentence(terms: dict[str, Fraction]) -> str:
    """Terms as text, in the document's units."""
    text = ""
    for name, x in terms.items():
        factor = "" if abs(x) == 1 else f"{abs(float(x)):.9g}·"
        text += f" {'-' if x < 0 else '+'} {factor}{name}"
    return text.removeprefix(" + ") or "none"


def _corrections() -> list[Row]:
    matrices = n_matrices(6)
    why = "the document's own formula 2 + Σ (k(k+1)/2 + k + 2) gives 91; Σ k(k+1)/2 alone is 56"
    alone = sum(k * (k + 1) // 2 for k in range(1, 7))
    right, size = matrices == 91 and alone == 56, f"{matrices * 128 / 1024:.1f}"
    return [
        DOCUMENT.wrong("auxiliary 4×4 matrices of the forward recursion, N = 6", "56", str(matrices), right, why),
        DOCUMENT.wrong("memory for them, kB", "about 7", size, right, why),
    ]


def _sizes(by_links: float) -> list[Row]:
    """Sizes of Z and what elimination makes of it; `by_links` are the seconds of the recursion over links."""
    rows, size = n_rows(PUMA), n_rows(PUMA) * 60 * 8
    chain = [DhRow(row.sigma, row.theta, row.alpha, row.a / MILLIMETRES, row.d / MILLIMETRES) for row in PUMA]
    start = time.process_time()
    Z = coordinate_matrix(chain, GRAVITY)
    with_constant = len(echelon_columns(Z.Z))
    by_matrix = time.process_time() - start
    without = len(echelon_columns(Z.effective))
    return [
        DOCUMENT.same("Z of five revolute joints", "47118×50", f"{n_rows(PUMA[:5])}×50"),
        DOCUMENT.equal(
            "Z of six revolute joints, MB",
            "about 150",
            f"{size / 1e6:.0f} = {size / 2**20:.0f} MiB ({rows}×60)",
            round(size / 2**20, -1) == 150,
        ),
        DOCUMENT.wrong(
            "PUMA 560 by Z in full, elimination with partial pivoting",
            "36",
            f"{with_constant}",
            (with_constant, without) == (37, 36),
            "the constant of the potential energy counts as one more; without its row there are 36",
        ),
        DOCUMENT.not_reproduced(
            "time of the whole program for the PUMA 560",
            "about 200 ms",
            f"Z and its elimination took {by_matrix / by_links:.1f} times as long as the recursion over links",
            min(by_matrix, by_links) > 0.0,
            "the computer is not named; the ratio of the two ways on one computer is all that can be compared",
        ),
    ]


def _transforms() -> Row:
    """T_6 from the matrices Ã, by (1) to (3), against the built-in arm."""
    robot, worst = zveno.load("puma560"), 0.0
    for q in robot.random(5, 0):
        T = np.eye(4)
        for row, x in zip(PUMA, q, strict=True):
            row = row._replace(a=row.a / MILLIMETRES, d=row.d / MILLIMETRES)
            T = T @ sum(f * A for f, A in zip(joint_functions(row.sigma, x)[0], parts(row), strict=True))
        worst = max(worst, error(T, robot.forward_kinematics(q)))
    return DOCUMENT.law("(1), (2), (3): T_6 of the PUMA 560 from the constant matrices Ã", worst, 1e-12)


def _energies() -> list[Row]:
    """Lagrangian b Z p of a SCARA in both bases, and the combinations Y."""
    scara = zveno.load("scara")
    mechanism = scara.mechanism
    p = np.concatenate([[inertia.pseudo_inertia(link.inertia)[ij] for ij in PAIRS] for link in mechanism.links[1:]])
    q, v = scara.random((), 1), np.array([0.7, -0.4, 0.9, 0.3])
    kinetic, potential = scara.energy(q, v)
    fixed = -mechanism.gravity @ inertia.first_moment(mechanism.links[0].inertia)
    printed = {
        "squares": "(4)–(6), (13), (14): Lagrangian b Z p of a SCARA, functions 1, c, s, c², s c",
        "doubles": "(12a), (12b): the same with the functions 1, c, s, cos 2q, sin 2q",
    }
    rows, matrices = [], {basis: coordinate_matrix(scara, basis=basis) for basis in BASES}
    for basis, what in printed.items():
        functions = [joint_functions(s, x, basis) for s, x in zip(matrices[basis].sigmas, q, strict=True)]
        rates = [v[i] * v[j] / (2 if i == j else 1) for i in range(4) for j in range(i + 1)]
        quadratic, linear = np.ones(1), np.ones(1)
        for X, Y in functions:
            quadratic, linear = np.outer(quadratic, Y).ravel(), np.outer(linear, X).ravel()
        b = np.concatenate([np.outer(rates, quadratic).ravel(), linear])
        rows.append(DOCUMENT.compared(what, b @ matrices[basis].Z @ p, kinetic - potential + fixed))
    Z = matrices["squares"].effective
    columns = echelon_columns(Z)
    base = scara.base_parameters(view="pseudo")
    h = energy_regressor(scara, scara.random(40, 2), np.random.default_rng(2).normal(size=(40, 4)))
    return [
        *rows,
        DOCUMENT.compared("Y = Z̃⁺ Z of the SCARA", grouping(Z, columns), base.matrix, 1e-9),
        DOCUMENT.compared(
            "number of base parameters is the rank of the energies' influences, SCARA",
            len(columns),
            np.linalg.matrix_rank((h - h[0]) / np.abs(h).max(), tol=1e-9),
        ),
    ]


def _recursions() -> list[Row]:
    taken = {}
    for recursion in ("forward", "backward"):
        start = time.process_time()
        taken[recursion] = (coordinate_matrix(PUMA[:5], GRAVITY, recursion=recursion), time.process_time() - start)
    (forward, fast), (backward, slow) = taken["forward"], taken["backward"]
    difference = error(forward.Z, backward.Z)
    cost = backward.transformations / forward.transformations
    return [
        DOCUMENT.law("(15), (16), (19): forward and backward recursion give one Z (N = 5)", difference, 1e-12),
        DOCUMENT.wrong(
            "(18): superscripts l_1 … l_{k−1} of Â_{i−1}",
            "k − 1 indices",
            f"i − 1 indices, which give Z to {difference:.0e}",
            difference <= 1e-12,
            "Â_{i−1} has one index for each joint before i, and so has Â_i on the left sides; k is the link whose "
            "projections are computed",
        ),
        DOCUMENT.not_reproduced(
            "time of the backward recursion over that of the forward one",
            "almost 20",
            f"{slow / max(fast, 1e-9):.0f} (N = 5), with {cost:.1f} times the transformations",
            cost > 1.0,
            "mechanism, number of joints and program are not named",
        ),
    ]
