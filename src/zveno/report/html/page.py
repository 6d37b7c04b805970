"""A report as one HTML file: no network, no other files, and a content security policy that says so."""

from __future__ import annotations

import base64
import hashlib
import html
import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from os import PathLike
from pathlib import Path

from ..._version import __version__
from ...errors import ZvenoError, visible
from ...io.files import write_text
from .blocks import Block
from .thin import LEAST_SAMPLES, longest_record, thinned

SUFFIXES = (".html", ".htm")
MOST_BYTES = 1_500_000
"""A page is sent by mail."""


@dataclass(frozen=True)
class Chapter:
    """What a report says of one result.

    Attributes:
        title: a headline.
        verdict: sentences, one a line.
        tone: "good", "warn" or "bad".
        tiles: (number, what it is), the few that matter.
        blocks: the cards below.
    """

    title: str
    verdict: str
    tone: str
    tiles: tuple[tuple[str, str], ...]
    blocks: tuple[Block, ...]


def checked_report(path: str | PathLike[str]) -> Path:
    """The path of a report, refused if it does not end as a page does."""
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES:
        ending = f"a report cannot be saved as {file.suffix!r}" if file.suffix else "the report has no suffix"
        raise ZvenoError(ending, file=file, remedy="Use .html")
    return file


def write_page(path: str | PathLike[str], title: str, chapters: Sequence[Chapter]) -> Path:
    """Write a report; returns the file. Long records are thinned out until it is no larger than `MOST_BYTES`."""
    text = page_text(title, chapters)
    samples = longest_record([block for chapter in chapters for block in chapter.blocks])
    while len(text.encode()) > MOST_BYTES and samples > LEAST_SAMPLES:
        samples = max(LEAST_SAMPLES, round(0.7 * samples))
        shorter = [
            replace(chapter, blocks=tuple(thinned(block, samples) for block in chapter.blocks))
            for chapter in chapters
        ]
        text = page_text(title, shorter)
    return write_text(checked_report(path), text)


def page_text(title: str, chapters: Sequence[Chapter]) -> str:
    """The HTML of a report."""
    numbers = itertools.count(1)
    named = [[(f"s{next(numbers)}", block) for block in chapter.blocks] for chapter in chapters]
    script, style = bundle("report.js"), bundle("report.css")
    drawn = {name: {"kind": block.kind, **block.data} for part in named for name, block in part if block.kind}
    data = json.dumps(drawn, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    several = len(chapters) > 1
    body = "".join(_chapter(chapter, part, several) for chapter, part in zip(chapters, named, strict=True))
    return "".join(
        (
            f'<!doctype html><html lang="en"><head><meta name="generator" content="zveno {__version__}">',
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width">',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
            f"<title>{_safe(title)}</title><style>{style}</style></head><body><main>",
            f'<header><h1>{_safe(title)}</h1><button id="theme" title="light or dark">◐</button></header>',
            body,
            f"<footer>zveno {__version__}</footer></main>",
            f'<script type="application/json" id="sections">{data}</script>',
            f"<script>{script}</script></body></html>\n",
        )
    )


def bundle(name: str) -> str:
    """A file of the bundle made from `web/`, safe inside a page."""
    return (
        files("zveno.report.html")
        .joinpath("bundle", name)
        .read_text(encoding="utf-8")
        .replace("</script", "<\\/script")
    )


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _safe(text: str) -> str:
    return html.escape(visible(text))


def _chapter(chapter: Chapter, named: Sequence[tuple[str, Block]], headed: bool) -> str:
    head = f"<h3>{_safe(chapter.title)}</h3>" if headed else ""
    verdict = "\n".join(_safe(line) for line in chapter.verdict.splitlines())
    tiles = "".join(f'<div class="tile"><b>{_safe(a)}</b><span>{_safe(b)}</span></div>' for a, b in chapter.tiles)
    cards = "".join(_card(block, name) for name, block in named)
    return (
        f'{head}<div class="verdict {chapter.tone}">{verdict}</div><div class="tiles">{tiles}</div>'
        f'<div class="grid">{cards}</div>'
    )


def _card(block: Block, name: str) -> str:
    view = f'<div class="view {block.kind}"></div>' if block.kind else block.content
    note = f'<p class="note">{_safe(block.note)}</p>' if block.note else ""
    wide = " wide" if block.wide else ""
    return f'<section class="card{wide}" id="{name}"><h2>{_safe(block.title)}</h2>{view}{note}</section>'
