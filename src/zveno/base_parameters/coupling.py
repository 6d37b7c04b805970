"""Motors that turn with two joints: parameters of the coupling itself, beside those of `robot.drive_regressor`.

A motor m that joint i turns too (an entry N_mi of the transmission matrix) may show an inertia between the two
joints that its own rotor does not explain, and friction at the motor, in the velocity q̇_m + (N_mi/N_mm) q̇_i.
Identified models of wrists count these three beside the joints' own (the Stäubli TX40's Iam6, fvm6 and fsm6).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.math import sign
from ..mechanism import Mechanism

COUPLING = "coupling"
"""The kind of drive parameters that this module adds."""
SYMBOLS = ("Iam{}", "Fvm{}", "Fcm{}")
"""Inertia between the joints, viscous and Coulomb friction at the motor."""


def couplings(mechanism: Mechanism) -> list[tuple[int, int]]:
    """(motor, other joint) by velocity coordinate, for every entry of the transmission matrix off its diagonal."""
    N = mechanism.transmission_matrix
    return [(m, i) for m in range(len(N)) for i in range(len(N)) if i != m and N[m, i]]


def directions(mechanism: Mechanism) -> np.ndarray:
    """(couplings, n_v): the motor's velocity over its gear ratio is this times q̇."""
    N = mechanism.transmission_matrix
    velocities = np.zeros((len(couplings(mechanism)), mechanism.n_v))
    for k, (m, i) in enumerate(couplings(mechanism)):
        velocities[k, m], velocities[k, i] = 1.0, N[m, i] / N[m, m]
    return velocities


def coupling_regressor(mechanism: Mechanism, v: Any, a: Any) -> Any:
    """W (n_v, 3 n_c): inertia between the joints, viscous and Coulomb friction at the motor, in three blocks."""
    pairs, n = couplings(mechanism), directions(mechanism)
    inertia = [[0.0] * len(pairs) for _ in range(mechanism.n_v)]
    for k, (m, i) in enumerate(pairs):
        inertia[m][k], inertia[i][k] = a[i], a[m]
    speed = n @ v
    blocks = (np.array(inertia).reshape(mechanism.n_v, -1), n.T * speed, n.T * sign(speed))
    return np.concatenate(blocks, axis=1)


def coupling_names(mechanism: Mechanism, numbers: dict[int, str]) -> tuple[str, ...]:
    """Symbols of the columns of `coupling_regressor`; `numbers` names the link of every velocity coordinate."""
    pairs = couplings(mechanism)
    motors = [m for m, _ in pairs]
    labels = [numbers[m] if motors.count(m) == 1 else f"{numbers[m]}.{numbers[i]}" for m, i in pairs]
    return tuple(symbol.format(label) for symbol in SYMBOLS for label in labels)
