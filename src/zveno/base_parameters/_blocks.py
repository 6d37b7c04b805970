"""Rank, pivots and grouping of the base parameters, block by block.

Let h_k be the parameters of link k and of all links it carries, moved to it at the reference configuration. The
motion depends on B_k h_k alone, and each h_k is free, so every block is an independent problem. A massless link
has no parameters; its rows go to the first links with mass beyond it, which together form one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg

from ._arithmetic import Arithmetic, Matrix, Pose
from ._nodes import Node

RANK_TOLERANCE = 1e-10
"""Tolerance below which singular values of a block count as zero; lengths and gravity are scaled to about 1."""
NOISE, ROUNDING = 1e-9, 3e-14
"""Singular values between the two make the rank ambiguous; values below the second are rounding."""
PIVOT_THRESHOLDS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1e-7, 1e-8, 1e-9)
"""Residual norms that make a column a pivot; larger ones are tried if left-to-right order meets a tiny pivot."""


@dataclass(frozen=True)
class Block:
    """Rows over the parameters of a group of bodies.

    Attributes:
        bodies: link numbers of the bodies with mass.
        parent: link number of the body that receives their parameters; 0 is the ground.
        B: (rows, 10 n + drive columns), in either arithmetic.
        paths: n transforms from each body to the parent at the reference configuration.
    """

    bodies: tuple[int, ...]
    parent: int
    B: Matrix
    paths: tuple[Pose, ...]


@dataclass(frozen=True)
class Solved:
    """Rank and grouping of a block.

    Attributes:
        pivots: columns of the independent parameters.
        Y: (r, columns), identity on the pivots.
        rest: (rows, drive columns), rows of the block that concern drives alone.
        values: singular values of the link columns, with lengths and gravity scaled to 1.
    """

    pivots: np.ndarray
    Y: np.ndarray
    rest: np.ndarray
    values: np.ndarray

    def count(self, least: float) -> int:
        """Number of singular values above `least`."""
        return int((self.values > least).sum())

    def gap(self, rank: int | None = None) -> tuple[float, float]:
        """Smallest singular value that counts and largest one that does not."""
        rank = len(self.pivots) if rank is None else rank
        kept = float(self.values[rank - 1]) if rank else np.inf
        return kept, float(self.values[rank]) if rank < len(self.values) else 0.0


def _nothing(columns: int, drive: int = 0) -> Solved:
    return Solved(np.zeros(0, int), np.zeros((0, columns)), np.zeros((0, drive)), np.zeros(0))


def grouped(
    K: Arithmetic, nodes: Sequence[Node], B: Sequence[Matrix], poses: dict[int, Pose], massless: frozenset[int]
) -> list[Block]:
    """Join nodes across massless links.

    Args:
        K: the arithmetic of B and of the poses.
        nodes, B: the nodes and their blocks, parents first.
        poses: pose of every link in its node's parent at the reference, by link number.
        massless: numbers of the links without parameters.
    """
    nodes, B, poses = _without_rigid(nodes, B, poses, massless)
    home = {body: n for n, node in enumerate(nodes) for body in node.bodies}
    head = list(range(len(nodes)))  # the node nearest the root of each node's group
    for n, node in enumerate(nodes):
        if node.parent in massless:
            head[n] = head[home[node.parent]]
    members: dict[int, list[int]] = {}
    for n in range(len(nodes)):
        members.setdefault(head[n], []).append(n)
    blocks = []
    for top, group in members.items():
        if len(group) == 1 and not massless.intersection(nodes[top].bodies):
            node = nodes[top]
            blocks.append(Block(node.bodies, node.parent, B[top], tuple(poses[body] for body in node.bodies)))
        else:
            blocks.append(_join_group(K, nodes, B, poses, massless, group))
    return blocks


def _without_rigid(nodes: Sequence[Node], B: Sequence[Matrix], poses: dict[int, Pose], massless: frozenset[int]):
    """Remove massless links on fixed joints and attach their children to their parents."""
    through: dict[int, tuple[int, Pose]] = {}
    kept, blocks, placed = [], [], dict(poses)
    for node, block in zip(nodes, B, strict=True):
        parent = node.parent
        if parent in through:
            parent, T = through[parent]
            placed |= {k: T @ placed[k] for k in node.bodies}
        if len(block) == 0 and massless.issuperset(node.bodies):
            through |= {k: (parent, placed[k]) for k in node.bodies}
        else:
            kept.append(replace(node, parent=parent))
            blocks.append(block)
    return kept, blocks, placed


def _join_group(K: Arithmetic, nodes, B, poses, massless: frozenset[int], group: list[int]) -> Block:
    bodies = tuple(sorted(k for n in group for k in nodes[n].bodies if k not in massless))
    # h of every link of the group from h of the links with mass, children before parents.
    content: dict[int, Matrix] = {}
    for k in (k for n in group for k in nodes[n].bodies):
        start = 10 * bodies.index(k) if k in bodies else -10
        content[k] = K.matrix(np.eye(10, 10 * len(bodies), start, dtype=int), 10 * len(bodies))
    path = {}
    for n in reversed(group):
        for k in nodes[n].bodies:
            if nodes[n].parent in massless:
                content[nodes[n].parent] = content[nodes[n].parent] + K.carried(poses[k]) @ content[k]
    for n in group:
        for k in nodes[n].bodies:
            path[k] = path[nodes[n].parent] @ poses[k] if nodes[n].parent in massless else poses[k]
    rows = []
    for n in group:
        node_bodies, start = nodes[n].bodies, 0
        parts = []
        for k in node_bodies:
            parts.append(B[n][:, start : start + 10] @ content[k])
            start += 10
        links = sum(parts[1:], start=parts[0])
        rows.append(links if B[n].shape[1] == start else K.beside(links, B[n][:, start:]))
    return Block(bodies, nodes[group[0]].parent, K.reduced(*rows), tuple(path[k] for k in bodies))


def solve_blocks(blocks: list[Block], to_view: np.ndarray) -> list[Solved]:
    """Compute rank, pivots and grouping of every block, in parameters that `to_view` (10, 10) maps to B's."""
    solutions: list[Solved | None] = [None] * len(blocks)
    single = [k for k, block in enumerate(blocks) if len(block.bodies) == 1 and block.B.shape[1] == 10]
    if single:
        stack = np.zeros((len(single), 10, 10))
        for n, k in enumerate(single):
            B = blocks[k].B
            stack[n, : len(B)] = B if len(B) <= 10 else np.linalg.qr(B, mode="r")
        for n, solved in enumerate(_solve(stack @ to_view)):
            solutions[single[n]] = solved
    for k, block in enumerate(blocks):
        if solutions[k] is None:
            solutions[k] = _solve_wide(block, to_view)
    return solutions  # pyright: ignore[reportReturnType]  (every place is filled)


