"""Rows of the documents' statements, each with a verdict, and the tables that show them.

Every document has a module here with a function `rows() -> list[Row]`. Formulas that a document prints wrongly are
written out in `zveno.documents`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike
from rich.console import Console
from rich.table import Table
from rich.text import Text

DOCUMENTS = {
    "000": "base_parameters",
    "001": "calibration",
    "002": "separate_bodies",
    "003": "trees",
    "004": "scanning",
}
"""Module of every document."""
Verdict = Literal[
    "equal", "formula holds", "self-check", "assumed", "not reproduced", "document wrong", "regression", "differs"
]
VERDICTS: tuple[str, ...] = get_args(Verdict)
NOTED = "noted: "
"""How the numbers of a regression begin in the column of what is printed."""
OURS = "ours: "
"""How the first side of a self-check begins there."""
STYLES = {
    "equal": "green",
    "formula holds": "green",
    "self-check": "cyan",
    "assumed": "cyan",
    "not reproduced": "magenta",
    "document wrong": "yellow",
    "regression": "cyan",
    "differs": "bold red",
}
WIDE = 110
"""Columns from which printed and computed stand side by side."""


@dataclass(frozen=True)
class Row:
    """One statement of a document and what this library finds.

    Verdicts:
        equal: the number or model that the document prints, to its digits.
        formula holds: the document prints a formula or a statement and no number. Evaluated as printed, or as `why`
            reads it, it agrees with the library on an example of ours.
        self-check: both sides are the library's, because the document defines something and claims nothing, or its
            formula is lost or not evaluated apart. The library agrees with itself; the document is not tested.
        assumed: equal, or wrong, only with something that the document does not say; `why` names the assumption.
        not reproduced: another number than printed; `why` says what is missing to decide who is right.
        document wrong: the deviation is understood, `why` explains it, and the corrected statement was verified.
        regression: no document prints the number; an independent program gave it before.
        differs: nobody knows why, which is a failure.
    """

    document: str
    what: str
    printed: str
    computed: str
    verdict: Verdict
    why: str = ""


def rows_of(document: str) -> list[Row]:
    """Return the rows of a document, "000" … "004"."""
    return import_module(f"{__package__}.{DOCUMENTS[document]}").rows()


def title(document: str) -> str:
    """Return the sentence that says what a document is about."""
    doc = import_module(f"{__package__}.{DOCUMENTS[document]}").__doc__ or ""
    return doc.partition("\n")[0].rstrip(".")


def failures(rows: Sequence[Row]) -> list[Row]:
    """Rows whose deviation nobody can explain."""
    return [row for row in rows if row.verdict == "differs"]


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """Count the rows of each verdict."""
    return {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}


@dataclass(frozen=True)
class Document:
    """A document by its number, which makes the rows of its statements.

    `rounding` is the relative tolerance of numbers that should agree, where a statement does not say its own.
    """

    number: str
    rounding: float = 1e-12

    def equal(self, what: str, printed: str, computed: str, holds: bool | np.bool_, why: str = "") -> Row:
        """A statement that is right if it `holds`."""
        return Row(self.number, what, printed, computed, "equal" if holds else "differs", why)

    def statement(self, what: str, printed: str, computed: str, holds: bool | np.bool_, why: str = "") -> Row:
        """A statement without a number that is right if it `holds` on an example of ours."""
        return self._formula(what, printed, computed, holds, why)

    def same(self, what: str, printed: object, computed: object) -> Row:
        """A statement that is right if what comes out is what is printed."""
        return self.equal(what, str(printed), str(computed), printed == computed)

    def wrong(self, what: str, printed: str, computed: str, understood: bool | np.bool_, why: str) -> Row:
        """A statement that is wrong as printed, for the reason `why` if that is `understood`."""
        return Row(self.number, what, printed, computed, "document wrong" if understood else "differs", why)

    def assumed(self, what: str, printed: str, computed: str, holds: bool | np.bool_, why: str) -> Row:
        """A statement that depends on an assumption, which `why` names."""
        return Row(self.number, what, printed, computed, "assumed" if holds else "differs", why)

    def not_reproduced(self, what: str, printed: str, computed: str, holds: bool | np.bool_, why: str) -> Row:
        """A number that comes out otherwise, if what `why` says of it still `holds`."""
        return Row(self.number, what, printed, computed, "not reproduced" if holds else "differs", why)

    def compared(
        self, what: str, printed: ArrayLike, computed: ArrayLike, tolerance: float | None = None, why: str = ""
    ) -> Row:
        """A formula whose numbers (arrays of one shape) should agree to `tolerance`, relative to the largest."""
        holds = error(printed, computed) <= (self.rounding if tolerance is None else tolerance)
        return self._formula(what, shown(printed), shown(computed), holds, why)

    def noted(self, what: str, before: ArrayLike, computed: ArrayLike, tolerance: float) -> Row:
        """Numbers that no document prints: they should still be what was noted before."""
        verdict = "regression" if error(before, computed) <= tolerance else "differs"
        return Row(self.number, what, NOTED + shown(before), shown(computed), verdict)

    def corrected(
        self,
        what: str,
        printed: ArrayLike,
        right: ArrayLike,
        computed: ArrayLike,
        why: str,
        tolerance: float | None = None,
    ) -> Row:
        """A formula that is wrong as printed: its numbers, those of the corrected one, and the library's."""
        least = self.rounding if tolerance is None else tolerance
        off, left = error(printed, computed), error(right, computed)
        understood = off > 1e3 * least and left <= least
        return self.wrong(what, f"off by {_share(off)}", f"corrected: off by {left:.0e}", understood, why)

    def self_check(
        self, what: str, one_way: ArrayLike, other_way: ArrayLike, tolerance: float | None = None, why: str = ""
    ) -> Row:
        """Numbers that the library computes in two ways, which should agree to `tolerance`."""
        holds = error(one_way, other_way) <= (self.rounding if tolerance is None else tolerance)
        return self.self_checked(what, shown(one_way), shown(other_way), holds, why)

    def self_checked(self, what: str, one_way: str, other_way: str, holds: bool | np.bool_, why: str = "") -> Row:
        """Two answers of the library that `holds` says are the same."""
        return Row(self.number, what, OURS + one_way, other_way, "self-check" if holds else "differs", why)

    def law(self, what: str, residual: float, tolerance: float, why: str = "") -> Row:
        """A formula that holds if a relative residual is nothing but rounding."""
        return self._formula(what, "holds", f"residual {residual:.0e}", residual <= tolerance, why)

    def _formula(self, what: str, printed: str, computed: str, holds: bool | np.bool_, why: str) -> Row:
        return Row(self.number, what, printed, computed, "formula holds" if holds else "differs", why)


