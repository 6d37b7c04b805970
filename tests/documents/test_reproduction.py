"""The table of `make reproduce`: all rows explained, and the machinery sees a row that is not."""

import io
import re
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from reproduction import table
from reproduction.__main__ import main
from reproduction.printed import NONE, PRINTED
from reproduction.table import (
    DOCUMENTS,
    NOTED,
    OURS,
    Document,
    Row,
    counts,
    failures,
    print_counts,
    print_rows,
    shown,
)
from rich.console import Console


@cache
def rows_of(document: str) -> list[Row]:
    return table.rows_of(document)


@pytest.mark.laws
@pytest.mark.parametrize(
    ("document", "numbers"),
    [
        ("000", (39, 6, 0, 0, 2, 4, 0, 0)),
        ("001", (20, 10, 1, 6, 1, 11, 0, 0)),
        ("002", (0, 14, 0, 0, 0, 4, 10, 0)),
        ("003", (0, 14, 18, 2, 0, 9, 4, 0)),
        ("004", (1, 10, 3, 4, 3, 11, 2, 0)),
    ],
)
def test_every_row_is_equal_or_explained(document, numbers):
    rows = rows_of(document)
    assert [row for row in rows if row.verdict == "differs"] == []
    assert {row.document for row in rows} == {document}
    assert tuple(counts(rows).values()) == numbers
    assert len({row.what for row in rows}) == len(rows)
    assert all(row.why for row in rows if row.verdict in ("assumed", "not reproduced", "document wrong"))
    # What no document prints is not counted as equal to it, and says where it is from.
    assert all(row.printed.startswith(NOTED) == (row.verdict == "regression") for row in rows)
    assert all(row.printed.startswith(OURS) == (row.verdict == "self-check") for row in rows)


@pytest.mark.laws
@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("000", "memory"),
        *(("001", words) for words in ("one prismatic joint", "P∥R", "R = V Uᵀ", "criterion of (26)", "(30)")),
        *(("002", words) for words in ("(18)", "Q*_{n−1}", "R*_n")),
        *(("003", words) for words in ("in body axes: c_i", "inside Σ_k", "i_ij", "ⁱf", "n = 1")),
        *(("004", words) for words in ("I = 729", "П5", "П7", "П8", "path", "rank of the pose vector")),
    ],
)
def test_the_known_mistakes_are_found(document, words):
    assert any(words in row.what for row in rows_of(document) if row.verdict == "document wrong")


@pytest.mark.laws
@pytest.mark.parametrize(
    ("document", "words"),
    [("004", "encoding"), ("004", "trick 2"), ("004", "trick 3")],
)
def test_statements_that_hold(document, words):
    assert any(words in row.what for row in rows_of(document) if row.verdict in ("equal", "formula holds"))


@pytest.mark.laws
@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_printed_number_has_a_row_or_a_reason(document):
    statements = [row.what for row in rows_of(document)]
    assert PRINTED.keys() == DOCUMENTS.keys()
    for place, number, row in PRINTED[document]:
        words = re.findall("^“([^”]+)”$", row)
        assert words or row.startswith(NONE), (place, number)
        for part in words:
            assert any(part in what for what in statements), f"no row has {part!r}, named for {number}, {place}"
    # A number that is said to be equal is printed somewhere.
    cited = [row.strip("“”") for *_, row in PRINTED[document]]
    for row in rows_of(document):
        assert row.verdict != "equal" or any(words in row.what for words in cited), row.what


@pytest.mark.laws
def test_a_number_that_comes_out_otherwise_is_not_equal():
    for document, words in (("001", "simulated experiments"), ("004", "iterations")):
        row = next(row for row in rows_of(document) if words in row.what)
        assert row.verdict == "not reproduced"


@pytest.mark.laws
@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("001", "(27) ε_ω"),
        ("003", "reachability"),
        ("003", "(3): T_i = "),
        ("003", "neither D nor"),
        ("003", "a trunk does not"),
        ("003", "reactions of constraints"),
        ("004", "workers"),
    ],
)
def test_the_library_against_itself_proves_nothing_of_the_document(document, words):
    assert [row.verdict for row in rows_of(document) if words in row.what] == ["self-check"]


