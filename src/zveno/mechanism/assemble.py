"""Assembly of a mechanism: input checks, depth-first order, resolved mimic chains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError, unknown_name
from ..spatial.inertia import N_PARAMETERS
from .loops import Loop, checked_loops
from .mechanism import DEFAULT_GRAVITY, Mechanism
from .parts import Extra, Frame, Joint, Link, Mimic

ROTATION_TOLERANCE = 1e-6
MAX_MAGNITUDE = 1e50
"""Larger numbers are rejected, because products of them would overflow."""


def assemble(
    name: str,
    links: Iterable[Link],
    joints: Iterable[Joint],
    frames: Iterable[Frame] = (),
    gravity: ArrayLike = DEFAULT_GRAVITY,
    transmission: np.ndarray | None = None,
    source: str = "",
    notes: Iterable[str] = (),
    loops: Iterable[Loop] = (),
    extras: Iterable[Extra] = (),
    motors: Iterable[str] | None = None,
    reference: ArrayLike | Mapping[str, object] | None = None,
) -> Mechanism:
    """Assemble a checked mechanism from links, joints, frames and loops in any order.

    Links are sorted depth first, siblings in the order of `joints`. Invalid input raises a `ModelError` that names
    the link, joint, frame or loop. `reference` may be given by joint name; other joints are then neutral.
    """
    links, joints, frames = list(links), list(joints), list(frames)
    _reject_duplicates("link", [link.name for link in links])
    _reject_duplicates("joint", [joint.name for joint in joints])
    _reject_duplicates("frame", [link.name for link in links] + [frame.name for frame in frames])
    names = {link.name for link in links}
    _check_inertias(links)
    for joint in joints:
        _check_ends(joint, names)
    _check_limits(joints)
    _check_angles_and_springs(joints)
    _check_drives([joint for joint in joints if joint.drive is not None])
    joints = _resolve_mimics(joints)
    for frame in frames:
        if frame.link not in names:
            raise unknown_name("link", frame.link, [link.name for link in links]).located(
                element=f"frame {frame.name}"
            )
    placements = [
        (f"joint {joint.name}", T) for joint in joints for T in (joint.T_parent_joint, joint.T_joint_child)
    ]
    _check_placements(placements + [(f"frame {frame.name}", frame.T_link_frame) for frame in frames])
    if not np.all(np.abs(gravity) <= MAX_MAGNITUDE):
        raise ModelError(f"gravity {gravity} is not finite or out of range", remedy="Give three numbers in m/s²")
    closing = checked_loops(loops, {name: name for name in names} | {frame.name: frame.link for frame in frames})
    ordered_links, ordered_joints = _depth_first(links, joints)
    mechanism = Mechanism(
        name,
        ordered_links,
        ordered_joints,
        tuple(frames),
        np.asarray(gravity),
        transmission,
        source,
        tuple(notes),
        closing,
        tuple(extras),
    )
    if motors is None and reference is None:
        return mechanism
    return replace(
        mechanism,
        motors=None if motors is None else _check_motors(mechanism, tuple(motors)),
        reference=None if reference is None else _check_reference(mechanism, reference),
    )


def _check_motors(mechanism: Mechanism, motors: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of driven joints in the order of q; raise for joints without coordinates of their own."""
    for name in motors:
        if name not in mechanism.joint_names:
            raise unknown_name("joint with coordinates", name, mechanism.joint_names).located(element="motors")
    return tuple(name for name in mechanism.joint_names if name in motors)


def _check_reference(mechanism: Mechanism, reference: ArrayLike | Mapping[str, object]) -> np.ndarray:
    by_name = isinstance(reference, Mapping)
    q = mechanism.pack(reference) if by_name else mechanism.checked_q(reference, "reference")
    if q.shape != (mechanism.n_q,) or not np.isfinite(q).all():
        raise ModelError(
            "the reference configuration must be finite numbers, one per coordinate", element="reference"
        )
    return mechanism.normalized(q)


def _reject_duplicates(kind: str, names: list[str]):
    seen = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a {kind} has no name", remedy=f"Give the {kind} a name")
        if name in seen:
            raise ModelError(f"two {kind}s are named {name!r}", remedy="Names must be unique; rename one of them")
        seen.add(name)


# The numbers of all parts are checked together; one by one, the checks would take longer than the rest of the work.


def _check_inertias(links: list[Link]):
    inertia = np.array([link.inertia for link in links]).reshape(-1, N_PARAMETERS)
    for k in np.flatnonzero(~np.isfinite(inertia).all(axis=1)):
        raise ModelError(
            "its mass, centre of mass or inertia is not finite",
            element=f"link {links[k].name}",
            remedy="Give finite numbers; a link without inertia has zeros",
        )
    for k in np.flatnonzero(inertia[:, 0] < 0):
        raise ModelError(
            f"its mass is negative ({inertia[k, 0]:g} kg)",
            element=f"link {links[k].name}",
            remedy="Give a mass of zero or more",
        )


