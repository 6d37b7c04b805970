"""Figures of descriptions by matplotlib: every block that can be drawn is a panel; pages take the panels as SVG."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MissingExtraError, ZvenoError, visible
from ..io.files import replacing
from .description import Bars, Block, Curves, Description, Map, Matrix, Scene, Series, number
from .style import COLORS, FAINT, INK, plain

FORMATS = (".png", ".svg")
WIDTH = 10.0
"""Width of a figure, inches."""
LONGEST = 30
"""Maximum length of a name at an axis or in a legend."""
MOST_LINES, MOST_BARS, FEW_BARS, MOST_MARKS = 12, 80, 12, 100
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "zveno",
    "svg.fonttype": "none",
    "path.simplify_threshold": 0.4,
    "font.family": "DejaVu Sans",
}


def figure_class() -> Any:
    """Return `matplotlib.figure.Figure`; raise an error with the install command if matplotlib is missing."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError(
            "pictures need matplotlib, which is not installed", remedy="pip install 'zveno[plot]'"
        ) from None
    return Figure


def render(description: Description, ax: Any = None) -> Any:
    """Return a matplotlib figure of a description.

    Args:
        description: of a result.
        ax: matplotlib axes for the main panel; without them a new figure shows all panels.
    """
    Figure = figure_class()
    blocks = description.of("figure")
    if not blocks:
        raise ZvenoError(f"{description.title} cannot be plotted", remedy="Use print() instead")
    if ax is not None:
        _draw(blocks[0], ax)
        return ax.get_figure()
    heights, places = _layout(blocks)
    figure = Figure(figsize=(WIDTH, sum(heights) + 0.7), layout="constrained")
    grid = figure.add_gridspec(len(heights), 4, height_ratios=heights)
    for block, (row, column) in zip(blocks, places, strict=True):
        _draw_in(figure, grid[row, column : column + _span(block, blocks)], block)
    first = description.verdict.splitlines()[0] if description.verdict else ""
    words = f"{description.title}\n{textwrap.fill(first, 130, max_lines=2)}"
    figure.suptitle(words, fontsize=9, x=0.01, ha="left", color=INK)
    _spell(figure)
    return figure


def robot_figure(mechanism: Any, q: Any = None, *, frames: Sequence[str] = (), ax: Any = None) -> Any:
    """Return a figure of a robot at q, or of a motion if q has several configurations."""
    from .robot_picture import draw_motion, draw_robot

    figure = ax.get_figure() if ax is not None else figure_class()(figsize=(8.0, 6.0), layout="constrained")
    axes = ax if ax is not None else figure.add_subplot()
    if q is not None and np.ndim(q) == 2:
        draw_motion(axes, mechanism, q, frame=frames[0] if frames else None)
    else:
        draw_robot(axes, mechanism, q, frames=frames)
    axes.set_title(mechanism.name, loc="left", fontsize=10, color=INK)
    _spell(axes)
    return figure


def checked_picture(path: str | PathLike[str]) -> Path:
    """Return the path of a picture; raise an error if its suffix is not that of a picture."""
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise ZvenoError(
            f"a picture cannot be saved as {file.suffix!r}" if file.suffix else "the picture has no suffix",
            file=file,
            remedy="Use .png or .svg",
        )
    return file


def save(figure: Any, path: str | PathLike[str]) -> Path:
    """Write a figure as .png or .svg, the same bytes every time; returns the file."""
    from matplotlib import rc_context

    file = checked_picture(path)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise ZvenoError(
            f"it cannot be written: {problem.strerror or problem}", file=file, remedy="Choose another place"
        ) from None
    metadata = {"Creator": "zveno", "Date": None} if file.suffix.lower() == ".svg" else {"Software": "zveno"}
    with rc_context(STYLE), replacing(file) as temporary:
        figure.savefig(temporary, metadata=metadata, dpi=130)
    return file


