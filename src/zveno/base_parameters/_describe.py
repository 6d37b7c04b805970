"""Presentation of base parameters: expressions, summary, tables, Markdown, LaTeX, CSV, and description."""

from __future__ import annotations

import csv
import io
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from ..mechanism import Mechanism
from ..report.description import PAGE, Block, Column, Curves, Description, Field, Matrix, Scene, Series, Table, Text
from ..spatial.exact_numbers import Surd, from_text, number_as_float
from ._views import DEGREES, view_named

if TYPE_CHECKING:
    from .result import BaseParameters


NEGLIGIBLE = 1e-11
"""Magnitude below which terms are rounding, with lengths scaled to 1."""
Terms = dict[int, Any]
"""Map from index in p to coefficient."""


def expanded(base: BaseParameters) -> list[Terms]:
    """Expand every base parameter as a sum over p, in the order of `base.columns`; exact if certified."""
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
    return [_clear_rounding(base, terms) for terms in (*links, *(extra[k] for k in sorted(extra)))]


def _numbers(group) -> tuple[list, list]:
    """Grouping and transfer matrices of a group, exact if known."""
    if group.exact_Y is None:
        return group.Y.tolist(), group.K.tolist()
    return _exact_or(group.exact_Y, group.Y), [_exact_or(K, None) for K in group.exact_K]


def _exact_or(texts, numbers) -> list[list]:
    """Rows of exact numbers if known, else of floats."""
    return numbers.tolist() if texts is None else [[from_text(x) for x in row] for row in texts]


def _sum(parts: list[tuple[Any, Terms]]) -> Terms:
    total: Terms = {}
    for factor, terms in parts:
        for place, x in terms.items():
            total[place] = total[place] + factor * x if place in total else factor * x
    return {place: x for place, x in total.items() if x != 0}


def _clear_rounding(base: BaseParameters, terms: Terms) -> Terms:
    """Sort terms in the order of p and drop rounding from terms that are not exact."""
    if all(not isinstance(x, float) for x in terms.values()):
        return dict(sorted(terms.items()))
    order = view_named(base.view).columns or range(10)
    degree = {place: int(DEGREES[t]) for t, place in enumerate(order)}
    n_link = 10 * len(base.mechanism.joints)

    def size(place, x):
        # Scale to a common unit: a mass is multiplied by the square of a length, and so on.
        return abs(x) / base.length ** (2 - degree[place % 10]) if place < n_link else abs(x)

    largest = max(size(place, x) for place, x in terms.items())
    return {place: x for place, x in sorted(terms.items()) if size(place, x) > NEGLIGIBLE * largest}


def number(x: Any, digits: int = 6) -> str:
    """Format a coefficient: exact decimals in full, other exact numbers unchanged, floats to `digits`."""
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
    """Format as `I3zz + I4yy − 0.8662·S4y + 0.18758·(m4 + m5 + m6)`: base column first, equal factors joined."""
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
    """Sort key: second moments, first moments, masses, drives."""
    order = view_named(base.view).columns or tuple(range(10))
    if place >= 10 * len(base.mechanism.joints):
        return 9, place
    return 2 - int(DEGREES[order.index(place % 10)]), place // 10 * 10 + order.index(place % 10)


def parameter_names(mechanism: Mechanism, view: str) -> tuple[str, ...]:
    """Symbols of the ten parameters of links 1 … N, in the order of p."""
    chosen = view_named(view)
    symbols = [""] * 10
    for t, place in enumerate(chosen.columns or range(10)):
        symbols[place] = chosen.symbols[t]
    if view == "center":
        symbols = [_at_center(symbol) for symbol in symbols]
    return tuple(
        symbol.format(*[i] * symbol.count("{}")) for i in range(1, mechanism.n_links) for symbol in symbols
    )


def _at_center(symbol: str) -> str:
    """Substitute I = J + m (c·c − c cᵀ) and h = m c."""
    if symbol[0] == "h":
        return f"m{{}}·c{{}}{symbol[-1]}"
    if symbol[0] == "m":
        return symbol
    a, b = symbol[-2:]
    if a == b:
        x, y = (k for k in "xyz" if k != a)
        return f"(J{{}}{a}{b} + m{{}}·(c{{}}{x}² + c{{}}{y}²))"
    return f"(J{{}}{a}{b} - m{{}}·c{{}}{a}·c{{}}{b})"


def summary(base: BaseParameters) -> str:
    """Summary in one sentence: rank, number of parameters and certainty."""
    counted = len(base.counted)
    if base.certified:
        sure = "derived in exact arithmetic"
    else:
        kept, dropped = base.gap
        sure = f"smallest value kept {kept:.1e}, largest dropped {dropped:.1e}" if base.rank else "nothing moves"
    if base.massless:
        some = f"{len(base.massless)} links are" if len(base.massless) > 1 else "one link is"
        sure += f"; {some} without inertia and not counted, massless=() counts every link"
    drives = f" with {', '.join(base.kinds)}" if base.kinds else ""
    text = f"{base.mechanism.name}{drives}: {base.rank} base parameters of {counted} ({sure})"
    return text + "".join(f"; {note}" for note in base.notes)


def records(base: BaseParameters) -> list[dict[str, Any]]:
    """Table with one row per base parameter: number, name, link, expression, coefficients by name."""
    rows = []
    for k, (place, name, terms) in enumerate(zip(base.columns, base.names, base.terms, strict=True), start=1):
        rows.append(
            {
                "number": k,
                "name": name,
                "belongs_to": owner(base, int(place)),
                "expression": base.expressions[k - 1],
                "coefficients": {base.parameter_names[p]: number(x, 17) for p, x in terms.items()},
            }
        )
    return rows


