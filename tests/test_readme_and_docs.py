"""README and documentation are programs: their Python and shell blocks run and print what is shown, links exist.

Blocks of a page run in order, in one directory: ```python in one namespace, ```sh in a shell that finds `zveno`. A
```text block is the output of the one before it. Commands that install something or take minutes are ```console.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest

import zveno
from zveno.io.results import HOMES

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "reference"),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Language, text and first line number of every fenced block."""
    text = page.read_text(encoding="utf-8")
    return [(m.group(1), m.group(2), text.count("\n", 0, m.start()) + 2) for m in BLOCK.finditer(text)]


def run_page(page: Path) -> int:
    """Run the blocks of a page in order; a text block that follows one is its output."""
    found, count = blocks(page), 0
    namespace: dict = {"__name__": page.stem}
    for k, (language, text, line) in enumerate(found):
        if language not in ("python", "sh"):
            continue
        if language == "sh" and "cc " in text and shutil.which("cc") is None:
            return count  # the rest of a page about C needs what was compiled
        # Empty lines in front make tracebacks point at the line of the page.
        printed = shell(text) if language == "sh" else program("\n" * (line - 1) + text, page, namespace)
        count += 1
        if k + 1 < len(found) and found[k + 1][0] == "text":
            assert printed == found[k + 1][1], f"{page.name}: the output shown is not what is printed"
    return count


def program(text: str, page: Path, namespace: dict) -> str:
    """What Python prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, str(page), "exec", dont_inherit=True), namespace)
    return printed.getvalue()


def shell(text: str) -> str:
    """What a shell prints on a screen of 100 columns; commands must succeed."""
    place = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    run = subprocess.run(
        ["bash", "-eu", "-c", text],
        env=os.environ | {"PATH": place, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, f"{text}\n{run.stdout[-1000:]}\n{run.stderr[-2000:]}"
    return run.stdout


PROGRAMS = [page for page in PAGES if any(language in ("python", "sh") for language, _, _ in blocks(page))]


LONG = {"calibrate_an_arm.md", "identify_an_arm.md", "solve_poses.md", "whole_body.md"}
"""Pages in the tier `attack`: about ten seconds or more."""
SLOW = {
    *("command_line.md", "dynamics.md", "excitation.md", "executors.md", "gallery.md", "identification.md"),
    *(
        "plans.md",
        "bring_your_own_format.md",
        "run_on_a_controller.md",
        "stand_and_fall.md",
        "parallel_machines.md",
    ),
}
"""Pages in the tier `laws`: more than two seconds."""


def tier(page: Path) -> list:
    marks = dict.fromkeys(LONG, pytest.mark.attack) | dict.fromkeys(SLOW, pytest.mark.laws)
    return [marks[page.name]] if page.name in marks else []


RUN = [pytest.param(page, marks=tier(page), id=page.name) for page in PROGRAMS]


@pytest.mark.parametrize("page", RUN)
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of them write files
    assert run_page(page) > 0


def test_the_readme_shows_its_output():
    languages = [language for language, _, _ in blocks(ROOT / "README.md")]
    assert languages[languages.index("python") + 1] == "text"


def test_wrong_output_and_failing_blocks_are_noticed(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match="not what is printed"):
        run_page(page)
    page.write_text("```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError):
        run_page(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    broken = []
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = unquote(target).partition("#")
        place = (page.parent / file).resolve() if file else page
        lost_anchor = anchor and place.suffix == ".md" and place.exists() and anchor not in anchors(place)
        if not place.exists() or lost_anchor:
            broken.append(target)
    assert broken == []


def anchors(page: Path) -> set[str]:
    """Anchors that headings get: lower case, no punctuation, hyphens for spaces."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-") for head in heads}


def test_commands_of_the_readme_are_accepted(capsys, tmp_path, monkeypatch):
    import shlex

    from zveno.cli import main
    from zveno.studio.studio import Studio

    def interrupted(studio: Studio) -> None:
        """Ctrl-C, as soon as the studio waits for it."""
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)  # some of them write files
    monkeypatch.setattr(Studio, "wait", interrupted)

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line.partition(" #")[0] for line in re.findall(r"^    zveno (.+)$", text, re.MULTILINE)]
    assert len(commands) >= 3
    for command in commands:
        words = shlex.split(command)
        if "my_robot.urdf" not in words:
            assert main(words) == 0, command
            assert capsys.readouterr().out