def svg(block: Block, name: str) -> str:
    """Return one block as an SVG element for a page; `name` distinguishes the figures of a page."""
    Figure = figure_class()
    from matplotlib import rc_context

    heights, _ = _layout([block])
    figure = Figure(
        figsize=(WIDTH if block.span == 4 else 0.56 * WIDTH, max(heights[0], 2.4)), layout="constrained"
    )
    figure.patch.set_alpha(0.0)
    _draw_in(figure, figure.add_gridspec(1, 1)[0, 0], block, titled=False)
    _spell(figure)
    file = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with rc_context({**STYLE, "svg.hashsalt": f"zveno {name}"}):
        figure.savefig(file, format="svg", metadata=nothing, dpi=100)
    text = file.getvalue()
    text = re.sub(r"\s+", " ", text[text.index("<svg") :])
    text = re.sub(r' xmlns(:\w+)?="[^"]*"|<metadata>.*?</metadata>', "", text)
    return re.sub(r' id="[\w.]+_\d+"', "", text.replace("xlink:href", "href"))  # groups; definitions stay


def _layout(blocks: Sequence[Block]) -> tuple[list[float], list[tuple[int, int]]]:
    """Return the heights of rows, inches, and (row, quarter) of every block: blocks flow from left to right."""
    heights: list[float] = []
    places, quarter = [], 4
    for block in blocks:
        span = _span(block, blocks)
        if quarter + span > 4:
            heights.append(0.0)
            quarter = 0
        places.append((len(heights) - 1, quarter))
        heights[-1] = max(heights[-1], _height(block))
        quarter += span
    return heights, places


def _span(block: Block, blocks: Sequence[Block]) -> int:
    return 4 if len(blocks) == 1 else block.span


def _height(block: Block) -> float:
    if isinstance(block, Scene):
        return 5.0
    if isinstance(block, Map):
        return 0.3 + 2.7 * len(block.panels)
    if isinstance(block, Bars):
        return 0.9 + 0.15 * min(len(block.names), MOST_BARS) * max(1.0, 0.6 * len(block.groups))
    if isinstance(block, Matrix):
        names = 0.05 * max((len(name) for name in _visible(block.columns)), default=0)
        return 1.0 + names + (0.3 if block.cells else 0.16) * len(block.rows)
    if isinstance(block, Curves) and block.equal:
        return 3.4
    return 2.0 if block.span in (1, 4) else 2.6


def _draw_in(figure: Any, slot: Any, block: Block, titled: bool = True) -> None:
    if not isinstance(block, Map):
        _draw(block, figure.add_subplot(slot), titled)
        return
    inner = slot.subgridspec(len(block.panels), max(map(len, block.panels)))
    first = figure.add_subplot(inner[0, 0])
    all_axes = [
        [
            figure.add_subplot(inner[i, k], sharex=first, sharey=first) if (i, k) != (0, 0) else first
            for k in range(len(row))
        ]
        for i, row in enumerate(block.panels)
    ]
    _draw_map(block, all_axes)
    if titled and len(block.panels[0]) == 1:  # several panels have titles of their own
        first.set_title(f"{block.title}\n{block.panels[0][0].title}".strip(), loc="left", fontsize=9, color=INK)


def _draw(block: Block, axes: Any, titled: bool = True) -> None:
    """Draw one block into axes."""
    if isinstance(block, Curves):
        _draw_curves(block, axes)
    elif isinstance(block, Bars):
        _draw_bars(block, axes)
    elif isinstance(block, Matrix):
        _draw_matrix(block, axes)
    elif isinstance(block, Map):
        _draw_map(block, [[axes]])
    elif isinstance(block, Scene):
        _draw_scene(block, axes)
    if titled and block.title:
        of = left_out(block)
        axes.set_title(block.title + (f": {of}" if of else ""), loc="left", fontsize=9, color=INK)


def _draw_scene(block: Scene, axes: Any) -> None:
    from .robot_picture import GHOSTS, draw_robot

    q = np.asarray(block.q, dtype=float).reshape(-1, block.mechanism.n_q)
    ghosts = np.asarray(block.ghosts, dtype=float).reshape(-1, block.mechanism.n_q)
    shown = q[0] if len(ghosts) else q[-1]
    if len(ghosts):
        ghosts = ghosts[1:] if np.array_equal(ghosts[0], shown) else ghosts
        ghosts = ghosts[::-1]
    elif len(q) > 1:
        ghosts = q[np.linspace(0, len(q) - 1, GHOSTS + 1).round().astype(int)[:-1]]
    draw_robot(
        axes, block.mechanism, shown, ghosts=ghosts, trail=block.trail, points=block.points, frames=block.frames
    )


