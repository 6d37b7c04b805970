"""One word for one thing in arguments, listed in docs/conventions.md; plain English in docstrings and messages."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import zveno

PAGE = Path(__file__).resolve().parent.parent / "docs" / "conventions.md"
INSTEAD = {
    "measurement": ("measure", "measurements", "observable", "kind"),
    "frame": ("frame_name", "link", "end_effector", "tip"),
    "limits": ("bounds_q", "ranges"),
    "tolerance": ("tol", "eps", "accuracy"),
    "q0": ("start", "initial", "guess", "q_start", "x0"),
    "fixed": ("fix", "hold"),
    "rng": ("seed", "random_state", "generator"),
    "progress": ("verbose", "callback", "bar"),
    "path": ("file", "filename", "file_name", "fname"),
    "out": ("output", "result"),
    "n": ("most", "count", "number", "N"),
    "degrees": ("deg", "in_degrees"),
    "joint_terms": ("terms",),
}
"""The word of the page, and those that would mean the same."""
OTHERWISE = {"Robot.with_base(kind)"}
"""Arguments of these names that mean something else: the kind of a base."""
SOURCE = Path(zveno.__file__).parent
PLAIN = (
    "errors.py", "progress.py", "robot.py", "spatial", "mechanism", "robots", "base_parameters", "report",
    "scanning", "geometry", "clearance",
    "studio", "documents", "cli", "kernels", "algorithms", "fit", "functions.py",
    "programs.py", "robot_functions.py", "export.py", "export_texts.py", "_executor.py",
    "ik", "calibration", "identification", "simulation", "walking", "io", "motion_limits.py", "_lazy.py",
)  # fmt: skip
"""Modules and packages of zveno whose texts have been revised. Add a package when its texts are."""
OPENING = re.compile(r"\W*(What|Whether|Where|How|Which|When|Who|Whose|Why|From|Of|By|Without)\b")
"""Openings of docstrings that hide the verb of a function or the name of a thing."""
DIALECT = re.compile(r"(?<!there )\b(is|are) no [a-z]|\b(one|entry|value|number|line|samples|metres) a [a-z]")
"""Phrases for "is not a" and "per"."""
EMPTY_NAMES = {"found", "own", "one", "what", "told", "there"}
"""Names of variables that do not say what they hold."""
WITH_EMPTY_NAMES = {"ik"}
"""Packages that still have such variables. The list only shrinks."""


ERRORS = {"ZvenoError", "ModelError", "ShapeError", "UnknownNameError", "MissingExtraError"}
WITHOUT_REMEDY = {"ik", "kernels"}
"""Packages whose errors are not checked; those of kernels are about programs that zveno writes itself."""


def functions() -> dict[str, inspect.Signature]:
    found = {}
    jobs = (zveno.ik, zveno.simulation, zveno.calibration, zveno.identification, zveno.walking)
    for module, name in [(place, name) for place in (zveno, *jobs) for name in place.__all__]:
        value = getattr(module, name)
        if inspect.isfunction(value):
            found[name] = inspect.signature(value)
        elif inspect.isclass(value) and issubclass(value, zveno.Result | zveno.Robot):
            for method, its in inspect.getmembers(value, inspect.isfunction):
                if not method.startswith("_"):
                    found[f"{name}.{method}"] = inspect.signature(its)
    return found


def commands() -> dict[str, inspect.Signature]:
    from zveno.cli.app import VERBS, verb_function

    return {f"zveno {name}": inspect.signature(verb_function(name)) for name in VERBS}


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


def modules() -> list[Path]:
    named = [SOURCE / name for name in PLAIN]
    return [path for name in named for path in (sorted(name.rglob("*.py")) if name.is_dir() else [name])]


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    """Strings that stand alone in a module, class or function: docstrings, and those below constants and fields."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            for statement in node.body:
                match statement:
                    case ast.Expr(value=ast.Constant(value=str()) as text):
                        yield text


def test_docstrings_open_with_a_verb_or_a_noun():
    wrong, n = [], 0
    for path in modules():
        for text in docstrings(ast.parse(path.read_text(encoding="utf-8"))):
            n += 1
            if OPENING.match(str(text.value)):
                wrong.append(f"{path.relative_to(SOURCE)}:{text.lineno}: {str(text.value)[:40]}")
    assert n > 1000
    assert wrong == []


def test_texts_are_free_of_dialect():
    wrong = []
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = DIALECT.search(node.value)
                if found:
                    wrong.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {found[0]}")
    assert wrong == []


def test_pages_are_free_of_dialect():
    wrong = []
    for page in sorted((PAGE.parent).rglob("*.md")):
        if "reference" not in page.parts and "site" not in page.parts:
            prose = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            wrong += [f"{page.name}: {match[0]}" for match in DIALECT.finditer(prose.lower())]
    assert wrong == []


def test_variables_say_what_they_hold():
    wrong: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        package, place = path.relative_to(SOURCE).parts[0], path.relative_to(SOURCE)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in EMPTY_NAMES:
                    wrong.setdefault(package, []).append(f"{place}:{node.lineno}: {name}")
    assert {package: places for package, places in wrong.items() if package not in WITH_EMPTY_NAMES} == {}
    assert wrong.keys() >= WITH_EMPTY_NAMES, "remove packages that are clean now from WITH_EMPTY_NAMES"


def test_errors_say_what_would_work():
    """Every error has a remedy, or states the requirement in the words "must be"; errors passed on keep theirs."""
    wrong, n = [], 0
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.parts[0] in WITHOUT_REMEDY:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Raise(exc=ast.Call(func=ast.Name(id=name), args=[problem, *_], keywords=keywords)) if (
                    name in ERRORS
                ):
                    n += 1
                    text = ast.unparse(problem)
                    literal = isinstance(problem, ast.Constant | ast.JoinedStr | ast.IfExp)
                    if literal and "must" not in text and not {"remedy", None} & {word.arg for word in keywords}:
                        wrong.append(f"{place}:{node.lineno}: {text[:80]}")
    assert n > 500
    assert wrong == []
