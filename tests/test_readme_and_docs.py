"""README and documentation are programs: their Python blocks run and print what is shown, their links exist."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """Language, text and first line number of every fenced block."""
    text = page.read_text(encoding="utf-8")
    return [(m.group(1), m.group(2), text.count("\n", 0, m.start()) + 2) for m in BLOCK.finditer(text)]


def run_page(page: Path) -> int:
    """Run the Python blocks of a page in order, in one namespace; a text block that follows one is its output."""
    found, count = blocks(page), 0
    namespace: dict = {"__name__": page.stem}
    for k, (language, text, line) in enumerate(found):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            # Empty lines in front make tracebacks point at the line of the page.
            exec(compile("\n" * (line - 1) + text, str(page), "exec"), namespace)
        count += 1
        if k + 1 < len(found) and found[k + 1][0] == "text":
            assert printed.getvalue() == found[k + 1][1], f"{page.name}: the output shown is not what is printed"
    return count


PROGRAMS = [page for page in PAGES if any(language == "python" for language, _, _ in blocks(page))]


@pytest.mark.parametrize("page", PROGRAMS, ids=lambda page: page.name)
def test_python_blocks_run(page):
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

    monkeypatch.chdir(tmp_path)  # some of them write files

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [line.partition(" #")[0] for line in re.findall(r"^    zveno (.+)$", text, re.MULTILINE)]
    assert len(commands) >= 3
    for command in commands:
        words = shlex.split(command)
        if "my_robot.urdf" not in words:
            assert main(words) == 0, command
            assert capsys.readouterr().out
