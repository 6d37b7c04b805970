"""The verb `reproduce`: the documents' numbers and formulas beside what the library finds."""

from __future__ import annotations

from typing import Annotated

from .options import OUTPUT, OutputFlags, several, shown
from .output import Answer, deliver, protect


def reproduce(
    *, document: Annotated[tuple, shown("NUMBER ..."), several()] = (), output: OutputFlags = OUTPUT
) -> None:
    """Recompute what the source documents print: what is equal or wrong, and why.

    "regression" marks numbers of an independent program that no document prints.
    (The exit code is 1 if anything differs without an explanation.)

    Args:
        document: the documents meant, for example 002; all by default.
    """
    from ..documents.reproduce import Row, failures, recomputed
    from ..documents.reproduce_text import print_rows, rows_data

    protect(output, [])
    rows: list[Row] = []
    interrupted = False
    try:
        rows.extend(recomputed(document or None))
    except KeyboardInterrupt:  # what is done is not lost
        interrupted = True
    deliver(Answer(lambda: rows_data(rows), lambda console: print_rows(console, rows)), output)
    if interrupted:
        raise KeyboardInterrupt
    if failures(rows):
        raise SystemExit(1)
