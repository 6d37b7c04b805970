"""Closed loops: a cut tree, what holds its frames together, and states on one branch of the closure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..algorithms.forward_kinematics import link_poses
from ..algorithms.jacobian import jacobian
from ..errors import ModelError, ZvenoError, unknown_name
from ..io.results import registered
from ..mechanism import Mechanism

KINDS = {"point": 3, "hinge": 5, "weld": 6}
"""Equations of each kind of closure."""
CLOSED = 1e-12
"""A state is closed when its largest residual, m or rad, is below this."""
STEP, STEPS = 0.15, 3
"""Length of a step along the branch, and steps between two states."""
SINGULAR = 0.02
"""The walk stays where the closure's smallest singular value is at least this fraction of the largest."""


@registered
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
    return 0.5 * np.array(
        [between[2, 1] - between[1, 2], between[0, 2] - between[2, 0], between[1, 0] - between[0, 1]]
    )


def closed_states(
    mechanism: Mechanism, loops: Sequence[Loop], q0, count: int, rng, own
) -> tuple[np.ndarray, np.ndarray]:
    """States that close the loops, on the branch that q0 is on, and bases of their free velocities.

    The first is q0 itself, closed by Newton's method if it is near; each other one follows from a random walk along
    the branch in short steps, each closed again. Only the velocities in the mask `own` (n_v,) move.

    Returns:
        q (count, n_q) and G (count, n_v, m) with v = G u̇.
    """
    walk = _Walk(mechanism, loops, np.asarray(own))
    q = walk.closed(q0)
    if q is None:
        raise ModelError(
            "the loops cannot be closed near the given state", remedy="Give q0, a state on the branch that is meant"
        )
    G, rank, margin = walk.free_velocities(q)
    states, bases = [q], [G]
    direction = rng.normal(size=mechanism.n_v)
    tries = 0
    while len(states) < count:
        for _ in range(STEPS):
            while (onward := walk.step(q, G, direction, rank, margin)) is None:
                direction = rng.normal(size=mechanism.n_v)  # the loop goes no further this way
                tries += 1
                if tries > 100 * count:
                    raise ZvenoError("the branch of the loops could not be followed", remedy="Give another q0")
            q, G, margin = onward
        states.append(q)
        bases.append(G)
    return np.array(states), np.array(bases)


class _Walk:
    """Steps along the closure of some loops, moving only some of the velocities."""

    def __init__(self, mechanism: Mechanism, loops: Sequence[Loop], own: np.ndarray):
        self.mechanism, self.loops, self.own = mechanism, loops, own

    def step(self, q, G, direction, rank: int, margin: float):
        """A short step along the branch: the state, its free velocities and its margin; None where there is none.

        Where the closure loses rank branches meet, so the walk turns back before that.
        """
        move = G @ (G.T @ direction)
        size = np.linalg.norm(move)
        if size < 1e-3:
            return None
        onward = self.closed(self.mechanism.integrate(q, STEP * move / size))
        if onward is None or np.linalg.norm(self.mechanism.difference(q, onward)) > 2 * STEP:
            return None
        G, found, new_margin = self.free_velocities(onward)
        return (onward, G, new_margin) if found == rank and new_margin >= min(SINGULAR, margin) else None

    def closed(self, q) -> np.ndarray | None:
        """The closed state that Newton's method reaches from q, or None."""
        for _ in range(20):
            error = closure_error(self.mechanism, self.loops, q)
            if abs(error).max() < CLOSED:
                return q
            change = np.zeros(self.mechanism.n_v)
            change[self.own] = np.linalg.lstsq(self._jacobian(q), error, rcond=1e-9)[0]
            q = self.mechanism.integrate(q, -change)
        return q if abs(closure_error(self.mechanism, self.loops, q)).max() < 100 * CLOSED else None

    def free_velocities(self, q) -> tuple[np.ndarray, int, float]:
        """Basis (n_v, m) of the velocities that keep loops closed; the closure's rank, and its margin."""
        _, s, Vt = np.linalg.svd(self._jacobian(q))
        rank = int((s > 1e-7 * s[0]).sum()) if s.size and s[0] > 0 else 0
        G = np.zeros((self.mechanism.n_v, len(Vt) - rank))
        G[self.own] = Vt[rank:].T
        return G, rank, float(s[rank - 1] / s[0]) if rank else 1.0

    def _jacobian(self, q) -> np.ndarray:
        return closure_jacobian(self.mechanism, self.loops, q)[:, self.own]
