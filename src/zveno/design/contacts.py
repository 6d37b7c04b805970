"""Measurements by contact: which places are touched, where they are, and what postures in contact tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..calibration.fit.initial import first_frames
from ..calibration.measurements import Measurement
from ..calibration.measurements.assembly import fit_problem
from ..calibration.measurements.campaigns import Campaign
from ..calibration.measurements.contact import into_contact
from ..calibration.measurements.fit_problem import FitProblem
from ..calibration.model.kinematics import by_coordinates
from ..calibration.model.models import Model
from ..errors import ZvenoError


def group_list(kind: Measurement, have: Campaign, places: int | None) -> tuple[str, ...]:
    """Groups that new postures may touch: those measured before, then `places` new ones; empty: as imagined."""
    if kind.grouped is None:
        if places is not None:
            raise ZvenoError(f"a {kind.kind} measurement of this kind has one place only", element="places")
        return ()
    if places is not None and places < 0:
        raise ZvenoError(f"{places} places cannot be planned", element="places", remedy="Give 0 or more")
    before = tuple(dict.fromkeys(have.groups or ("",) * len(have)))
    if not before and not places:
        return ()
    return before + kind.new_groups(places or 0, "new" if before else "place")


def contact_problem(
    model: Model, campaigns: Sequence[Campaign], placed: Mapping[str, np.ndarray] | None = None
) -> FitProblem:
    """Rows of postures in contact, nothing read; unknown frames as `placed` says, (4, 4) by label."""
    unread = [Campaign.unread(one.measurement, one.q, one.groups, one.name) for one in campaigns]
    return fit_problem(model, unread).placed(placed or {})


def touched(model: Model, have: Campaign) -> dict[str, np.ndarray]:
    """Where the things touched before are, (4, 4) by label, as the nominal robot says."""
    problem = contact_problem(model, [have])
    return problem.labelled(first_frames(problem, np.zeros(len(model.terms))))


def in_contact(model: Model, have: Campaign, placed: Mapping[str, np.ndarray]) -> tuple[Campaign, np.ndarray]:
    """Measured postures, moved as little as the nominal robot needs to touch; and which then do."""
    q, touching = into_contact(contact_problem(model, [have], placed), 0, have.q)
    return replace(have, q=q), touching


def contact_rows(
    problem: FitProblem, names: Sequence[str], scales: np.ndarray, sigmas: np.ndarray, sigma_q: float
) -> np.ndarray:
    """Whitened rows (n, m, K) of postures in contact by scaled parameters.

    Args:
        problem: the rows; its residuals are zero.
        names, scales: columns wanted; those the system does not have are zero.
        sigmas: standard deviation of every row of a posture.
        sigma_q: of the joints' sensors, which add to it.
    """
    J = _columns(problem, names)[problem.noise >= 0] * scales
    _, by_offsets = problem.evaluate(problem.nominal, problem.frames, problem.model.offset_terms, exact=True)
    by_q = by_coordinates(problem.model, by_offsets[problem.noise >= 0])
    variance = np.tile(sigmas**2, len(J) // len(sigmas)) + sigma_q**2 * np.sum(by_q**2, axis=1)
    return (J / np.sqrt(variance)[:, None]).reshape(-1, len(sigmas), len(names))


def distance_information(problem: FitProblem, names: Sequence[str], scales: np.ndarray) -> np.ndarray:
    """Information (K, K) from known distances between what is touched, each counted once."""
    once = {(a, b): k for k, (a, b, *_) in enumerate(problem.constraints)}
    kept = list(once.values())
    J = _columns(problem, names)[problem.noise < 0][kept] * scales
    J = J / np.array([problem.constraints[k][3] for k in kept])[:, None]
    return J.T @ J


def _columns(problem: FitProblem, names: Sequence[str]) -> np.ndarray:
    """Derivatives (M, K) of all rows by names; zero for those the system does not have."""
    numbers = {name: k for k, name in enumerate(problem.names)}
    present = [k for k, name in enumerate(names) if name in numbers]
    wanted = [numbers[names[k]] for k in present]
    J = np.zeros((problem.n_rows, len(names)))
    zero = problem.nominal
    J[:, present] = problem.evaluate(zero, problem.frames, wanted, exact=True)[1]
    return J
