"""Orientations and directions spread evenly: which ones a map tries at every position."""

from __future__ import annotations

import numpy as np

from ...spatial.rotations import from_quaternion, z_to

PSI = 1.533751168755204288118041
"""ψ⁴ = ψ + 4, of the super-Fibonacci spiral (Alexa 2022)."""


def spread_rotations(n: int) -> np.ndarray:
    """Return n rotations (n, 3, 3) on a super-Fibonacci spiral: low discrepancy on SO(3) (Alexa, CVPR 2022)."""
    s = np.arange(n) + 0.5
    r, R = np.sqrt(s / n), np.sqrt(1.0 - s / n)
    alpha, beta = 2.0 * np.pi * s / np.sqrt(2.0), 2.0 * np.pi * s / PSI
    quaternions = np.stack([R * np.cos(beta), r * np.sin(alpha), r * np.cos(alpha), R * np.sin(beta)], axis=1)
    return np.array([from_quaternion(q) for q in quaternions])


def spread_directions(n: int) -> np.ndarray:
    """Return n rotations (n, 3, 3) whose z axes lie on a Fibonacci spiral over the sphere."""
    s = np.arange(n) + 0.5
    height, turn = 1.0 - 2.0 * s / n, np.pi * (3.0 - np.sqrt(5.0)) * s
    across = np.sqrt(1.0 - height * height)
    axes = np.stack([across * np.cos(turn), across * np.sin(turn), height], axis=1)
    return np.array([z_to(axis) for axis in axes])
