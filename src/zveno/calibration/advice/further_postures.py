"""More postures for a campaign: random ones, and what measuring in them would tell."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..identifiability.postures import random_postures, visible_postures
from ..measurements.assembly import fit_problem
from ..measurements.base import Measurement
from ..measurements.campaigns import Campaign
from ..measurements.contact import into_contact
from ..measurements.fit_problem import FitProblem

if TYPE_CHECKING:
    from ..fit.solve import Solution
    from ..fit.state import FitState


def further_postures(
    state: FitState, number: int, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
    """At most `count` random postures (n, n_q) of a campaign's kind, in contact where it needs that; their targets;
    and whitened rows (n, m, columns) by what was fitted."""
    problem, options, whole = state.problem, state.options, state.fit
    model, campaign = problem.model, problem.campaigns[number]
    kind = campaign.measurement
    # Few random postures see a board.
    draws = count if type(kind).visible is Measurement.visible else 10 * count
    q = random_postures(model.mechanism, draws, rng)
    groups = tuple(campaign.groups[k] for k in rng.integers(len(campaign), size=len(q))) if campaign.groups else ()
    imagined = Campaign.unread(kind, q, groups, campaign.name)
    other = _with_frames(problem, whole, imagined)
    if kind.implicit and kind.n_seen == 1:
        q, touching = into_contact(other, 0, q, tolerance=1e-9, values=whole.values, compiled=True)
        inside = (q >= model.mechanism.lower - 1e-9).all(axis=1) & (q <= model.mechanism.upper + 1e-9).all(axis=1)
        imagined = replace(imagined, q=q).only(touching & inside)
        if not len(imagined):
            return imagined.q, (), np.zeros((0, 1, len(options.columns)))
        other = _with_frames(problem, whole, imagined)
    seen = visible_postures(other, 0, whole.values)
    if not seen.all():
        imagined = imagined.only(np.flatnonzero(seen)[:count])
        if not len(imagined):
            return imagined.q, (), np.zeros((0, 1, len(options.columns)))
        other = _with_frames(problem, whole, imagined)
    places = {name: k for k, name in enumerate(other.names)}
    wanted = [places.get(problem.names[column], -1) for column in options.columns]
    _, J = other.evaluate(whole.values, other.frames, [k for k in wanted if k >= 0], exact=True)
    data = other.noise >= 0
    first = problem.parts[number].first_noise
    rows = np.zeros((int(data.sum()), len(wanted)))
    rows[:, [k >= 0 for k in wanted]] = J[data] / whole.sigma[first + other.noise[data]][:, None]
    return imagined.q, imagined.groups, rows.reshape(len(imagined), -1, len(wanted))


def _with_frames(problem: FitProblem, whole: Solution, campaign: Campaign) -> FitProblem:
    """Other rows with the frames that were found."""
    return fit_problem(problem.model, [campaign]).placed(problem.labelled(whole.frames))