def _check_ends(joint: Joint, links: set[str]):
    where = f"joint {joint.name}"
    for role, link in (("parent", joint.parent), ("child", joint.child)):
        if link not in links:
            raise ModelError(
                f"its {role} link {link!r} does not exist",
                element=where,
                remedy="Links: " + ", ".join(sorted(links)[:20]),
            )
    if joint.parent == joint.child:
        raise ModelError(
            f"it connects link {joint.child!r} to itself", element=where, remedy="Name another link as its parent"
        )


def _check_limits(joints: list[Joint]):
    sides = []
    for joint in joints:
        limits, zero = joint.limits, np.zeros(joint.type.n_v)
        sides += [(joint, limits.lower, limits.upper), (joint, zero, limits.velocity), (joint, zero, limits.effort)]
    low, owners = _concatenate_indexed([low for _, low, _ in sides])
    high, _ = _concatenate_indexed([high for *_, high in sides])
    for k in owners[np.isnan(low) | np.isnan(high)]:
        raise ModelError(
            "a limit is NaN",
            element=f"joint {sides[k][0].name}",
            remedy="Give a number, or an infinite limit for none",
        )
    for k in owners[low > high]:
        joint, least, most = sides[k]
        raise ModelError(
            f"its limits are reversed: {least.tolist()} > {most.tolist()}",
            element=f"joint {joint.name}",
            remedy="Give the lower limit first; velocity and effort limits are positive",
        )


def _check_angles_and_springs(joints: list[Joint]):
    for joint in joints:
        where, ball = f"joint {joint.name}", joint.type.n_v == 3 and joint.type.n_q == 4
        if not joint.limits.angle > 0 or (np.isfinite(joint.limits.angle) and not ball):
            raise ModelError(
                f"its limit angle of {joint.limits.angle} is not allowed",
                element=where,
                remedy="Give a positive angle for ball joints, and lower and upper limits for other joints",
            )
        if joint.spring is None:
            continue
        stiffness, rest = np.asarray(joint.spring.stiffness), np.asarray(joint.spring.rest)
        if joint.type.kind in ("free", "fixed"):
            raise ModelError(
                f"a {joint.type.kind} joint cannot have a spring",
                element=where,
                remedy="Give springs to joints with one coordinate",
            )
        if not ((stiffness >= 0).all() and (stiffness <= MAX_MAGNITUDE).all() and np.isfinite(rest).all()):
            raise ModelError(
                "its spring is not finite, or its stiffness is negative",
                element=where,
                remedy="Give a finite stiffness of 0 or more",
            )


def _check_drives(joints: list[Joint]):
    for term in ("rotor_inertia", "gear_ratio", "viscous", "coulomb", "offset"):
        values, owners = _concatenate_indexed([getattr(joint.drive, term) for joint in joints])
        for k in owners[~(abs(values) <= MAX_MAGNITUDE)]:
            raise ModelError(
                f"its drive's {term} is not finite or out of range",
                element=f"joint {joints[k].name}",
                remedy="Give a finite number",
            )
        for k in owners[values < 0] if term in ("rotor_inertia", "viscous", "coulomb") else ():
            raise ModelError(
                f"its drive's {term} is negative", element=f"joint {joints[k].name}", remedy="Give 0 or more"
            )


