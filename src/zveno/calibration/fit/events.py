"""Events: what moved during a campaign, named and, where people ask for it, fitted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..measurements.fit_problem import FitProblem, Split
from .change_points import JOINT, REFERENCE, TARGET, TOOL, Change
from .named import Event
from .state import FitState

NEARBY, LEFT = 10, 0.1
"""Rows within which a change of the same thing, this share of the first at most, is what a linear step has left."""
SLOTS = {TOOL: "right", REFERENCE: "left", TARGET: "target"}


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
        campaign.name,
        row,
        explanation.what,
        explanation.name,
        moved,
        turned,
        chances,
        change.chance,
        fitted,
        campaign.file,
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


def is_left_of(event: Event, before: Event) -> bool:
    """Whether an event is what the linear step of a large one has left, dated less well."""
    same = (event.campaign, event.what, event.name) == (before.campaign, before.what, before.name)
    less = event.moved <= LEFT * before.moved and event.turned <= LEFT * before.turned
    return same and less and abs(event.row - before.row) <= NEARBY
