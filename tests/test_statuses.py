"""Statuses are closed lists: the words of every result's type, of its page, and of the code that sets them."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import types
import typing
from pathlib import Path

import numpy as np
import pytest

import zveno
from zveno.io.results import HOMES

SOURCE = Path(zveno.__file__).parent
PAGE = SOURCE.parents[1] / "docs" / "conventions.md"
STEPS = {"VelocityStep": zveno.ik.VelocityStep, "TrackerStep": zveno.ik.TrackerStep}
CLASSES = {name: getattr(importlib.import_module(home), name) for name, home in HOMES.items()} | STEPS


def words_of(cls: type) -> tuple[str, ...]:
    """Words of the Literal that a class declares for its status."""
    declared = inspect.getattr_static(cls, "status", None)
    known = vars(importlib.import_module(cls.__module__))
    if isinstance(declared, property):
        hint = typing.get_type_hints(declared.fget, known)["return"]
    else:
        hint = cls.__annotations__["status"]
        hint = eval(hint, dict(known)) if isinstance(hint, str) else hint
    if typing.get_origin(hint) is typing.ClassVar:
        (hint,) = typing.get_args(hint)
    parts = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    (literal,) = (part for part in parts if typing.get_origin(part) is typing.Literal)
    assert set(parts) <= {literal, np.ndarray}, "a word for one item, an array of words for a batch"
    return typing.get_args(literal)


def on_the_page() -> dict[str, list[str]]:
    """Words of every result, from the table of the page."""
    section = PAGE.read_text(encoding="utf-8").partition("\n## Statuses\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", section, re.M)
    return {name: words.split(", ") for names, words in rows for name in re.findall(r"`(\w+)`", names)}


def set_in(path: Path, words: tuple[str, ...]) -> set[str]:
    """Those of the words that are texts in a module beside types and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    types_ = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "Literal"
        for inner in ast.walk(node)
    }
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in words and id(node) not in types_
    }


@pytest.mark.parametrize("name", CLASSES)
def test_the_page_lists_the_words_of_the_type(name):
    assert sorted(on_the_page()[name]) == sorted(words_of(CLASSES[name]))


def test_the_page_lists_all_results():
    assert set(on_the_page()) == set(CLASSES)


@pytest.mark.parametrize("name", [name for name, cls in CLASSES.items() if "codes" not in cls.__annotations__])
def test_every_word_is_set_somewhere(name):
    """Pyright checks that no other word is; words of results with codes are those of a table, by number."""
    words = words_of(CLASSES[name])
    package = SOURCE / HOMES[name].split(".")[1]
    modules = package.rglob("*.py") if package.is_dir() else [package.with_suffix(".py")]
    found = set().union(*(set_in(path, words) for path in modules))
    assert found == set(words)
