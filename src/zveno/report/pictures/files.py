"""Pictures as files: .png or .svg, written whole, with names as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import MissingExtraError, ZvenoError, visible
from ...io.files import replacing


def figure_class() -> Any:
    """`matplotlib.figure.Figure`, or an error that says how to install it."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib, which is not installed", remedy="pip install 'zveno[plot]'"
        ) from None
    return Figure


def saved(figure: Any, file: Path, dpi: int | None = 150) -> Path:
    """Write a matplotlib figure. Names with `$` are no formulas, and control characters are shown."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        words = text.get_text()
        if "$" in words and not words.startswith(r"$\mathdefault"):  # which are numbers of logarithmic axes
            text.set_parse_math(False)
        text.set_text(visible(words))
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ZvenoError(f"it cannot be written: {problem.strerror or problem}", file=file) from None
    metadata = {"Creator": "zveno", "Date": None} if file.suffix.lower() == ".svg" else {"Software": "zveno"}
    with replacing(file) as temporary:
        figure.savefig(temporary, metadata=metadata, **({} if dpi is None else {"dpi": dpi}))
    return file
