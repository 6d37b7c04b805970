"""Base parameters written out in link parameters, and how such sums are put into words."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ..spatial.exact_numbers import Surd, from_text, number_as_float
from .views import DEGREES, view_named

if TYPE_CHECKING:
    from .result import BaseParameters

NEGLIGIBLE = 1e-11
"""Terms below this, lengths of size 1, are rounding."""
Terms = dict[int, Any]
"""Place in p → coefficient."""


def expanded(base: BaseParameters) -> list[Terms]:
    """Every base parameter as a sum over p, in the order of `base.columns`; exact where it is certified."""
    first = 10 * len(base.mechanism.joints)
    places = [first + int(k) for k in base.drive_columns]
    left: list[Terms] = [{k: 1} for k in places]
    kept: list[Terms] = []
    for row, pivot in zip(
        _exact_or(base.exact_drive_grouping, base.drive_grouping), base.drive_pivots, strict=True
    ):
        kept.append({places[k]: x for k, x in enumerate(row) if x})
        left[pivot] = _sum([(1, left[pivot]), (-1, kept[-1])])
    carried: dict[int, list[Terms]] = {}
    group_rows: list[list[Terms]] = []
    for group in reversed(base.groups):
        Y, K = _numbers(group)
        left_in_group: list[Terms] = [{int(k): 1} for k in base.places(group)]
        for n, i in enumerate(group.bodies):
            if i in carried:
                for t, more in enumerate(carried.pop(i)):
                    left_in_group[10 * n + t] = _sum([(1, left_in_group[10 * n + t]), (1, more)])
        rows = []
        for row, drive in zip(Y, _exact_or(group.exact_X, group.X), strict=True):
            parts = [(x, left_in_group[t]) for t, x in enumerate(row) if x != 0]
            parts += [(x, left[t]) for t, x in enumerate(drive) if x]
            rows.append(_sum(parts))
        group_rows.append(rows)
        for pivot, row in zip(group.pivots, rows, strict=True):
            left_in_group[pivot] = _sum([(1, left_in_group[pivot]), (-1, row)])
        if group.parent:
            up = carried.setdefault(group.parent, [{} for _ in range(10)])
            for n in range(len(group.bodies)):
                for s in range(10):
                    parts = [(x, left_in_group[10 * n + t]) for t, x in enumerate(K[n][s]) if x != 0]
                    up[s] = _sum([(1, up[s]), *parts])
    links = [terms for rows in reversed(group_rows) for terms in rows]
    extra = {places[p]: terms for p, terms in zip(base.drive_pivots, kept, strict=True)}
    extra |= {first + int(k): {first + int(k): 1} for k in base.friction_columns}
    return [_cleaned(base, terms) for terms in (*links, *(extra[k] for k in sorted(extra)))]


def _numbers(group) -> tuple[list, list]:
    """A group's grouping and carrying matrices, exact where they are known exactly."""
    if group.exact_Y is None:
        return group.Y.tolist(), group.K.tolist()
    return _exact_or(group.exact_Y, group.Y), [_exact_or(K, None) for K in group.exact_K]


def _exact_or(texts, numbers) -> list[list]:
    """Rows of exact numbers, or of floats where they are not known exactly."""
    return numbers.tolist() if texts is None else [[from_text(x) for x in row] for row in texts]


def _sum(parts: list[tuple[Any, Terms]]) -> Terms:
    total: Terms = {}
    for factor, terms in parts:
        for place, x in terms.items():
            total[place] = total[place] + factor * x if place in total else factor * x
    return {place: x for place, x in total.items() if x != 0}


def _cleaned(base: BaseParameters, terms: Terms) -> Terms:
    """Terms in the order of p; where they are not exact, without those that are rounding."""
    if all(not isinstance(x, float) for x in terms.values()):
        return dict(sorted(terms.items()))
    order = view_named(base.view).columns or range(10)
    degree = {place: int(DEGREES[t]) for t, place in enumerate(order)}
    n_link = 10 * len(base.mechanism.joints)

    def size(place, x):
        # A mass counts with the square of a length, and so on.
        return abs(x) / base.length ** (2 - degree[place % 10]) if place < n_link else abs(x)

    largest = max(size(place, x) for place, x in terms.items())
    return {place: x for place, x in sorted(terms.items()) if size(place, x) > NEGLIGIBLE * largest}


def number(x: Any, digits: int = 6) -> str:
    """A coefficient in words: exact decimals in full, other exact numbers as they are, floats to `digits`."""
    if isinstance(x, Surd):
        return f"({x})" if sum(part != 0 for part in x.parts) > 1 else str(x)
    if isinstance(x, int):
        return str(x)
    if isinstance(x, Fraction):
        rest = x.denominator
        for prime in (2, 5):
            while rest % prime == 0:
                rest //= prime
        return f"{float(x):.12g}" if rest == 1 else str(x)
    return f"{x:.{digits}g}"


def sentence(base: BaseParameters, first: int, terms: Terms, times: str = "·") -> str:
    """`I3zz + I4yy − 0.8662·S4y + 0.18758·(m4 + m5 + m6)`: the base column first, equal coefficients taken out."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for place in sorted(terms, key=lambda k: (k != first, _rank(base, k))):
        x = terms[place]
        negative = number_as_float(x) < 0
        factor = number(-x if negative else x)
        if factor == "1":
            factor = f"1 {place}"  # stands alone
        groups.setdefault(factor, []).append((-1 if negative else 1, base.parameter_names[place]))
    words = []
    for factor, members in groups.items():
        sign = members[0][0]
        inner = "".join((" + " if s == sign else " - ") * (k > 0) + name for k, (s, name) in enumerate(members))
        if not factor.startswith("1 "):
            inner = f"{factor}{times}{inner}" if len(members) == 1 else f"{factor}{times}({inner})"
        words.append((" + " if sign > 0 else " - ") + inner)
    text = "".join(words)
    return text[3:] if text.startswith(" + ") else "-" + text[3:]


def _rank(base: BaseParameters, place: int) -> tuple[int, int]:
    """Second moments first, then first moments, then masses, then drives."""
    order = view_named(base.view).columns or tuple(range(10))
    if place >= 10 * len(base.mechanism.joints):
        return 9, place
    return 2 - int(DEGREES[order.index(place % 10)]), place // 10 * 10 + order.index(place % 10)
