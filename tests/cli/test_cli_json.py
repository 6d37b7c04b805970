"""What verbs print with --json is one valid JSON object with the version first."""

from __future__ import annotations

import json

import pytest
from commands import run
from json_examples import EXAMPLES, SLOW_WORD, write_files

import zveno
from zveno.cli.app import VERBS

UNUSABLE = 3
RESULTS = (
    *(
        "ik",
        "workspace",
        "simulate",
        "base",
        "identifiability",
        "plan",
        "calibrate",
        "excite",
        "identify",
        "payload",
        "axes",
        "export",
    ),
)
"""Commands whose JSON is a result that `load_result` reads."""
COMMANDS = [
    pytest.param(verb, words, marks=[pytest.mark.laws] if SLOW_WORD in words else [], id=" ".join(words))
    for verb, commands in EXAMPLES.items()
    for words in commands
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("json")
    write_files(place)
    return place


def refuse_constant(word):
    raise AssertionError(f"{word} is not JSON")


@pytest.mark.laws(after=4)
@pytest.mark.parametrize(("verb", "words"), COMMANDS)
def test_json_is_valid(capsys, monkeypatch, folder, verb, words):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(folder / "cache")) if verb == "cache" else None
    code, out, err = run(capsys, *words, "--json", "--overwrite")
    assert code in (0, UNUSABLE), err
    data = json.loads(out, parse_constant=refuse_constant)
    assert next(iter(data.items())) == ("zveno", zveno.__version__)
    assert len(data) > 1
    assert ("content" in data) == (verb in RESULTS)
    if "content" in data:
        (folder / "result.json").write_text(out)
        assert zveno.load_result(folder / "result.json").describe().title


def test_every_verb_has_an_example():
    assert set(EXAMPLES) == set(VERBS)
