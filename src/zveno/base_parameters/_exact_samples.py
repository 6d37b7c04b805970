"""Joints that share a coordinate, in exact arithmetic, sampled at enough rational points for a proof.

Let u = L w, where L makes all ratios integers. A joint that rotates by r u + o then has the cosine and sine of an
integer multiple of w, and these are rational if tan(w/2) is. The rows of a node are trigonometric polynomials of w
of known degree D (and polynomials of a length). A combination that vanishes at 2D + 1 different points vanishes
everywhere, so the span of the samples is the span of the functions. An angle and a length that follow the same
coordinate, as in a rack and pinion, are sampled independently. This changes no span, because u is not an algebraic
function of cos u and sin u.

A closed loop whose joints move in constant proportion, such as a parallelogram, is treated in the same way. Its
closure is checked exactly at the same points, and therefore holds everywhere on the branch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from ..mechanism import Loop, Mechanism
from ..spatial.exact_numbers import (
    IDENTITY,
    ZERO,
    Matrix,
    NotExact,
    Surd,
    cosine,
    decimal,
    exact_transform,
    steps_of_15,
)
from ._nodes import Node
from ._samples import Sample, Samples

MOST_POINTS = 100
"""Maximum number of samples of a node; beyond it, floating point is used."""


class Follower(NamedTuple):
    """Joint of a node that moves by ratio · u + offset, where u is coordinate number `lead`."""

    body: int
    parent: int
    before: Matrix
    after: Matrix
    axis: int
    sign: int
    turns: bool
    slides: Fraction
    lead: int
    ratio: Fraction
    offset: float


def followers(mechanism: Mechanism, node: Node, loop: Samples | None) -> list[Follower]:
    """Express a node's joints by its independent coordinates; raise `NotExact` if they are not in proportion."""
    leads: dict[str, int] = {}
    relation: dict[str, tuple[str, float, float]] = {}
    for i in node.bodies:
        joint = mechanism.joints[i - 1]
        if joint.mimic is not None:
            relation[joint.name] = (joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset)
        elif joint.type.n_v:
            relation[joint.name] = (joint.name, 1.0, 0.0)
    if loop is not None:
        relation = _proportional(mechanism, node, loop)
    joints = []
    for i in node.bodies:
        joint = mechanism.joints[i - 1]
        label = f"joint {joint.name}"
        before, after = (exact_transform(T, label) for T in (joint.T_parent_joint, joint.T_joint_child))
        f = mechanism.tree.parents[i]
        if not joint.type.n_v:
            joints.append(Follower(i, f, before, after, 0, 1, False, Fraction(0), 0, Fraction(0), 0.0))
            continue
        twist = joint.type.subspace(joint.type.neutral())
        direction = twist[3:, 0] if twist.shape[1] == 1 and twist[3:].any() else twist[:3, 0]
        if twist.shape[1] != 1 or np.count_nonzero(direction) != 1:
            raise NotExact(
                f"{label}: shares its coordinates with others and is not a single motion about a coordinate axis"
            )
        axis = int(np.argmax(abs(direction)))
        leader, ratio, offset = relation[joint.name]
        lead = leads.setdefault(leader, len(leads))
        turns = bool(twist[3:].any())
        slides = decimal(float(twist[axis, 0] * direction[axis])) if twist[:3].any() else Fraction(0)
        sign = 1 if direction[axis] > 0 else -1
        joints.append(
            Follower(i, f, before, after, axis, sign, turns, slides, lead, decimal(float(ratio)), float(offset))
        )
    return joints


def tied_samples(mechanism: Mechanism, node: Node, samples: Samples, loops: Sequence[Loop]) -> list[Sample]:
    """Compute exact samples of a node and check that its loops close; `samples` are in floating point."""
    exact = exact_samples(followers(mechanism, node, samples if samples.closed else None))
    if samples.closed:
        check_closed(mechanism, loops, exact, node)
    return exact