def left_out(block: Block) -> str:
    """Describe the parts of a block that are omitted from the figure; empty if all are drawn."""
    if isinstance(block, Curves) and len(block.series) > MOST_LINES and not block.levels:
        return f"the {MOST_LINES} that vary most of {len(block.series)}"
    if isinstance(block, Bars) and len(block.names) > MOST_BARS:
        return f"the first {MOST_BARS} of {len(block.names)}"
    return ""


def most_varying(series: Sequence[Series], most: int = MOST_LINES) -> list[Series]:
    """Return the `most` series that vary most, in their order."""
    spread = []
    for each in series:
        y = np.asarray(each.y, dtype=float)
        finite = y[np.isfinite(y)]
        spread.append(float(np.ptp(finite)) if len(finite) else 0.0)
    chosen = sorted(np.argsort(-np.array(spread), kind="stable")[:most].tolist())
    return [series[k] for k in chosen]


def _draw_curves(block: Curves, axes: Any) -> None:
    series = list(block.series) if block.levels else most_varying(block.series)
    plain(axes)
    for k, each in enumerate(series):
        color = FAINT if each.muted else COLORS[k % len(COLORS)]
        (label,) = _visible([each.name])
        y = np.asarray(each.y, dtype=float)
        x = np.arange(1, len(y) + 1) if each.x is None else np.asarray(each.x, dtype=float)
        if each.low is not None:
            axes.fill_between(x, each.low, each.high, color=color, alpha=0.22, linewidth=0)
        if each.style in ("dots", "crosses"):
            marker, size = (".", 5 if len(y) < 100 else 3) if each.style == "dots" else ("x", 5)
            axes.plot(x, y, marker, color=color, markersize=size, label=label)
        else:
            width = 5.0 if each.style == "thick" else 1.0
            axes.plot(x, y, color=color, linewidth=width, label=label, solid_capstyle="butt")
    for mark in list(block.marks)[:MOST_MARKS]:
        axes.axvline(mark, linewidth=0.6, color=FAINT, linestyle=":", zorder=0)
    if len(series) > 1 and not block.levels:
        beside = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if block.span == 4 else {"loc": "upper right"}
        axes.legend(fontsize=7 if block.span > 1 else 6, frameon=False, labelcolor=INK, **beside)
    if block.log_x:
        axes.set_xscale("log")
    if block.log_y:
        axes.set_yscale("log")
    if block.limits is not None:
        axes.set_ylim(*block.limits)
    if block.levels:
        axes.set_yticks(range(len(block.levels)), _visible(block.levels))
        axes.set_ylim(len(block.levels) - 0.5, -0.5)
    if block.equal:
        axes.set_aspect("equal", adjustable="datalim")
    _label(axes, block.x, block.y)


def _draw_bars(block: Bars, axes: Any) -> None:
    plain(axes)
    count = min(len(block.names), MOST_BARS)
    places, height = np.arange(count), 0.8 / len(block.groups)
    for k, (name, values) in enumerate(block.groups.items()):
        at = places + (k - 0.5 * (len(block.groups) - 1)) * height
        std = None if block.std is None or k else np.asarray(block.std, dtype=float)[:count]
        values = np.asarray(values, dtype=float)[:count]
        bars = axes.barh(at, values, height, color=COLORS[k % len(COLORS)], label=name, xerr=std, ecolor=INK)
        if count * len(block.groups) <= FEW_BARS and std is None:
            axes.bar_label(bars, [number(value, ".3g") for value in values], fontsize=7, color=INK, padding=2)
            axes.margins(x=0.12)
    if block.log_x:
        axes.set_xscale("log")
    axes.set_yticks(places, _visible(block.names[:count]), fontsize=7 if count <= 40 else 5)
    axes.set_ylim(count - 0.5, -0.5)
    if len(block.groups) > 1:
        axes.legend(fontsize=7, frameon=False, labelcolor=INK)
    _label(axes, block.x, "")


