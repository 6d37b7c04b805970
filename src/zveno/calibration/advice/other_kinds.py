"""What every kind of measurement would read in random postures, in closed form: for comparing kinds in no time.

All kinds read combinations K (m, 6) of the displacement [v, w] of the measured frame, in its own axes; unknown
frames and targets have columns N (m, u) beside it. Noise is alike in all directions: rows may be in any axes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..measurements.fit_problem import FitProblem
from ..model.batches import skews
from ..model.kinematics import pose_kernel
from .knowledge import eliminated

BESIDE = 0.1
"""m that markers are away from the origin of the measured frame, or from the last axis."""
SOCKETS_KNOWN = 1e-4
"""m to which the distance of two sockets is known."""
CLOSE = 1e-5
"""m from a target at which a posture is in contact: enough for what it would tell."""
STEPS = 7
MARKERS = BESIDE * np.array([[1.0, 0.0, 0.0], [-0.5, 0.8, 0.0], [-0.5, -0.4, 0.7]])


@dataclass(frozen=True, eq=False)
class Postures:
    """Where the measured frame is, T (n, 4, 4), and its displacements in its own axes by terms (n, 6, t) and joints
    (n, 6, n_v)."""

    q: np.ndarray
    T: np.ndarray
    J: np.ndarray
    by_joints: np.ndarray

    def __len__(self):
        return len(self.q)

    def only(self, rows) -> Postures:
        """Some of them."""
        return Postures(self.q[rows], self.T[rows], self.J[rows], self.by_joints[rows])

    def inward(self, a: np.ndarray) -> np.ndarray:
        """Vectors of the world (3,) in the frame's axes, (n, 3)."""
        return np.swapaxes(self.T[:, :3, :3], 1, 2) @ a


def at_postures(
    problem: FitProblem, columns: np.ndarray, q: np.ndarray, tau: np.ndarray, moved: np.ndarray
) -> Postures:
    """Displacements of the first frame that was measured, by columns of the model, at q (n, n_q) under torques tau.

    They are those of the nominal robot, whose structure decides what can be seen, with the frame moved by (3,).
    """
    T, J = pose_kernel(problem.model, problem.parts[0].frame)(q, problem.nominal, tau)
    if moved.any():
        T[:, :3, 3] += T[:, :3, :3] @ moved
        J[:, :3] -= skews(moved) @ J[:, 3:]
    rates = problem.by_joints(replace(problem.parts[0], tau=tau), np.zeros(J.shape[-1]), q, J)
    return Postures(q, T, J[:, :, columns], rates)


@dataclass(frozen=True, eq=False)
class Reading:
    """Rows of one kind at some postures.

    Attributes:
        K: combinations of displacements that are read, (n, m, 6).
        N: derivatives by what is not known, (n, m, u).
        sure: rows (k, u) about what is not known, of variance one: known distances.
    """

    K: np.ndarray
    N: np.ndarray
    sure: np.ndarray


@dataclass(frozen=True, eq=False)
class OtherKind:
    """A kind of measurement that could be made.

    Attributes:
        kind: its name.
        text: what is done, for people.
        units: of the components of a reading, "m" or "rad", (m,).
        read: its rows at postures.
        contact: None, or what the postures must touch: "plane", "point" or "sockets".
        distance: of two sockets, m.
        points: how many are seen on the tool.
    """

    kind: str
    text: str
    units: tuple[str, ...]
    read: Callable[[Postures], Reading]
    contact: str | None = None
    distance: float = 0.0
    points: int = 1

    def products(self, at: Postures, noise: dict[str, float], sigma_q: float, draws: int) -> Products:
        """Information of postures dealt into so many campaigns."""
        found = self.read(at)
        sigma = np.array([noise[unit] for unit in self.units])
        K = found.K / sigma[:, None]
        N = found.N / sigma[:, None]
        if sigma_q:
            worse = np.sqrt(1.0 + sigma_q**2 * np.sum((K @ at.by_joints) ** 2, axis=2, keepdims=True))
            K, N = K / worse, N / worse
        A = (K @ at.J).reshape(draws, -1, at.J.shape[2])
        N = N.reshape(draws, A.shape[1], N.shape[2])
        At, Nt = np.swapaxes(A, 1, 2), np.swapaxes(N, 1, 2)
        return Products(At @ A, At @ N, Nt @ N, found.sure.T @ found.sure)


