"""The number of identifiable parameters by closure, without sampling.

Errors of the links are twists ξ_k, fixed in the body that carries them. Seen at the measured frame, in its own
axes, the error of the pose is Σ_k Ad(T_kn⁻¹(q)) ξ_k, where T_kn leads from body k to the frame. Walking from
the tool inwards, let S be the rows through which the twist of a body is seen whatever the joints further out
do: S = 1 (6×6) at the tool for poses, S = [1 0] for positions of a point. Crossing a joint with the constant
twist s, exp(−ad_s q) turns S into its closure: the smallest space of rows that contains S and is mapped into
itself by ad_s. Rows that appear only because the joint moves are B = cl(S ad_s), and the functions they stand
for vanish for no error further out. So the blocks are independent and

    rank = rank S_tool + Σ rank B_k.

Once S is the whole space, B has 4 rows for a revolute and 2 for a prismatic joint.
"""

from __future__ import annotations

import numpy as np

from ..spatial.transforms import adjoint, inverse, transform
from ..spatial.vectors import skew
from .models import Model

TOLERANCE = 1e-10


def closure_rank(model: Model, position: bool, point=(0.0, 0.0, 0.0)) -> tuple[int, int, float]:
    """(number of identifiable parameters, displacements of the base that are seen, gap of the decisions).

    Args:
        model: a chain of revolute and prismatic joints to one frame.
        position: whether only the position of a point is measured, else the whole pose.
        point: of the frame, (3,).
    """
    path = model.paths[model.frames[0]]
    scale = model.scale
    S = np.eye(6)[:3] if position else np.eye(6)
    T = _scaled(model.blocks[path[-1]].T @ transform(None, np.asarray(point)), scale)
    S, rank, gap = S @ adjoint(inverse(T)), len(S), np.inf
    for place in range(len(path) - 2, 0, -2):
        move, block = model.moves[path[place]], model.blocks[path[place - 1]]
        s = np.zeros(6)
        s[(3 if move.sigma else 0) + move.axis] = 1.0
        B, gap = _closure(S @ _ad(s), _ad(s), gap)
        S, gap = _rows(np.concatenate([S, B]), gap)
        rank += len(B)
        S = S @ adjoint(inverse(_scaled(block.T, scale)))
    return rank, len(S), gap


def tail_axes_through(model: Model, point=(0.0, 0.0, 0.0)) -> int:
    """s: how many of the last joints are revolute with axes through a point of the frame, (3,)."""
    path = model.paths[model.frames[0]]
    p = np.array([*point, 1.0])
    count = 0
    for place in range(len(path) - 2, 0, -2):
        p = model.blocks[path[place + 1]].T @ p
        move = model.moves[path[place]]
        beside = np.delete(p[:3], move.axis)
        if move.sigma != 1 or np.linalg.norm(beside) > 1e-9 * model.scale:
            return count
        count += 1
    return count


def _scaled(T, scale: float):
    return transform(T[:3, :3], T[:3, 3] / scale)


def _ad(s):
    """ad_s of a twist [v, w]: [[w×, v×], [0, w×]]."""
    v, w = skew(s[:3]), skew(s[3:])
    return np.block([[w, v], [np.zeros((3, 3)), w]])


def _closure(rows, A, gap: float):
    """Smallest space of rows that contains `rows` and is mapped into itself by A, as an orthonormal basis."""
    basis, gap = _rows(rows, gap)
    while len(basis):
        larger, new_gap = _rows(np.concatenate([basis, basis @ A]), gap)
        if len(larger) == len(basis):
            break
        basis, gap = larger, new_gap
    return basis, gap


def _rows(rows, gap: float):
    """Orthonormal basis of the row space, and the smaller of `gap` and the gap of this decision."""
    if not len(rows):
        return rows, gap
    _, s, Vt = np.linalg.svd(rows)
    if not s[0] > TOLERANCE:
        return np.zeros((0, rows.shape[1])), min(gap, 1.0 / max(s[0], 1e-16))
    rank = int((s > TOLERANCE * s[0]).sum())
    if rank < len(s):
        gap = min(gap, float(s[rank - 1] / max(s[rank], 1e-16)))
    return Vt[:rank], gap
