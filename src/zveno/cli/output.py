"""Answers: plain data and a way to print it, delivered as text or JSON, to the terminal or a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._version import __version__
from ..errors import UNSEEN, ZvenoError, visible
from .options import Output

if TYPE_CHECKING:  # so that the help of a verb comes without numpy
    from rich.console import Console

    from ..io.results import Result


@dataclass(frozen=True)
class Answer:
    """What a verb found: `data` gives it to programs, `show` prints it for people."""

    data: Callable[[], dict[str, Any]]
    show: Callable[[Console], None]


UNUSABLE = 3
"""Exit code where there is an answer, and it is that nothing was found, or nothing that can be used."""


def protect(
    output: Output,
    inputs: Iterable[str | Path | None],
    targets: Iterable[Path | None] = (),
    reports: bool = False,
) -> None:
    """Refuse, before anything is computed, to write onto an input, or onto a foreign file without --force.

    Args:
        output: --out and --force.
        inputs: files the answer is computed from; the name of a built-in robot is none.
        targets: files that will be written beside --out.
        reports: whether the verb has a result that --report can show.
    """
    from ..io.files import check_replaceable

    if output.report is not None:
        if not reports:
            verbs = "base, identifiability, ik, workspace, simulate, plan, calibrate, excite, identify"
            raise ZvenoError("this verb has no report", element="--report", remedy=f"Verbs with reports: {verbs}")
        from ..report.html.page import checked_report

        checked_report(output.report)
    read = [path for path in inputs if path is not None and _is_file(path)]
    written: set[Path] = set()
    for target in (output.out, output.report, *targets):
        if target is None:
            continue
        check_replaceable(target, read, output.force)
        if target.absolute() in written:
            raise ZvenoError("it is named twice as a file to write", file=target, remedy="Give two paths")
        written.add(target.absolute())


def _is_file(path: str | Path) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # a robot typed in may be no path at all
        return False


def deliver(answer: Answer, output: Output) -> None:
    """Print the answer, or write it to the file asked for."""
    from ..io.files import write_text
    from ..report.text.console import WHOLE, ReportConsole, text_of

    if output.out is None:
        if output.json:
            print(as_json(answer.data()))
        elif (console := ReportConsole(sys.stdout)).is_terminal:
            answer.show(console)
        else:  # without the blanks that fill the lines of tables
            print(text_of(answer.show, console.width))
        sys.stdout.flush()  # so that a closed pipe is noticed here
        return
    as_data = output.json or output.out.suffix.lower() == ".json"
    text = as_json(answer.data()) if as_data else text_of(answer.show, WHOLE)
    say_written(write_text(output.out, text + "\n"))


def apart(output: Output, suffixes: Collection[str], write: Callable[[Path], Path]) -> Output:
    """--out with one of the suffixes takes what `write` writes, and the answer is printed beside it."""
    if output.out is None or output.out.suffix.lower() not in suffixes:
        return output
    say_written(write(output.out))
    return replace(output, out=None)


def write_report(results: Result | Sequence[Result], output: Output) -> None:
    """The page that --report asks for, if it does."""
    if output.report is not None:
        from ..report.results import write_report as written

        say_written(written(results, output.report))


def as_json(data: dict[str, Any]) -> str:
    """Valid JSON, safe on a terminal: refuses NaN and infinity, which other readers do not take."""
    text = json.dumps({"zveno": __version__} | data, indent=2, ensure_ascii=False, allow_nan=False)
    return UNSEEN.sub(lambda character: f"\\u{ord(character[0]):04x}", text)


def say_written(file: Path) -> None:
    """Tell on stderr that a file was written, so that stdout has the answer only."""
    print(f"wrote {visible(str(file))}", file=sys.stderr)