def _solve_wide(block: Block, to_view: np.ndarray) -> Solved:
    """Solve a block of several bodies, or with drive columns after its link columns."""
    width = 10 * len(block.bodies)
    B = block.B.copy()
    for j in range(len(block.bodies)):
        B[:, 10 * j : 10 * j + 10] = B[:, 10 * j : 10 * j + 10] @ to_view
    link, drive = B[:, :width], B[:, width:]
    if not B.size:
        return _nothing(B.shape[1], drive.shape[1])
    solved = solve_dense(link)
    if not drive.shape[1]:
        return solved
    U, _, _ = np.linalg.svd(link)
    rank = len(solved.pivots)
    rest = U[:, rank:].T @ drive
    # Rows that determine the pivots, applied to the drive columns as well.
    X = np.linalg.lstsq(link[:, solved.pivots], drive, rcond=None)[0] if rank else np.zeros((0, drive.shape[1]))
    return Solved(solved.pivots, np.concatenate([solved.Y, X], axis=1), rest, solved.values)


def solve_dense(rows: np.ndarray) -> Solved:
    """Compute rank, pivots and grouping of one matrix."""
    if not rows.size:
        return _nothing(rows.shape[1])
    return _solve(rows[None])[0]


def _solve(B: np.ndarray) -> list[Solved]:
    """Solve (n, rows, columns) blocks at once."""
    s = np.linalg.svd(B, compute_uv=False)
    s = s / np.maximum(1.0, s[:, :1])
    ranks = (s > RANK_TOLERANCE).sum(axis=1)
    sizes = np.sqrt(np.einsum("nij,nij->nj", B, B)).max(axis=1)
    Q, chosen = _left_to_right(B, PIVOT_THRESHOLDS[0] * sizes)
    for n in np.flatnonzero(chosen.sum(axis=1) != ranks):
        Q[n], chosen[n] = _choose_by_pivoting(B[n], int(ranks[n]), float(sizes[n]))
    # QᵀB is upper triangular on the pivots; ones at the other diagonal entries make it invertible.
    R = np.swapaxes(Q, 1, 2) @ B
    columns = np.arange(B.shape[2])
    A = np.where(chosen[:, None, :], R, np.eye(B.shape[2]))
    Y = np.linalg.solve(A, R)
    solutions = []
    for n in range(len(B)):
        pivots = columns[chosen[n]]
        rows = Y[n][pivots]
        rows[:, pivots] = np.eye(len(pivots))
        rows[abs(rows) < 1e-13 * max(1.0, abs(rows).max(initial=0.0))] = 0.0
        solutions.append(Solved(pivots, rows, np.zeros((0, 0)), s[n]))
    return solutions


def _left_to_right(B: np.ndarray, thresholds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find columns not spanned by earlier ones: (n, rows, columns) orthonormal residuals, (n, columns) mask."""
    Q = np.zeros_like(B)
    chosen = np.zeros((len(B), B.shape[2]), dtype=bool)
    for j in range(B.shape[2]):
        v = B[:, :, j]
        for _ in range(2):  # once loses digits where columns are nearly dependent
            v = v - (Q[:, :, :j] @ (np.swapaxes(Q[:, :, :j], 1, 2) @ v[:, :, None]))[:, :, 0]
        size = np.sqrt(np.einsum("ni,ni->n", v, v))
        keep = size > thresholds
        Q[:, :, j] = np.where(keep[:, None], v / np.where(keep, size, 1.0)[:, None], 0.0)
        chosen[:, j] = keep
    return Q, chosen


def _choose_by_pivoting(B: np.ndarray, rank: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    """Choose pivots if the left-to-right thresholds do not give as many as the rank."""
    for threshold in PIVOT_THRESHOLDS[1:]:
        Q, chosen = _left_to_right(B[None], np.array([threshold * size]))
        if chosen.sum() == rank:
            return Q[0], chosen[0]
    _, _, order = scipy.linalg.qr(B, mode="economic", pivoting=True)  # type: ignore[misc]  (SciPy's stubs do not know the pivots)
    order = order[:rank]
    only = np.zeros_like(B)
    only[:, order] = B[:, order]
    Q, chosen = _left_to_right(only[None], np.array([1e-14 * size]))
    return Q[0], chosen[0]