@dataclass(frozen=True, eq=False)
class Products:
    """Products of whitened derivatives by terms A and unknowns N of several campaigns, AᵀA (d, t, t), AᵀN, NᵀN, and
    what is known about the unknowns of each, (u, u)."""

    AA: np.ndarray
    AN: np.ndarray
    NN: np.ndarray
    sure: np.ndarray

    def each(self) -> np.ndarray:
        """Information about terms, (d, t, t), where every campaign has unknowns of its own."""
        return eliminated(self.AA, self.AN, self.NN + self.sure)

    def together(self) -> np.ndarray:
        """The same, (t, t), where they are one campaign."""
        return eliminated(self.AA.sum(axis=0), self.AN.sum(axis=0), self.NN.sum(axis=0) + self.sure)


def other_kinds(distance: float) -> list[OtherKind]:
    """Every kind, for a frame whose origin is the point that is measured; two sockets are so far apart, m."""
    apart = f"{1e3 * distance:.0f} mm apart, known to {1e3 * SOCKETS_KNOWN:.2g} mm"
    six = ("m",) * 3 + ("rad",) * 3
    return [
        OtherKind("pose", "poses in the robot's world", six, lambda at: _poses(at, False, False)),
        OtherKind("relative_pose", "poses seen from anywhere", six, lambda at: _poses(at, True, False)),
        OtherKind("camera", "poses of a camera on the hand", six, lambda at: _poses(at, True, True)),
        point_kind("position", "positions in the robot's world"),
        point_kind("relative_position", "positions seen from anywhere"),
        OtherKind(
            "relative_position",
            "positions of three markers on the tool seen from anywhere",
            ("m",) * 9,
            lambda at: _positions(at, MARKERS, True, True),
            points=len(MARKERS),
        ),
        point_kind("distance", "distances to one unknown point"),
        point_kind("plane", "touches of one plane"),
        point_kind("point", "touches of one socket"),
        point_kind("sockets", f"touches of two sockets {apart}", distance=distance),
        OtherKind("direction", "directions of the tool's z axis", ("rad", "rad"), _directions),
    ]


POINT_KINDS = ("position", "relative_position", "distance", "plane", "point", "sockets")


def point_kind(kind: str, text: str, beside: np.ndarray | None = None, distance: float = 0.0) -> OtherKind:
    """A kind that measures a point: the origin of the frame, or one `beside` it (3,) that is not known exactly."""
    r, marker = (np.zeros(3), False) if beside is None else (beside, True)
    units = ("m",) * (1 if kind in ("distance", "plane") else 3)
    readers = {
        "position": lambda at: _positions(at, r[None], False, marker),
        "relative_position": lambda at: _positions(at, r[None], True, marker),
        "distance": lambda at: _distances(at, r, marker),
        "plane": lambda at: _plane(at, r, marker),
        "point": lambda at: _sockets(at, r, marker, None),
        "sockets": lambda at: _sockets(at, r, marker, distance),
    }
    contact = kind if kind in ("plane", "point", "sockets") else None
    return OtherKind(kind, text, units, readers[kind], contact, distance)


# --- rows


def _seen_from(at: Postures) -> np.ndarray:
    """Displacements of the frame, (n, 6, 6), by those of the world under it."""
    Rt = np.swapaxes(at.T[:, :3, :3], 1, 2)
    out = np.zeros((len(at), 6, 6))
    out[:, :3, :3] = out[:, 3:, 3:] = Rt
    out[:, :3, 3:] = -Rt @ skews(at.T[:, :3, 3])
    return out


def _point(r: np.ndarray) -> np.ndarray:
    """(3, 6): velocity of the point r of the frame."""
    return np.concatenate([np.eye(3), -skews(r)], axis=1)


