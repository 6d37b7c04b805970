"""Named classes of parameters: those a controller accepts, of a DH table, of the tool, …"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .joint_terms import WORDS

if TYPE_CHECKING:
    from .models import Model, Term


def _is_dh(model: Model, term: Term) -> bool:
    """Return True for terms of a Denavit–Hartenberg table: offset, distance along the axis, length and twist about
    the next axis."""
    if term.role == "joint":
        return True
    if term.role not in ("link", "tool"):
        return False
    number = model.numbers[term.name]
    block = next(block for block in model.blocks if block.first <= number < block.first + 6)
    before = next(move for move in model.moves if move.label == block.label.partition(".")[0])
    across = (before.axis + 1) % 3
    return (term.kind, term.axis) in (("T", before.axis), ("T", across), ("R", across))


PARAMETER_CLASSES: dict[str, Callable[[Model, Term], bool]] = {
    "all": lambda model, term: True,
    "controller": lambda model, term: term.role in ("joint", "tool", "base"),
    "offsets": lambda model, term: term.role == "joint",
    "dh": _is_dh,
    "tcp": lambda model, term: term.role == "tool",
    "base": lambda model, term: term.role == "base",
    "hand_eye": lambda model, term: term.role in ("tool", "base"),
    "links": lambda model, term: term.role == "link",
} | {word: lambda model, term, word=word: term.role == word for word in WORDS}
"""Classes of parameters by name: those a controller accepts, a DH table, the tool, the base, both, joint terms."""
