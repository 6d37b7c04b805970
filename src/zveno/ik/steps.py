"""The joints between two frames as steps about or along z, and back from their coordinates to q."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ModelError
from ..kernels.ops import cos, sin
from ..mechanism import Joint, Mechanism
from ..mechanism.joints.joint_type import Step as Elementary
from ..spatial.rotations import z_to
from ..spatial.transforms import inverse, transform


@dataclass(frozen=True, eq=False)
class Step:
    """Rotation about, translation along, or screw about the z axis of its frame.

    Attributes:
        kind: "R", "P" or "H".
        T_before: constant transform from the previous step's moved frame to this step's frame.
        coordinate: k, the index in x of its coordinate.
        factor: it moves by factor · x[k].
        pitch: metres per radian, for "H".
        joint: name of the joint it belongs to.
        index: index of x[k] in q; None for the angles that stand for a quaternion.
    """

    kind: str
    T_before: np.ndarray
    coordinate: int
    factor: float
    pitch: float
    joint: str
    index: int | None

    def motion(self, x: Any) -> Any:
        """Return the (4, 4) transform of the step; x may be traced."""
        return _motion(self.kind, self.pitch, self.factor * x[self.coordinate])


def _motion(kind: str, pitch: float, value):
    if kind == "P":
        return transform(None, np.array([0.0, 0.0, value]))
    c, s = cos(value), sin(value)
    R = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
    return transform(R, np.array([0.0, 0.0, pitch * value]) if pitch else None)


def rate(steps: tuple[Step, ...], step: Step, length: float) -> float:
    """Return the motion of a step per change of its coordinate, both in solvers' units.

    Coordinates that move a slide are in units of `length`. The rate differs from the factor where a revolute joint
    follows a prismatic one, or the other way round.
    """
    unit = length if any(other.kind == "P" and other.coordinate == step.coordinate for other in steps) else 1.0
    return step.factor * unit / (length if step.kind == "P" else 1.0)


Factor = tuple[np.ndarray, bool]
"""A constant transform (4, 4) of the model, and whether its inverse is meant."""


def steps_between(mechanism: Mechanism, frame: str, reference: str | None) -> tuple[tuple[Step, ...], np.ndarray]:
    """Return the steps from the reference frame to the frame, and the constant transform after the last."""
    walk = _walked(mechanism, frame, reference)
    return tuple(walk.steps), walk.T


def factors_between(mechanism: Mechanism, frame: str, reference: str | None) -> list[list[Factor]]:
    """Return the constants before each step and after the last, each as a list of the model's own transforms."""
    return _walked(mechanism, frame, reference).factors


def _walked(mechanism: Mechanism, frame: str, reference: str | None) -> _Walk:
    start = mechanism.frame(reference) if reference is not None else None
    end = mechanism.frame(frame)
    up = _chain(mechanism, start.link) if start is not None else []
    down = _chain(mechanism, end.link)
    common = 0
    while common < min(len(up), len(down)) and up[common] == down[common]:
        common += 1
    walk = _Walk(mechanism)
    if start is not None:
        walk.constant(start.T_link_frame, inverted=True)
    for i in reversed(up[common:]):
        walk.joint(mechanism.joint_of(i), backwards=True)
    for i in down[common:]:
        walk.joint(mechanism.joint_of(i), backwards=False)
    walk.constant(end.T_link_frame)
    return walk


def to_quaternions(mechanism: Mechanism, steps: tuple[Step, ...], x: np.ndarray, held: np.ndarray) -> np.ndarray:
    """Convert chain coordinates x (..., n) to q (..., n_q); three angles of a ball joint become its quaternion."""
    q = np.broadcast_to(held, (*x.shape[:-1], len(held))).copy()
    angles: dict[str, list[int]] = {}
    for step in steps:
        if step.index is not None:
            q[..., step.index] = x[..., step.coordinate]
        else:
            angles.setdefault(step.joint, []).append(step.coordinate)
    for name, (a, b, c) in angles.items():
        quaternion = slice(mechanism.q_slices[name].stop - 4, mechanism.q_slices[name].stop)
        # R = Rz(a) Ry(b) Rx(c), also where the joint is walked backwards: then a and c have changed places.
        half = {key: x[..., k] / 2 for key, k in zip("zyx", sorted((a, b, c)), strict=True)}
        product = _half_turn("z", half["z"])
        for letter in "yx":
            product = _product(product, _half_turn(letter, half[letter]))
        q[..., quaternion] = np.where(product[..., :1] < 0, -product, product)
    return q


def _half_turn(letter: str, half: np.ndarray) -> np.ndarray:
    quaternion = np.zeros((*half.shape, 4))
    quaternion[..., 0] = np.cos(half)
    quaternion[..., 1 + "xyz".index(letter)] = np.sin(half)
    return quaternion


def _product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return p ⊗ q over any leading axes."""
    w = p[..., :1] * q[..., :1] - np.sum(p[..., 1:] * q[..., 1:], axis=-1, keepdims=True)
    v = p[..., :1] * q[..., 1:] + q[..., :1] * p[..., 1:] + np.cross(p[..., 1:], q[..., 1:])
    return np.concatenate([w, v], axis=-1)


def _chain(mechanism: Mechanism, link: str) -> list[int]:
    i = mechanism.link_number(link)
    return [k for k in (*mechanism.tree.ancestors(i), i) if k != 0]


class _Walk:
    """Collects steps; constants between them are multiplied together."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.T: np.ndarray = np.eye(4)
        self.steps: list[Step] = []
        self.coordinates: dict[tuple[str, int], int] = {}
        self.factors: list[list[Factor]] = [[]]

    def constant(self, T: np.ndarray, inverted: bool = False):
        self.T = self.T @ (inverse(T) if inverted else T)
        self.factors[-1].append((T, inverted))

    def joint(self, joint: Joint, backwards: bool):
        before, after = joint.T_parent_joint, joint.T_joint_child
        if backwards:
            before, after = after, before
        self.constant(before, inverted=backwards)
        leader = self.mechanism.joint(joint.mimic.joint) if joint.mimic is not None else joint
        try:
            motions = joint.type.steps()
        except ModelError as error:
            raise error.located(element=f"joint {joint.name}") from None
        base = self._numbered(leader.name, motions)
        for kind, axis, pitch, which in reversed(motions) if backwards else motions:
            self._step(joint, leader, kind, -axis if backwards else axis, pitch, which, base)
        self.constant(after, inverted=backwards)

    def _numbered(self, leader: str, motions: Sequence[Elementary]) -> dict[int, int]:
        """Number the coordinates in the joint's own order, in either direction of the walk."""
        return {
            which: self.coordinates.setdefault((leader, which), len(self.coordinates))
            for which in sorted(motion.coordinate for motion in motions)
        }

    def _step(self, joint: Joint, leader: Joint, kind: str, axis, pitch: float, which: int, base: dict[int, int]):
        A = transform(z_to(axis))
        factor, offset = (1.0, 0.0) if joint.mimic is None else (joint.mimic.multiplier, joint.mimic.offset)
        self.constant(A)
        if offset:
            # A constant turn or slide belongs to the constant transform.
            self.constant(_motion(kind, pitch, offset))
        places = self.mechanism.q_slices[leader.name]
        is_of_quaternion = joint.type.n_q != joint.type.n_v and which >= joint.type.n_q - 4
        index = None if is_of_quaternion else places.start + which
        self.steps.append(Step(kind, self.T, base[which], factor, pitch, joint.name, index))
        self.T = A.T
        self.factors.append([(A, True)])