# --- pages, examples and messages use public names only

DEEP = re.compile(r"\bfrom zveno((?:\.\w+)*) import (\w+(?:(?: as \w+)?, *\w+)*)|\bzveno((?:\.[A-Za-z_]\w*)+)")
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
OPEN = {"edit", "errors", "inertia", "joints", "ops", "rotations", "transforms", "documents"}
"""Modules of functions; what is in them is public."""


def deep_names(text: str) -> list[str]:
    """Names of the package that are not in `zveno.__all__`."""
    found = []
    for module, imported, dotted in DEEP.findall(text):
        names = [dotted[1:]] if dotted else [".".join([module[1:], name.strip()]) for name in imported.split(",")]
        for name in names:
            first, *rest = name.strip(".").split(" as ")[0].split(".")
            module = getattr(zveno, first) if first in zveno.__all__ else None
            method = rest and inspect.isclass(module)
            public = rest and rest[0] in getattr(module, "__all__", ())
            if module is None or (rest and first not in OPEN and not method and not public):
                found.append(name)
    return found


def messages(path: Path) -> list[str]:
    """Texts that users see: those of errors, warnings and printed ones. Docstrings are for developers."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    raised = [node for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.Call)]
    return [
        text.value
        for node in raised
        for text in ast.walk(node)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    ]


@pytest.mark.parametrize("page", [*PAGES, *EXAMPLES], ids=lambda page: page.name)
def test_pages_and_examples_use_public_names_only(page):
    if page.name in ("CHANGELOG.md", "CONTRIBUTING.md"):  # these are about the sources
        return
    assert deep_names(page.read_text(encoding="utf-8")) == []


def test_messages_use_public_names_only():
    package = Path(zveno.__file__).parent
    inner = {"zveno.report", "zveno.robot", *HOMES.values()}  # modules found by name
    texts = [text for path in package.rglob("*.py") for text in messages(path) if text not in inner]
    assert len(texts) > 1000
    assert [text for text in texts if deep_names(text) and not text.startswith("zveno.")] == []


def test_deep_names_are_found():
    assert deep_names("zveno.load, zveno.Robot.ik, zveno.ops.sin, zveno.ik.Solutions, from zveno import ops") == []
    deep = deep_names("see zveno.ik.solve and zveno.load.x\nfrom zveno.simulation import PD, simulate as run\n")
    assert deep == ["ik.solve", "load.x", "simulation.simulate"]
    assert deep_names("from zveno.calibration._fit import state as fit_state") != []


def test_extras_that_people_are_told_to_install_exist():
    known = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    texts = [*(page.read_text() for page in PAGES), *(path.read_text() for path in (ROOT / "src").rglob("*.py"))]
    named = {
        name for text in texts for names in re.findall(r"zveno\[([a-z,]+)\]", text) for name in names.split(",")
    }
    assert {"exact", "studio", "plot"} <= named <= known


def links_of(page: Path) -> set[Path]:
    targets = LINK.findall(page.read_text(encoding="utf-8"))
    return {(page.parent / target.partition("#")[0]).resolve() for target in targets if ":" not in target}


def test_readme_and_the_start_page_lead_to_every_page():
    start = ROOT / "docs" / "index.md"
    documents = ROOT / "docs" / "documents" / "index.md"
    assert {start, documents} <= links_of(ROOT / "README.md") | links_of(start)
    linked = links_of(ROOT / "README.md") | links_of(start) | links_of(documents) | {start}
    written = {page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "reference"}
    assert written <= linked


def test_the_site_has_every_page_in_its_list():
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"(\S+\.md)$", text.partition("nav:")[2], re.MULTILINE))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"), run_name="generate")
    names = {"commands", "formats", *made["api"]()}
    assert listed == {page for page in pages if not page.startswith("reference/")} | {
        f"reference/{name}.md" for name in names
    }
    assert "Recordings" in made["formats"]()


def test_figures_of_the_readme_are_those_of_the_comparison():
    numbers = re.compile(r"\d+\.\d+")
    table = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Measured")[2].partition("\n## ")[0]
    page = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    assert set(numbers.findall(table)) <= set(numbers.findall(page))
