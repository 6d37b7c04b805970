"""The documents' numbers and formulas, recomputed beside what is printed, each with a verdict.

Every module `reproduce_<document>.py` of this package has a function `rows() -> list[Row]`; `collect` gathers them.
Formulas that a document prints wrongly are written out in those modules, and nowhere else.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ..errors import ZvenoError, unknown_name

Verdict = Literal["equal", "document wrong", "differs"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
_PREFIX = "reproduce_"


@dataclass(frozen=True)
class Row:
    """One statement of a document and what this library finds.

    Verdicts: `equal`, to the digits printed, or the formula holds; `document wrong`, the deviation is understood,
    `why` explains it and the corrected statement was verified; `differs`, and nobody knows why: that is a failure.
    """

    document: str
    what: str
    printed: str
    computed: str
    verdict: Verdict
    why: str = ""

    def __post_init__(self):
        if self.verdict not in VERDICTS:
            raise ZvenoError(
                f"{self.verdict!r} is no verdict", element=self.what, remedy=f"Use {', '.join(VERDICTS)}"
            )


def collect(documents: Iterable[str] | None = None) -> list[Row]:
    """Rows of the documents asked for ("000" … "004"; None: all), in the order of documents."""
    modules = _modules()
    known = sorted({_document(name) for name in modules})
    wanted = known if documents is None else [str(document).zfill(3) for document in documents]
    for document in wanted:
        if document not in known:
            raise unknown_name("document", document, known)
    rows = [row for name in modules if _document(name) in wanted or documents is None for row in _rows(name)]
    # A module may hold rows of several documents: the simulation of the chain and of the walking machine.
    return sorted((row for row in rows if row.document in wanted), key=lambda row: row.document)


def failures(rows: Sequence[Row]) -> list[Row]:
    """Rows whose deviation nobody can explain."""
    return [row for row in rows if row.verdict == "differs"]


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """How many rows have each verdict."""
    return {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}


def compared(document: str, what: str, printed, computed, tolerance: float, why: str = "") -> Row:
    """A row for numbers (arrays of one shape) that should agree to `tolerance`, relative to the largest."""
    agree = error(printed, computed) <= tolerance
    return Row(document, what, shown(printed), shown(computed), "equal" if agree else "differs", why)


def corrected(document: str, what: str, printed, right, computed, tolerance: float, why: str) -> Row:
    """A row for a formula that is wrong as printed: its numbers, those of the corrected one, and the library's."""
    off, left = error(printed, computed), error(right, computed)
    verdict = "document wrong" if off > 1e3 * tolerance and left <= tolerance else "differs"
    return Row(document, what, f"off by {_share(off)}", f"corrected: off by {left:.0e}", verdict, why)


def law(document: str, what: str, residual: float, tolerance: float, why: str = "") -> Row:
    """A row for a statement that holds if a relative residual is nothing but rounding."""
    verdict = "equal" if residual <= tolerance else "differs"
    return Row(document, what, "holds", f"residual {residual:.0e}", verdict, why)


def error(x, y) -> float:
    """Largest difference over the larger of the two magnitudes."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    size = max(abs(x).max(initial=0.0), abs(y).max(initial=0.0))
    return float(abs(x - y).max(initial=0.0) / size) if size else 0.0


def shown(values, most: int = 3) -> str:
    """Numbers as text: the first few with nine digits, and how many there are."""
    flat = np.ravel(np.asarray(values, dtype=float))
    text = ", ".join(f"{x:.9g}".replace("-", "−") for x in flat[:most])
    return text + (f", … ({len(flat)})" if len(flat) > most else "")


def _share(x: float) -> str:
    return f"{100 * x:.0f} %" if x > 0.1 else f"{100 * x:.2g} %"


def _modules() -> list[str]:
    import zveno.report as package

    names = [found.name for found in pkgutil.iter_modules(package.__path__)]
    return sorted(name for name in names if name.startswith(_PREFIX) and _document(name).isdecimal())


def _document(module: str) -> str:
    return module.removeprefix(_PREFIX)[:3]


def _rows(module: str) -> list[Row]:
    return [_as_row(row) for row in importlib.import_module(f".{module}", __package__).rows()]


def _as_row(row: Any) -> Row:
    """Numbers are shown with the digits that matter; everything else as it is."""

    def text(value: Any) -> str:
        return f"{value:.12g}" if isinstance(value, float) else str(value)

    return Row(str(row.document), row.what, text(row.printed), text(row.computed), row.verdict, row.why)
