"""Pose of a model frame and its derivative by every parameter, for batches of floats or one traced state.

Everything is written in elementary operations on components, so the same lines run on arrays over postures and
on the scalars of a trace.
"""

from __future__ import annotations

import numpy as np

from ..kernels import ops as zm
from ..kernels.compile import compiled
from ..kernels.kernel import Kernel
from .models import Block, Model, Move


def frame_motion(
    model: Model,
    frame: str,
    q: np.ndarray,
    values: np.ndarray,
    tau: np.ndarray | None = None,
    side: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return T (..., 4, 4) of a frame in the world and J (..., 6, P) with T⁻¹ dT = [v, w] = J d(values).

    Args:
        model: the model.
        frame: one of its frames.
        q: joint coordinates, (..., n_q).
        values: deviations of all P parameters, (..., P).
        tau: torques that hold the robot at rest, (..., n_v), where joints of the model yield.
        side: sign of every joint's last motion, (..., n_v), where joints of the model have hysteresis; 0 if None.
    """
    columns, p, screws, _ = _walked(model, frame, q, values, tau, side)
    return _assembled(model, columns, p, screws, np.broadcast_shapes(np.shape(q)[:-1], np.shape(values)[:-1]))


def _walked(model: Model, frame: str, q, values, tau, side=None):
    """Return axes and origin of a frame in the world; for every parameter on the path (number, kind, direction,
    origin, factor); and joints of other types with the axes and origin behind them."""
    columns, p = list(_EYE), (0.0, 0.0, 0.0)
    screws: list[tuple[int, str, tuple, tuple, object]] = []
    passed = []
    for place, number in enumerate(model.paths[frame]):
        if place % 2 == 0:
            columns, p = _along_block(model.blocks[number], columns, p, values, screws)
            continue
        columns, p = _along_joint(model.moves[number], columns, p, q, values, tau, side, screws)
        if model.moves[number].sigma is None:
            passed.append((model.moves[number], columns, p))
    return columns, p, screws, passed


def pose_kernel(model: Model, frame: str) -> Kernel:
    """Compile (q, values, tau, side) → T (4, 4) and J (6, P) of `frame_motion` for batches.

    Parameters are inputs: a fit, another strategy or another robot state needs no recompilation.
    """
    n_v = model.mechanism.n_v
    inputs = {"q": (model.mechanism.n_q,), "values": (len(model.terms),), "tau": (n_v,), "side": (n_v,)}
    constants, outputs = (model, frame), ("T", "J")
    return compiled(frame_motion, inputs, constants=constants, name="calibration_pose", outputs=outputs)


def relative_motion(
    T_world_b: np.ndarray, J_b: np.ndarray, T_world_a: np.ndarray, J_a: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose (..., 4, 4) of a frame a in another one, b, and its body twist J (..., 6, k), from those of
    both in the world: T⁻¹ dT = J_a − Ad(T⁻¹) J_b. Entries may be traced."""
    Rt = np.swapaxes(T_world_b[..., :3, :3], -1, -2)
    R = Rt @ T_world_a[..., :3, :3]
    p = (Rt @ (T_world_a[..., :3, 3] - T_world_b[..., :3, 3])[..., None])[..., 0]
    T = np.zeros_like(T_world_a)
    T[..., :3, :3], T[..., :3, 3], T[..., 3, 3] = R, p, 1.0
    back, v, w = np.swapaxes(R, -1, -2), J_b[..., :3, :], J_b[..., 3:, :]
    linear = back @ (v + np.cross(w, p[..., None], axis=-2))
    return T, J_a - np.concatenate([linear, back @ w], axis=-2)


_EYE = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def _entry(array, k: int):
    return array[..., k][()]


def _along_block(block: Block, columns, p, values, screws):
    here = block.first
    for axis in range(3):
        screws.append((here + axis, "T", columns[axis], p, 1.0))
    for axis in range(3):
        p = _moved(p, columns[axis], block.T[axis, 3] + _entry(values, here + axis))
    R = block.T[:3, :3]
    columns = [_combined(columns, R[:, k]) for k in range(3)]
    for axis in range(3):
        screws.append((here + 3 + axis, "R", columns[axis], p, 1.0))
        angle = _entry(values, here + 3 + axis)
        columns = _turned(columns, axis, zm.cos(angle), zm.sin(angle))
    return columns, p


def _along_joint(move: Move, columns, p, q, values, tau, side, screws):
    if move.sigma is None:
        return _along_other_joint(move, columns, p, q)
    read = move.multiplier * _entry(q, move.position.start) + move.offset
    load = None if tau is None else _entry(tau, move.velocity.start)
    came = 0.0 if side is None else np.sign(move.multiplier) * _entry(side, move.velocity.start)
    shifts = [(number, term.shift(read, load, came)) for number, term in move.joint_terms]
    angle = read + _entry(values, move.offset_term)
    for number, shift in shifts:
        angle = angle + _entry(values, number) * shift
    angle = move.sign * angle
    kind = "TR"[move.sigma]
    direction = columns[move.axis]
    screws.append((move.offset_term, kind, direction, p, move.sign))
    for number, shift in shifts:
        screws.append((number, kind, direction, p, move.sign * shift))
    if move.sigma:
        return _turned(columns, move.axis, zm.cos(angle), zm.sin(angle)), p
    return columns, _moved(p, direction, angle)


def _along_other_joint(move: Move, columns, p, q):
    coordinates = q[..., move.position]
    if move.joint.mimic is not None:
        coordinates = move.multiplier * coordinates + move.offset
    if coordinates.dtype == object:
        T = move.joint.type.motion(coordinates)
    else:
        flat = [move.joint.type.motion(x) for x in coordinates.reshape(-1, coordinates.shape[-1])]
        T = np.array(flat).reshape(*coordinates.shape[:-1], 4, 4)
    for axis in range(3):
        p = _moved(p, columns[axis], T[..., axis, 3][()])
    return [_combined(columns, [T[..., i, k][()] for i in range(3)]) for k in range(3)], p


def _moved(p, direction, distance):
    return tuple(x + distance * d for x, d in zip(p, direction, strict=True))


def _combined(columns, weights):
    return tuple(
        columns[0][i] * weights[0] + columns[1][i] * weights[1] + columns[2][i] * weights[2] for i in range(3)
    )


def _turned(columns, axis: int, c, s):
    """Return the columns of R · R_axis(angle)."""
    j, k = (axis + 1) % 3, (axis + 2) % 3
    a, b = columns[j], columns[k]
    turned = list(columns)
    turned[j] = tuple(c * x + s * y for x, y in zip(a, b, strict=True))
    turned[k] = tuple(c * y - s * x for x, y in zip(a, b, strict=True))
    return turned


def _assembled(model: Model, columns, p, screws, batch):
    number = np.result_type(*(np.asarray(x).dtype for vector in (*columns, p) for x in vector))

    def stacked(vectors):
        out = np.empty((*batch, len(vectors), len(vectors[0])), dtype=number)
        for k, vector in enumerate(vectors):
            for i, x in enumerate(vector):
                out[..., k, i] = x
        return out

    Rt = stacked(columns)  # rows are the frame's axes: Rᵀ
    directions = stacked([direction for _, _, direction, _, _ in screws])
    arms = stacked([tuple(b - a for a, b in zip(origin, p, strict=True)) for _, _, _, origin, _ in screws])
    factors = stacked([(factor,) for *_, factor in screws])
    turning = np.array([kind == "R" for _, kind, *_ in screws])
    d = directions * factors
    crossed = np.stack(
        [
            d[..., 1] * arms[..., 2] - d[..., 2] * arms[..., 1],
            d[..., 2] * arms[..., 0] - d[..., 0] * arms[..., 2],
            d[..., 0] * arms[..., 1] - d[..., 1] * arms[..., 0],
        ],
        -1,
    )
    R = np.swapaxes(Rt, -1, -2)
    linear = np.where(turning[:, None], crossed, d) @ R
    angular = np.where(turning[:, None], d, 0.0 * d if d.dtype != object else 0.0) @ R
    J = np.zeros((*batch, 6, len(model.terms)), dtype=linear.dtype)
    places = [place for place, *_ in screws]
    J[..., :3, places] = np.swapaxes(linear, -1, -2)
    J[..., 3:, places] = np.swapaxes(angular, -1, -2)
    T = np.zeros((*batch, 4, 4), dtype=J.dtype)
    T[..., :3, :3] = R
    T[..., :3, 3] = stacked([p])[..., 0, :]
    T[..., 3, 3] = 1.0
    return T, J


def by_coordinates(model: Model, by_offsets: np.ndarray) -> np.ndarray:
    """Return derivatives (..., n_v) by joint coordinates from those by the offsets of `model.axes`, (..., axes).

    A coordinate acts as the offset of its joint, and as the offsets of the joints that mimic it.
    """
    total = np.zeros((*by_offsets.shape[:-1], model.mechanism.n_v), dtype=by_offsets.dtype)
    for k, move in enumerate(model.axes):
        total[..., move.velocity.start] += move.multiplier * by_offsets[..., k]
    return total


def other_joint_rates(
    model: Model, frame: str, q: np.ndarray, values: np.ndarray, tau: np.ndarray | None = None
) -> np.ndarray:
    """Return body twists [v, w] (..., 6, n_v) of a frame by velocities of joints that are neither revolute nor
    prismatic.

    Such joints (universal, planar, spherical, …) have no terms of their own; columns of other joints are zero.
    Arguments as for `frame_motion`, floats.
    """
    columns, p, _, passed = _walked(model, frame, q, values, tau)
    batch = np.broadcast_shapes(np.shape(q)[:-1], np.shape(values)[:-1])

    def stacked(vectors):
        return np.stack([np.stack([np.broadcast_to(x, batch) for x in v], axis=-1) for v in vectors], axis=-1)

    R, end = stacked(columns), stacked([p])[..., 0]
    rates = np.zeros((*batch, 6, model.mechanism.n_v))
    for move, at, origin in passed:
        coordinates = move.multiplier * q[..., move.position] + move.offset
        flat = [move.joint.type.subspace(x) for x in coordinates.reshape(-1, coordinates.shape[-1])]
        S = move.multiplier * np.array(flat).reshape(*coordinates.shape[:-1], 6, -1)
        inward = np.swapaxes(R, -1, -2) @ stacked(at)
        arm = np.swapaxes(R, -1, -2) @ (end - stacked([origin])[..., 0])[..., None]
        angular = inward @ S[..., 3:, :]
        linear = inward @ S[..., :3, :] + np.cross(angular, arm, axis=-2)
        rates[..., move.velocity] += np.concatenate([linear, angular], axis=-2)
    return rates


_SKEW = np.array([[0, 0, 0, 0, 0, -1, 0, 1, 0], [0, 0, 1, 0, 0, 0, -1, 0, 0], [0, -1, 0, 1, 0, 0, 0, 0, 0.0]])
"""Matrix that maps w to the entries of w×."""


def inverses(T: np.ndarray) -> np.ndarray:
    """Return the inverse of each transform."""
    out = np.zeros_like(T)
    Rt = np.swapaxes(T[..., :3, :3], -1, -2)
    out[..., :3, :3] = Rt
    out[..., :3, 3] = -(Rt @ T[..., :3, 3, None])[..., 0]
    out[..., 3, 3] = 1.0
    return out


def skews(a: np.ndarray) -> np.ndarray:
    """Return a× (..., 3, 3) of vectors (..., 3)."""
    return (a @ _SKEW).reshape(*a.shape, 3)


def displaced(T: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Return T moved by small body displacements d (..., 6): translated, then turned by a rotation vector."""
    w = d[..., 3:]
    K = skews(w)
    half = 0.5 * np.sqrt(np.einsum("...i,...i", w, w))[..., None, None] + 1e-30
    s = np.sin(half) / half
    E = np.zeros((*w.shape[:-1], 4, 4))
    # exp K = 1 + K sin θ / θ + K² (1 − cos θ) / θ²
    E[..., :3, :3] = np.eye(3) + s * np.cos(half) * K + 0.5 * s**2 * (K @ K)
    E[..., :3, 3] = d[..., :3]
    E[..., 3, 3] = 1.0
    return T @ E