def _proportional(mechanism: Mechanism, node: Node, loop: Samples) -> dict[str, tuple[str, float, float]]:
    """Find ratios and offsets of the joints of a loop with one degree of freedom from floating-point samples."""
    names = [mechanism.joints[i - 1].name for i in node.bodies if mechanism.joints[i - 1].type.n_v]
    places = [mechanism.v_slices[name].start for name in names]
    which = f"the loop at {', '.join(mechanism.link_names[i] for i in node.bodies)}"
    rates = loop.velocities[:, places]
    if rates.shape[2] != 1 or any(mechanism.joints[i - 1].mimic is not None for i in node.bodies):
        raise NotExact(
            f"{which} has several degrees of freedom or followers: its states are found in floating point"
        )
    shares = rates[:, :, 0] / rates[:, :1, 0]
    if not np.isfinite(shares).all() or np.ptp(shares, axis=0).max() > 1e-9:
        raise NotExact(
            f"{which} does not move in constant proportion: its states are roots found in floating point"
        )
    ratios = [Fraction(float(x)).limit_denominator(60) for x in shares[0]]
    units = [mechanism.joint(name).type.units[0] for name in names]
    q = [float(loop.q[mechanism.q_slices[name]][0]) for name in names]
    relations = {}
    for name, ratio, unit, position in zip(names, ratios, units, q, strict=True):
        offset = position - float(ratio) * q[0]
        if unit == "rad":  # solved by Newton's method, accurate to about 1e-12
            steps = round(offset / (math.pi / 12))
            offset = steps * math.pi / 12 if abs(offset - steps * math.pi / 12) < 1e-9 else offset
        else:
            offset = round(offset, 9)
        relations[name] = (names[0], float(ratio), offset)
    return relations


def exact_samples(joints: Sequence[Follower]) -> list[Sample]:
    """Sample the reference and enough other states that a function which vanishes at all of them is zero."""
    needed = []
    for lead in range(1 + max(joint.lead for joint in joints)):
        whole = math.lcm(1, *(joint.ratio.denominator for joint in joints if joint.lead == lead and joint.turns))
        degree = 2 * _largest(
            joints, lead, lambda joint, whole=whole: abs(joint.ratio * whole) if joint.turns else 0
        )
        needed.append((whole, degree, 2 * _largest(joints, lead, lambda joint: int(bool(joint.slides)))))
    if math.prod((2 * degree + 1) * (linear + 1) for _, degree, linear in needed) > MOST_POINTS:
        raise NotExact("joints that share coordinates would need too many exact samples")
    grids = []
    for whole, degree, linear in needed:
        # tan(w/2) = 0, 1/2, −1/2, 1/3, …: distinct, with small numerators and denominators.
        tangents = [Fraction(0)] + [Fraction(s, n) for n in range(2, 3 + degree) for s in (1, -1)]
        lengths = [Fraction(0)] + [Fraction(s * n, 2) for n in range(1, 2 + linear) for s in (1, -1)]
        grids.append([(whole, t, x) for t in tangents[: 2 * degree + 1] for x in lengths[: linear + 1]])
    return [_sample(joints, states) for states in product(*grids)]


def _largest(joints: Sequence[Follower], lead: int, weight) -> int:
    """Largest sum of weights on a path from the node's parent to one of its bodies."""
    total: dict[int, int] = {}
    for joint in joints:
        share = int(weight(joint)) if joint.lead == lead else 0
        total[joint.body] = total.get(joint.parent, 0) + share
    return max(total.values())


def _sample(joints: Sequence[Follower], states) -> Sample:
    T: dict[int, Matrix] = {}
    dT: dict[int, list[Matrix]] = {}
    for joint in joints:
        motion, rate = _motion(joint, states[joint.lead])
        step = joint.before @ motion @ joint.after
        slope = joint.before @ rate @ joint.after
        above = T.get(joint.parent, IDENTITY)
        T[joint.body] = above @ step
        dT[joint.body] = [
            (dT[joint.parent][x] @ step if joint.parent in dT else ZERO)
            + (above @ slope if x == joint.lead else ZERO)
            for x in range(len(states))
        ]
    return Sample(list(T.values()), [[slopes[x] for slopes in dT.values()] for x in range(len(states))])


