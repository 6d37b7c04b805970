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

from ..errors import ZvenoError, unknown_name

Verdict = Literal["equal", "document wrong", "differs"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
_PREFIX = "reproduce_"


@dataclass(frozen=True)
class Row:
    """One statement of a document and what this library finds.

    The verdict says whether they are `equal` (to the digits printed, or the formula holds), the `document [is] wrong`
    (the deviation is understood, `why` explains it, and the corrected statement was verified), or it `differs` and
    nobody knows why: that is a failure.
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
    return [row for name in modules if _document(name) in wanted for row in _rows(name)]


def failures(rows: Sequence[Row]) -> list[Row]:
    """Rows whose deviation nobody can explain."""
    return [row for row in rows if row.verdict == "differs"]


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """How many rows have each verdict."""
    return {verdict: sum(row.verdict == verdict for row in rows) for verdict in VERDICTS}


def _modules() -> list[str]:
    import zveno.report as package

    return sorted(found.name for found in pkgutil.iter_modules(package.__path__) if found.name.startswith(_PREFIX))


def _document(module: str) -> str:
    return module.removeprefix(_PREFIX)[:3]


def _rows(module: str) -> list[Row]:
    return [_as_row(row) for row in importlib.import_module(f".{module}", __package__).rows()]


def _as_row(row: Any) -> Row:
    """Numbers are shown with the digits that matter; everything else as it is."""

    def text(value: Any) -> str:
        return f"{value:.12g}" if isinstance(value, float) else str(value)

    return Row(str(row.document), row.what, text(row.printed), text(row.computed), row.verdict, row.why)
