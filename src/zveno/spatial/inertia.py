"""The ten inertial parameters of a link: the one module that owns their names, order and views.

`[m, hx, hy, hz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz]`: mass (kg), first moments h = m c (kg·m) and the inertia
tensor about the origin of the link's frame, in its axes (kg·m²). Linear in everything dynamics needs.
Functions take float or traced parameters alike, except `problems`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .vectors import skew

PARAMETER_NAMES = ("m", "hx", "hy", "hz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
N_PARAMETERS = len(PARAMETER_NAMES)
_TENSOR = ((4, 5, 7), (5, 6, 8), (7, 8, 9))
"""Where the entries of the symmetric tensor stand among the ten parameters."""


def parameters(mass: Any, center_of_mass: ArrayLike, inertia_at_center: ArrayLike) -> np.ndarray:
    """The ten parameters from mass, centre of mass (3,) and central inertia tensor (3, 3), all in link axes."""
    c = np.asarray(center_of_mass)
    K = skew(c)
    return from_moments(mass, mass * c, np.asarray(inertia_at_center) - mass * (K @ K))


def from_moments(mass: Any, first_moment: np.ndarray, inertia_at_origin: np.ndarray) -> np.ndarray:
    """The ten parameters from mass, first moment (3,) and the inertia tensor (3, 3) about the frame's origin."""
    I = inertia_at_origin
    h = first_moment
    return np.array(
        [mass, h[0], h[1], h[2], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]],
    )


def mass(p: np.ndarray) -> Any:
    """m, kg."""
    return p[0]


def first_moment(p: np.ndarray) -> np.ndarray:
    """h = m c, (3,), kg·m."""
    return p[1:4]


def tensor(p: np.ndarray) -> np.ndarray:
    """Inertia tensor about the frame's origin, (3, 3), kg·m²."""
    return np.array([[p[k] for k in row] for row in _TENSOR])


def center_of_mass(p: np.ndarray) -> np.ndarray:
    """c = h/m, (3,), m. The link must have mass."""
    return p[1:4] / p[0]


def tensor_at_center(p: np.ndarray) -> np.ndarray:
    """Inertia tensor about the centre of mass, (3, 3): I + m [c]×². The link must have mass."""
    K = skew(p[1:4])
    return tensor(p) + (K @ K) / p[0]


def pseudo_inertia(p: np.ndarray) -> np.ndarray:
    """The (4, 4) matrix ∫ [r; 1][r; 1]ᵀ dm = [[H, h], [hᵀ, m]] with H = tr(I)/2 − I (document 000)."""
    I = tensor(p)
    H = 0.5 * (I[0, 0] + I[1, 1] + I[2, 2]) * np.eye(3) - I
    h = p[1:4]
    return np.concatenate(
        [np.concatenate([H, h[:, None]], axis=1), np.concatenate([h, p[:1]])[None, :]],
    )


def from_pseudo_inertia(P: np.ndarray) -> np.ndarray:
    """The ten parameters of a (4, 4) pseudo-inertia: I = tr(H) − H."""
    H = P[:3, :3]
    return from_moments(P[3, 3], P[:3, 3], (H[0, 0] + H[1, 1] + H[2, 2]) * np.eye(3) - H)


def moved(p: np.ndarray, T_a_b: np.ndarray) -> np.ndarray:
    """The same body's parameters in frame a, from those in frame b (T P Tᵀ for the pseudo-inertia P).

    h' = Rh + m p and I' = R I Rᵀ + 2(p·Rh) − (p (Rh)ᵀ + Rh pᵀ) + m (p·p − p pᵀ), which folds to nothing
    where the frames agree.
    """
    R, t = T_a_b[:3, :3], T_a_b[:3, 3]
    m, h = p[0], R @ p[1:4]
    shifted = np.outer(t, h)
    square = t @ t
    I = R @ tensor(p) @ R.T + (2.0 * (t @ h) + m * square) * np.eye(3) - (shifted + shifted.T) - m * np.outer(t, t)
    return from_moments(m, h + m * t, I)


def problems(p: ArrayLike, tolerance: float = 1e-6) -> list[str]:
    """What keeps ten numbers from being the parameters of any real body, in words; empty if nothing does.

    A body exists if and only if its mass is positive and ∫ r rᵀ dm about the centre of mass is positive
    semidefinite, which is the triangle inequality for the principal moments. `tolerance` is relative to the
    largest moment, for files that print few digits.
    """
    p = np.asarray(p, dtype=float)
    if not p.any():
        return []
    if p[0] < 0:
        return [f"its mass is negative ({p[0]:g} kg)"]
    if p[0] == 0:
        return ["it has moments of inertia but no mass"]
    moments = np.linalg.eigvalsh(tensor_at_center(p))
    # Moving the tensor to the centre of mass loses digits where the link's frame is far from it.
    slack = tolerance * max(abs(moments).max(), 1e-12) + 1e-14 * abs(p[4:]).max()
    violations = []
    if moments[0] < -slack:
        violations.append(f"a principal moment of inertia is negative ({moments[0]:.3g} kg·m²)")
    elif moments[0] + moments[1] < moments[2] - slack:
        violations.append(
            "its principal moments {:.3g}, {:.3g}, {:.3g} kg·m² break the triangle inequality".format(*moments)
        )
    return violations