def _joined(K: np.ndarray, n: int, N: list[np.ndarray], sure: np.ndarray | None = None) -> Reading:
    K = np.broadcast_to(K, (n, *K.shape[-2:]))
    wide = [np.broadcast_to(one, (n, *one.shape[-2:])) for one in N]
    columns = np.concatenate([*wide, np.zeros((n, K.shape[1], 0))], axis=2)
    return Reading(K, columns, np.zeros((0, columns.shape[2])) if sure is None else sure)


def _poses(at: Postures, anywhere: bool, camera: bool) -> Reading:
    K = np.eye(6)
    return _joined(K, len(at), [_seen_from(at)] * anywhere + [K] * camera)


def _positions(at: Postures, points: np.ndarray, anywhere: bool, unknown: bool) -> Reading:
    K = np.concatenate([_point(r) for r in points])
    return _joined(K, len(at), [K @ _seen_from(at)] * anywhere + [np.eye(len(K))] * unknown)


def _directions(at: Postures) -> Reading:
    return _joined(np.eye(6)[3:5], len(at), [])


def _distances(at: Postures, r: np.ndarray, unknown: bool) -> Reading:
    p = at.T[:, :3, 3] + at.T[:, :3, :3] @ r
    away = np.ptp(p, axis=0)
    u = p - (p.mean(axis=0) + 0.5 * away * [1.0, 1.0, -1.0])
    length = np.linalg.norm(u, axis=1)[:, None]
    u = (u / np.where(length > 0, length, 1.0))[:, None]
    inner = u @ at.T[:, :3, :3]
    return _joined(inner @ _point(r), len(at), [u] + [inner] * unknown)


def _plane(at: Postures, r: np.ndarray, unknown: bool) -> Reading:
    """A plane z = const of the world, of unknown height and inclination."""
    p = at.T[:, :3, 3] + at.T[:, :3, :3] @ r
    inner = at.T[:, 2:3, :3]
    columns = np.concatenate([np.ones((len(at), 1)), p[:, :2] - p[:, :2].mean(axis=0)], axis=1)[:, None]
    return _joined(inner @ _point(r), len(at), [columns] + [inner] * unknown)


def _sockets(at: Postures, r: np.ndarray, unknown: bool, distance: float | None) -> Reading:
    """Sockets in turns, where there are two."""
    K = _point(r)
    Rt = np.swapaxes(at.T[:, :3, :3], 1, 2)
    marker = [np.eye(3)] * unknown
    if distance is None:
        return _joined(K, len(at), [Rt, *marker])
    p = at.T[:2, :3, 3] + at.T[:2, :3, :3] @ r
    along = (p[1] - p[0]) / max(float(np.linalg.norm(p[1] - p[0])), 1e-9) / SOCKETS_KNOWN
    second = (np.arange(len(at)) % 2 == 1)[:, None, None]
    sure = np.concatenate([-along, along, np.zeros(3 * unknown)])[None]
    return _joined(K, len(at), [np.where(second, 0.0, Rt), np.where(second, Rt, 0.0), *marker], sure)


# --- contact


def touching(
    at: Postures, move: Callable[[np.ndarray], Postures], r: np.ndarray, goal: np.ndarray, plane: bool, lower, upper
) -> Postures:
    """Postures moved so that the point r (3,) of the frame is at the goal (3,), or at its height for a plane.

    Those that do not get there in a few steps, or not within limits, are left out.
    """
    rows = slice(2, 3) if plane else slice(0, 3)
    one, of_point = np.eye(3)[rows, rows], _point(r)
    for left in reversed(range(STEPS)):
        miss = (goal - at.T[:, :3, 3] - at.T[:, :3, :3] @ r)[:, rows]
        close = abs(miss).max(axis=1) < CLOSE
        if close.all() or not left:
            break
        slope = at.T[:, rows, :3] @ (of_point @ at.by_joints)
        damping = (1e-3 * abs(miss).max(axis=1) + 1e-9)[:, None, None] * one
        step = np.linalg.solve(slope @ np.swapaxes(slope, 1, 2) + damping, miss[..., None])
        step = (np.swapaxes(slope, 1, 2) @ step)[..., 0]
        at = move(at.q + step / np.maximum(1.0, abs(step).max(axis=1, keepdims=True) / 0.5))
    return at.only(close & (at.q >= lower).all(axis=1) & (at.q <= upper).all(axis=1))
