"""Claims of a draft that something speaks against become undecided."""

from __future__ import annotations

from .draft import Draft
from .mobility import never_regular
from .orientation import unbalanced


def lower_claims(draft: Draft) -> None:
    """Poses of arms that are singular everywhere, and those whose roots do not balance, are undecided."""
    never_regular(draft)
    unbalanced(draft)
