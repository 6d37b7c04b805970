"""Pose of a model frame on its tree and its derivatives, for batches of floats or one traced state.

Everything is written in elementary operations on components, so the same lines run on arrays over postures and
on the scalars of a trace.
"""

from __future__ import annotations

import numpy as np

from ..kernels import ops as zm
from .models import Block, Model, Move


def product_motion(
    model: Model,
    frame: str,
    q: np.ndarray,
    values: np.ndarray,
    tau: np.ndarray | None = None,
    side: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose T (..., 4, 4) of a frame on the tree and J (..., 6, P); arguments as for `frame_motion`."""
    columns, p, screws, _ = _walked(model, frame, q, values, tau, side)
    return _assembled(model, columns, p, screws, np.broadcast_shapes(np.shape(q)[:-1], np.shape(values)[:-1]))


def product_rates(
    model: Model,
    frame: str,
    q: np.ndarray,
    values: np.ndarray,
    tau: np.ndarray | None = None,
    side: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return T, J and the body twists Q (..., 6, n_v) of a frame by the velocities of all joints on its way."""
    columns, p, screws, passed = _walked(model, frame, q, values, tau, side)
    T, J = _assembled(model, columns, p, screws, np.broadcast_shapes(np.shape(q)[:-1], np.shape(values)[:-1]))
    Q = by_coordinates(model, J[..., model.offset_terms])
    for move, at, origin in passed:
        arm = [b - a for a, b in zip(origin, p, strict=True)]
        S = _each(move.joint.type.subspace, _coordinates(move, q))
        for k in range(S.shape[-1]):
            twist = [S[..., i, k][()] for i in range(6)]
            w = _combined(at, twist[3:])
            v = [a + b for a, b in zip(_combined(at, twist[:3]), _crossed(w, arm), strict=True)]
            for row, vector in enumerate((v, w)):
                for i, axis in enumerate(columns):
                    turned = sum((a * b for a, b in zip(axis, vector, strict=True)), start=0.0)
                    at_v = (..., 3 * row + i, move.velocity.start + k)
                    Q[at_v] = Q[at_v] + move.multiplier * turned
    return T, J, Q


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
    T = _each(move.joint.type.motion, _coordinates(move, q))
    for axis in range(3):
        p = _moved(p, columns[axis], T[..., axis, 3][()])
    return [_combined(columns, [T[..., i, k][()] for i in range(3)]) for k in range(3)], p


def _coordinates(move: Move, q):
    coordinates = q[..., move.position]
    return coordinates if move.joint.mimic is None else move.multiplier * coordinates + move.offset


def _each(function, coordinates):
    """Return a function of one state of a joint for all states, or for a traced one."""
    if coordinates.dtype == object:
        return function(coordinates)
    flat = np.array([function(x) for x in coordinates.reshape(-1, coordinates.shape[-1])])
    return flat.reshape(*coordinates.shape[:-1], *flat.shape[1:])


def _crossed(a, b):
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


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