def owner(base: BaseParameters, place: int) -> str:
    """Name of the link that a parameter belongs to, or "drive"."""
    n_link = 10 * len(base.mechanism.joints)
    return base.mechanism.link_names[place // 10 + 1] if place < n_link else "drive"


def caption(base: BaseParameters) -> str:
    """Caption that explains the symbols."""
    numbers = ", ".join(f"{i} {name}" for i, name in enumerate(base.mechanism.link_names) if i)
    text = f"{view_named(base.view).explanation}. The number in a symbol is the link's: {numbers}."
    if base.kinds:
        text += (
            " Ia: rotor inertia at the motor, Fv and Fc: viscous and Coulomb friction, off: offset, at the joint."
        )
    if base.without_effect:
        text += f" Without effect: {', '.join(base.without_effect)}."
    return text


def markdown(base: BaseParameters) -> str:
    """Markdown table with a caption."""
    lines = [f"**{summary(base)}**", "", "| | link | expression |", "|---:|---|---|"]
    lines += [f"| {row['number']} | {row['belongs_to']} | {row['expression']} |" for row in records(base)]
    return "\n".join([*lines, "", caption(base), ""])


def csv_text(base: BaseParameters) -> str:
    """CSV table with number, name, link and expression."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(["number", "name", "belongs_to", "expression"])
    for row in records(base):
        writer.writerow([row["number"], row["name"], row["belongs_to"], row["expression"]])
    return out.getvalue()


_SYMBOL = re.compile(
    r"(?<![A-Za-z])(I|J|h|S|m|c|Ia|Fv|Fc|off|Iam|Fvm|Fcm)(\d+(?:\.\d+)?)(xx|yy|zz|xy|xz|yz|x|y|z)?"
)


def latex(base: BaseParameters) -> str:
    """Format the expressions as a LaTeX `align*` environment; the first index is the number of the link."""
    lines = []
    for k, (place, terms) in enumerate(zip(base.columns.tolist(), base.terms, strict=True), start=1):
        text = _SYMBOL.sub(_symbol, sentence(base, place, terms, times=r"\,"))
        text = text.replace("·", r"\,").replace("²", "^2")
        text = re.sub(r"√(\d)", r"\\sqrt{\1}", text)
        lines.append(rf"\tilde p_{{{k}}} &= {text}")
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}\n"


def _symbol(match: re.Match) -> str:
    letter, link, axes = match.groups()
    letter = letter if len(letter) == 1 else rf"\mathrm{{{letter}}}"
    return f"{letter}_{{{link}, {axes}}}" if axes else f"{letter}_{{{link}}}"


LEVELS = ("without effect", "in a combination", "alone")


def describe_base_parameters(result: BaseParameters) -> Description:
    """Describe base parameters: expressions, classification of every link parameter, and rank gaps."""
    mechanism = result.mechanism
    owners = [owner(result, int(place)) for place in result.columns]
    first = [name if k == 0 or name != owners[k - 1] else "" for k, name in enumerate(owners)]
    columns = [
        Column("", list(range(1, result.rank + 1))),
        Column("link", first),
        Column("expression", result.expressions),
        Column("value", result.values.tolist(), "SI", ".5g"),
    ]
    blocks: list[Block] = [
        Table("Base parameters", columns, note=caption(result), shown=200),
        *_classes(result),
        Scene("Mechanism", mechanism, mechanism.neutral()[None], ["neutral"], media=PAGE),
        _gaps(result),
        Text("Link parameters that are seen alone", [", ".join(result.alone) or "none"], media=PAGE),
        Text("Notes", result.notes),
    ]
    fields = [
        Field("", f"{result.rank} of {result.n_parameters}", meaning="base parameters"),
        Field("", len(result.alone), meaning="link parameters seen alone"),
        Field("", len(result.without_effect), meaning="without effect on the dynamics"),
        Field(
            "",
            "exact" if result.certified else "floating point",
            meaning=result.why_not_certified or "arithmetic of the proof",
        ),
    ]
    return Description(f"{mechanism.name}, base parameters", result.summary, "good", fields, blocks)


def _classes(result: BaseParameters) -> list[Block]:
    """Table of the ten parameters of every link by their class; a dot marks base columns."""
    n = len(result.mechanism.joints)
    if not n:
        return []
    names = result.parameter_names[: 10 * n]
    alone, without = set(result.alone), set(result.without_effect)
    values = [2 if name in alone else 0 if name in without else 1 for name in names]
    base = {int(k) for k in result.columns}
    cells = [f"{name} •" if k in base else name for k, name in enumerate(names)]
    rows = result.mechanism.link_names[1:]
    by_link = [cells[10 * i : 10 * i + 10] for i in range(n)]
    note = "A dot marks the column of a base parameter."
    title = "Parameters of every link"
    return [Matrix(title, rows, (), np.reshape(values, (n, 10)), levels=LEVELS, cells=by_link, note=note, span=4)]


def _gaps(result: BaseParameters) -> Block:
    kept, dropped = (np.array([pair[k] for pair in result.gaps.values()]) for k in (0, 1))
    series = [
        Series("smallest kept", np.where(kept > 0, kept, np.nan), style="dots"),
        Series("largest dropped", np.maximum(dropped, 1e-18), style="dots", muted=True),
    ]
    note = "Relative sizes by group of links, in the order of the tree: the wider apart, the clearer the rank."
    return Curves("Gap between kept and dropped", series, "group", "size", log_y=True, note=note, media=PAGE)
