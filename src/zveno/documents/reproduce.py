"""The documents' numbers and formulas, recomputed beside what is printed, each with a verdict.

Every package of a document (its name ends in the number) has modules `reproduce*.py` with a function
`rows() -> list[Row]`; `collect` gathers them. Formulas that a document prints wrongly are written out there, and
nowhere else.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ZvenoError, unknown_name
from ..progress import Progress, ProgressBar

Verdict = Literal["equal", "document wrong", "regression", "differs"]
VERDICTS: tuple[str, ...] = get_args(Verdict)
NOTED = "noted: "
"""How the numbers of a regression begin in the column of what is printed."""


@dataclass(frozen=True)
class Row:
    """One statement of a document and what this library finds.

    Verdicts: `equal`, to the digits printed, or the formula holds; `document wrong`, the deviation is understood,
    `why` explains it and the corrected statement was verified; `regression`, no document prints the number, and it
    is what an independent program gave before; `differs`, and nobody knows why: that is a failure.
    """

    document: str
    what: str
    printed: str
    computed: str
    verdict: Verdict
    why: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ZvenoError(
                f"{self.verdict!r} is no verdict", element=self.what, remedy=f"Use {', '.join(VERDICTS)}"
            )


def collect(documents: Iterable[str] | None = None) -> list[Row]:
    """Rows of the documents asked for ("000" … "004"; None: all), in the order of documents."""
    return list(recomputed(documents, progress=False))


def recomputed(documents: Iterable[str] | None = None, progress: Progress = None) -> Iterator[Row]:
    """The same rows, one after the other as they are computed, with a progress bar."""
    packages = _packages()
    wanted = list(packages) if documents is None else [str(document).zfill(3) for document in documents]
    for document in wanted:
        if document not in packages:
            raise unknown_name("document", document, packages)
    modules = [name for document in sorted(set(wanted)) for name in _modules(packages[document])]
    with ProgressBar("recomputing", progress) as bar:
        for done, name in enumerate(modules, start=1):
            yield from import_module(name, __package__).rows()
            bar(done, len(modules))


def titles() -> dict[str, str]:
    """Number of a document → what it is about, one sentence."""
    modules = {number: import_module(f".{name}", __package__) for number, name in _packages().items()}
    return {number: (module.__doc__ or "").strip().rstrip(".") for number, module in modules.items()}


def failures(rows: Sequence[Row]) -> list[Row]:
    """Rows whose deviation nobody can explain."""
    return [row for row in rows if row.verdict == "differs"]


def counts(rows: Sequence[Row]) -> dict[str, int]:
    """How many rows have each verdict."""
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

    def same(self, what: str, printed: object, computed: object) -> Row:
        """A statement that is right if what comes out is what is printed."""
        return self.equal(what, str(printed), str(computed), printed == computed)

    def wrong(self, what: str, printed: str, computed: str, understood: bool | np.bool_, why: str) -> Row:
        """A statement that is wrong as printed, for the reason `why` if that is `understood`."""
        return Row(self.number, what, printed, computed, "document wrong" if understood else "differs", why)

    def compared(
        self, what: str, printed: ArrayLike, computed: ArrayLike, tolerance: float | None = None, why: str = ""
    ) -> Row:
        """Numbers (arrays of one shape) that should agree to `tolerance`, relative to the largest."""
        holds = error(printed, computed) <= (self.rounding if tolerance is None else tolerance)
        return self.equal(what, shown(printed), shown(computed), holds, why)

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

    def law(self, what: str, residual: float, tolerance: float, why: str = "") -> Row:
        """A statement that holds if a relative residual is nothing but rounding."""
        return self.equal(what, "holds", f"residual {residual:.0e}", residual <= tolerance, why)


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


def _packages() -> dict[str, str]:
    """Number of a document → name of its package."""
    names = [module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)])]
    numbered = {name[-3:]: name for name in names if name[-3:].isdecimal()}
    return dict(sorted(numbered.items()))


def _modules(package: str) -> list[str]:
    """The modules `reproduce*` of a document's package, as relative names."""
    path = import_module(f".{package}", __package__).__path__
    names = sorted(module.name for module in pkgutil.iter_modules(path) if module.name.startswith("reproduce"))
    return [f".{package}.{name}" for name in names]