def _draw_matrix(block: Matrix, axes: Any) -> None:
    from matplotlib.colors import ListedColormap

    values = np.asarray(block.values, dtype=float)
    if block.levels:
        colors = ["#e4e4e4", "#f3b27e", "#8db4e2", "#9fd3a6"][: len(block.levels)]
        axes.imshow(values, cmap=ListedColormap(colors), vmin=-0.5, vmax=len(colors) - 0.5, aspect="auto")
        for color, name in zip(colors, block.levels, strict=True):
            axes.plot([], [], "s", color=color, label=name)
        under = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.02 if not block.columns else -0.1)}
        axes.legend(ncols=len(colors), frameon=False, fontsize=7, labelcolor=INK, **under)
    else:
        image = axes.imshow(values, cmap="RdBu_r", vmin=-1.0, vmax=1.0, aspect="auto")
        axes.get_figure().colorbar(image, ax=axes)
    for i, row in enumerate(block.cells):
        for j, text in enumerate(row):
            axes.text(j, i, text, ha="center", va="center", fontsize=6, color=INK)
    axes.set_xticks(range(len(block.columns)), _visible(block.columns), rotation=90, fontsize=6, color=FAINT)
    axes.set_yticks(
        range(len(block.rows)), _visible(block.rows), fontsize=6 if len(block.rows) > 12 else 7, color=FAINT
    )
    axes.tick_params(length=0)
    for side in axes.spines.values():
        side.set_visible(False)


def _draw_map(block: Map, all_axes: Sequence[Sequence[Any]]) -> None:
    """Draw panels on one scale, as squares of the cells or as dots."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import LogNorm, Normalize

    low, high = block.limits or _ends([panel.values for row in block.panels for panel in row], block.log)
    norm = (LogNorm if block.log else Normalize)(low, max(high, 1.001 * low, low + 1e-12))
    colors = ScalarMappable(norm, "viridis")
    corners = 0.5 * block.size * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    for i, (axes_row, row) in enumerate(zip(all_axes, block.panels, strict=False)):
        for k, (axes, panel) in enumerate(zip(axes_row, row, strict=False)):
            plain(axes)
            places = np.stack([np.asarray(panel.x, dtype=float), np.asarray(panel.y, dtype=float)], axis=-1)
            values = np.asarray(panel.values, dtype=float)
            shown = colors.to_rgba(np.maximum(values, low) if block.log else values)
            if block.size:
                axes.add_collection(PolyCollection(list(places[:, None] + corners), facecolors=shown))
                axes.autoscale_view()
            else:
                axes.scatter(*places.T, c=shown, s=14, linewidths=0)
            marked = np.asarray(panel.marked, dtype=float).reshape(-1, 2)
            axes.plot(*marked.T, ".", color=INK, markersize=2)
            axes.set_aspect("equal")
            axes.set_title(panel.title, loc="left", fontsize=8, color=INK)
            _label(axes, block.labels[0] if i == len(all_axes) - 1 else "", "" if k else block.labels[1])
    flat = [axes for row in all_axes for axes in row]
    bar = flat[0].get_figure().colorbar(colors, ax=flat)
    bar.set_label(block.labels[2], color=INK, fontsize=8)
    bar.ax.tick_params(colors=FAINT, labelsize=7)


def _ends(values: Sequence[Any], log: bool) -> tuple[float, float]:
    """Return the smallest and largest number, above zero for a logarithmic scale."""
    numbers = np.concatenate([np.zeros(0), *(np.ravel(np.asarray(each, dtype=float)) for each in values)])
    numbers = numbers[np.isfinite(numbers) & ((numbers > 0) | (not log))]
    return (float(numbers.min()), float(numbers.max())) if len(numbers) else (1e-3, 1.0)


def _label(axes: Any, x: str, y: str) -> None:
    axes.set_xlabel(x, color=INK, fontsize=8)
    axes.set_ylabel(y, color=INK, fontsize=8)


def _visible(names: Sequence[str]) -> list[str]:
    """Escape control characters of names and drop the middle of long names."""
    shown = [visible(name) for name in names]
    return [name if len(name) <= LONGEST else f"{name[: LONGEST // 2]}…{name[-LONGEST // 3 :]}" for name in shown]


def _spell(drawn: Any) -> None:
    """Make names literal: "$" does not start a formula, and control characters are escaped."""
    from matplotlib.text import Text

    for text in drawn.findobj(Text):
        words = text.get_text()
        if "$" in words and not words.startswith(r"$\mathdefault"):  # numbers of logarithmic axes
            text.set_parse_math(False)
        text.set_text(visible(words))
