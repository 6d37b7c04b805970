"""HTML page of descriptions: one offline file whose content security policy forbids network access.

Tables and texts are HTML, plots are SVG from the figure renderer, and robots are drawn by three.js.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any

from .._version import __version__
from ..errors import MissingExtraError, ZvenoError, visible
from ..io.files import write_text
from .description import Block, Column, Description, Scene, Table, Text, number, value_text
from .figure import left_out, svg
from .scene import scene_data

SUFFIXES = (".html", ".htm")
MOST_ROWS = 400
"""Maximum number of table rows on a page."""


def checked_report(path: str | PathLike[str]) -> Path:
    """Return the path of a page; raise an error if its suffix is not that of a page."""
    file = Path(path)
    if file.suffix.lower() not in SUFFIXES:
        ending = f"a report cannot be saved as {file.suffix!r}" if file.suffix else "the report has no suffix"
        raise ZvenoError(ending, file=file, remedy="Use .html")
    return file


def write(chapters: Sequence[Description | str], path: str | PathLike[str], title: str | None = None) -> Path:
    """Write a page of descriptions, with paragraphs between them, and return the file."""
    file = checked_report(path)
    first = next((chapter.title for chapter in chapters if isinstance(chapter, Description)), None)
    if first is None:
        raise ZvenoError("a report needs at least one result", remedy="Give a result")
    return write_text(file, render(chapters, first if title is None else title))


def render(chapters: Sequence[Description | str], title: str) -> str:
    """Return the HTML of a page: contents, then the chapters in order."""
    scenes: dict[str, Any] = {}
    several = sum(isinstance(chapter, Description) for chapter in chapters) > 1
    body = _contents(chapters, several)
    for k, chapter in enumerate(chapters):
        paragraph = isinstance(chapter, str)
        body += (
            f'<p class="text">{_safe_lines(chapter)}</p>' if paragraph else _chapter(chapter, k, several, scenes)
        )
    script, style = bundle("report.js"), bundle("report.css")
    data = json.dumps(scenes, ensure_ascii=False, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
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
            f'<script type="application/json" id="scenes">{data}</script>',
            f"<script>{script}</script></body></html>\n",
        )
    )


def bundle(name: str) -> str:
    """Return a file of the bundle made from `web/`, safe inside a page."""
    text = files("zveno.report").joinpath("bundle", name).read_text(encoding="utf-8")
    return text.replace("</script", "<\\/script")


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _safe(text: str) -> str:
    return html.escape(visible(text))


def _safe_lines(text: str) -> str:
    return "\n".join(_safe(line) for line in text.splitlines())


def _contents(chapters: Sequence[Description | str], several: bool) -> str:
    """Return links to the sections, one line per chapter."""
    lines = []
    for k, chapter in enumerate(chapters):
        if isinstance(chapter, str):
            continue
        head = [f'<b><a href="#s{k}">{_safe(chapter.title)}</a></b>'] if several else ["Contents"]
        links = [f'<a href="#s{k}_{j}">{_safe(block.title)}</a>' for j, block in enumerate(chapter.of("html"))]
        lines.append(f"<div>{head[0]}: {' · '.join(links)}</div>" if links else f"<div>{head[0]}</div>")
    return f'<nav class="note">{"".join(lines)}</nav>'


def _chapter(description: Description, number_of: int, headed: bool, scenes: dict[str, Any]) -> str:
    head = f'<h3 id="s{number_of}">{_safe(description.title)}</h3>' if headed else ""
    verdict = _safe_lines(description.verdict)
    tiles = "".join(
        f'<div class="tile"><b>{_safe(value_text(each))}</b><span>{_safe(each.meaning)}</span></div>'
        for each in description.shown
    )
    cards = "".join(_card(block, f"s{number_of}_{k}", scenes) for k, block in enumerate(description.of("html")))
    return (
        f'{head}<div class="verdict {description.tone}">{verdict}</div><div class="tiles">{tiles}</div>'
        f'<div class="grid">{cards}</div>'
    )


def _card(block: Block, name: str, scenes: dict[str, Any]) -> str:
    note = " ".join(_safe(part) for part in (block.note, left_out(block), _rows_left_out(block)) if part)
    wide = " wide" if block.span == 4 else ""
    below = f'<p class="note">{note}</p>' if note else ""
    content = _content(block, name, scenes)
    return f'<section class="card{wide}" id="{name}"><h2>{_safe(block.title)}</h2>{content}{below}</section>'


def _content(block: Block, name: str, scenes: dict[str, Any]) -> str:
    if isinstance(block, Scene):
        scenes[name] = scene_data(block)
        return '<div class="view scene"></div>'
    if isinstance(block, Table):
        return _table(block.columns)
    if isinstance(block, Text):
        return '<div class="text">' + "\n".join(_safe(line) for line in block.lines) + "</div>"
    try:
        return svg(block, name)
    except MissingExtraError as error:
        return f'<div class="text">{_safe(str(error))}</div>'


def _rows_left_out(block: Block) -> str:
    rows = len(block.columns[0].values) if isinstance(block, Table) else 0
    return f"The first {MOST_ROWS} of {rows} rows." if rows > MOST_ROWS else ""


def _table(columns: Sequence[Column]) -> str:
    """Return a table as HTML: texts on the left, numbers on the right."""
    shown: list[tuple[str, list[str], bool]] = []
    for column in columns:
        values = list(column.values)[:MOST_ROWS]
        is_text = bool(values) and all(isinstance(value, str) for value in values)
        head = f"{column.name}, {column.unit}" if column.unit and isinstance(column.unit, str) else column.name
        shown.append((head, [_cell(value, column.format) for value in values], is_text))
        if not isinstance(column.unit, str):
            shown.append(("unit", list(column.unit)[:MOST_ROWS], True))
    kinds = [' class="text"' if is_text else "" for _, _, is_text in shown]

    def line(cells: Sequence[str], tag: str) -> str:
        pairs = zip(cells, kinds, strict=True)
        return "<tr>" + "".join(f"<{tag}{kind}>{_safe(cell)}</{tag}>" for cell, kind in pairs)

    head = line([name for name, _, _ in shown], "th")
    body = "".join(line(cells, "td") for cells in zip(*(cells for _, cells, _ in shown), strict=True))
    return f'<div class="scroll"><table><thead>{head}</thead><tbody>{body}</tbody></table></div>'


def _cell(value: Any, form: str) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return str(value) if isinstance(value, int) else number(value, form)
