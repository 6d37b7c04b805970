"""Base parameters for people: summary, tables, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

from ..mechanism import Mechanism
from .expressions import number, sentence
from .views import view_named

if TYPE_CHECKING:
    from .result import BaseParameters


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
    """I = J + m (c·c − c cᵀ) and h = m c."""
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
    """One sentence: how many, of how many, and how sure."""
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
    """One row a base parameter: number, name, link, expression, coefficients by name."""
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
    """The link a parameter belongs to, or "drive"."""
    n_link = 10 * len(base.mechanism.joints)
    return base.mechanism.link_names[place // 10 + 1] if place < n_link else "drive"


def table(base: BaseParameters) -> Any:
    """A rich table."""
    from rich.table import Table

    listing = Table(title=summary(base), caption=caption(base), title_justify="left", caption_justify="left")
    listing.add_column("", justify="right", style="dim")
    listing.add_column("link")
    listing.add_column("expression", overflow="fold")
    last = None
    for row in records(base):
        link = row["belongs_to"]
        listing.add_row(str(row["number"]), link if link != last else "", row["expression"])
        last = link
    return listing


def caption(base: BaseParameters) -> str:
    """How to read the symbols."""
    numbers = ", ".join(f"{i} {name}" for i, name in enumerate(base.mechanism.link_names) if i)
    text = f"{view_named(base.view).what}. The number in a symbol is the link's: {numbers}."
    if base.kinds:
        text += (
            " Ia: rotor inertia at the motor, Fv and Fc: viscous and Coulomb friction, off: offset, at the joint."
        )
    if base.without_effect:
        text += f" Without effect: {', '.join(base.without_effect)}."
    return text


def markdown(base: BaseParameters) -> str:
    """A Markdown table with a caption."""
    lines = [f"**{summary(base)}**", "", "| | link | expression |", "|---:|---|---|"]
    lines += [f"| {row['number']} | {row['belongs_to']} | {row['expression']} |" for row in records(base)]
    return "\n".join([*lines, "", caption(base), ""])


def csv_text(base: BaseParameters) -> str:
    """number, name, link, expression."""
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
    """An `align*` environment: superscripts are link numbers, as in document 000."""
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
    return f"{letter}^{{{link}}}" + (f"_{{{axes}}}" if axes else "")
