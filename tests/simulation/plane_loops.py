"""Random plane linkages on a carrier, closed in several ways that mean the same."""

import numpy as np

import zveno
from mechanisms import random_inertia, random_joint_type
from zveno.mechanism import Frame, Joint, Link, Loop, Revolute, assemble
from zveno.spatial import inertia
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

CARRIERS = ("revolute", "prismatic", "universal", "spherical", "free", "planar", "fixed")


def bar(rng, length: float) -> np.ndarray:
    mass = rng.uniform(0.5, 3.0)
    across = mass * length**2 / 12
    return inertia.parameters(mass, np.array([length / 2, 0, 0]), np.diag([1e-3, across, across]))


def carried_four_bar(seed: int, locked="point") -> tuple[zveno.Robot, np.ndarray]:
    """A four-bar in the x–y plane of a carrier of any attitude, and a configuration that closes it.

    It closes by construction: the rocker's pivot is put where the rocker, at its angle, meets the coupler.
    """
    rng = np.random.default_rng(seed)
    crank, coupler, rocker = rng.uniform(0.1, 0.6, 3)
    angles = rng.uniform(0.3, 2.8, 3) * rng.choice([-1, 1], 3)
    reach = [crank, coupler] * np.exp(1j * np.cumsum(angles[:2]))
    pivot = reach.sum() - rocker * np.exp(1j * angles[2])
    joints = [
        Joint("carrier", "ground", "carrier", random_joint_type(rng, CARRIERS[seed % len(CARRIERS)])),
        Joint("crank", "carrier", "crank", Revolute(), transform(exp(rng.normal(size=3)), rng.normal(size=3))),
        Joint("coupler", "crank", "coupler", Revolute(), transform(None, [crank, 0, 0])),
    ]
    on_plane = transform(None, [pivot.real, pivot.imag, 0])
    joints.append(Joint("rocker", "carrier", "rocker", Revolute(), joints[1].T_parent_joint @ on_plane))
    links = [Link("ground"), Link("carrier", random_inertia(rng))]
    links += [Link("crank", bar(rng, crank)), Link("coupler", bar(rng, coupler)), Link("rocker", bar(rng, rocker))]
    frames = [
        Frame("coupler_end", "coupler", transform(None, [coupler, 0, 0])),
        Frame("rocker_end", "rocker", transform(None, [rocker, 0, 0])),
    ]
    loop = Loop("coupler_end", "rocker_end", locked)
    robot = zveno.Robot(assemble("four_bar", links, joints, frames, loops=[loop]))
    q = robot.mechanism.random(rng)
    for name, angle in zip(("crank", "coupler", "rocker"), angles, strict=True):
        q[robot.mechanism.q_slices[name]] = angle
    return robot, q


def welded_four_bar(seed: int, locked="weld") -> tuple[zveno.Robot, np.ndarray]:
    """A four-bar of five links in one chain on a carrier, whose last link is closed on the carrier."""
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.1, 0.6, 3)
    angles = rng.uniform(0.3, 2.8, 3) * rng.choice([-1, 1], 3)
    pivot = (lengths * np.exp(1j * np.cumsum(angles))).sum()
    names = ("crank", "coupler", "rocker", "foot")
    placement = transform(exp(rng.normal(size=3)), rng.normal(size=3))
    kind = random_joint_type(rng, CARRIERS[seed % len(CARRIERS)])
    joints = [Joint("carrier", "ground", "carrier", kind)]
    links = [Link("ground"), Link("carrier", random_inertia(rng))]
    for k, name in enumerate(names):
        step = placement if not k else transform(None, [lengths[k - 1], 0, 0])
        joints.append(Joint(name, ("carrier", *names)[k], name, Revolute(), step))
        links.append(Link(name, bar(rng, 0.3)))
    tilt = transform(exp(rng.normal(size=3))) if locked == "weld" else np.eye(4)
    on_plane = placement @ transform(None, [pivot.real, pivot.imag, 0])
    frames = [Frame("end", "foot", tilt), Frame("pivot", "carrier", on_plane @ tilt)]
    robot = zveno.Robot(assemble("four_bar", links, joints, frames, loops=[Loop("end", "pivot", locked)]))
    q = robot.mechanism.random(rng)
    for name, angle in zip(names, (*angles, -angles.sum()), strict=True):
        q[robot.mechanism.q_slices[name]] = angle
    return robot, q


SPECIAL = ("parallelogram", "antiparallelogram", "kite", "folding")


def special_four_bar(kind: str, seed: int, locked) -> tuple[zveno.Robot, np.ndarray]:
    """A four-bar that has a flat state, in a plane of any attitude, and a configuration that closes it.

    With `locked` it is a loop of the mechanism; otherwise the frames coupler_end and rocker_end are open.
    """
    rng = np.random.default_rng(seed)
    first, second = rng.uniform(0.2, 0.5, 2)
    turn = rng.uniform(0.2, 0.7)
    crank = first * np.exp(1j * turn)
    if kind == "kite":
        ground, coupler, rocker = first, max(second, 0.6 * first), max(second, 0.6 * first)
    elif kind == "folding":
        coupler, rocker = rng.uniform(0.4, 0.7, 2)
        ground = coupler + rocker - first
    else:
        ground, coupler, rocker = second, second, first
    across = ground - crank
    cosine = (coupler**2 + abs(across) ** 2 - rocker**2) / (2 * coupler * abs(across))
    side = {"parallelogram": 1, "antiparallelogram": -1}.get(kind, rng.choice([-1, 1]))
    tip = crank + coupler * across / abs(across) * np.exp(1j * side * np.arccos(cosine))
    base = transform(exp(rng.normal(size=3)), rng.normal(size=3))
    links = [Link("ground"), Link("crank", bar(rng, first)), Link("coupler", bar(rng, coupler))]
    links.append(Link("rocker", bar(rng, rocker)))
    joints = [
        Joint("crank", "ground", "crank", Revolute(), base),
        Joint("coupler", "crank", "coupler", Revolute(), transform(None, [first, 0, 0])),
        Joint("rocker", "ground", "rocker", Revolute(), base @ transform(None, [ground, 0, 0])),
    ]
    frames = [
        Frame("coupler_end", "coupler", transform(None, [coupler, 0, 0])),
        Frame("rocker_end", "rocker", transform(None, [rocker, 0, 0])),
    ]
    loops = [Loop("coupler_end", "rocker_end", locked)] if locked else []
    robot = zveno.Robot(assemble(kind, links, joints, frames, loops=loops))
    return robot, np.array([turn, np.angle((tip - crank) / crank), np.angle(tip - ground)])