def test_verdicts():
    document = Document("x")
    assert document.compared("same", [1.0, 2.0], [1.0, 2.0 + 1e-12], 1e-10).verdict == "formula holds"
    assert document.same("number", 36, 36).verdict == "equal"
    assert document.assumed("unsaid", "1", "1", True, "why").verdict == "assumed"
    assert document.not_reproduced("other", "1", "2", False, "why").verdict == "differs"
    assert document.compared("other", [1.0, 2.0], [1.0, 2.1], 1e-10).verdict == "differs"
    assert document.corrected("misprint", 1.0, 2.0, 2.0, "why", 1e-12).verdict == "document wrong"
    assert document.corrected("no misprint", 2.0, 2.0, 2.0, "why", 1e-12).verdict == "differs"
    assert document.corrected("no correction", 1.0, 2.1, 2.0, "why", 1e-12).verdict == "differs"
    assert document.noted("as before", 1.0, 1.0 + 1e-12, 1e-10).verdict == "regression"
    assert document.noted("changed", 1.0, 1.1, 1e-10).verdict == "differs"
    assert document.self_check("two ways", 1.0, 1.0).verdict == "self-check"
    assert document.self_check("two ways", 1.0, 1.1).verdict == "differs"
    assert document.self_checked("two ways", "as the other", "not", False).verdict == "differs"
    assert document.law("broken", 1e-3, 1e-12).verdict == "differs"
    assert document.compared("nan", np.nan, 1.0, 1e-10).verdict == "differs"
    assert document.law("nan", np.nan, 1e-12).verdict == "differs"
    assert shown([1, -2, 3, 4]) == "1, -2, 3, … (4)"


@pytest.fixture
def wrong_row(monkeypatch):
    """A document whose only row differs."""
    row = Row("003", "pi", "3", "3.14159265359", "differs")
    module = SimpleNamespace(rows=lambda: [row], __doc__="Document 003, trees.")
    monkeypatch.setattr(table, "import_module", lambda _: module)
    return row


def test_a_wrong_row_is_seen(capsys, wrong_row):
    assert failures([wrong_row]) == [wrong_row]
    assert {verdict: n for verdict, n in counts([wrong_row]).items() if n} == {"differs": 1}
    assert main(["3"]) == 1
    out = capsys.readouterr().out
    assert "Document 003, trees" in out
    assert "1 differs" in out


def test_unknown_document(capsys):
    with pytest.raises(SystemExit):
        main(["042"])
    assert "no document 042; known: 000, 001" in capsys.readouterr().err


def test_every_document_has_a_title():
    for number in DOCUMENTS:
        assert table.title(number).startswith(f"Document {number}, ")


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_printed_table(width):
    rows = [
        Row("001", "[bold]x[/bold] = 1", "1", "2", "document wrong", "it is 2"),
        Row("001", "y", "0.123456789, -1", "0.123456789, -1", "equal"),
        Row("001", "z", "noted: 3", "3", "regression"),
        Row("001", "w", "ours: 4", "4", "self-check"),
    ]
    console = Console(file=io.StringIO(), width=width)
    print_rows(console, "001", rows)
    print_counts(console, counts(rows))
    text = console.file.getvalue()
    assert "Document 001, complete and irreducible kinematic models" in text
    for words in (
        "[bold]x[/bold] = 1",
        "it is 2",
        "0.123456789, -1",
        "noted: 3",
        "ours: 4",
        "1 self-check",
        "1 equal, 1 self-check, 1 document wrong",
        "1 regr",
    ):
        assert words in text
    assert max(map(len, text.splitlines())) <= width


@pytest.mark.laws
@pytest.mark.usefixtures("wrong_row")
def test_figures_are_drawn(tmp_path):
    main(["3", "--figures", str(tmp_path / "new")])
    sizes = [file.stat().st_size for file in sorted((tmp_path / "new").iterdir())]
    assert len(sizes) == 3
    assert min(sizes) > 5000
