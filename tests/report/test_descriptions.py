"""One description of every result: text, figures, pages and JSON show its numbers, and nothing else."""

from __future__ import annotations

import json
import math
import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

import zveno
from every_result import every_result
from zveno.io.results import HOMES
from zveno.report.description import (
    Bars,
    Block,
    Column,
    Curves,
    Description,
    Field,
    Map,
    Matrix,
    Panel,
    Scene,
    Series,
    Table,
    Text,
    number,
)
from zveno.report.figure import most_varying, render, svg
from zveno.report.html import bundle
from zveno.report.html import render as page
from zveno.report.json import plain, values
from zveno.report.text import text

NASTY = "</script><script>alert(1) $x$ \x1b"
WIDTH = 80


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, zveno.Result]:
    return every_result(tmp_path_factory.mktemp("c"))


def every_block(word: str) -> list[Block]:
    """Return a block of every type, with the word wherever a name may stand."""
    x = np.linspace(0.0, 1.0, 5)
    mechanism = zveno.load("planar2").mechanism
    return [
        Text(word, [word], note=word),
        Table(word, [Column(word, [word, word]), Column(word, [1.0, math.nan], ("rad", word))], note=word),
        Curves(word, [Series(word, x, x), Series(word, x, x, style="dots")], word, word, note=word),
        Curves(word, [Series(word, x, x, style="thick")], word, word, levels=[word], marks=[0.5]),
        Bars(word, [word, word], {word: [1.0, 2.0], "b": [1.0, math.nan]}, word, std=[0.1, 0.2]),
        Matrix(word, [word], [word], [[0.5]]),
        Matrix(word, [word], (), [[1]], levels=[word, word], cells=[[word]]),
        Map(word, [[Panel(word, x, x, x, [[0.1, 0.2]])], [Panel(word, x, x, x)]], (word, word, word), size=0.1),
        Scene(word, mechanism, np.zeros((2, 2)), [word, word], ghosts=np.zeros((1, 2)), trail=np.eye(3)),
    ]


@pytest.mark.laws
@pytest.mark.parametrize("name", HOMES)
def test_a_result_is_shown_in_every_medium_without_warnings(name, results):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        description = results[name].describe()
        assert description.title
        assert description.tone in ("good", "warn", "bad")
        printed = text(description)
        assert max(map(len, printed.splitlines())) <= WIDTH
        if description.of("figure"):
            render(description).canvas.draw()
        assert page([description], "x").startswith("<!doctype html>")


@pytest.mark.parametrize("name", HOMES)
def test_json_holds_valid_numbers_of_the_result(name, results):
    found = values(results[name].describe())
    again = json.loads(json.dumps(found, allow_nan=False))
    for key, value in again.items():
        own = getattr(results[name], key, None)
        if isinstance(own, int | float | str) or (isinstance(own, np.ndarray) and isinstance(value, list)):
            assert value == plain(own), f"{name}.{key}"


@pytest.mark.parametrize("name", HOMES)
def test_tables_of_text_and_page_have_the_same_cells(name, results):
    description = results[name].describe()
    printed = re.sub(r"\s+", " ", text(description))
    for block in description.of("text"):
        if isinstance(block, Table):
            for column in block.columns:
                for value in list(column.values)[: min(block.shown, 3)]:
                    if isinstance(value, float) and math.isfinite(value):
                        assert number(value, column.format) in printed, f"{block.title}: {column.name}"


@pytest.mark.laws
def test_names_of_strangers_are_text():
    description = Description(NASTY, NASTY, "good", [Field("a", NASTY, NASTY, NASTY)], every_block(NASTY))
    html = page([description, description], NASTY).replace(bundle("report.js"), "")
    assert "<script>alert" not in html
    assert "\x1b" not in html
    printed = text(description)
    assert "\x1b" not in printed
    assert "$x$" in printed
    render(description).canvas.draw()
    for block in every_block(NASTY):
        if not isinstance(block, Text | Table | Scene):
            element = ElementTree.fromstring(svg(block, "s1"))
            assert not [each for each in element.iter() if each.tag.endswith(("script", "img"))]


def test_blocks_are_drawn_and_printed_in_their_order():
    blocks = [Text("first", ["one"]), Text("nothing", []), Table("second", [Column("x", [1.0])])]
    printed = text(Description("title", "verdict", "good", [], blocks))
    assert printed.index("title") < printed.index("verdict") < printed.index("first") < printed.index("second")
    assert "nothing" not in printed


def test_degrees_turn_columns_and_sentences():
    from zveno.report.console import text_of
    from zveno.report.text import render as print_description

    columns = [Column("a", [math.pi, 1.0], ("rad", "m"), ".4f"), Column("b", [1e3, 1.0], ("mrad", "mrad"), ".2f")]
    description = Description(
        "t", "between 1 to 2 rad and 3 mrad/s, or 1000 mrad", "good", [], [Table("x", columns)]
    )
    printed = text_of(lambda console: print_description(console, description, degrees=True))
    assert "57.3 to 115° and 3 mrad/s, or 57.3°" in printed
    assert "180.00" in printed
    assert "57.30" in printed
    assert " rad" not in printed


def test_long_tables_are_cut_and_wide_ones_keep_their_digits():
    many = Table("x", [Column("k", list(range(100)))], shown=12)
    assert "… 88 more rows" in text(Description("t", "v", "good", [], [many]))
    digits = [Column(f"joint_{k}", [1.23456789], "rad", ".6f") for k in range(30)]
    printed = text(Description("t", "v", "good", [], [Table("x", digits)]))
    assert printed.count("1.234568") == 30
    assert max(map(len, printed.splitlines())) <= WIDTH


def test_numbers_are_written_plainly():
    assert [number(x, ".2f") for x in (-0.0, -0.001, 1.005, math.nan)] == ["0.00", "0.00", "1.00", "–"]
    assert number("word") == "word"
    assert plain({1: np.array([1.0, np.nan]), "b": (np.int64(2), math.inf)}) == {"1": [1.0, None], "b": [2, None]}


def test_of_many_lines_those_that_vary_most_are_drawn():
    series = [Series(str(k), np.array([0.0, float(k), math.nan])) for k in range(30)]
    assert [each.name for each in most_varying(series[::-1], 3)] == ["29", "28", "27"]
    assert len(most_varying(series[:5])) == 5
