"""One word for one thing in the arguments of functions, methods and commands; docs/conventions.md lists them."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import zveno

PAGE = Path(__file__).resolve().parent.parent / "docs" / "conventions.md"
INSTEAD = {
    "measurement": ("measure", "measurements", "observable", "kind"),
    "frame": ("frame_name", "link", "end_effector", "tip"),
    "limits": ("bounds_q", "joint_limits", "ranges"),
    "tolerance": ("tol", "eps", "accuracy"),
    "start": ("seed", "initial", "guess", "q_start", "x0"),
    "rng": ("seed", "random_state", "generator"),
    "progress": ("verbose", "callback", "bar"),
    "path": ("file", "filename", "file_name", "fname"),
    "out": ("output", "result"),
    "n": ("most", "count", "number", "N"),
    "degrees": ("deg", "in_degrees"),
    "joint_terms": ("terms",),
    "fixed": ("fix",),
}
"""The word of the page, and those that would mean the same."""
OTHERWISE = {"Robot.with_base(kind)"}
"""Arguments of these names that mean something else: the kind of a base."""


def functions() -> dict[str, inspect.Signature]:
    found = {}
    for name in zveno.__all__:
        value = getattr(zveno, name)
        if inspect.isfunction(value):
            found[name] = inspect.signature(value)
        elif inspect.isclass(value) and issubclass(value, zveno.Result | zveno.Robot):
            for method, its in inspect.getmembers(value, inspect.isfunction):
                if not method.startswith("_"):
                    found[f"{name}.{method}"] = inspect.signature(its)
    return found


def commands() -> dict[str, inspect.Signature]:
    from zveno.cli.app import VERBS, verb_function

    about_files = ("completion", "demo")
    return {f"zveno {name}": inspect.signature(verb_function(name)) for name in VERBS if name not in about_files}


@pytest.mark.parametrize(("word", "others"), INSTEAD.items())
def test_one_word_for_one_thing(word, others):
    signatures = functions() | commands()
    assert len(signatures) > 100
    wrong = [f"{name}({other})" for name, its in signatures.items() for other in others if other in its.parameters]
    if word in ("path", "out"):  # --out FILE is an option of every command, and ik follows a --path
        wrong = [name for name in wrong if not name.startswith("zveno ")]
    assert set(wrong) <= OTHERWISE, f"say {word}"


def test_the_page_lists_the_words():
    section = PAGE.read_text(encoding="utf-8").partition("## Words for arguments")[2].partition("\n## ")[0]
    listed = {
        word
        for line in section.splitlines()
        for word in re.findall(r"`(\w+)`", line.split("|")[1:2][0] if "|" in line else "")
    }
    assert listed >= set(INSTEAD)


def test_the_words_mean_the_same_everywhere():
    """Arguments of one name have one kind of value: their annotations agree, or one includes the other."""
    meanings: dict[str, set[str]] = {}
    for its in functions().values():
        for word in ("measurement", "rng", "progress", "frame", "degrees"):
            if word in its.parameters:
                text = str(its.parameters[word].annotation)
                meanings.setdefault(word, set()).add(re.sub(r"numpy|np|\s|\|\s*None", "", text.replace("'", "")))
    assert {word: kinds for word, kinds in meanings.items() if len(kinds) > 1} == {}
