"""Output of results as text or JSON, to the terminal or a file."""

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

if TYPE_CHECKING:  # keeps the help fast, without numpy
    from rich.console import Console

    from ..report.result import Result


@dataclass(frozen=True)
class Answer:
    """Result of a command: `data` is for programs, `show` prints it as text."""

    data: Callable[[], dict[str, Any]]
    show: Callable[[Console], None]


def answer_of(result: Result, degrees: bool = False, **more: Any) -> Answer:
    """Build the answer of a result, which `load_result` reads from JSON; `more` are further values for programs."""
    from ..report.json import plain, values
    from ..report.text import render

    return Answer(
        lambda: values(result.describe()) | result.to_dict() | plain(more),
        lambda console: render(console, result.describe(), degrees),
    )


def write_plot(result: Result, file: Path | None) -> None:
    """Write the plot if --plot is given."""
    if file is not None:
        from ..report.figure import save

        say_written(save(result.plot(), file))


UNUSABLE = 3
"""Exit code if there is no result or no usable result."""


def protect(
    output: Output,
    inputs: Iterable[str | Path | None],
    targets: Iterable[Path | None] = (),
    reports: bool = False,
    plot: Path | None = None,
    model: Path | None = None,
) -> None:
    """Reject output files before computing: inputs, files of other programs without --overwrite, unknown suffixes.

    Args:
        output: --out and --overwrite.
        inputs: input files; names of built-in robots are ignored.
        targets: files that will be written in addition to --out.
        reports: True if the command has a result that --report can show.
        plot: picture that will be written.
        model: model file that will be written.
    """
    from ..io.files import check_creatable, check_replaceable

    if plot is not None:
        from ..report.figure import checked_picture

        checked_picture(plot)
    if model is not None:
        from ..io.write import format_of

        format_of(model)

    if output.report is not None:
        if not reports:
            verbs = "base, identifiability, ik, workspace, simulate, plan, calibrate, excite, identify"
            raise ZvenoError(
                "this command has no report", element="--report", remedy=f"Commands with reports: {verbs}"
            )
        from ..report.html import checked_report

        checked_report(output.report)
    read = [path for path in inputs if path is not None and _is_file(path)]
    written: set[Path] = set()
    for target in (output.out, output.report, plot, model, *targets):
        if target is None:
            continue
        check_replaceable(target, read, output.overwrite)
        folder = target.absolute().parent
        if not folder.is_dir():
            raise ZvenoError(
                "it cannot be written: there is no such directory",
                file=target,
                remedy="Give a path in a directory that exists",
            )
        check_creatable(target)
        place = folder.resolve() / target.name
        if place in written:
            raise ZvenoError("it is the target of two outputs", file=target, remedy="Give two paths")
        written.add(place)


def _is_file(path: str | Path) -> bool:
    try:
        return Path(path).is_file()
    except (OSError, ValueError):  # an inline robot may not be a valid path
        return False


def deliver(answer: Answer, output: Output) -> None:
    """Print the answer, or write it to --out."""
    from ..io.files import write_text
    from ..report.console import WHOLE, ReportConsole, text_of

    if output.out is None:
        if output.json:
            print(as_json(answer.data(), sys.stdout.encoding or "utf-8"))
        elif (console := ReportConsole(sys.stdout)).is_terminal:
            answer.show(console)
        else:  # strip trailing blanks of table lines
            print(text_of(answer.show, console.width))
        sys.stdout.flush()  # detect a closed pipe here
        return
    as_data = output.json or output.out.suffix.lower() == ".json"
    text = as_json(answer.data()) if as_data else text_of(answer.show, WHOLE)
    say_written(write_text(output.out, text + "\n"))


def apart(output: Output, suffixes: Collection[str], write: Callable[[Path], Path]) -> Output:
    """Write data to --out with `write` if it has one of the suffixes; the answer is then printed."""
    if output.out is None or output.out.suffix.lower() not in suffixes:
        return output
    say_written(write(output.out))
    return replace(output, out=None)


def write_report(results: Result | Sequence[Result], output: Output) -> None:
    """Write the page if --report is given."""
    if output.report is not None:
        from ..report.result import write_report as written

        say_written(written(results, output.report))


def as_json(data: dict[str, Any], encoding: str = "utf-8") -> str:
    """Format as valid JSON in an encoding, safe on a terminal; raise for NaN and infinity."""
    try:
        text = json.dumps({"zveno": __version__} | data, indent=2, ensure_ascii=False, allow_nan=False)
    except ValueError:
        raise ZvenoError(
            "the answer holds numbers that are not finite, which JSON does not take",
            element="--json",
            remedy="Give smaller numbers, or leave out --json",
        ) from None
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        text = json.dumps({"zveno": __version__} | data, indent=2, allow_nan=False)
    return UNSEEN.sub(lambda character: f"\\u{ord(character[0]):04x}", text)


def say_written(file: Path) -> None:
    """Report a written file on stderr, so that stdout contains only the answer."""
    print(f"wrote {visible(str(file))}", file=sys.stderr)
