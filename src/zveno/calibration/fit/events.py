"""Events: what moved during a campaign, named and, where people ask for it, fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...io.results import registered
from ...io.units import DEVIATIONS
from ..measurements.assembly import Split
from ..measurements.fit_problem import FitProblem
from .change_points import JOINT, REFERENCE, TARGET, TOOL, Change
from .state import FitState

SLOTS = {TOOL: "right", REFERENCE: "left", TARGET: "target"}


@registered
@dataclass(frozen=True, eq=False)
class Event:
    """Something that moved during a campaign.

    Attributes:
        campaign, row: its campaign, and the first row after it, as numbered in the file, from 1.
        what, name: "tool", "reference", "target" or "joint", and which target or joint.
        moved, turned: by how much, m and rad; 0 where it cannot be seen.
        chances: how likely each explanation is that the data do not exclude, by words; the likeliest first.
        chance: that a campaign in which nothing moved shows as much.
        fitted: whether the calibration has it.
    """

    campaign: str
    row: int
    what: str
    name: str
    moved: float
    turned: float
    chances: dict[str, float]
    chance: float
    fitted: bool

    @property
    def text(self) -> str:
        """`From row 28 of tracker on the tool point is elsewhere, by 0.32 mm (98 %)`, with what else it may be."""
        sizes = [
            f"{size * DEVIATIONS[unit][0]:.2g} {DEVIATIONS[unit][1]}"
            for size, unit in ((self.moved, "m"), (self.turned, "rad"))
            if size
        ]
        (first, share), *others = self.chances.items()
        words = f"From row {self.row} of {self.campaign} on {first}, by {' and '.join(sizes)} ({100 * share:.0f} %)"
        if others:
            words += "; the data hardly tell this from: " + ", ".join(f"{w} ({100 * s:.0f} %)" for w, s in others)
        return words


def in_words(what: str, name: str) -> str:
    """An explanation for people."""
    return {
        TOOL: "the tool or the point measured on it is elsewhere",
        REFERENCE: "the measuring system or the robot's base stands elsewhere",
        TARGET: f"the target {name} is elsewhere",
        JOINT: f"the zero of {name} is another",
    }[what]


def event_of(problem: FitProblem, change: Change, fitted: bool) -> Event:
    """A change as people see it."""
    campaign, step, explanation = problem.campaigns[change.part], change.step, change.explanation
    moved = turned = 0.0
    if explanation.what == JOINT:
        sizes = abs(float(step[0]))
        moved, turned = (0.0, sizes) if problem.model.axes[explanation.free[0]].sigma else (sizes, 0.0)
    else:
        six = np.zeros(6)
        six[list(explanation.free)] = step
        moved, turned = float(np.linalg.norm(six[:3])), float(np.linalg.norm(six[3:]))
    chances = {in_words(*key): share for key, share in change.chances.items()}
    row = int(campaign.lines[change.posture])
    return Event(
        campaign.name, row, explanation.what, explanation.name, moved, turned, chances, change.chance, fitted
    )


def with_event(state: FitState, change: Change) -> FitState:
    """The task with something moved from some posture on: a frame of its own, or joint values corrected."""
    explanation, number = change.explanation, change.part
    if explanation.what == JOINT:
        move = state.problem.model.axes[explanation.free[0]]
        campaign = state.campaigns[number]
        q = campaign.q.copy()
        q[change.posture :, move.position.start] += float(change.step[0]) / move.multiplier
        campaigns = list(state.campaigns)
        campaigns[number] = replace(campaign, q=q)
        return replace(state, campaigns=tuple(campaigns))
    line = int(state.problem.campaigns[number].lines[change.posture])
    label = f"{explanation.name or explanation.what} from row {line}"
    only = explanation.name if explanation.what == TARGET else ""
    split = Split(number, change.posture, SLOTS[explanation.what], explanation.free, label, only)
    return replace(state, splits=(*state.splits, split))
