"""Postures for identifiability analysis: random within limits, and moved into contact where a kind needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..errors import ZvenoError
from ..mechanism import Mechanism
from ..spatial.rotations import z_to
from ..spatial.transforms import transform
from ._closing import random_closed
from .measurements import Measurement
from .measurements._contact import into_contact
from .measurements._fit_problem import FitProblem, fit_problem
from .measurements.datasets import Dataset
from .models import Model

N_GROUPS = 6
"""Number of imagined sockets or planes if none were measured."""


def random_postures(mechanism: Mechanism, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return coordinates (n, n_q), uniform within limits, unlimited angles within ±π; with closed loops, states
    on the branch of the reference."""
    if mechanism.loops:
        return random_closed(mechanism, n, rng)
    lower, upper = mechanism.lower, mechanism.upper
    if mechanism.n_q != mechanism.n_v or (np.isfinite(lower) != np.isfinite(upper)).any():
        return np.array([mechanism.random(rng) for _ in range(n)])
    reach = np.ones(mechanism.n_q)
    for joint in mechanism.joints:
        if joint.name in mechanism.q_slices:
            reach[mechanism.q_slices[joint.name]] = [np.pi if unit == "rad" else 1.0 for unit in joint.type.units]
    limited = np.isfinite(lower)
    return rng.uniform(np.where(limited, lower, -reach), np.where(limited, upper, reach), (n, mechanism.n_q))


def imagined(
    model: Model,
    kind: Measurement,
    n: int,
    seed: int = 0,
    groups: Sequence[str] = (),
    placed: Mapping[str, np.ndarray] | None = None,
) -> FitProblem:
    """Return a campaign of `n` random postures with noise-free readings, as a system whose residuals are zero.

    Postures that touch something are random ones moved into contact.

    Args:
        model, kind, n, seed: model, kind of measurement, number of postures, and seed of postures and places.
        groups: targets that the postures touch, in turn; six imagined ones if empty.
        placed: frames (4, 4) of unknowns by label, where they are not to be drawn.
    """
    rng = np.random.default_rng(seed)
    mechanism = model.mechanism
    q = random_postures(mechanism, n, rng)
    if not kind.implicit and type(kind).visible is not Measurement.visible:
        q = _seen_postures(model, kind, n, rng, placed or {})
    approach = np.random.default_rng(seed + 1).choice([-1.0, 1.0], q.shape)
    campaign = Dataset.unread(kind, q, _imagined_groups(kind, len(q), groups), approach=approach)
    problem = fit_problem(model, [campaign])
    problem = problem.placed(imagined_frames(problem, rng, placed)).placed(placed or {})
    if kind.implicit:
        q, touching = into_contact(problem, 0, q, many=lambda k: random_postures(mechanism, k, rng))
        if not touching.any():
            raise ZvenoError(
                f"none of {n} random postures of {mechanism.name} can be brought into contact",
                element=kind.kind,
                remedy="Check where the target is, the limits of the joints, and the frame that touches",
            )
        touched = fit_problem(model, [replace(campaign, q=q).only(touching)])
        problem = touched.placed(problem.labelled(problem.frames))
    return problem


def _seen_postures(
    model: Model, kind: Measurement, n: int, rng: np.random.Generator, placed: Mapping[str, np.ndarray]
) -> np.ndarray:
    """Return at most n random postures in which everything can be seen."""
    q = random_postures(model.mechanism, 40 * n, rng)
    problem = fit_problem(model, [Dataset.unread(kind, q)])
    problem = problem.placed(imagined_frames(problem, rng, placed)).placed(placed)
    seen = visible_postures(problem, 0)
    if not seen.any():
        raise ZvenoError(
            f"none of {len(q)} random postures of {model.mechanism.name} can be measured",
            element=kind.kind,
            remedy="Check where camera and board are, and the limits of the joints",
        )
    return q[seen][:n]


def visible_postures(problem: FitProblem, number: int) -> np.ndarray:
    """Return the postures (n,) of a part in which all its rows can be measured."""
    part, frames = problem.parts[number], problem.frames
    T, _ = problem.poses(part, problem.nominal, part.q, compiled=False)
    P = frames[part.left] @ T[part.posture] @ frames[part.right]
    hidden = np.bincount(part.posture, ~part.measurement.visible(P, frames[part.target]), len(part.q))
    return hidden == 0


def _imagined_groups(kind: Measurement, n: int, groups: Sequence[str]) -> tuple[str, ...]:
    if kind.grouped is None:
        return ()
    names = groups or kind.new_groups(N_GROUPS // len(kind.holes))
    return tuple(names[k % len(names)] for k in range(n))


def imagined_frames(
    problem: FitProblem, rng: np.random.Generator, placed: Mapping[str, np.ndarray] | None = None
) -> np.ndarray:
    """Return all frames: targets without a value within reach of the robot, sockets of a place at their distance.

    Those that are `placed`, by label, stay, and others of their place are at the distance from them.
    """
    part, frames = problem.parts[0], problem.frames.copy()
    T, _ = problem.poses(part, problem.nominal, part.q, compiled=False)
    reach = (frames[part.left] @ T[part.posture] @ frames[part.right])[:, :3, 3]
    left = part.measurement.imagined_left(T, problem.model.scale)
    if left is not None and part.measurement.left.free and part.measurement.left.value is None:
        frames[part.left[0]] = left
    for unknown in problem.unknowns:
        at = unknown.frame
        rows = np.flatnonzero(part.target == at)
        if not len(rows) or unknown.given:
            continue
        p = reach[rows[rng.integers(len(rows))]]
        if part.measurement.implicit:
            turn = z_to(random_direction(rng)) if 3 in unknown.free else np.eye(3)
            frames[at] = transform(turn, p)
        else:
            frames[at] = transform(None, p + 0.3 * problem.model.scale * random_direction(rng))
    given = placed or {}
    stays = {unknown.frame for unknown in problem.unknowns if unknown.label in given}
    for unknown in problem.unknowns:
        if unknown.frame in stays:
            frames[unknown.frame] = given[unknown.label]
    pairs = [(a, b, distance) for a, b, distance, _ in problem.constraints]
    while pairs:
        # Those that hang on what stays come first; where none does, the first one begins.
        a, b, distance = next((pair for pair in pairs if stays & {*pair[:2]}), pairs[0])
        pairs.remove((a, b, distance))
        a, b = (b, a) if b in stays and a not in stays else (a, b)
        direction = random_direction(rng)
        if b not in stays:
            frames[b, :3, 3] = frames[a, :3, 3] + distance * direction
        stays |= {a, b}
    return frames


def random_direction(rng: np.random.Generator) -> np.ndarray:
    """Return a unit vector (3,), uniformly distributed."""
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)
