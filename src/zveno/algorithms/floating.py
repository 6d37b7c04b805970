"""The equations of a mechanism that is not fixed in the world, in the blocks of document 003's last equation.

The base has six velocities of its own, with a free joint or with the document's trunk; nothing drives them:

    [I_II  I_IRᵀ] [q̈_I]   [H_I]   [0]
    [I_IR  I_RR ] [q̈_R] + [H_R] = [τ]
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, ZvenoWarning
from ..mechanism import Mechanism
from ..spatial.vectors import cross

N_BASE = 6
TRUNK_MARGIN = 1e-3
"""|cos pitch| below which the trunk is called near its singularity: velocities are then 1000 times too large."""


class Partitioned(NamedTuple):
    """Blocks of the mass matrix and the bias; I is the base (trunk or free joint), R the real joints."""

    I_II: Any
    """(..., 6, 6): the base"""
    I_IR: Any
    """(..., n, 6): how base and joints act on each other, the lower left block"""
    I_RR: Any
    """(..., n, n): the joints"""
    H_I: Any
    """(..., 6): bias of the base"""
    H_R: Any
    """(..., n): bias of the joints"""


def partitioned(M: np.ndarray, h: np.ndarray, n_base: int = N_BASE) -> Partitioned:
    """The blocks of a mass matrix M (..., n_v, n_v) and a bias h (..., n_v); the first `n_base` are the base's."""
    M, h = np.asarray(M), np.asarray(h)
    return Partitioned(
        M[..., :n_base, :n_base],
        M[..., n_base:, :n_base],
        M[..., n_base:, n_base:],
        h[..., :n_base],
        h[..., n_base:],
    )


def base_velocities(mechanism: Mechanism) -> int:
    """Number of velocities of the base: 6 on a free joint or on a trunk; a fixed mechanism is refused."""
    if _is_free(mechanism) or has_trunk(mechanism):
        return N_BASE
    raise ModelError(
        "its base is fixed, so its equations have no part that belongs to a floating base",
        element=mechanism.name,
        remedy='Let it float first: with_base("free"), or with_base("trunk") for the form of document 003',
    )


def has_trunk(mechanism: Mechanism) -> bool:
    """Whether the first six joints are a trunk: three sliding, three turning, undriven, on five massless links."""
    first = mechanism.joints[:N_BASE]
    return (
        [joint.type.sigma for joint in first] == [0, 0, 0, 1, 1, 1]
        and mechanism.tree.parents[: N_BASE + 1] == tuple(range(-1, N_BASE))
        and all(mechanism.tree.out_degree(i) == 1 for i in range(1, N_BASE))
        and not any(np.any(mechanism.links[i].inertia) for i in range(1, N_BASE))
        and all(joint.drive is None and joint.mimic is None for joint in first)
    )


def trunk_regularity(mechanism: Mechanism, q: ArrayLike) -> np.ndarray:
    """|e₄ · (e₅ × e₆)| of the trunk's turning axes, (...): 1 where they are perpendicular, 0 where two align.

    On the trunk of `with_base` it is |cos pitch|. It depends on the fifth coordinate alone, because joints 4 and 6
    turn about axes that are themselves in the product.
    """
    _, _, _, fourth, fifth, sixth = mechanism.joints[:N_BASE]
    # Axes 4 and 6 as joint 5's two frames see them.
    e4 = (fourth.T_joint_child @ fifth.T_parent_joint)[:3, :3].T @ fourth.type.parameters()["axis"]
    e6 = (fifth.T_joint_child @ sixth.T_parent_joint)[:3, :3] @ sixth.type.parameters()["axis"]
    e5 = fifth.type.parameters()["axis"]
    angle = mechanism.checked_q(q)[..., N_BASE - 2]
    normal = cross(e4, e5)
    return abs((normal @ e6) * np.cos(angle) + (normal @ cross(e5, e6)) * np.sin(angle))


def near_trunk_singularity(mechanism: Mechanism, q: ArrayLike) -> np.ndarray:
    """Whether q (..., n_q) is where the trunk's axes 4 and 6 nearly align, (...) boolean; never without a trunk."""
    if not has_trunk(mechanism):
        return np.zeros(mechanism.checked_q(q).shape[:-1], dtype=bool)
    return trunk_regularity(mechanism, q) < TRUNK_MARGIN


def warn_near_trunk_singularity(mechanism: Mechanism, q: ArrayLike) -> None:
    """Warn where a configuration is near the trunk's singularity."""
    if np.any(near_trunk_singularity(mechanism, q)):
        warnings.warn(
            f"{mechanism.name}: the trunk's axes 4 and 6 nearly align, {mechanism.joints[4].name} near ±90°; "
            'there its mass matrix is singular; with_base("free") has no such place',
            ZvenoWarning,
            stacklevel=3,
        )


def _is_free(mechanism: Mechanism) -> bool:
    return bool(mechanism.joints) and mechanism.joints[0].type.kind == "free"
