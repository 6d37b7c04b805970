"""Console for all reports: names are printed literally, and lines are not wrapped in pipes."""

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

from ..errors import visible

WHOLE = 10_000
"""Width of a console that is not a terminal, so that lines and tables are not wrapped in pipes and files."""
WIDTH = 80
"""Width of a result printed by Python."""
SPELLED = "zveno.spelled"
"""Name of the error handler that spells out characters missing from an encoding."""
_SPELLING = {
    "−": "-", "–": "-", "—": "-", "·": "*", "×": "x", "…": "...", "±": "+/-", "≤": "<=", "≥": ">=", "≠": "!=",
    "°": "deg", "²": "^2", "³": "^3", "⁻": "^-", "¹": "1", "→": "->", "∞": "inf", "∂": "d", "Σ": "sum", "√": "sqrt",
    "σ": "sigma", "τ": "tau", "μ": "mu", "µ": "u", "ω": "omega", "φ": "phi", "θ": "theta", "α": "alpha",
    "δ": "delta", "Δ": "Delta", "λ": "lambda", "π": "pi", "ρ": "rho", "ᵀ": "^T", "•": "*", "’": "'",
    "“": '"', "”": '"',
    "│": "|", "└": "`", "├": "|", "─": "-", "┃": "|", "━": "-", "┌": "+", "┐": "+", "┘": "+", "┤": "|", "┬": "+",
    "┴": "+", "┼": "+", "┏": "+", "┓": "+", "┡": "+", "╇": "+", "┩": "+", "┳": "+", "╸": "-", "╺": "-",
}  # fmt: skip
"""Replacements for characters missing from an encoding; others are printed as \\uXXXX."""


def _spell_out(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    spelled = [_SPELLING.get(c) or c.encode("ascii", "backslashreplace").decode() for c in lacking]
    return "".join(spelled), error.end


codecs.register_error(SPELLED, _spell_out)


def spell_what_the_terminal_lacks() -> None:
    """Make standard output and error spell out characters that their encoding lacks, such as `sigma` for σ."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=SPELLED)


class ReportConsole(Console):
    """Rich console that does not interpret brackets as markup and escapes control characters.

    It has the width of the terminal; elsewhere lines are not wrapped unless COLUMNS is set. A closed pipe raises an
    error in the caller instead of ending the process.
    """

    def __init__(self, file: IO[str] | None = None, width: int | None = None, **options: Any) -> None:
        super().__init__(file=file, width=width, highlight=False, markup=False, emoji=False, **options)
        if width is None and not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = WHOLE
        elif width is None and self.is_dumb_terminal:  # no colours, but keep the width
            self.width, self.height = shutil.get_terminal_size()

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render with escaped control characters."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Let the caller handle the closed pipe."""
        raise BrokenPipeError


def text_of(show: Callable[[Console], None], width: int = WIDTH) -> str:
    """Plain text of the output of `show`."""
    file = io.StringIO()
    show(ReportConsole(file, width, no_color=True))
    return "\n".join(line.rstrip() for line in file.getvalue().rstrip().splitlines())


def html_of(show: Callable[[Console], None], width: int = WIDTH) -> str:
    """Notebook HTML of the output of `show`."""
    console = ReportConsole(io.StringIO(), width, record=True, force_terminal=True)
    show(console)
    frame = '<pre style="white-space:pre;line-height:1.3;font-family:Menlo,Consolas,monospace">{code}</pre>'
    return console.export_html(inline_styles=True, code_format=frame)
