"""Description of a result: one list of values and blocks, from which text, figures, pages and JSON are rendered.

Each task describes its own results; renderers do not depend on result types. A description selects and names values
of the result, in SI units unless a column or an axis names another unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ..mechanism import Mechanism

Tone = Literal["good", "warn", "bad"]
Medium = Literal["text", "figure", "html"]
TEXT: tuple[Medium, ...] = ("text",)
TABLE: tuple[Medium, ...] = ("text", "html")
PICTURE: tuple[Medium, ...] = ("figure", "html")
PAGE: tuple[Medium, ...] = ("html",)
"""Media of blocks: printed, printed and on pages, drawn and on pages, on pages only."""


@dataclass(frozen=True)
class Field:
    """One value of a result.

    Attributes:
        name: key in JSON; a field without a name is only shown to people.
        value: number, text, truth, array, or lists and dictionaries of these.
        unit: SI unit of a number.
        meaning: label of the value; a field without a label is only for programs.
        format: format specification for display.
    """

    name: str
    value: Any
    unit: str = ""
    meaning: str = ""
    format: str = ".4g"


@dataclass(frozen=True)
class Column:
    """Column of a table: texts or numbers, one per row.

    Attributes:
        name: head of the column.
        values: cells; a number that is not finite is an empty cell.
        unit: unit of all numbers, or one per row.
        format: format specification of the numbers.
    """

    name: str
    values: Sequence[Any]
    unit: str | Sequence[str] = ""
    format: str = ".5g"


@dataclass(frozen=True)
class Series:
    """Line or dots of a plot.

    Attributes:
        name: label.
        y: values, (n,); gaps are NaN.
        x: abscissae, (n,); 1, 2, … if not given.
        low, high: bounds of a band around the values, (n,).
        style: a line, a thick line, dots, or crosses.
        muted: True for a series in the background.
    """

    name: str
    y: Any
    x: Any = None
    low: Any = None
    high: Any = None
    style: Literal["line", "thick", "dots", "crosses"] = "line"
    muted: bool = False


@dataclass(frozen=True, kw_only=True)
class Block:
    """Part of a description.

    Attributes:
        title: head of the block.
        note: a sentence below it.
        media: renderers that show it.
        span: width in quarters of a figure or page.
    """

    title: str = field(kw_only=False)
    note: str = ""
    media: tuple[Medium, ...] = PICTURE
    span: Literal[1, 2, 4] = 2

    @property
    def empty(self) -> bool:
        """Return True if there is nothing to show."""
        return False


@dataclass(frozen=True)
class Text(Block):
    """Sentences, one per line."""

    lines: Sequence[str]
    media: tuple[Medium, ...] = field(default=TABLE, kw_only=True)

    @property
    def empty(self) -> bool:
        """Return True if there is no sentence."""
        return not len(self.lines)


@dataclass(frozen=True)
class Table(Block):
    """Table; text shows the first `shown` rows, pages show all up to a limit of theirs."""

    columns: Sequence[Column]
    shown: int = field(default=40, kw_only=True)
    media: tuple[Medium, ...] = field(default=TABLE, kw_only=True)
    span: Literal[1, 2, 4] = field(default=4, kw_only=True)

    @property
    def empty(self) -> bool:
        """Return True if there is no row."""
        return not self.columns or not len(self.columns[0].values)


@dataclass(frozen=True)
class Curves(Block):
    """Lines and dots over common axes.

    Attributes:
        series: the lines and dots; of more than a dozen, those that vary most are drawn.
        x, y: names of the axes with their units.
        log_x, log_y: True for logarithmic axes.
        equal: True if both axes have one scale.
        marks: abscissae of vertical lines.
        limits: lower and upper end of the y axis.
        levels: names of the heights 0, 1, … on the y axis.
    """

    series: Sequence[Series]
    x: str
    y: str
    log_x: bool = field(default=False, kw_only=True)
    log_y: bool = field(default=False, kw_only=True)
    equal: bool = field(default=False, kw_only=True)
    marks: Sequence[float] = field(default=(), kw_only=True)
    limits: tuple[float, float] | None = field(default=None, kw_only=True)
    levels: Sequence[str] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Bars(Block):
    """Horizontal bars by name, one colour per group.

    Attributes:
        names: names of the bars.
        groups: values by group, (n,) each; missing bars are NaN.
        x: name of the axis with its unit.
        std: standard deviations of the first group, shown as lines of ± one.
        log_x: True for a logarithmic axis.
    """

    names: Sequence[str]
    groups: Mapping[str, Any]
    x: str
    std: Any = field(default=None, kw_only=True)
    log_x: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class Matrix(Block):
    """Matrix by colour.

    Attributes:
        rows, columns: names.
        values: numbers between −1 and 1, or numbers of levels.
        levels: names of the levels 0, 1, …; none for numbers.
        cells: texts in the cells, by row.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: Any
    levels: Sequence[str] = field(default=(), kw_only=True)
    cells: Sequence[Sequence[str]] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Panel:
    """Panel of a map: points x, y with values, (n,) each; `marked` are points with a dot, (m, 2)."""

    title: str
    x: Any
    y: Any
    values: Any
    marked: Any = ()


