"""One branch of a closed form: a step of `zveno.ik.native.program`."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.ops import less, less_equal, logical_and
from .._judge import N_KNOWN
from ..closed_form.revolute_arms import OneBranch
from ..six_revolute.equations import product
from ..six_revolute.templates import FLIP
from ..targets import place
from .arm_tables import ArmClass


def seen_from_arm(kind: ArmClass, row: Any, T: Any) -> Any:
    """Return the target (3, 4) for evaluation, the displacement (3, 4) for the closed form, and if T is rigid."""
    arm, T = kind.numbers(row), T.reshape(4, 4)
    target, off = place(T, arm.before, 1.0 / arm.length)
    X = product(product(arm.before, T[:3]), arm.after)
    X = np.concatenate([X[:, :3], arm.scale * X[:, 3:]], axis=1)
    if kind.backwards:
        flip = FLIP[:3, :3]
        back = np.concatenate([X[:, :3].T, -(X[:, :3].T @ X[:, 3])[:, None]], axis=1)
        X = np.concatenate([flip @ back[:, :3] @ flip, (flip @ back[:, 3])[:, None]], axis=1)
    return target.ravel(), product(X, arm.end).ravel(), less_equal(off, kind.bounds.rigid)


def branch(kind: ArmClass, row: Any, signs: Any, displacement: Any) -> Any:
    """Return coordinates of one branch; flags that it may exist, that it meets no other, and that it must be
    evaluated; and its evaluation until then."""
    arm, D = kind.numbers(row), displacement.reshape(3, 4)
    options = dict(kind.options)
    q, margin, gap, *more = kind.function(
        arm.h, arm.a, arm.e, D[:, :3], D[:, 3], **options, choose=OneBranch(signs)
    )
    exists = less_equal(kind.bounds.absent, margin[0])
    if kind.tells_error:
        # An arm of few joints reaches a pose by some branches only.
        size = 1.0 + D[:, 3] @ D[:, 3] + (arm.a * arm.a).sum()
        exists = logical_and(exists, less_equal(more[0][0], kind.bounds.missed * size))
    clear = less(kind.bounds.meeting, gap[0])
    for sine in more if kind.tells_sines else ():
        clear = logical_and(clear, less(kind.bounds.meeting, sine[0]))
    x = q[0][::-1] if kind.backwards else q[0]
    return x, np.array([exists, clear]), exists, np.zeros(kind.n + N_KNOWN)
