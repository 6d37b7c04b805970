"""Postures for the study of structure: random within limits, and pulled into contact where a kind needs contact."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ...mechanism import Mechanism
from ...spatial.rotations import exp, z_to
from ...spatial.transforms import transform
from ..measurements import Measurement
from ..measurements.campaigns import Campaign
from ..measurements.residual_slopes import residual_kernel
from ..measurements.system import System
from ..model.kinematics import frame_motion, pose_kernel
from ..model.models import Model

N_GROUPS = 6
"""Sockets or planes imagined where none were measured."""


def random_postures(mechanism: Mechanism, n: int, rng: np.random.Generator) -> np.ndarray:
    """(n, n_q) coordinates, uniform within limits, unlimited angles within ±π."""
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
    gravity: Callable | None = None,
    groups: Sequence[str] = (),
    placed: Mapping[str, np.ndarray] | None = None,
) -> System:
    """A campaign of `n` random postures with noise-free readings, as a system whose residuals are zero.

    Postures that touch something are solved for: random ones pulled into contact.

    Args:
        model, kind, n, seed, gravity: what is measured, how often, and how postures and places are drawn.
        groups: what the postures touch, in turns; six imagined places if empty.
        placed: frames (4, 4) of unknowns by label, where they are not to be drawn.
    """
    rng = np.random.default_rng(seed)
    mechanism = model.mechanism
    q = random_postures(mechanism, n, rng)
    things = len(kind.right) * len(kind.targets)
    named = _imagined_groups(kind, n, groups)
    campaign = Campaign(kind, q, np.zeros((n, things, kind.n_data)), named, kind.kind, np.arange(1, n + 1))
    system = System(model, [campaign], gravity)
    _place_targets(system, rng)
    for k, one in enumerate(system.unknowns):
        if placed and one.label in placed:
            system.frames[system.frame_number(k)] = placed[one.label]
    if kind.implicit:
        q, touching = pulled(system, 0, q, many=lambda k: random_postures(mechanism, k, rng))
        found = {one.label: system.frames[system.frame_number(k)] for k, one in enumerate(system.unknowns)}
        system = System(model, [replace(campaign, q=q).only(touching)], gravity)
        for k, one in enumerate(system.unknowns):
            system.frames[system.frame_number(k)] = found[one.label]
    return system


def pulled(
    system: System,
    number: int,
    q: np.ndarray,
    many: Callable | None = None,
    tolerance: float = 1e-12,
    values: np.ndarray | None = None,
    compiled: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Postures moved, as little as needed, so that the nominal robot has zero residual in every row of a part.

    A measured contact leaves a residual with the nominal model; its derivatives there make more parameters look
    identifiable than are. Structure is decided where the residual is zero.

    Args:
        system: the rows; frames as they stand in it.
        number: which part.
        q: postures to start from.
        many: makes other random postures for rows that do not converge.
        tolerance: of the residual, in units of the robot's size.
        values: deviations of the model's parameters, (P,), where not the nominal robot is to touch.
        compiled: whether the pose comes from a kernel, where one is needed anyway.

    Returns:
        The postures, and for each whether it touches.
    """
    part = system.parts[number]
    values = np.zeros(len(system.model.terms)) if values is None else values
    kernel = residual_kernel(type(part.measurement))
    motion = pose_kernel(system.model, part.frame) if compiled else partial(frame_motion, system.model, part.frame)
    L, R, X = (system.frames[index] for index in (part.left, part.right, part.target))
    length = system.model.scale
    q = q.copy()
    waiting = np.arange(len(q))
    for attempt in range(1 if many is None else 6):
        if attempt and many is not None:
            q[waiting] = many(len(waiting))
        for _ in range(30):
            T, J = motion(q[waiting], values, part.tau[waiting])
            r, by_T, *_ = kernel(T, L[waiting], R[waiting], X[waiting], part.y[waiting])
            touching = abs(r).max(axis=1) < tolerance * length
            slope, r, waiting = (by_T @ system.by_q(J))[~touching], r[~touching], waiting[~touching]
            if not len(waiting):
                return q, np.ones(len(q), dtype=bool)
            damping = 1e-3 * np.linalg.norm(r, axis=1)[:, None, None] * length * np.eye(r.shape[1])
            step = np.linalg.solve(slope @ np.swapaxes(slope, 1, 2) + damping, -r[..., None])
            dq = (np.swapaxes(slope, 1, 2) @ step)[..., 0]
            shorter = np.maximum(1.0, abs(dq).max(axis=1, keepdims=True) / 0.5)
            q[waiting] = _integrated(system.model.mechanism, q[waiting], dq / shorter)
    return q, ~np.isin(np.arange(len(q)), waiting)


def _integrated(mechanism: Mechanism, q, dq):
    if mechanism.n_q == mechanism.n_v:
        return q + dq
    return np.array([mechanism.integrate(a, b) for a, b in zip(q, dq, strict=True)])


def _imagined_groups(kind: Measurement, n: int, groups: Sequence[str]) -> tuple[str, ...]:
    if kind.grouped is None:
        return ()
    names = groups or [f"place{k // 2}/hole{k % 2}" for k in range(N_GROUPS)]
    return tuple(names[k % len(names)] for k in range(n))


def _place_targets(system: System, rng: np.random.Generator):
    """Targets without a value where the robot can reach them; sockets of a place at their distance."""
    part = system.parts[0]
    T, _ = frame_motion(system.model, part.frame, part.q, np.zeros(len(system.model.terms)), part.tau)
    reach = (system.frames[part.left] @ T[part.posture] @ system.frames[part.right])[:, :3, 3]
    for number, unknown in enumerate(system.unknowns):
        at = system.frame_number(number)
        rows = np.flatnonzero(part.target == at)
        if not len(rows) or unknown.given:
            continue
        p = reach[rows[rng.integers(len(rows))]]
        if part.measurement.implicit:
            turn = z_to(_direction(rng)) if 3 in unknown.free else np.eye(3)
            system.frames[at] = transform(turn, p)
        else:
            system.frames[at] = transform(exp(np.zeros(3)), p + 0.3 * system.model.scale * _direction(rng))
    for a, b, distance, _ in system.constraints:
        system.frames[b, :3, 3] = system.frames[a, :3, 3] + distance * _direction(rng)


def _direction(rng) -> np.ndarray:
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)
