"""Base class of results: every result describes itself, prints, plots, reports and saves itself."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from .._version import __version__
from ..errors import ZvenoError, visible
from ..io.files import write_text
from ..io.results import FORMAT, FORMAT_VERSION, encode
from ..mechanism import Mechanism
from .description import Description

_LONGEST_REPR = 100


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Base class of task results: a value that describes itself and can be saved.

    Subclasses are frozen dataclasses (with `eq=False, repr=False`), decorated with `registered` and listed in
    `zveno.io.results.HOMES`. They define `status` (a short word or sentence) and `summary` (a readable sentence) as
    fields or properties; `inputs_hash` identifies the inputs. `describe` selects the content of text, figures,
    pages and JSON.
    """

    kind: ClassVar[str] = "result"

    if TYPE_CHECKING:

        @property
        def summary(self) -> str:
            """Summary in a sentence or two."""
            ...

    def describe(self) -> Description:
        """Describe the result for text, figures and pages; by default the summary."""
        return Description(type(self).__name__, self.summary, "good")

    def __repr__(self) -> str:
        text = " ".join(visible(self.summary).split())
        text = text if len(text) <= _LONGEST_REPR else f"{text[: _LONGEST_REPR - 1]}…"
        return f"<{type(self).__name__}: {text}>"

    def __str__(self) -> str:
        from .text import text

        return text(self.describe())

    def _repr_html_(self) -> str:
        from .text import notebook

        return notebook(self.describe())

    def plot(self, ax: Any = None) -> Any:
        """Draw the result with matplotlib and return the figure.

        Args:
            ax: matplotlib axes for the main panel; without them a new figure shows all panels.
        """
        from .figure import render

        return render(self.describe(), ax)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one offline .html page with conclusion, plots, tables and the robot; return the file."""
        return write_report(self, path)

    def to_dict(self) -> dict[str, Any]:
        """Convert the result to plain dictionaries, lists and numbers."""
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "zveno": __version__,
            "content": encode(self),
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the result as JSON; `zveno.load_result` reads it back."""
        if Path(path).suffix.lower() not in ("", ".json"):
            raise ZvenoError(
                f"a result of this kind is not written as {Path(path).suffix}", file=path, remedy="Use .json"
            )
        return write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, indent=1, allow_nan=False))

    @staticmethod
    def _robot(mechanism: Mechanism) -> Any:
        """Build the robot of a mechanism; imported by name, because robots are a higher layer than results."""
        return importlib.import_module("zveno.robot").Robot(mechanism)


def write_report(
    results: Result | Sequence[Result | str], path: str | os.PathLike[str], *, title: str | None = None
) -> Path:
    """Write one offline HTML page about one or several results and return the file.

    Args:
        results: results of any task; texts among them become paragraphs.
        path: an .html file.
        title: title of the page; that of the first result if not given.
    """
    from .html import write

    several = (results,) if isinstance(results, Result) else results
    return write([part if isinstance(part, str) else part.describe() for part in several], path, title)
