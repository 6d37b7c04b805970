"""`make reproduce`: recompute what the source documents print, and say what is equal or wrong, and why.

"regression" marks numbers of an independent program that no document prints, "self-check" rows with the library on
both sides. The exit code is 1 if anything differs without an explanation.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from .table import DOCUMENTS, counts, failures, print_counts, print_rows, rows_of


def main(arguments: list[str] | None = None) -> int:
    """Print one table per document; return 1 if a row differs."""
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    parser.add_argument("documents", nargs="*", metavar="NUMBER", help=f"{', '.join(DOCUMENTS)}; all by default")
    parser.add_argument(
        "--figures",
        type=Path,
        metavar="FOLDER",
        help="also draw the figures of documents 001 and 004 there",
    )
    options = parser.parse_args(arguments)
    wanted = [number.zfill(3) for number in options.documents]
    unknown = [number for number in wanted if number not in DOCUMENTS]
    if unknown:
        parser.error(f"no document {', '.join(unknown)}; known: {', '.join(DOCUMENTS)}")
    console = Console() if sys.stdout.isatty() else Console(width=130)
    rows = []
    for number in wanted or DOCUMENTS:
        with console.status(f"recomputing document {number} …"):
            rows += (of_document := rows_of(number))
        print_rows(console, number, of_document)
    print_counts(console, counts(rows))
    if options.figures is not None:
        _draw(options.figures)
    return 1 if failures(rows) else 0


def _draw(folder: Path) -> None:
    from . import figures, plan_study, scanning

    folder.mkdir(parents=True, exist_ok=True)
    plans = {"usual plan": plan_study.usual_plan(), "proposed plan": plan_study.proposed_plan()}
    studies = {name: plan_study.simulate_study(plan) for name, plan in plans.items()}
    figures.draw_axis_errors().savefig(folder / "document_001_figure_1.png")
    figures.draw_study(studies).savefig(folder / "document_001_figure_2.png")
    scanning.draw_example().savefig(folder / "document_004_numbers.png")


if __name__ == "__main__":
    sys.exit(main())
