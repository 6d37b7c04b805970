"""Measurements by contact: touched places, their frames, and the information of postures in contact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..fit.initial import first_frames
from ..measurements import Measurement
from ..measurements.assembly import fit_problem
from ..measurements.campaigns import Dataset
from ..measurements.contact import into_contact
from ..measurements.fit_problem import FitProblem
from ..model.kinematics import by_coordinates
from ..model.models import Model


def group_list(kind: Measurement, have: Dataset) -> tuple[str, ...]:
    """Return the groups that new postures may touch: those measured before; empty: imagined ones."""
    return () if kind.grouped is None else tuple(dict.fromkeys(have.groups or ("",) * len(have)))


def contact_problem(
    model: Model, campaigns: Sequence[Dataset], placed: Mapping[str, np.ndarray] | None = None
) -> FitProblem:
    """Build the rows of postures in contact, nothing read; unknown frames from `placed`, (4, 4) by label."""
    unread = [Dataset.unread(one.measurement, one.q, one.groups, one.name) for one in campaigns]
    return fit_problem(model, unread).placed(placed or {})


def touched(model: Model, have: Dataset) -> dict[str, np.ndarray]:
    """Return the frames of things touched before, (4, 4) by label, according to the nominal robot."""
    problem = contact_problem(model, [have])
    return problem.labelled(first_frames(problem, np.zeros(len(model.terms))))


def in_contact(model: Model, have: Dataset, placed: Mapping[str, np.ndarray]) -> tuple[Dataset, np.ndarray]:
    """Move measured postures as little as the nominal robot needs to touch; return them and which then do."""
    q, touching = into_contact(contact_problem(model, [have], placed), 0, have.q)
    return replace(have, q=q), touching


def contact_rows(
    problem: FitProblem, names: Sequence[str], scales: np.ndarray, sigmas: np.ndarray, sigma_q: float
) -> np.ndarray:
    """Return whitened rows (n, m, K) of postures in contact by scaled parameters.

    Args:
        problem: the rows; its residuals are zero.
        names, scales: columns wanted; those the system does not have are zero.
        sigmas: standard deviation of every row of a posture.
        sigma_q: standard deviation of the joint encoders, which adds to it.
    """
    J = _columns(problem, names)[problem.noise >= 0] * scales
    _, by_offsets = problem.evaluate(problem.nominal, problem.frames, problem.model.offset_terms, exact=True)
    by_q = by_coordinates(problem.model, by_offsets[problem.noise >= 0])
    variance = np.tile(sigmas**2, len(J) // len(sigmas)) + sigma_q**2 * np.sum(by_q**2, axis=1)
    return (J / np.sqrt(variance)[:, None]).reshape(-1, len(sigmas), len(names))


def distance_information(problem: FitProblem, names: Sequence[str], scales: np.ndarray) -> np.ndarray:
    """Return the information (K, K) from known distances between touched things, each counted once."""
    once = {(a, b): k for k, (a, b, *_) in enumerate(problem.constraints)}
    kept = list(once.values())
    J = _columns(problem, names)[problem.noise < 0][kept] * scales
    J = J / np.array([problem.constraints[k][3] for k in kept])[:, None]
    return J.T @ J


def _columns(problem: FitProblem, names: Sequence[str]) -> np.ndarray:
    """Return derivatives (M, K) of all rows by names; zero for those the system does not have."""
    numbers = {name: k for k, name in enumerate(problem.names)}
    present = [k for k, name in enumerate(names) if name in numbers]
    wanted = [numbers[names[k]] for k in present]
    J = np.zeros((problem.n_rows, len(names)))
    zero = problem.nominal
    J[:, present] = problem.evaluate(zero, problem.frames, wanted, exact=True)[1]
    return J
