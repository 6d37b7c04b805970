"""The report of postures of a whole body."""

from __future__ import annotations

import numpy as np

from ...errors import ZvenoError
from ...ik.whole_body.posture_result import Postures
from ...mechanism.units import coordinate_units, with_unit
from ..text.columns import number as fixed
from .blocks import Block, table
from .ik import MOST_GHOSTS, MOST_ROWS
from .page import Chapter
from .scene import robot_scene


def postures_chapter(result: Postures) -> Chapter:
    """The robot in the postures found, or the nearest one; by how much each target is missed; their table."""
    mechanism = result.mechanism
    if mechanism is None:
        raise ZvenoError("the result does not know its robot")
    q = result.q if result.count else result.nearest[None]
    labels = [f"posture {k + 1} of {len(q)}" for k in range(len(q))] if result.count else ["nearest"]
    title = "Postures" if result.count else "The nearest posture"
    targets = [[name, 1e3 * metres, 1e3 * radians] for name, (metres, radians) in result.misses.items()]
    heads = [with_unit(*pair) for pair in zip(mechanism.coordinate_names, coordinate_units(mechanism), strict=True)]
    rows = [
        [k + 1, f"{residual:.0e}", *(fixed(x, 5) for x in posture)]
        for k, (posture, residual) in enumerate(zip(result.q, result.residual, strict=True))
    ]
    of = "the first posture" if result.count else "the nearest posture"
    blocks: list[Block] = [
        robot_scene(title, mechanism, q, labels, ghosts=q[:MOST_GHOSTS] if len(q) > 1 else ()),
        table(f"Targets, missed by {of}", ("target", "mm", "mrad"), targets),
    ]
    if rows:
        note = "" if len(rows) <= MOST_ROWS else f"The first {MOST_ROWS} of {len(rows)}."
        head = ("posture", "worst miss, m or rad", *heads)
        blocks.append(table("Coordinates", head, rows[:MOST_ROWS], note=note, wide=True))
    tiles = (
        (str(result.count), "postures"),
        (result.status, "status"),
        (str(len(result.misses)), "targets"),
        (f"{np.max(result.residual, initial=0.0):.1g}" if result.count else "–", "worst miss, m or rad"),
    )
    tone = "good" if result.count else "warn"
    return Chapter(f"{mechanism.name}, postures", result.summary, tone, tiles, tuple(blocks))