@dataclass(frozen=True)
class Map(Block):
    """Values by colour over a plane, in rows of panels on one scale.

    Attributes:
        panels: rows of panels.
        labels: names of x, y and the values, with units.
        size: side of the cells; dots if zero.
        limits: ends of the scale.
        log: True for a logarithmic scale.
    """

    panels: Sequence[Sequence[Panel]]
    labels: tuple[str, str, str]
    size: float = field(default=0.0, kw_only=True)
    limits: tuple[float, float] | None = field(default=None, kw_only=True)
    log: bool = field(default=False, kw_only=True)


@dataclass(frozen=True)
class Scene(Block):
    """Robot in one configuration or several.

    Attributes:
        mechanism: the robot.
        q: configurations, (n, n_q); a page has a slider, a figure shows the last one and some before it.
        labels: label of every configuration.
        ghosts: configurations shown pale, (k, n_q).
        seconds: time to play all configurations.
        trail: points of the world joined by a line, (k, 3).
        points: points of the world, (k, 3).
        frames: names of frames whose axes are drawn.
    """

    mechanism: Mechanism
    q: Any
    labels: Sequence[str] = ()
    ghosts: Any = field(default=(), kw_only=True)
    seconds: float | None = field(default=None, kw_only=True)
    trail: Any = field(default=None, kw_only=True)
    points: Any = field(default=None, kw_only=True)
    frames: Sequence[str] = field(default=(), kw_only=True)


@dataclass(frozen=True)
class Description:
    """Description of one result.

    Attributes:
        title: headline.
        verdict: sentences, one per line.
        tone: good, warn or bad.
        fields: values.
        blocks: tables, plots and texts, in their order.
    """

    title: str
    verdict: str
    tone: Tone
    fields: Sequence[Field] = ()
    blocks: Sequence[Block] = ()

    def of(self, medium: Medium) -> list[Block]:
        """Return the blocks of one medium that hold anything."""
        return [block for block in self.blocks if medium in block.media and not block.empty]

    @property
    def shown(self) -> list[Field]:
        """Fields with a label, for display."""
        return [each for each in self.fields if each.meaning]


def number(value: Any, form: str = ".5g") -> str:
    """Return a number as text: no minus zero, "–" for a missing number."""
    if isinstance(value, str):
        return value
    if value is None or value != value:
        return "–"
    text = format(value, form)
    return text if not text.startswith("-") or text.strip("-0.e+%") else text[1:]


def value_text(shown: Field) -> str:
    """Return the value of a field with its unit."""
    value = shown.value
    text = number(value, "d" if isinstance(value, Integral) and not shown.format.endswith("%") else shown.format)
    return f"{text} {shown.unit}".rstrip()
