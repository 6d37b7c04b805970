"""Robots whose answers are frozen: built-in ones, a humanoid, and mechanisms that are given here as data."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import numpy as np

import zveno

from . import api


def urdf(name: str) -> Path | None:
    """A file of the package example-robot-data, None without the package."""
    try:
        found = [file for file in files("example-robot-data") or () if file.name == name]
    except PackageNotFoundError:
        return None
    return Path(str(found[0].locate())) if found else None


def rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation about a unit axis, (3, 3): Rodrigues' formula."""
    x, y, z = axis
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


def placement(rng: np.random.Generator, size: float = 0.4) -> np.ndarray:
    """A random pose, (4, 4)."""
    axis = rng.standard_normal(3)
    T = np.eye(4)
    T[:3, :3] = rotation(axis / np.linalg.norm(axis), rng.uniform(-np.pi, np.pi))
    T[:3, 3] = rng.uniform(-size, size, 3)
    return T


def body(rng: np.random.Generator) -> np.ndarray:
    """Ten inertial parameters of a body that can exist."""
    mass, center = rng.uniform(0.5, 4.0), rng.uniform(-0.1, 0.1, 3)
    points = rng.standard_normal((8, 3)) * 0.1
    I = sum((p @ p) * np.eye(3) - np.outer(p, p) for p in points) * mass / 8
    return zveno.inertia.parameters(mass, center, I)


def _axis(rng: np.random.Generator) -> np.ndarray:
    axis = rng.standard_normal(3)
    return axis / np.linalg.norm(axis)


@cache
def every_joint() -> zveno.Robot:
    """A tree with every type of joint, drives, springs and a joint that follows another."""
    rng = np.random.default_rng(20240)
    j = api.joints
    kinds = {
        "free": j.Free(),
        "turn": j.Revolute(_axis(rng)),
        "slide": j.Prismatic(_axis(rng)),
        "screw": j.Helical(_axis(rng), 0.05),
        "cross": j.Universal(),
        "plane": j.Planar(),
        "ball": j.Spherical(),
        "endless": j.Continuous(_axis(rng)),
        "welded": j.Fixed(),
        "turn2": j.Revolute(_axis(rng)),
        "follower": j.Revolute(_axis(rng)),
        "slide2": j.Prismatic(_axis(rng)),
    }
    parents = [0, 1, 2, 2, 4, 1, 6, 7, 5, 9, 3, 10]
    links = [zveno.Link("l0", body(rng))]
    joints = []
    for i, (name, kind) in enumerate(kinds.items(), start=1):
        links.append(zveno.Link(f"l{i}", body(rng)))
        single = kind.n_v == 1
        bound = 0.6 if name.startswith("slide") else 2.5
        joints.append(
            zveno.Joint(
                name,
                f"l{parents[i - 1]}",
                f"l{i}",
                kind,
                placement(rng),
                limits=zveno.Limits(-bound, bound, 3.0, 100.0) if single and name != "endless" else zveno.Limits(),
                drive=zveno.Drive(1e-4, 50.0, 0.3, 0.5, 0.1) if name in ("turn", "slide", "turn2") else None,
                mimic=zveno.Mimic("turn2", -0.7, 0.2) if name == "follower" else None,
                spring=zveno.Spring(4.0) if name == "screw" else None,
            )
        )
    frames = [zveno.Frame("hand", "l12", placement(rng, 0.1))]
    return zveno.Robot(zveno.assemble("every_joint", links, joints, frames))


@cache
def four_bar() -> zveno.Robot:
    """A planar four-bar linkage with a coupler point, closed by a loop."""
    rng = np.random.default_rng(7)
    lengths = {"crank": 0.2, "coupler": 0.5, "rocker": 0.4}

    def at(x: float) -> np.ndarray:
        T = np.eye(4)
        T[0, 3] = x
        return T

    links = [zveno.Link("ground")] + [zveno.Link(name, body(rng)) for name in lengths]
    turn = api.joints.Revolute((0.0, 0.0, 1.0))
    joints = [
        zveno.Joint("a", "ground", "crank", turn, at(0.0), drive=zveno.Drive(1e-3, 10.0, 0.1)),
        zveno.Joint("b", "crank", "coupler", turn, at(0.2)),
        zveno.Joint("c", "ground", "rocker", turn, at(0.6)),
    ]
    frames = [
        zveno.Frame("coupler_end", "coupler", at(0.5)),
        zveno.Frame("rocker_end", "rocker", at(0.4)),
        zveno.Frame("point", "coupler", at(0.25)),
    ]
    loops = [zveno.Loop("coupler_end", "rocker_end", ("x", "y"))]
    gravity = (0.0, -9.81, 0.0)
    return zveno.Robot(zveno.assemble("four_bar", links, joints, frames, gravity=gravity, loops=loops))


def four_bar_posture(crank: float) -> np.ndarray:
    """q (3,) at which the loop is closed."""
    end = 0.2 * np.array([np.cos(crank), np.sin(crank)])
    between = np.array([0.6, 0.0]) - end
    far = np.linalg.norm(between)
    along = np.arctan2(between[1], between[0])
    at_end = np.arccos((0.5**2 + far**2 - 0.4**2) / (2 * 0.5 * far))
    tip = end + 0.5 * np.array([np.cos(along + at_end), np.sin(along + at_end)])
    rocker = np.arctan2(tip[1], tip[0] - 0.6)
    return np.array([crank, along + at_end - crank, rocker])


@cache
def gripper() -> zveno.Robot:
    """An arm of three turns with two fingers of which one follows the other."""
    rng = np.random.default_rng(11)
    z = (0.0, 0.0, 1.0)
    j = api.joints
    kinds = [
        j.Revolute(z),
        j.Revolute(z),
        j.Revolute(z),
        j.Prismatic((0.0, 1.0, 0.0)),
        j.Prismatic((0.0, -1.0, 0.0)),
    ]
    names = ["q1", "q2", "q3", "finger", "other_finger"]
    parents = [0, 1, 2, 3, 3]
    links = [zveno.Link(f"l{i}", body(rng)) for i in range(6)]
    joints = [
        zveno.Joint(
            name,
            f"l{parent}",
            f"l{i + 1}",
            kind,
            placement(rng),
            limits=zveno.Limits(-2.0, 2.0) if i < 3 else zveno.Limits(0.0, 0.04),
            mimic=zveno.Mimic("finger") if i == 4 else None,
        )
        for i, (name, kind, parent) in enumerate(zip(names, kinds, parents, strict=True))
    ]
    return zveno.Robot(zveno.assemble("gripper", links, joints, [zveno.Frame("tool", "l3", placement(rng, 0.1))]))


@cache
def load(name: str) -> zveno.Robot:
    """A built-in robot."""
    return zveno.load(name)


@cache
def talos() -> zveno.Robot | None:
    """The humanoid TALOS of example-robot-data."""
    path = urdf("talos_reduced.urdf")
    if path is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return zveno.load(path, snap=True)


ROBOTS: dict[str, Callable[[], zveno.Robot | None]] = {
    "ur5": lambda: load("ur5"),
    "panda": lambda: load("panda"),
    "puma560": lambda: load("puma560"),
    "planar chain": lambda: load("chain(5)"),
    "quadruped": lambda: load("quadruped"),
    "biped": lambda: load("biped"),
    "talos": talos,
    "every joint": every_joint,
    "gripper": gripper,
    "four bar": four_bar,
}
"""Robots by name; None where a package is missing."""
