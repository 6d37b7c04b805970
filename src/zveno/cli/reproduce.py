"""The verb `reproduce`: the documents' numbers and formulas beside what the library finds."""

from __future__ import annotations

from typing import Annotated

import tyro

from .options import OUTPUT, OutputFlags
from .output import Answer, deliver, protect

Documents = Annotated[tuple[str, ...], tyro.conf.arg(metavar="NUMBER ...", help_behavior_hint="")]


def reproduce(*, document: Documents = (), output: OutputFlags = OUTPUT) -> None:
    """Recompute what the source documents print: what is equal or wrong, and why.

    "regression" marks numbers of an independent program that no document prints.
    (The exit code is 1 if anything differs without an explanation.)

    Args:
        document: the documents meant, for example 002; all by default.
        output: where the answer goes.
    """
    from ..documents.reproduce import collect, failures
    from ..documents.reproduce_text import print_rows, rows_data

    protect(output, [])
    rows = collect(document or None)
    deliver(Answer(lambda: rows_data(rows), lambda console: print_rows(console, rows)), output)
    if failures(rows):
        raise SystemExit(1)
