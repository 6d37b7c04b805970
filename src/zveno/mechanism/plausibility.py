"""Plausibility checks: moving links without inertia, physically impossible inertia, implausible sizes."""

from __future__ import annotations

import warnings

import numpy as np

from ..errors import ZvenoWarning
from ..spatial import inertia
from .mechanism import Mechanism

IMPLAUSIBLE = 1e6
"""Implausible magnitude of a length in m, gravity in m/s² or mimic multiplier."""
LIGHT = 1e-2
"""Mass below which a link is considered a placeholder, kg."""
_MOST_NAMES = 20
"""Maximum number of links named in a warning."""


def rigid_clusters(mechanism: Mechanism) -> list[list[int]]:
    """Group link numbers that fixed joints connect; each group starts with the link nearest the root."""
    cluster_of, clusters = {0: 0}, [[0]]
    for i, f, joint in mechanism.outward():
        if joint.type.n_v == 0:
            cluster_of[i] = cluster_of[f]
        else:
            cluster_of[i] = len(clusters)
            clusters.append([])
        clusters[cluster_of[i]].append(i)
    return clusters


def links_without_inertia(mechanism: Mechanism) -> tuple[str, ...]:
    """Names of moving links that neither have inertia nor carry any rigidly.

    Links on fixed joints need none. An explicit zero inertia, as between the axes of a wrist, is accepted unless
    no link beyond it has inertia either.
    """
    given = np.array([link.inertia_given for link in mechanism.links])
    filled = np.array([bool(link.inertia.any()) for link in mechanism.links])
    carried = filled.copy()
    for i, f, _ in mechanism.inward():
        carried[f] |= carried[i]
    names = []
    for cluster in rigid_clusters(mechanism)[1:]:
        if not filled[cluster].any() and not (given[cluster].any() and carried[cluster].any()):
            names.append(mechanism.links[cluster[0]].name)
    return tuple(names)


def impossible_inertias(mechanism: Mechanism) -> dict[str, str]:
    """Violations, by link name, of physical consistency of the inertia."""
    by_link = {}
    for link in mechanism.links:
        with np.errstate(all="ignore"):
            try:
                problems = inertia.problems(link.inertia)
            except np.linalg.LinAlgError:
                problems = ["its inertia exceeds the range of floating point"]
        if problems:
            by_link[link.name] = "; ".join(problems)
    return by_link


def impossible_loads(mechanism: Mechanism) -> dict[str, str]:
    """Violations, by link name, that make compliance under gravity unreliable.

    These are a physically impossible inertia, a centre of mass far outside the robot, and mass without extent."""
    steps = [T for joint in mechanism.joints for T in (joint.T_parent_joint, joint.T_joint_child)]
    far = max(1.0, 2.0 * float(sum(np.linalg.norm(T[:3, 3]) for T in steps)))
    by_link = impossible_inertias(mechanism)
    for link in mechanism.links[1:]:
        mass = float(link.inertia[0])
        if link.name in by_link or mass < LIGHT:
            continue
        away = float(np.linalg.norm(inertia.center_of_mass(link.inertia)))
        if away > far:
            by_link[link.name] = f"its centre of mass is {away:.3g} m away, outside the robot"
        elif abs(inertia.tensor_at_center(link.inertia)).max() < 1e-12 * mass:
            by_link[link.name] = f"it has {mass:.3g} kg and no extent: all moments of inertia are zero"
    return by_link


def warn_without_masses(mechanism: Mechanism, gives: str, stacklevel: int = 2) -> None:
    """Warn that results which depend on masses are zero if no link has mass and no rotor has inertia."""
    rotors = any(joint.drive is not None and np.any(joint.drive.rotor_inertia) for joint in mechanism.joints)
    if not rotors and not any(link.inertia.any() for link in mechanism.links):
        warnings.warn(
            f"{mechanism.name} has no masses: {gives} zeros. Give its links masses if that is not intended",
            ZvenoWarning,
            stacklevel=stacklevel + 1,
        )


def warn_about_inertia(mechanism: Mechanism, stacklevel: int = 2) -> None:
    """Warn about moving links without inertia, and about links with physically impossible inertia."""
    missing = links_without_inertia(mechanism)
    if missing:
        warnings.warn(
            f"{mechanism.name}: {len(missing)} moving link(s) have no inertia: {_join_names(missing, ', ')}. "
            "Kinematics is not affected; dynamics takes them as massless",
            ZvenoWarning,
            stacklevel=stacklevel + 1,
        )
    impossible = [f"link {name}: {problem}" for name, problem in impossible_inertias(mechanism).items()]
    if impossible:
        warnings.warn(
            f"{mechanism.name}: no body can have the inertia of {len(impossible)} link(s): "
            f"{_join_names(impossible, '; ')}. Check signs, units and the frame the inertia is given in",
            ZvenoWarning,
            stacklevel=stacklevel + 1,
        )


def warn_about_sizes(mechanism: Mechanism, stacklevel: int = 2) -> None:
    """Warn about implausible lengths, gravity and mimic multipliers."""
    large = []
    fall = float(np.linalg.norm(mechanism.gravity))
    if fall > IMPLAUSIBLE:
        large.append(f"gravity is {fall:.3g} m/s²")
    for joint in mechanism.joints:
        length = max(float(np.linalg.norm(T[:3, 3])) for T in (joint.T_parent_joint, joint.T_joint_child))
        if length > IMPLAUSIBLE:
            large.append(f"joint {joint.name} is {length:.3g} m from the frame before")
        mimic = joint.mimic
        if mimic is not None and abs(mimic.multiplier) > IMPLAUSIBLE:
            large.append(f"joint {joint.name} follows {mimic.joint} with the multiplier {mimic.multiplier:.3g}")
    if large:
        warnings.warn(
            f"{mechanism.name}: {_join_names(large, '; ')}. Check the units; results lose digits or are not finite",
            ZvenoWarning,
            stacklevel=stacklevel + 1,
        )


def _join_names(items, separator: str) -> str:
    shown = separator.join(items[:_MOST_NAMES])
    return shown if len(items) <= _MOST_NAMES else f"{shown} and {len(items) - _MOST_NAMES} more"
