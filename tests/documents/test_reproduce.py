"""The documents' rows: all explained, and the machinery sees a row that is not."""

import io
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from zveno.cli.options import Output
from zveno.cli.reproduce import reproduce as verb
from zveno.documents import reproduce
from zveno.documents.reproduce import NOTED, Document, Row, collect, counts, failures, shown
from zveno.documents.reproduce_text import print_rows, rows_data
from zveno.documents.separate_bodies_002 import reproduce as reproduce_002
from zveno.documents.trees_003 import reproduce as reproduce_003
from zveno.documents.trees_003.recursions import Reading, example_tree, torques
from zveno.errors import UnknownNameError, ZvenoError


@cache
def rows_of(document: str) -> list[Row]:
    return collect([document])


@pytest.mark.parametrize(
    ("document", "equal", "wrong", "regression"),
    [("000", 40, 3, 0), ("001", 30, 8, 0), ("002", 11, 4, 10), ("003", 25, 10, 4), ("004", 7, 10, 0)],
)
def test_every_row_is_equal_or_explained(document, equal, wrong, regression):
    rows = rows_of(document)
    assert [row for row in rows if row.verdict == "differs"] == []
    assert {row.document for row in rows} == {document}
    assert counts(rows) == {"equal": equal, "document wrong": wrong, "regression": regression, "differs": 0}
    assert len({row.what for row in rows}) == len(rows)
    assert all(row.why for row in rows if row.verdict == "document wrong")
    # What no document prints is not counted as equal to it, and says where it is from.
    assert all(row.printed.startswith(NOTED) == (row.verdict == "regression") for row in rows)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("000", "memory"),
        *(("001", words) for words in ("one prismatic joint", "P∥R", "R = V Uᵀ", "criterion of (26)", "(30)")),
        *(("002", words) for words in ("(18)", "Q*_{n−1}", "R*_n")),
        *(("003", words) for words in ("in body axes: c_i", "inside Σ_k", "Σ M + l × f", "i_ij", "ⁱf", "n = 1")),
        *(("004", words) for words in ("I = 729", "П5", "П7", "П8", "path", "rank of the pose vector")),
    ],
)
def test_the_known_mistakes_are_found(document, words):
    assert any(words in row.what for row in rows_of(document) if row.verdict == "document wrong")


@pytest.mark.parametrize(
    ("document", "words"),
    [("001", "figure 1"), ("004", "iterations"), ("004", "encoding"), ("004", "trick 2"), ("004", "workers")],
)
def test_statements_that_hold(document, words):
    assert any(words in row.what for row in rows_of(document) if row.verdict == "equal")


def test_numbers_of_the_program_of_document_002():
    """The port of the program gives the numbers noted, so that they are the document's and not the library's."""
    np.testing.assert_allclose(reproduce_002.program_a(*reproduce_002.START)[:3], reproduce_002.START_A, rtol=1e-11)
    np.testing.assert_allclose(reproduce_002.program_a(*reproduce_002.MOVING), reproduce_002.MOVING_A, rtol=1e-10)
    # One rod is a pendulum: q̈ = −3/2 g cos q for a length of 1.
    one = reproduce_002.program_a(np.array([0.3]), np.array([2.0]))
    assert one[0] == pytest.approx(-1.5 * 9.81 * np.cos(0.3), rel=1e-14)


def test_every_misprint_of_document_003_matters():
    tree = example_tree()
    state = reproduce_003.Q, reproduce_003.V, reproduce_003.A
    np.testing.assert_allclose(torques(tree, *state), reproduce_003.TAU, rtol=1e-10)
    for misprint in ("arm_is_c", "own_inside_sum", "sum_stops_early", "turned_twice", "backward_runs_forward"):
        off = torques(tree, *state, reading=Reading(**{misprint: True}))
        assert abs(off - reproduce_003.TAU).max() > 1e-2, misprint


def test_verdicts():
    document = Document("x")
    assert document.compared("same", [1.0, 2.0], [1.0, 2.0 + 1e-12], 1e-10).verdict == "equal"
    assert document.compared("other", [1.0, 2.0], [1.0, 2.1], 1e-10).verdict == "differs"
    assert document.corrected("misprint", 1.0, 2.0, 2.0, "why", 1e-12).verdict == "document wrong"
    assert document.corrected("no misprint", 2.0, 2.0, 2.0, "why", 1e-12).verdict == "differs"
    assert document.corrected("no correction", 1.0, 2.1, 2.0, "why", 1e-12).verdict == "differs"
    assert document.noted("as before", 1.0, 1.0 + 1e-12, 1e-10).verdict == "regression"
    assert document.noted("changed", 1.0, 1.1, 1e-10).verdict == "differs"
    assert document.law("broken", 1e-3, 1e-12).verdict == "differs"
    assert document.compared("nan", np.nan, 1.0, 1e-10).verdict == "differs"
    assert document.law("nan", np.nan, 1e-12).verdict == "differs"
    assert shown([1, -2, 3, 4]) == "1, -2, 3, … (4)"
    with pytest.raises(ZvenoError, match="is no verdict"):
        Row("x", "what", "1", "1", "maybe")  # pyright: ignore[reportArgumentType]


@pytest.fixture
def wrong_row(monkeypatch):
    """A document whose only row differs."""
    row = Row("009", "pi", "3", "3.14159265359", "differs")
    monkeypatch.setattr(reproduce, "_packages", lambda: {"009": "none"})
    monkeypatch.setattr(reproduce, "_modules", lambda _: ["one"])
    monkeypatch.setattr(reproduce, "import_module", lambda *_: SimpleNamespace(rows=lambda: [row]))
    return row


def test_a_wrong_row_is_seen(capsys, wrong_row):
    rows = collect()
    assert failures(rows) == rows == [wrong_row]
    assert counts(rows) == {"equal": 0, "document wrong": 0, "regression": 0, "differs": 1}
    with pytest.raises(SystemExit) as stop:
        verb()
    assert stop.value.code == 1
    assert "1 differs" in capsys.readouterr().out


def test_the_verb_prints_one_document(capsys):
    verb(document=("3",))
    out = capsys.readouterr().out
    assert "Document 003" in out
    assert "Document 002" not in out
    assert "0 differs" in out
    verb(document=("003",), output=Output(json=True))
    assert '"document": "003"' in capsys.readouterr().out


def test_unknown_document():
    with pytest.raises(UnknownNameError, match=r"no document named '042'.*002"):
        collect(["042"])


@pytest.mark.parametrize("width", [60, 80, 200])
def test_text_and_data(width):
    rows = [
        Row("001", "[bold]x[/bold] = 1", "1", "2", "document wrong", "it is 2"),
        Row("001", "y", "0.123456789, -1", "0.123456789, -1", "equal"),
        Row("001", "z", "noted: 3", "3", "regression"),
    ]
    console = Console(file=io.StringIO(), width=width)
    print_rows(console, rows)
    text = console.file.getvalue()
    assert "Document 001, complete and irreducible kinematic models" in text
    for words in (
        "[bold]x[/bold] = 1",
        "it is 2",
        "0.123456789, -1",
        "noted: 3",
        "1 equal, 1 document wrong",
        "1 regr",
    ):
        assert words in text
    assert max(map(len, text.splitlines())) <= width
    assert rows_data(rows)["counts"] == {"equal": 1, "document wrong": 1, "regression": 1, "differs": 0}
