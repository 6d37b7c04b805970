"""What verbs print with --json is what `zveno schema` says."""

from __future__ import annotations

import json

import jsonschema
import pytest
from commands import answer, refused, run
from json_examples import EXAMPLES, SLOW, SLOW_WORD, write_files

from zveno.cli.app import VERBS
from zveno.cli.schema import schema_of

UNUSABLE = 3
COMMANDS = [
    pytest.param(
        verb, words, marks=[pytest.mark.slow] if verb in SLOW or SLOW_WORD in words else [], id=" ".join(words)
    )
    for verb, commands in EXAMPLES.items()
    for words in commands
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("json")
    write_files(place)
    return place


@pytest.mark.parametrize(("verb", "words"), COMMANDS)
def test_json_keeps_its_schema(capsys, monkeypatch, folder, verb, words):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ZVENO_CACHE_DIR", str(folder / "cache")) if verb == "cache" else None
    code, out, _ = run(capsys, *words, "--json", "--force")
    assert code in (0, UNUSABLE)
    jsonschema.Draft202012Validator(schema_of(verb)).validate(json.loads(out))


def test_every_verb_has_a_schema_and_an_example():
    assert set(EXAMPLES) == set(VERBS)
    for verb in VERBS:
        jsonschema.Draft202012Validator.check_schema(schema_of(verb))


def test_a_field_that_is_missing_renamed_or_of_another_type_is_noticed(capsys):
    data = answer(capsys, "fk", "puma560")
    validator = jsonschema.Draft202012Validator(schema_of("fk"))
    assert validator.is_valid(data)
    assert not validator.is_valid({name: value for name, value in data.items() if name != "T"})
    assert not validator.is_valid(data | {"pose": 1})
    assert not validator.is_valid(data | {"T": [1.0, 2.0]})


def test_the_verb_prints_the_schema(capsys):
    assert answer(capsys, "schema", "fk")["title"] == "zveno fk --json"
    code, out, _ = run(capsys, "schema", "ik")
    assert code == 0
    assert json.loads(out)["required"] == ["zveno", "joints"]
    assert "Did you mean fk?" in refused(capsys, "schema", "fkk")