def _concatenate_indexed(arrays: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Concatenate arrays; also return the index of the array that each entry belongs to."""
    owners = np.repeat(np.arange(len(arrays)), [len(array) for array in arrays])
    return np.concatenate([np.zeros(0), *arrays]), owners


def _check_placements(placements: list[tuple[str, np.ndarray]]):
    T = np.array([T for _, T in placements]).reshape(-1, 4, 4)
    for k in np.flatnonzero(~(abs(T) <= MAX_MAGNITUDE).all(axis=(1, 2))):
        raise ModelError(
            "its placement is not finite or out of range",
            element=placements[k][0],
            remedy="Give a rigid transform with lengths in metres",
        )
    R = T[:, :3, :3]
    off = abs(np.swapaxes(R, 1, 2) @ R - np.eye(3)).max(axis=(1, 2))
    off = np.maximum(off, abs(T[:, 3] - [0.0, 0.0, 0.0, 1.0]).max(axis=1))
    for k in np.flatnonzero(~((off <= ROTATION_TOLERANCE) & (np.linalg.det(R) > 0))):
        raise ModelError(
            "its placement is not a rigid transform",
            element=placements[k][0],
            remedy="The rotation must be orthonormal, det +1",
        )


def _resolve_mimics(joints: list[Joint]) -> list[Joint]:
    """Make every mimic joint refer directly to a joint with a coordinate of its own."""
    by_name = {joint.name: joint for joint in joints}
    resolved: dict[str, Mimic] = {}
    for joint in joints:
        chain = _mimic_chain(joint, by_name, resolved)
        while chain:
            follower = by_name[chain.pop()]
            mimic = _check_mimic(follower, by_name)
            onward = resolved.get(mimic.joint)
            if onward is not None:
                factor, offset = mimic.multiplier, mimic.offset
                mimic = Mimic(onward.joint, factor * onward.multiplier, factor * onward.offset + offset)
                if not _in_range(mimic):
                    raise ModelError(
                        f"its multipliers and offsets up to joint {mimic.joint} make {mimic.multiplier:.3g} · q + "
                        f"{mimic.offset:.3g}",
                        element=f"joint {follower.name}, mimic",
                        remedy="Give multipliers of ordinary size",
                    )
            resolved[follower.name] = mimic
    chained = {name for name, mimic in resolved.items() if mimic != by_name[name].mimic}
    return [replace(joint, mimic=resolved[joint.name]) if joint.name in chained else joint for joint in joints]


def _in_range(mimic: Mimic) -> bool:
    return abs(mimic.multiplier) <= MAX_MAGNITUDE and abs(mimic.offset) <= MAX_MAGNITUDE  # false for NaN


def _mimic_chain(joint: Joint, by_name: dict[str, Joint], resolved: dict[str, Mimic]) -> list[str]:
    """Follow the mimic relations from a joint; return the unresolved joints, or raise if they form a cycle."""
    chain: list[str] = []
    met: set[str] = set()
    name = joint.name
    while by_name[name].mimic is not None and name not in resolved:
        if name in met:
            raise ModelError(
                "it mimics itself" + ("" if len(chain) == 1 else " through " + ", ".join(chain[1:10])),
                element=f"joint {joint.name}",
                remedy="A mimic joint must follow a joint that moves by itself",
            )
        met.add(name)
        chain.append(name)
        name = _check_mimic(by_name[name], by_name).joint
    return chain


def _check_mimic(joint: Joint, by_name: dict[str, Joint]) -> Mimic:
    """Return the mimic relation of a joint; raise if the leader is unknown or a joint type does not allow it."""
    where, mimic = f"joint {joint.name}, mimic", joint.mimic
    assert mimic is not None
    if mimic.joint not in by_name:
        raise unknown_name("joint", mimic.joint, by_name).located(element=where)
    if not _in_range(mimic):
        raise ModelError(
            "its multiplier or offset is not finite or out of range", element=where, remedy="Give finite numbers"
        )
    for coupled in (joint, by_name[mimic.joint]):
        if coupled.type.n_q != 1:
            raise ModelError(
                f"joint {coupled.name} is {coupled.type.kind}",
                element=where,
                remedy="Only joints with one coordinate can mimic or be mimicked",
            )
    return mimic


def _depth_first(links: list[Link], joints: list[Joint]) -> tuple[tuple[Link, ...], tuple[Joint, ...]]:
    if not links:
        raise ModelError("it has no links", remedy="A mechanism needs at least its fixed link")
    by_name = {link.name: link for link in links}
    above: dict[str, Joint] = {}
    below: dict[str, list[Joint]] = {name: [] for name in by_name}
    for joint in joints:
        if joint.child in above:
            raise ModelError(
                f"link {joint.child!r} is already the child of joint {above[joint.child].name!r}",
                element=f"joint {joint.name}",
                remedy="Cut closed loops at one joint and close them with loops=[Loop(frame, other)]",
            )
        above[joint.child] = joint
        below[joint.parent].append(joint)
    roots = [name for name in by_name if name not in above]
    if len(roots) > 1:
        raise ModelError(
            "it has several root links: " + ", ".join(roots[:10]) + (" …" if len(roots) > 10 else ""),
            remedy="Connect all but one of them to the rest with a joint",
        )
    ordered_links: list[Link] = []
    ordered_joints: list[Joint] = []
    waiting: list[Joint | None] = [None] if roots else []
    while waiting:
        joint = waiting.pop()
        name = roots[0] if joint is None else joint.child
        if joint is not None:
            ordered_joints.append(joint)
        ordered_links.append(by_name[name])
        waiting.extend(reversed(below[name]))
    if len(ordered_links) < len(links):
        reached = {link.name for link in ordered_links}
        loop = [name for name in by_name if name not in reached]
        raise ModelError(
            "links " + ", ".join(loop[:10]) + " form a cycle",
            remedy="Cut closed loops at one joint and close them with loops=[Loop(frame, other)]",
        )
    return tuple(ordered_links), tuple(ordered_joints)
