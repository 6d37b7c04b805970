"""Answers: plain data and a way to print it, delivered as text or JSON, to the terminal or a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ..io.files import write_text
from ..report.text.console import WHOLE, ReportConsole, text_of
from .options import Output


@dataclass(frozen=True)
class Answer:
    """What a verb found: `data` gives it to programs, `show` prints it for people."""

    data: Callable[[], dict[str, Any]]
    show: Callable[[Console], None]


def deliver(answer: Answer, output: Output) -> None:
    """Print the answer, or write it to the file asked for."""
    if output.out is None:
        if output.json:
            print(as_json(answer.data()))
        else:
            answer.show(ReportConsole(sys.stdout))
        sys.stdout.flush()  # so that a closed pipe is noticed here
        return
    as_data = output.json or output.out.suffix.lower() == ".json"
    text = as_json(answer.data()) if as_data else text_of(answer.show, WHOLE)
    say_written(write_text(output.out, text + "\n"))


def as_json(data: dict[str, Any]) -> str:
    """Valid JSON: refuses NaN and infinity rather than writing what other readers do not take."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def say_written(file: Path):
    """Tell on stderr that a file was written, so that stdout has the answer only."""
    print(f"wrote {file}", file=sys.stderr)
