"""--report writes a page, whatever else a verb was asked for."""

from __future__ import annotations

import pytest
from commands import refused, run
from json_examples import EXAMPLES, write_files

UNUSABLE = 3
REPORTING = ("base", "identifiability", "ik", "workspace", "simulate", "plan", "calibrate", "excite", "identify")
COMMANDS = [words for verb in REPORTING for words in EXAMPLES[verb]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("pages")
    write_files(place)
    return place


def test_verbs_with_reports_are_named_where_there_is_none(capsys, tmp_path):
    said = refused(capsys, "fk", "puma560", "--report", str(tmp_path / "x.html"))
    assert tuple(said.partition("Commands with reports: ")[2].split(", ")) == REPORTING


@pytest.mark.laws
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_example_has_a_page(capsys, monkeypatch, folder, words):
    monkeypatch.chdir(folder)
    page = folder / f"{COMMANDS.index(words)}.html"
    code, _, err = run(capsys, *words, "--overwrite", "--report", page.name)
    assert code in (0, UNUSABLE)
    assert f"wrote {page.name}" in err
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
