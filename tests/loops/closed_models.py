"""Small mechanisms with closed loops of known mobility, built for the tests."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import zveno
from zveno import Frame, Joint, Link, Loop, joints, transforms
from zveno.mechanism.edit import rebuilt


def at(x=0.0, y=0.0, z=0.0, rpy=(0.0, 0.0, 0.0)) -> np.ndarray:
    return transforms.transform(zveno.rotations.from_rpy(rpy), [x, y, z])


def body(mass=1.0, x=0.1):
    return zveno.inertia.parameters(mass, np.array([x, 0.0, 0.0]), 0.01 * np.eye(3))


def four_bar(locked=("x", "y"), a=0.3, b=0.5, c=0.4, d=0.5, motors=("crank",), tilt=0.0) -> zveno.Mechanism:
    """Crank a, coupler b and rocker c over a base of d, in the xy plane; `tilt` turns the rocker's axis."""
    links = [Link(name, body()) for name in ("ground", "crank", "coupler", "rocker")]
    bars = [
        Joint("crank", "ground", "crank", joints.Revolute()),
        Joint("coupler", "crank", "coupler", joints.Revolute(), at(a)),
        Joint("rocker", "ground", "rocker", joints.Revolute(), at(d, rpy=(tilt, 0.0, 0.0))),
    ]
    frames = [Frame("end", "coupler", at(b)), Frame("top", "rocker", at(c))]
    loops = [Loop("end", "top", locked)]
    return zveno.assemble(
        "four_bar", links, bars, frames, loops=loops, motors=motors, reference={"crank": 1.2, "rocker": 1.8}
    )


def carried(mechanism: zveno.Mechanism) -> zveno.Mechanism:
    """Put a mechanism with loops on a turntable and a tilted arm."""
    root = mechanism.links[0].name
    links = [Link("world"), Link("turntable", body()), *mechanism.links]
    carrier = [
        Joint("yaw", "world", "turntable", joints.Revolute()),
        Joint("tilt", "turntable", root, joints.Revolute((0.6, 0.8, 0.0)), at(0.1, 0.2, 0.3, (0.3, -0.7, 1.1))),
    ]
    motors = None if mechanism.motors is None else ("yaw", "tilt", *mechanism.motors)
    return rebuilt(mechanism, links=links, joints=[*carrier, *mechanism.joints], motors=motors)


def loop_of_joints(types, rng, locked="weld", motors=("j0",)) -> zveno.Mechanism:
    """One chain of random placements whose last link closes on the ground at the neutral configuration."""
    links, chain, T = [Link("ground")], [], np.eye(4)
    for k, kind in enumerate(types):
        step = transforms.exp(rng.normal(size=6) * 0.6)
        links.append(Link(f"l{k}", body()))
        chain.append(Joint(f"j{k}", links[-2].name, f"l{k}", kind, step))
        T = T @ step @ kind.motion(kind.neutral())
    frames = [Frame("tip", links[-1].name), Frame("mate", "ground", T)]
    loops = [Loop("tip", "mate", locked)]
    mechanism = zveno.assemble("loop", links, chain, frames, loops=loops, motors=motors)
    return replace(mechanism, reference=mechanism.neutral())


JOINTS = (
    joints.Revolute((0.0, 0.6, 0.8)),
    joints.Prismatic((1.0, 0.0, 0.0)),
    joints.Helical((0.0, 0.0, 1.0), 0.05),
    joints.Universal(),
    joints.Spherical(),
    joints.Planar(),
    joints.Free(),
)
"""One joint of every kind."""