def _motion(joint: Follower, state) -> tuple[Matrix, Matrix]:
    """Compute exp(D (r u + o)) and its derivative with respect to u."""
    whole, t, x = state
    motion, rate = ([list(row) for row in start.rows] for start in (IDENTITY, ZERO))
    if joint.turns:
        square = 1 + t * t
        power = complex_power((1 - t * t) / square, 2 * t / square, int(joint.ratio * whole) * joint.sign)
        steps = steps_of_15(joint.offset) * joint.sign
        c0, s0 = cosine(steps), cosine(steps - 6)
        c, s = power[0] * c0 - power[1] * s0, power[1] * c0 + power[0] * s0
        c, s = (y.parts[0] if isinstance(y, Surd) and not any(y.parts[1:]) else y for y in (c, s))
        a, b = (joint.axis + 1) % 3, (joint.axis + 2) % 3
        motion[a][a] = motion[b][b] = c
        motion[a][b], motion[b][a] = -s, s
        r = joint.ratio * joint.sign
        rate[a][a] = rate[b][b] = -(s * r)
        rate[a][b], rate[b][a] = -(c * r), c * r
        if joint.slides and joint.offset:
            raise NotExact("a screw that follows with an offset has no exact pose")
    if joint.slides:
        along = joint.slides * joint.sign
        shift = 0 if joint.turns else decimal(joint.offset)
        motion[joint.axis][3] = along * (joint.ratio * x + shift)
        rate[joint.axis][3] = along * joint.ratio
    return Matrix(motion), Matrix(rate)


def complex_power(c: Fraction, s: Fraction, n: int) -> tuple[Fraction, Fraction]:
    """Power (c + i s)ⁿ of a point on the unit circle."""
    if n < 0:
        s, n = -s, -n
    x, y = Fraction(1), Fraction(0)
    for _ in range(n):
        x, y = x * c - y * s, x * s + y * c
    return x, y


def check_closed(mechanism: Mechanism, loops: Sequence[Loop], samples: Sequence[Sample], node: Node) -> None:
    """Check in exact numbers that the loops close at every sample; raise `NotExact` otherwise."""
    for loop in loops:
        links = [mechanism.link_number(link) for link in mechanism.loop_links(loop)]
        if not set(links) <= {*node.bodies, node.parent}:
            continue
        ends = [mechanism.frame(name) for name in (loop.frame, loop.other)]
        frames = [exact_transform(frame.T_link_frame, f"frame {frame.name}") for frame in ends]
        for sample in samples:
            poses = dict(zip(node.bodies, sample.T, strict=True))
            A, B = (poses.get(i, IDENTITY) @ T for i, T in zip(links, frames, strict=True))
            if any(x != 0 for x in _closing(A.rows, B.rows, loop.locked)):
                raise NotExact(f"{loop.label} does not close exactly in the numbers as typed")


def _closing(A, B, locked: Sequence[str]) -> list:
    """Closure residuals of frame A relative to B, as in `algorithms.constraints.closing`."""

    def dot(x, y):
        return sum((p * q for p, q in zip(x, y, strict=True)), Fraction(0))

    a, b = ([[T[i][k] for i in range(3)] for k in range(4)] for T in (A, B))  # axes and origin
    apart = [x - y for x, y in zip(a[3], b[3], strict=True)]
    gaps = [dot(b["xyz".index(name)], apart) for name in ("x", "y", "z") if name in locked]
    turns = ["xyz".index(name[1]) for name in ("rx", "ry", "rz") if name in locked]
    if len(turns) == 3:
        return gaps + [x - y for k in turns for x, y in zip(a[k], b[k], strict=True)]
    if len(turns) == 2:
        (free,) = {0, 1, 2} - set(turns)
        return gaps + [dot(a[k], b[free]) for k in turns]
    return gaps + [dot(a[(k + 2) % 3], b[(k + 1) % 3]) for k in turns]
