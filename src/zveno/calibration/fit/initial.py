"""First values of unknown frames, points, planes and centres, in closed form, from the nominal robot."""

from __future__ import annotations

import numpy as np

from ...errors import ZvenoError
from ...fit.triangle import triangle
from ...spatial.rotations import nearest_rotation, z_to
from ...spatial.transforms import transform
from ..measurements import Distance, Plane
from ..measurements.system import Part, System
from ..model.batches import inverses

MIN_ROWS = 3


def first_frames(system: System, values: np.ndarray, rows: list[np.ndarray] | None = None) -> np.ndarray:
    """All frames with a first value for every unknown that has none.

    Args:
        system: the rows.
        values: parameters of the model, (P,).
        rows: for every part, which rows may be used; all if None.
    """
    frames = system.frames.copy()
    done = {unknown.label for unknown in system.unknowns if unknown.given}
    for k, part in enumerate(system.parts):
        T, _ = system.poses(part, values, part.q)
        use = part.known.all(axis=1) if rows is None else part.known.all(axis=1) & rows[k]
        if use.sum() < MIN_ROWS:
            use = part.known.all(axis=1)
        _check_complete(system, k, use, done)
        _seen_from_and_in(system, part, T[part.posture], use, frames, done)
        _targets(system, part, T[part.posture], use, frames, done)
    return frames


def _check_complete(system: System, number: int, use: np.ndarray, done: set[str]):
    """Refuse rows of which none is complete where they must say where something is."""
    part = system.parts[number]
    slots = np.unique(np.concatenate([part.left, part.right, part.target]))
    wanted = [
        label for frame in slots if (label := _unknown_label(system, frame)) is not None and label not in done
    ]
    if wanted and not use.any():
        raise ZvenoError(
            f"no row has all its numbers, and without one {', '.join(wanted)} cannot be placed",
            element=system.campaigns[number].name,
            remedy="Measure some rows completely, or give the frames that are known",
        )


def _unknown_label(system: System, frame: int) -> str | None:
    number = system._unknown_of[frame]
    return None if number < 0 else system.unknowns[number].label


def _seen_from_and_in(system: System, part: Part, T, use, frames, done):
    """L and R."""
    left = int(part.left[0])
    label = _unknown_label(system, left)
    find_left = label is not None and label not in done
    rights = np.unique(part.right)
    find_right = [r for r in rights if (name := _unknown_label(system, r)) is not None and name not in done]
    free_points = [r for r in rights if _unknown_label(system, r) is not None]
    kind = part.measurement
    if kind.n_data == 12:
        Y = np.tile(np.eye(4), (len(part.y), 1, 1))
        Y[:, :3, 3], Y[:, :3, :3] = part.y[:, :3], part.y[:, 3:].reshape(-1, 3, 3)
        if find_left and find_right:
            frames[left], frames[find_right[0]] = hand_eye(T[use], Y[use])
        elif find_left:
            frames[left] = _mean_frame(Y[use] @ inverses(T[use] @ frames[part.right[use]]))
        elif find_right:
            frames[find_right[0]] = _mean_frame(inverses(frames[part.left[use]] @ T[use]) @ Y[use])
    elif kind.n_data == 3 and not kind.implicit and find_left:
        if 0 not in system.unknowns[system._unknown_of[left]].free:  # a direction has no place
            seen = (T[use] @ frames[part.right[use]])[:, :3, 2]
            frames[left] = transform(_turn(seen, part.y[use]))
        else:
            for _ in range(20 if free_points else 1):
                frames[left] = _aligned((T[use] @ frames[part.right[use]])[:, :3, 3], part.y[use])
                _points_in(part, T, use, frames, free_points)
    if label is not None:
        done.add(label)
    done.update(name for r in find_right if (name := _unknown_label(system, r)))


def _points_in(part: Part, T, use, frames, points):
    """Points fixed in the frame, each the mean over postures of where it was seen."""
    for frame in points:
        rows = use & (part.right == frame)
        seen = (
            inverses(frames[part.left[rows]] @ T[rows])
            @ np.column_stack([part.y[rows], np.ones(rows.sum())])[..., None]
        )
        frames[frame, :3, 3] = seen[:, :3, 0].mean(axis=0)


def _targets(system: System, part: Part, T, use, frames, done):
    p = (frames[part.left] @ T @ frames[part.right])[:, :3, 3]
    for frame in np.unique(part.target):
        label = _unknown_label(system, frame)
        if label is None or label in done:
            continue
        rows = part.target == frame
        rows = rows & use if (rows & use).any() else rows
        if isinstance(part.measurement, Plane):
            center = p[rows].mean(axis=0)
            normal = np.linalg.svd(p[rows] - center)[2][-1]
            frames[frame] = transform(z_to(normal), center)
        elif isinstance(part.measurement, Distance):
            frames[frame] = transform(None, sphere_centre(p[rows], part.y[rows, 0]))
        else:
            frames[frame] = transform(None, p[rows].mean(axis=0))
        done.add(label)


def hand_eye(T: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L and R with Y_i = L T_i R: rotations from one null vector, then translations by least squares.

    R_Lᵀ R_Y = R_T R_R is linear in the 18 entries of both rotations.
    """
    one = np.eye(3)
    rows = [np.hstack([np.kron(one, y[:3, :3].T), -np.kron(t[:3, :3], one)]) for t, y in zip(T, Y, strict=True)]
    null = np.linalg.svd(triangle(np.concatenate(rows)))[2][-1]
    A, B = null[:9].reshape(3, 3), null[9:].reshape(3, 3)
    sign = np.sign(np.linalg.det(A)) or 1.0
    R_L, R_R = nearest_rotation(sign * A).T, nearest_rotation(sign * B)
    G = np.concatenate([np.hstack([one, R_L @ t[:3, :3]]) for t in T])
    h = np.concatenate([y[:3, 3] - R_L @ t[:3, 3] for t, y in zip(T, Y, strict=True)])
    R = triangle(np.column_stack([G, h]))
    x = np.linalg.lstsq(R[:, :6], R[:, 6], rcond=None)[0]
    return transform(R_L, x[:3]), transform(R_R, x[3:])


def sphere_centre(p: np.ndarray, d: np.ndarray) -> np.ndarray:
    """c with |p_i − c| = d_i by linear least squares: differences of the squared equations.

    Points that lie nearly in a plane leave two mirror images; the one the data prefer is taken.
    """
    center = p.mean(axis=0)
    g, radius = p - center, d**2
    rhs = 0.5 * (np.sum(g**2, axis=1) - radius)
    U, s, Vt = np.linalg.svd(g, full_matrices=False)
    c = Vt.T @ ((U.T @ (rhs - rhs.mean())) / np.where(s > 1e-6 * s[0], s, np.inf))

    def misfit(x):
        return np.linalg.norm(np.linalg.norm(g - x, axis=1) - d)

    height = np.sqrt(max(0.0, float(np.mean(radius) - np.mean(np.sum((g - c) ** 2, axis=1)))))
    choices = [c, c + height * Vt[-1], c - height * Vt[-1]]
    return center + min(choices, key=misfit)


def _aligned(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The proper rigid transform nearest to b_i = T a_i (never a reflection)."""
    ca, cb = a.mean(axis=0), b.mean(axis=0)
    R = _turn(a - ca, b - cb)
    return transform(R, cb - R @ ca)


def _turn(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return nearest_rotation(b.T @ a)


def _mean_frame(T: np.ndarray) -> np.ndarray:
    return transform(nearest_rotation(T[:, :3, :3].sum(axis=0)), np.median(T[:, :3, 3], axis=0))
