"""The console that every report is printed to: names are shown as they are, and nothing is cut in pipes."""

from __future__ import annotations

import codecs
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ...errors import visible

WHOLE = 10_000
"""Columns of a console that is not a terminal: lines and tables stay whole in pipes and files."""
WIDTH = 100
"""Columns of a result that is printed by Python."""
SPELLED = "zveno.spelled"
"""Name of the error handler that spells characters which an encoding does not have."""
_SPELLING = {
    "−": "-", "–": "-", "—": "-", "·": "*", "×": "x", "…": "...", "±": "+/-", "≤": "<=", "≥": ">=", "≠": "!=",
    "°": "deg", "²": "^2", "³": "^3", "⁻": "^-", "¹": "1", "→": "->", "∞": "inf", "∂": "d", "Σ": "sum", "√": "sqrt",
    "σ": "sigma", "τ": "tau", "μ": "mu", "µ": "u", "ω": "omega", "φ": "phi", "θ": "theta", "α": "alpha",
    "δ": "delta", "Δ": "Delta", "λ": "lambda", "π": "pi", "ρ": "rho", "ᵀ": "^T", "•": "*", "’": "'",
    "“": '"', "”": '"',
    "│": "|", "└": "`", "├": "|", "─": "-", "┃": "|", "━": "-", "┌": "+", "┐": "+", "┘": "+", "┤": "|", "┬": "+",
    "┴": "+", "┼": "+", "┏": "+", "┓": "+", "┡": "+", "╇": "+", "┩": "+", "┳": "+", "╸": "-", "╺": "-",
}  # fmt: skip
"""What is printed where an encoding lacks a character; others come as \\uXXXX."""


def _spelled(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    spelled = [_SPELLING.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking]
    return "".join(spelled), error.end


codecs.register_error(SPELLED, _spelled)


def spell_what_the_terminal_lacks() -> None:
    """Standard output and error spell characters their encoding does not have: `sigma` for σ, nothing is lost."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELLED)


class ReportConsole(Console):
    """A rich console on which brackets in names are no markup and control characters are shown, not obeyed.

    On a terminal it has the terminal's width; elsewhere lines stay whole unless COLUMNS is set. A closed pipe is
    left to the caller instead of ending the process.
    """

    def __init__(self, file: IO[str] | None = None, width: int | None = None, **options: Any) -> None:
        super().__init__(file=file, width=width, highlight=False, markup=False, emoji=False, **options)
        if width is None and not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = WHOLE
        elif width is None and self.is_dumb_terminal:  # without colours, not without a width
            self.width, self.height = shutil.get_terminal_size()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """As rich renders it, with control characters made visible."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Leave it to the caller."""
        raise BrokenPipeError


def text_of(show: Callable[[Console], None], width: int = WIDTH) -> str:
    """What `show` prints, as plain text."""
    file = io.StringIO()
    show(ReportConsole(file, width, no_color=True))
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip().splitlines())


def html_of(show: Callable[[Console], None], width: int = WIDTH) -> str:
    """What `show` prints, as HTML for notebooks."""
    console = ReportConsole(io.StringIO(), width, record=True, force_terminal=True)
    show(console)
    frame = '<pre style="white-space:pre;line-height:1.3;font-family:Menlo,Consolas,monospace">{code}</pre>'
    return console.export_html(inline_styles=True, code_format=frame)
