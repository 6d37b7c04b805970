"""Answers: plain data and a way to print it, delivered as text or JSON, to the terminal or a file."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from ..errors import ZvenoError
from .options import Output

FILE_WIDTH = 120
"""Columns of text that goes to a file."""


class _Console(Console):
    """A console that leaves a closed pipe to `app.main` instead of exiting by itself."""

    def on_broken_pipe(self):
        raise BrokenPipeError


@dataclass(frozen=True)
class Answer:
    """What a verb found: `data` gives it to programs, `show` prints it for people."""

    data: Callable[[], dict[str, Any]]
    show: Callable[[Console], None]


def deliver(answer: Answer, output: Output):
    """Print the answer, or write it to the file asked for."""
    if output.out is None:
        if output.json:
            print(as_json(answer.data()))
        else:
            answer.show(_Console(file=sys.stdout, highlight=False))
        sys.stdout.flush()  # so that a closed pipe is noticed here
        return
    try:
        with output.out.open("w", encoding="utf-8") as file:
            if output.json or output.out.suffix.lower() == ".json":
                file.write(as_json(answer.data()) + "\n")
            else:
                answer.show(Console(file=file, width=FILE_WIDTH, highlight=False, no_color=True))
    except OSError as problem:
        raise ZvenoError(f"it cannot be written: {problem.strerror or problem}", file=output.out) from None
    say_written(output.out)


def as_json(data: dict[str, Any]) -> str:
    """Valid JSON: refuses NaN and infinity rather than writing what other readers do not take."""
    return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)


def say_written(file: Path):
    """Tell on stderr that a file was written, so that stdout has the answer only."""
    print(f"wrote {file}", file=sys.stderr)
