"""The ten inertial parameters of a link: names, order and conversions, defined only here.

`[m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`: mass (kg), first moments h = m c (kg·m) and the inertia
tensor about the origin of the link's frame, in its axes (kg·m²). Joint torques are linear in them.
Functions take float or traced parameters, except `problems`, which needs floats.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .vectors import skew

PARAMETER_NAMES = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
N_PARAMETERS = len(PARAMETER_NAMES)
_TENSOR = ((4, 5, 7), (5, 6, 8), (7, 8, 9))
"""Indices of the entries of the symmetric tensor among the ten parameters."""


def parameters(mass: Any, center_of_mass: ArrayLike, inertia_at_center: ArrayLike) -> np.ndarray:
    """Build the ten parameters from mass, centre of mass (3,) and central inertia tensor (3, 3) in link axes."""
    c = np.asarray(center_of_mass)
    K = skew(c)
    return from_moments(mass, mass * c, np.asarray(inertia_at_center) - mass * (K @ K))


def from_moments(mass: Any, first_moment: np.ndarray, inertia_at_origin: np.ndarray) -> np.ndarray:
    """Build the ten parameters from mass, first moment (3,) and inertia tensor (3, 3) about the frame's origin."""
    I = inertia_at_origin
    h = first_moment
    return np.array(
        [mass, h[0], h[1], h[2], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]],
    )


def mass(p: np.ndarray) -> Any:
    """Mass m, kg."""
    return p[0]


def first_moment(p: np.ndarray) -> np.ndarray:
    """First moment h = m c, (3,), kg·m."""
    return p[1:4]


def tensor(p: np.ndarray) -> np.ndarray:
    """Inertia tensor about the frame's origin, (3, 3), kg·m²."""
    return np.array([[p[k] for k in row] for row in _TENSOR])


def center_of_mass(p: np.ndarray) -> np.ndarray:
    """Centre of mass c = h/m, (3,), m. The mass must not be zero."""
    return p[1:4] / p[0]


def tensor_at_center(p: np.ndarray) -> np.ndarray:
    """Inertia tensor about the centre of mass, (3, 3): I + m [c]×². The mass must not be zero."""
    K = skew(p[1:4])
    return tensor(p) + (K @ K) / p[0]


def pseudo_inertia(p: np.ndarray) -> np.ndarray:
    """Pseudo-inertia matrix (4, 4), ∫ [r; 1][r; 1]ᵀ dm = [[H, h], [hᵀ, m]] with H = tr(I)/2 − I (document 000)."""
    I = tensor(p)
    H = 0.5 * (I[0, 0] + I[1, 1] + I[2, 2]) * np.eye(3) - I
    h = p[1:4]
    return np.concatenate(
        [np.concatenate([H, h[:, None]], axis=1), np.concatenate([h, p[:1]])[None, :]],
    )


def from_pseudo_inertia(P: np.ndarray) -> np.ndarray:
    """Convert a (4, 4) pseudo-inertia to the ten parameters: I = tr(H) − H."""
    H = P[:3, :3]
    return from_moments(P[3, 3], P[:3, 3], (H[0, 0] + H[1, 1] + H[2, 2]) * np.eye(3) - H)


def moved(p: np.ndarray, T_a_b: np.ndarray) -> np.ndarray:
    """Transform a body's parameters from frame b to frame a (T P Tᵀ for the pseudo-inertia P).

    h' = Rh + m t and I' = R I Rᵀ + t·(Rh + h') − (t h'ᵀ + Rh tᵀ). For traced parameters this form leaves no
    arithmetic if the frames coincide.
    """
    R, t = T_a_b[:3, :3], T_a_b[:3, 3]
    m, h = p[0], R @ p[1:4]
    first = h + m * t
    along = t * (h + first)
    I = R @ tensor(p) @ R.T
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = I
    return np.array(
        [
            m,
            *first,
            xx + (along[1] + along[2]),
            xy - (t[0] * first[1] + h[0] * t[1]),
            yy + (along[0] + along[2]),
            xz - (t[0] * first[2] + h[0] * t[2]),
            yz - (t[1] * first[2] + h[1] * t[2]),
            zz + (along[0] + along[1]),
        ]
    )


def problems(p: ArrayLike, tolerance: float = 1e-6) -> list[str]:
    """Describe why no physical body can have these ten parameters; empty if they are consistent.

    A body exists if and only if its mass is positive and ∫ r rᵀ dm about the centre of mass is positive
    semidefinite, which is the triangle inequality for the principal moments. `tolerance` is relative to the
    largest moment and allows for the rounding in files.
    """
    p = np.asarray(p, dtype=float)
    if not p.any():
        return []
    if p[0] < 0:
        return [f"its mass is negative ({p[0]:g} kg)"]
    if p[0] == 0:
        return ["it has moments of inertia but no mass"]
    moments = np.linalg.eigvalsh(tensor_at_center(p))
    # Shifting the tensor to the centre of mass loses digits if the link's frame is far from it.
    slack = tolerance * max(abs(moments).max(), 1e-12) + 1e-14 * abs(p[4:]).max()
    violations = []
    if moments[0] < -slack:
        violations.append(f"a principal moment of inertia is negative ({moments[0]:.3g} kg·m²)")
    elif moments[0] + moments[1] < moments[2] - slack:
        violations.append(
            "its principal moments {:.3g}, {:.3g}, {:.3g} kg·m² violate the triangle inequality".format(*moments)
        )
    return violations
