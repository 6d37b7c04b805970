"""The report of what a measurement can find."""

from __future__ import annotations

import numpy as np

from ...calibration.identifiability.analysis import Identifiability
from .blocks import Block, Series, points, table, words
from .page import Chapter


def identifiability_chapter(result: Identifiability) -> Chapter:
    """The gap of the singular values, and what becomes of every parameter."""
    largest = max(float(result.singular_values.max(initial=0.0)), 1e-300)
    values = np.maximum(result.singular_values / largest, 1e-18)
    kept = result.rank
    number = np.arange(1, len(values) + 1)
    series = [
        Series("independent", values[:kept], number[:kept], color="accent"),
        Series("dropped", values[kept:], number[kept:], color="muted"),
    ]
    blocks: list[Block] = [
        points(
            "Singular values, largest 1", series, "number", "size", log_y=True, note="The wider apart, the clearer."
        )
    ]
    blocks.append(words("The irreducible model", [result.text]))
    found = [
        " + ".join(f"{weight:.6g}·{name}" for name, weight in relation.items()) for relation in result.relations
    ]
    if found:
        blocks.append(words("Found only together", found))
    pairs = zip(result.names, result.classes, strict=True)
    rows = [[name, kind, "yes" if name in result.chosen else ""] for name, kind in pairs]
    blocks.append(table("Parameters", ("parameter", "class", "in the model"), rows))
    kinds = [(str(result.classes.count(kind)), kind) for kind in dict.fromkeys(result.classes)]
    tiles = (
        (f"{result.rank} of {len(result.names)}", "parameters can be found"),
        (f"{result.gap:.2g}" if np.isfinite(result.gap) else "none dropped", "gap of the singular values"),
        (result.status, "rank"),
        *kinds,
    )
    tone = "warn" if result.status == "look closer" else "good"
    title = f"{result.robot}, what {result.measurement} measurements can find"
    return Chapter(title, result.summary, tone, tiles, tuple(blocks))
