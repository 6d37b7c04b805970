"""Tables of docs/documents: every numbered formula leads to its function and to a row, or to a reason."""

from __future__ import annotations

import inspect
import re
import sys
from operator import attrgetter
from pathlib import Path

import pytest
from test_reproduction import rows_of

import zveno
import zveno.documents.base_parameters
import zveno.documents.calibration
import zveno.documents.scanning
import zveno.documents.separate_bodies
import zveno.documents.trees

PAGES = Path(__file__).parents[2] / "docs" / "documents"
NUMBERED = {"000": 19, "001": 31, "002": 28, "003": 5, "004": 15}
"""Highest number of a formula in each document."""
HEADER = "| printed | says | in zveno | row |"


def table_of(document: str) -> list[list[str]]:
    """Cells of the table of formulas of a page."""
    lines = (PAGES / f"{document}.md").read_text(encoding="utf-8").splitlines()
    start = lines.index(HEADER) + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def numbers(cell: str) -> set[int]:
    """Formula numbers in a cell: (12a), (2), (3), (9)–(12)."""
    found = {int(n) for n in re.findall(r"\((\d+)[a-c]?\)", cell)}
    for first, last in re.findall(r"\((\d+)\)–\((\d+)\)", cell):
        found |= set(range(int(first), int(last) + 1))
    return found


@pytest.mark.parametrize("document", NUMBERED)
def test_every_numbered_formula_is_in_the_table(document):
    cells = table_of(document)
    assert all(len(row) == 4 for row in cells), [row for row in cells if len(row) != 4]
    listed = set().union(*(numbers(row[0]) for row in cells))
    assert listed == set(range(1, NUMBERED[document] + 1))


@pytest.mark.parametrize("document", NUMBERED)
def test_every_function_exists(document):
    for _, _, functions, _ in table_of(document):
        for name in re.findall("`([^`]+)`", functions):
            assert attrgetter(name)(zveno) is not None


@pytest.mark.parametrize("document", NUMBERED)
def test_functions_of_the_documents_say_their_formulas(document):
    """In the docstring, or in that of the module, which names the function."""
    for _, _, functions, _ in table_of(document):
        for name in re.findall(r"`(documents\.[^`]+)`", functions):
            function = attrgetter(name)(zveno)
            module = inspect.getdoc(sys.modules[function.__module__]) or ""
            says = re.search(r"\(\d+[a-c]?\)|П\d|[Dd]ocument|step \d|trick", inspect.getdoc(function) or "")
            assert says or f"`{name.rpartition('.')[2]}`" in module, name


@pytest.mark.laws
@pytest.mark.parametrize("document", NUMBERED)
def test_figures_of_what_was_corrected_are_those_of_the_rows(document):
    """So that no page quotes a figure that `make reproduce` does not compute."""
    text = (PAGES / f"{document}.md").read_text(encoding="utf-8")
    paragraph = re.search(r"\*\*What was corrected\.\*\*(.*?)\n\n", text, re.S)
    assert paragraph
    figures = re.findall(r"(?<![\w(])\d[\d.]*\d", re.sub(r"\(\d+[a-c]?\)", "", paragraph[1]))
    said = " ".join(f"{row.what} {row.printed} {row.computed} {row.why}" for row in rows_of(document))
    assert [x for x in figures if not re.search(rf"(?<!\d){re.escape(x)}(?!\d)", said)] == []


@pytest.mark.laws
@pytest.mark.parametrize("document", NUMBERED)
def test_every_formula_has_a_row_or_a_reason_and_every_row_a_formula(document):
    statements = [row.what for row in rows_of(document)]
    cited = set()
    for printed, _, _, row in table_of(document):
        words = re.findall("“([^”]+)”", row)
        assert words or row.startswith("none: "), printed
        for part in words:
            matches = {what for what in statements if part in what}
            assert matches, f"no row of {document} has {part!r}, named for {printed}"
            cited |= matches
    assert set(statements) - cited == set()
