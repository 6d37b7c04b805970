"""Statuses of a draft, lowered where a check fails."""

from __future__ import annotations

import numpy as np

from ..clock import OVER, time_is_over
from ..solutions import SAMPLED, UNDECIDED
from .draft import Draft
from .mobility import never_regular
from .orientation import unbalanced


def lower_claims(draft: Draft) -> None:
    """Mark poses undecided if the arm is singular everywhere or their roots do not balance."""
    never_regular(draft)
    unbalanced(draft)


def say_unfinished(draft: Draft) -> None:
    """Note on undecided and sampled poses that the time is over."""
    if time_is_over():
        for i in np.flatnonzero(np.isin(draft.codes, (UNDECIDED, SAMPLED))).tolist():
            note = draft.notes.get(i, OVER)
            draft.notes[i] = note if OVER in note else f"{note}, {OVER}"
