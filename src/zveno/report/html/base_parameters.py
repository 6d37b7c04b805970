"""The report of base parameters."""

from __future__ import annotations

import numpy as np

from ...base_parameters.result import BaseParameters
from .blocks import Block, Series, points, table, words
from .page import Chapter
from .scene import robot_scene


def base_chapter(result: BaseParameters) -> Chapter:
    """The parameters with their expressions, what becomes of every link's, and how clear each decision is."""
    mechanism = result.mechanism
    blocks = [
        robot_scene("The mechanism", mechanism, mechanism.neutral()[None], ["neutral"]),
        _gaps(result),
        _expressions(result),
        words("Without effect on the dynamics", [", ".join(result.without_effect) or "none"]),
        words("Seen alone", [", ".join(result.alone) or "none"]),
    ]
    if result.notes:
        blocks.append(words("Notes", result.notes))
    tiles = (
        (f"{result.rank} of {result.n_parameters}", "base parameters"),
        (str(len(result.alone)), "link parameters seen alone"),
        (str(len(result.without_effect)), "without effect"),
        (
            "exact" if result.certified else "in floating point",
            result.why_not_certified or "arithmetic of the proof",
        ),
    )
    return Chapter(f"{mechanism.name}, base parameters", result.summary, "good", tiles, tuple(blocks))


def _gaps(result: BaseParameters) -> Block:
    names = list(result.gaps)
    kept, dropped = (np.array([result.gaps[name][k] for name in names]) for k in (0, 1))
    series = [
        Series("smallest kept", np.where(kept > 0, kept, np.nan), color="accent"),
        Series("largest dropped", np.maximum(dropped, 1e-18), color="muted"),
    ]
    note = "Relative sizes by group of links, in the order of the tree: the wider apart, the clearer the count."
    return points("How clear the count is", series, "group", "size", log_y=True, note=note)


def _expressions(result: BaseParameters) -> Block:
    rows = [
        [name, expression, f"{value:.6g}"]
        for name, expression, value in zip(result.names, result.expressions, result.values, strict=True)
    ]
    return table("Base parameters", ("name", "is", "value, SI"), rows, wide=True)
