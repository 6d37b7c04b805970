"""Closed loops: a cut tree, what holds its frames together, and states on one branch of the closure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..algorithms.forward_kinematics import link_poses
from ..algorithms.jacobian import jacobian
from ..errors import ModelError, ShapeError, ZvenoError, unknown_name
from ..mechanism import Mechanism

KINDS = {"point": 3, "hinge": 5, "weld": 6}
"""Equations of each kind of closure."""
CLOSED = 1e-12
"""A state is closed when its largest residual, in lengths of the mechanism or radians, is below this."""


@dataclass(frozen=True)
class Loop:
    """Two frames of a cut tree that coincide.

    Attributes:
        frame_a, frame_b: names of links or frames.
        kind: "point": their origins coincide (a ball joint at the cut; enough for a hinge in a planar loop);
            "hinge": origins and z axes coincide; "weld": they coincide altogether.
    """

    frame_a: str
    frame_b: str
    kind: str = "point"


def checked_loops(mechanism: Mechanism, loops: Sequence[Loop]) -> Sequence[Loop]:
    """The loops, refused where a frame or kind does not exist."""
    for loop in loops:
        if not isinstance(loop, Loop):
            raise ModelError(f"{loop!r} is not a loop", remedy="Give zveno.base_parameters.Loop(frame_a, frame_b)")
        if loop.kind not in KINDS:
            raise unknown_name("kind of loop", loop.kind, KINDS)
        mechanism.frame(loop.frame_a)
        mechanism.frame(loop.frame_b)
    return loops


def closure_error(mechanism: Mechanism, loops: Sequence[Loop], q) -> np.ndarray:
    """φ(q): zero where every loop is closed, in m and rad."""
    T = link_poses(mechanism, q)
    parts = []
    for loop in loops:
        T_a, T_b = (
            T[mechanism.link_number(frame.link)] @ frame.T_link_frame
            for frame in (mechanism.frame(loop.frame_a), mechanism.frame(loop.frame_b))
        )
        parts.append(T_b[:3, 3] - T_a[:3, 3])
        if loop.kind != "point":
            turned = _turning(T_a[:3, :3], T_b[:3, :3], loop.kind)
            parts.append(turned)
    return np.concatenate(parts)


def closure_jacobian(mechanism: Mechanism, loops: Sequence[Loop], q) -> np.ndarray:
    """∂φ/∂v (n_equations, n_v), exact where the loops are closed."""
    T = link_poses(mechanism, q)
    rows = []
    for loop in loops:
        a, b = mechanism.frame(loop.frame_a), mechanism.frame(loop.frame_b)
        difference = jacobian(mechanism, q, b.name) - jacobian(mechanism, q, a.name)
        rows.append(difference[:3])
        if loop.kind == "hinge":
            R = T[mechanism.link_number(a.link)][:3, :3] @ a.T_link_frame[:3, :3]
            rows.append(R.T[:2] @ difference[3:])
        elif loop.kind == "weld":
            rows.append(difference[3:])
    return np.concatenate(rows)


def _turning(R_a, R_b, kind: str) -> np.ndarray:
    """The rotation that is left between two frames, as small-angle components (hinge: across a's z axis)."""
    if kind == "hinge":
        across = np.cross(R_a[:, 2], R_b[:, 2])
        return R_a.T[:2] @ across
    between = R_b @ R_a.T
    return 0.5 * np.array([between[2, 1] - between[1, 2], between[0, 2] - between[2, 0], between[1, 0] - between[0, 1]])


def closed_states(mechanism: Mechanism, loops: Sequence[Loop], q0, count: int, rng) -> tuple[np.ndarray, np.ndarray]:
    """States that close the loops, on the branch that q0 is on, and bases of their free velocities.

    The first is q0 itself, closed by Newton's method if it is near; each other one follows from a random walk along
    the branch in short steps, each closed again.

    Returns:
        q (count, n_q) and G (count, n_v, m) with v = G u̇.
    """
    q = mechanism.neutral() if q0 is None else np.array(mechanism.checked_q(q0, "q0"), dtype=float)
    if q.shape != (mechanism.n_q,):
        raise ShapeError(f"has shape {q.shape}", element="q0", remedy=f"Give ({mechanism.n_q},)")
    q = _closed(mechanism, loops, q)
    if q is None:
        raise ModelError(
            "the loops cannot be closed near the given state", remedy="Give q0, a state on the branch that is meant"
        )
    ranks = []
    states, bases = [], []
    direction = rng.normal(size=mechanism.n_v)
    while len(states) < count:
        G, rank = _free_velocities(mechanism, loops, q)
        states.append(q)
        bases.append(G)
        ranks.append(rank)
        steps, tries = 0, 0
        while steps < 3:
            tries += 1
            if tries > 200:
                raise ZvenoError("the branch of the loops could not be followed", remedy="Give another q0")
            move = G @ (G.T @ direction)
            size = np.linalg.norm(move)
            onward = None
            if size > 1e-3:
                onward = _closed(mechanism, loops, mechanism.integrate(q, 0.15 * move / size))
            if onward is None or np.linalg.norm(mechanism.difference(q, onward)) > 0.3:
                direction = rng.normal(size=mechanism.n_v)  # turned back by a limit of the loop
                continue
            q, steps = onward, steps + 1
            G, _ = _free_velocities(mechanism, loops, q)
    # Where the loop's equations lose rank the closure is singular; such states say nothing.
    regular = [k for k, rank in enumerate(ranks) if rank == max(ranks)]
    return np.array([states[k] for k in regular]), np.array([bases[k] for k in regular])


def _closed(mechanism: Mechanism, loops: Sequence[Loop], q) -> np.ndarray | None:
    for _ in range(20):
        error = closure_error(mechanism, loops, q)
        if abs(error).max() < CLOSED:
            return q
        J = closure_jacobian(mechanism, loops, q)
        q = mechanism.integrate(q, -np.linalg.lstsq(J, error, rcond=1e-9)[0])
    return q if abs(closure_error(mechanism, loops, q)).max() < 100 * CLOSED else None


def _free_velocities(mechanism: Mechanism, loops: Sequence[Loop], q) -> tuple[np.ndarray, int]:
    J = closure_jacobian(mechanism, loops, q)
    _, s, Vt = np.linalg.svd(J)
    rank = int((s > 1e-7 * max(1.0, s[0] if s.size else 1.0)).sum())
    return Vt[rank:].T, rank
