"""Random mechanisms of every joint type and branching, and helpers that all tests share."""

from __future__ import annotations

import numpy as np

from zveno.mechanism import (
    Continuous,
    Drive,
    Fixed,
    Frame,
    Free,
    Helical,
    Joint,
    JointType,
    Limits,
    Link,
    Mechanism,
    Mimic,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
    assemble,
)
from zveno.spatial import inertia
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

KINDS = ("revolute", "continuous", "prismatic", "fixed", "helical", "universal", "spherical", "planar", "free")
SINGLE = ("revolute", "continuous", "prismatic", "helical")


def random_axis(rng) -> np.ndarray:
    """Half the time a coordinate axis, where special cases hide; otherwise any direction."""
    if rng.random() < 0.5:
        return rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)]
    return rng.normal(size=3)


def random_joint_type(rng, kind: str) -> JointType:
    axis = random_axis(rng)
    match kind:
        case "revolute":
            return Revolute(axis)
        case "continuous":
            return Continuous(axis)
        case "prismatic":
            return Prismatic(axis)
        case "fixed":
            return Fixed()
        case "helical":
            return Helical(axis, rng.uniform(-0.3, 0.3))
        case "universal":
            return Universal(axis, np.cross(axis, rng.normal(size=3)) + 0.3 * axis * rng.random())
        case "spherical":
            return Spherical()
        case "planar":
            return Planar(axis)
        case "free":
            return Free()
    raise ValueError(kind)


def random_transform(rng) -> np.ndarray:
    """Identity, a pure translation, right angles or anything, with lengths of about half a metre."""
    p = rng.uniform(-0.5, 0.5, 3)
    return (
        np.eye(4),
        transform(None, p),
        transform(np.round(exp(np.pi / 2 * np.eye(3)[rng.integers(3)])), p),
        transform(exp(rng.normal(size=3)), p),
    )[rng.integers(4)]


def random_inertia(rng) -> np.ndarray:
    """Ten parameters of a body that exists: five to eight point masses."""
    points = rng.uniform(-0.3, 0.3, (rng.integers(5, 9), 3))
    masses = rng.uniform(0.1, 1.0, len(points))
    H = np.einsum("n,ni,nj->ij", masses, points, points)
    return inertia.from_moments(masses.sum(), masses @ points, np.trace(H) * np.eye(3) - H)


def random_mechanism(
    seed: int,
    n: int = 8,
    kinds: tuple[str, ...] = KINDS,
    branching: float = 0.4,
    mimic: float = 0.2,
    drives: bool = False,
) -> Mechanism:
    """A mechanism with `n` joints of the given kinds.

    Args:
        seed: everything else follows from it.
        n: number of joints.
        kinds: joint kinds drawn from; the first n of them appear if n ≥ len(kinds).
        branching: probability that a link is attached to a random earlier link instead of the last one.
        mimic: probability that a joint with one coordinate follows an earlier one.
        drives: whether joints get rotor inertia, gears and friction.
    """
    rng = np.random.default_rng(seed)
    chosen = list(kinds[:n]) + list(rng.choice(kinds, max(0, n - len(kinds))))
    rng.shuffle(chosen)
    links, joints = [Link("link0", random_inertia(rng))], []
    for i, kind in enumerate(chosen, start=1):
        parent = rng.integers(i) if rng.random() < branching else i - 1
        leaders = [j.name for j in joints if j.type.kind in SINGLE and j.mimic is None]
        follow = kind in SINGLE and leaders and rng.random() < mimic
        kind_type = random_joint_type(rng, str(kind))
        drive = None
        if drives and kind_type.n_v == 1:
            drive = Drive(rng.uniform(1e-4, 1e-3), rng.uniform(-100, 100), *rng.uniform(0, 1, 2), rng.normal())
        joints.append(
            Joint(
                f"joint{i}",
                f"link{parent}",
                f"link{i}",
                kind_type,
                random_transform(rng),
                random_transform(rng) if rng.random() < 0.5 else np.eye(4),
                _limits(bool(follow)) if kind in SINGLE and kind != "continuous" else Limits(),
                drive,
                Mimic(str(rng.choice(leaders)), rng.uniform(-2, 2), rng.normal()) if follow else None,
            )
        )
        links.append(Link(f"link{i}", random_inertia(rng)))
    frames = [Frame("tool", f"link{n}", random_transform(rng)), Frame("mark", "link1", random_transform(rng))]
    return assemble(f"random{seed}", links, joints, frames, gravity=rng.normal(size=3) * 5)


def _limits(follower: bool) -> Limits:
    """Of a joint; those of followers leave all of the joint that they follow."""
    reach = np.inf if follower else 2.0
    return Limits(-reach, reach, 3.0, 50.0)


def random_state(mechanism: Mechanism, seed: int):
    """q, v, a of a mechanism."""
    rng = np.random.default_rng(seed)
    return mechanism.random(rng), rng.normal(size=mechanism.n_v), rng.normal(size=mechanism.n_v)


def directional_derivative(mechanism: Mechanism, function, q, v, h: float = 1e-30):
    """d/dt f(q(t)) for q̇ = v by the complex step: exact to rounding for analytic f."""
    return np.imag(function(mechanism.integrate(q.astype(complex), 1j * h * np.asarray(v)))) / h


def relative_error(x, y) -> float:
    """Largest difference over the larger of the two magnitudes (and 1)."""
    x, y = np.asarray(x), np.asarray(y)
    return float(abs(x - y).max(initial=0.0) / max(1.0, abs(x).max(initial=0.0), abs(y).max(initial=0.0)))
