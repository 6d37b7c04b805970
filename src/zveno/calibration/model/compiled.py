"""Kernels of calibration: the pose of a model with its derivatives, and the residual of a kind of measurement."""

from __future__ import annotations

import numpy as np

from ...kernels import derivatives
from ...kernels.kernel import Kernel, load_or_build
from ...kernels.sources import source_digest
from ...kernels.trace import call, trace
from .kinematics import frame_motion
from .models import Model

_TRACED = ("calibration", "spatial")
_kernels: dict[tuple, Kernel] = {}


def pose_kernel(model: Model, frame: str) -> Kernel:
    """(q, values, tau) → T (4, 4) and J (6, P) of `frame_motion`, compiled for batches.

    Parameters are inputs: a fit, another strategy or another robot state never compiles again.
    """
    key = ("pose", model.mechanism.fingerprint, model.names, frame, source_digest(*_TRACED))
    if key not in _kernels:
        shapes = {"q": (model.mechanism.n_q,), "values": (len(model.terms),), "tau": (model.mechanism.n_v,)}

        def program():
            return trace(
                lambda q, values, tau: frame_motion(model, frame, q, values, tau),
                shapes,
                name="calibration_pose",
                outputs=("T", "J"),
            )

        _kernels[key] = load_or_build(repr(key), program)
    return _kernels[key]


def residual_kernel(kind: type) -> Kernel:
    """(T, L, R, X, y) → residual (m,) and its derivatives (m, 6) by body twists of T, L, R and X.

    Args:
        kind: a class of measurement with `residual(P, X, y)` of the product P = L T R. One kernel serves all
            robots.
    """
    key = ("residual", kind.__qualname__, source_digest(*_TRACED))
    if key not in _kernels:
        _kernels[key] = load_or_build(repr(key), lambda: _residual_program(kind))
    return _kernels[key]


def _residual_program(kind):
    frames = dict.fromkeys("TLRX", (4, 4))
    twists = {f"d{name}": (6,) for name in "TLRX"}

    def moved(T, L, R, X, y, dT, dL, dR, dX):
        product = L @ _near_one(dL) @ T @ _near_one(dT) @ R @ _near_one(dR)
        return kind.residual(product, X @ _near_one(dX), y)

    shapes = frames | {"y": (kind.n_data,)} | twists
    slopes = derivatives.jacobian(trace(moved, shapes, outputs=("r",)), wrt=tuple(twists), values=True)
    at_zero = [np.zeros(6)] * 4
    return trace(
        lambda *arrays: call(slopes, *arrays, *at_zero),
        frames | {"y": (kind.n_data,)},
        name=f"residual_{kind.__name__}",
        outputs=("r", "by_T", "by_L", "by_R", "by_X"),
    )


def _near_one(d):
    """1 + d^: a displacement by a small body twist, right to first order."""
    one, zero = 1.0, 0.0
    return np.array(
        [
            [one, -d[5], d[4], d[0]],
            [d[5], one, -d[3], d[1]],
            [-d[4], d[3], one, d[2]],
            [zero, zero, zero, one],
        ],
        dtype=object,
    )
