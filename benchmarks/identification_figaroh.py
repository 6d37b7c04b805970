"""Identification by figaroh 1.0: its regressor, its choice of base parameters and its least squares.

Its steps are those of its own example of the TX40: zero-phase Butterworth filter and differences, the regressor
sample by sample with viscous and sign friction, rotors, offsets and the coupling of the wrist, decimation, double
QR. Held-out errors are in the measure of `benchmarks.identification`: rows in the band, rest left out, six
contiguous blocks, each predicted by a fit to the others.
"""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from scipy import signal

import zveno

SMOOTHING = 10.0
"""Cut-off of the positions' filter in bands, as figaroh is told; its filter has a quarter of it."""
DECIMATION, RATE = 10, 40.0
"""Largest decimation, and samples a second that it leaves, in bands."""
REST = 0.02
BLOCKS = 6


def identified(
    urdf: Path, log: zveno.identification.Log, band: float, coupled: bool = False
) -> tuple[float, np.ndarray, float] | None:
    """(CPU seconds, held-out errors (n,), over all joints) of figaroh; None where it is not installed.

    Args:
        urdf: the nominal model.
        log: the recording.
        band: Hz.
        coupled: whether joint 5 turns the motor of joint 6.
    """
    try:
        import pinocchio as pin
        from figaroh.identification.identification_tools import (
            calculate_first_second_order_differentiation as differentiated,
        )
        from figaroh.identification.identification_tools import low_pass_filter_data
        from figaroh.tools.qrdecomposition import QRDecomposer
        from figaroh.tools.regressor import build_regressor_basic, build_regressor_reduced, get_index_eliminate
    except ImportError:
        return None
    block = log.arrays()
    model = pin.buildModelFromUrdf(str(urdf))
    robot = SimpleNamespace(model=model, data=model.createData())
    config = {
        "ts": log.step,
        "cut_off_frequency_butterworth": min(SMOOTHING * band, 1.9 / log.step),
        "has_friction": True,
        "has_actuator_inertia": True,
        "has_joint_offset": True,
        "is_joint_torques": True,
        "act_idxv": list(range(model.nv)),
    }
    start = time.process_time()
    q, v, a = differentiated(model, low_pass_filter_data(block.q, config), config)
    tau = low_pass_filter_data(block.tau, config)[: len(q)]
    W = build_regressor_basic(robot, q, v, a, config)
    if coupled:
        W = np.concatenate([W, _coupling(v, a)], axis=1)
    names = {f"p{k}": 0.0 for k in range(W.shape[1])}
    none, left = get_index_eliminate(W, names, tol_e=1e-3)
    W = build_regressor_reduced(W, none)
    factor = max(1, min(DECIMATION, int(1.0 / (log.step * RATE * band))))
    rows, torques = W.reshape(model.nv, len(q), -1), tau
    if factor > 1:
        rows = signal.decimate(rows, factor, axis=1, zero_phase=True)
        torques = signal.decimate(torques, factor, axis=0, zero_phase=True)
    QRDecomposer().double_decomposition(torques.T.ravel(), rows.reshape(-1, rows.shape[2]), left)
    seconds = time.process_time() - start

    rate = 1.0 / (log.step * factor)
    low = signal.butter(4, 2.0 * band / rate, output="sos")
    every = max(1, int(rate / (4.0 * band)))
    rows = signal.sosfiltfilt(low, rows, axis=1)[:, ::every]
    torques = signal.sosfiltfilt(low, torques, axis=0)[::every].T
    speed = v[::factor][::every].T[:, : rows.shape[1]]
    moving = abs(speed) > REST * np.quantile(abs(speed), 0.99, axis=1)[:, None]
    number = np.arange(rows.shape[1]) * BLOCKS // rows.shape[1]
    squares = np.zeros(model.nv)
    for k in range(BLOCKS):
        fitted = moving & (number != k)
        qr = QRDecomposer()
        *_, phi = qr.double_decomposition(torques[fitted], rows[fitted], left)
        columns = qr.get_base_indices()
        for j in range(model.nv):
            held = moving[j] & (number == k)
            squares[j] += ((torques[j, held] - rows[j, held][:, columns] @ phi) ** 2).sum()
    power = np.where(moving, torques**2, 0.0).sum(axis=1)
    return seconds, np.sqrt(squares / power), float(np.sqrt(squares.sum() / power.sum()))


def _coupling(v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """(6 m, 3) columns of the inertia, viscous and sign friction between joints 5 and 6, joint after joint."""
    m = len(v)
    out = np.zeros((6, m, 3))
    both = np.sign(v[:, 4] + v[:, 5])
    out[4] = np.stack([a[:, 5], v[:, 5], both], axis=1)
    out[5] = np.stack([a[:, 4], v[:, 4], both], axis=1)
    return out.reshape(6 * m, 3)