def error(x: ArrayLike, y: ArrayLike) -> float:
    """Largest difference over the larger of the two magnitudes."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    size = max(abs(x).max(initial=0.0), abs(y).max(initial=0.0))
    return float(abs(x - y).max(initial=0.0) / size) if size else 0.0


def shown(values: ArrayLike, most: int = 3) -> str:
    """Numbers as text: the first few with nine digits, and how many there are."""
    flat = np.ravel(np.asarray(values, dtype=float))
    text = ", ".join(f"{x:.9g}" for x in flat[:most])
    return text + (f", … ({len(flat)})" if len(flat) > most else "")


def _share(x: float) -> str:
    return f"{100 * x:.0f} %" if x > 0.1 else f"{100 * x:.2g} %"


def print_rows(console: Console, document: str, rows: Sequence[Row]) -> None:
    """Print the rows of a document as a table."""
    console.print(Text(title(document), style="bold"))
    console.print(_side_by_side(rows) if console.width >= WIDE else _one_below_the_other(rows))
    console.print()


def print_counts(console: Console, n: Mapping[str, int]) -> None:
    """Print the number of rows of each verdict."""
    console.print(
        Text(", ".join(f"{count} {verdict}" for verdict, count in n.items() if count or verdict == "differs"))
    )


def _side_by_side(rows: Sequence[Row]) -> Table:
    table = _empty_table()
    for name, ratio in (("statement", 5), ("printed", 4), ("computed", 4)):
        table.add_column(name, ratio=ratio, overflow="fold")
    for row in rows:
        statement = Text.assemble(row.what, (f"\n{row.why}" if row.why else "", "dim"))
        table.add_row(_verdict(row), statement, Text(row.printed), Text(row.computed))
    return table


def _one_below_the_other(rows: Sequence[Row]) -> Table:
    table = _empty_table()
    table.add_column("statement", overflow="fold")
    for row in rows:
        values = [f"printed: {row.printed}", f"computed: {row.computed}"]
        if row.verdict in ("regression", "self-check"):
            values[0] = row.printed
        elif row.printed == row.computed:
            values = [f"printed, computed: {row.printed}"]
        lines = [
            (f"\n{line}", style) for line, style in (*((value, "") for value in values), (row.why, "dim")) if line
        ]
        table.add_row(_verdict(row), Text.assemble(row.what, *lines))
    return table


def _empty_table() -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("verdict", no_wrap=True)
    return table


def _verdict(row: Row) -> Text:
    return Text(row.verdict, style=STYLES[row.verdict])
