"""A mechanism as loops see it: a table of constants with one row for every moving body.

Links on fixed joints are merged into what carries them, and every body's frame is put into its moved joint frame,
turned so that an axis is z. What joints of one kind have in common, and constants that are 0, 1 or −1 in all of
them, belong to the structure; everything else is data.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Fixed, Joint, JointType, Mechanism
from ..mechanism.joints import JOINT_TYPES
from ..spatial import inertia as inertial
from ..spatial.rotations import z_to
from ..spatial.transforms import transform
from .moved import moved_parameters
from .slots import Rows, Slots, rows, slots

_FOLDED = (0.0, 1.0, -1.0)
_OURS = frozenset(cls.__module__ for cls in JOINT_TYPES.values())


class Constants(NamedTuple):
    """Constants of a body, numbers or traced."""

    R: Any
    """(3, 3): axes of the joint in the parent's."""
    p: Any
    """(3,): the joint's origin in the parent's frame, m."""
    inertia: Any
    """(10,): inertial parameters in the body's frame."""
    rotor: Any
    """(n_v,): what rotors add to the joint's inertia."""


@dataclass(frozen=True)
class Kind:
    """Bodies whose joints move alike.

    Attributes:
        type: the joint type, its axis turned to z.
        fixed: the constants of a body that are 0, 1 or −1 in all bodies of the kind, None for the others.
    """

    type: JointType
    fixed: tuple[float | None, ...]

    @property
    def n_q(self) -> int:
        """Coordinates of the joint."""
        return self.type.n_q

    @property
    def n_v(self) -> int:
        """Velocities of the joint."""
        return self.type.n_v

    @property
    def columns(self) -> list[int]:
        """The constants that stand in the table, in order."""
        return [k for k, value in enumerate(self.fixed) if value is None]

    def constants(self, row: Any) -> Constants:
        """All constants of a body, from its row of the table."""
        c = np.array(self.fixed, dtype=object)
        c[self.columns] = row[: len(self.columns)]
        return Constants(c[:9].reshape(3, 3), c[9:12], c[12:22], c[22:])

    def joint(self, row: Any) -> Joint:
        """The joint with its placement on the parent; the body's frame is the moved joint frame."""
        c = self.constants(row)
        return Joint("joint", "parent", "child", self.type, transform(c.R, c.p))

    def identity(self) -> str:
        """What determines the code of the kind."""
        own = {name: np.asarray(value).tolist() for name, value in self.type.parameters().items()}
        return f"{type(self.type).__module__}.{type(self.type).__qualname__} {own} {self.fixed}"


@dataclass(frozen=True, eq=False)
class Bodies:
    """The moving bodies of a mechanism, parents first.

    Attributes:
        name: of the mechanism, for messages.
        parents: (n,), the number of the body that carries each, −1 for the base.
        kinds: the kinds of joints.
        which: (n,), the kind of each body.
        constants: (n, 22 + k), for each body the numbers of `Constants`; k is the largest number of velocities.
        table: (n, width), those of them that its kind does not fix.
        first_q, first_v: (n,), where the joint's coordinates and velocities begin.
        n_q, n_v: how many there are.
        gravity: (3,).
        carriers: for every link of the mechanism the body that it belongs to (−1: the base), (n_links,).
        T_body_link: (n_links, 4, 4), where the link's frame is on that body.
        base_inertia: (10,), parameters of the links that do not move.
        friction: (n_v, 3), viscous and Coulomb friction and its offset, for every velocity.
        n_special: how many bodies are placed on their parents such that the rotation has zeros.
    """

    name: str
    parents: np.ndarray
    kinds: tuple[Kind, ...]
    which: np.ndarray
    constants: np.ndarray
    table: np.ndarray
    first_q: np.ndarray
    first_v: np.ndarray
    n_q: int
    n_v: int
    gravity: np.ndarray
    carriers: np.ndarray
    T_body_link: np.ndarray
    base_inertia: np.ndarray
    friction: np.ndarray
    n_special: int

    @property
    def n(self) -> int:
        """Number of moving bodies."""
        return len(self.parents)

    @property
    def most_velocities(self) -> int:
        """The largest number of velocities of a joint."""
        return max(kind.n_v for kind in self.kinds)

    @cached_property
    def slots(self) -> Slots:
        """Memory for what bodies hand to their parents."""
        return slots(self.parents)

    @cached_property
    def rows(self) -> Rows:
        """Memory for what bodies leave to those they carry."""
        return rows(self.parents)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of what determines the structure of programs over these bodies."""
        parts = [*(kind.identity() for kind in self.kinds), str((self.gravity != 0).tolist()), str(bool(self.n))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @cached_property
    def code_modules(self) -> frozenset[str]:
        """Modules that the joint types come from."""
        return frozenset(type(kind.type).__module__ for kind in self.kinds)


def bodies_of(mechanism: Mechanism) -> Bodies:
    """The moving bodies of a mechanism without mimic joints and couplings."""
    links, relative = _carriers(mechanism)
    moving = [k for k, joint in enumerate(mechanism.joints) if type(joint.type) is not Fixed]
    joints = [mechanism.joints[k] for k in moving]
    n = len(joints)
    types, turned = _turned_types(joints)
    A = np.array([joint.T_parent_joint for joint in joints]).reshape(n, 4, 4)
    B = np.array([joint.T_joint_child for joint in joints]).reshape(n, 4, 4)
    back = np.zeros((n + 1, 4, 4))  # T_new_old of every body; the last entry is that of the base
    back[n] = np.eye(4)
    back[:n, 3, 3] = 1.0
    back[:n, :3] = turned.transpose(0, 2, 1) @ B[:, :3]
    parent_of = mechanism.tree.parents
    parent_links = [parent_of[k + 1] for k in moving]
    parents = links[parent_links] if n else np.zeros(0, np.int64)
    placed = back[parents] @ relative[parent_links] @ A if n else A
    T_body_link = back[links] @ relative
    totals = np.zeros((n + 1, inertial.N_PARAMETERS))
    own = np.array([link.inertia for link in mechanism.links])
    np.add.at(totals, links, moved_parameters(own, T_body_link))
    n_v = max((joint.type.n_v for joint in joints), default=0)
    constants = np.concatenate(
        [(placed[:, :3, :3] @ turned).reshape(n, 9), placed[:, :3, 3], totals[:n], _rotors(joints, n_v)], axis=1
    )
    kinds, which, table = _kinds(types, constants)
    sizes_q = [joint.type.n_q for joint in joints]
    sizes_v = [joint.type.n_v for joint in joints]
    return Bodies(
        mechanism.name,
        parents,
        kinds,
        which,
        constants,
        table,
        np.cumsum([0, *sizes_q])[:-1],
        np.cumsum([0, *sizes_v])[:-1],
        mechanism.n_q,
        mechanism.n_v,
        np.asarray(mechanism.gravity, dtype=float),
        links,
        T_body_link,
        totals[n],
        _friction(joints),
        int((constants[:, :9] == 0.0).any(axis=1).sum()),
    )


def _carriers(mechanism: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """For every link its body (−1: the base), and its frame in that of the link which the body's joint moves."""
    identity = np.eye(4)
    if not any(type(joint.type) is Fixed for joint in mechanism.joints):
        n_links = len(mechanism.links)
        return np.arange(-1, n_links - 1), np.broadcast_to(identity, (n_links, 4, 4))
    links, relative, bodies = [-1], [identity], 0
    for _, f, joint in mechanism.outward():
        if type(joint.type) is Fixed:
            links.append(links[f])
            relative.append(relative[f] @ joint.T_parent_joint @ joint.T_joint_child)
        else:
            links.append(bodies)
            relative.append(identity)
            bodies += 1
    return np.array(links), np.array(relative)


def _turned_types(joints: list[Joint]) -> tuple[list[JointType], np.ndarray]:
    """Joint types with the axis turned to z, one object for all that are equal, and the rotations, (n, 3, 3)."""
    known: dict[Any, JointType] = {}
    rotations: dict[bytes, int] = {b"": 0}
    distinct = [np.eye(3)]
    types, turned = [], []
    for joint in joints:
        kind = joint.type
        cls = type(kind)
        parameters = kind.parameters()
        axis = parameters.pop("axis", None)
        # Classes that only differ in their limits, as revolute and continuous joints, move alike.
        key: Any = (cls.motion, cls.subspace, cls.subspace_rate, axis is None)
        if cls.__module__ not in _OURS:  # of types written by users nobody knows what they depend on
            axis, key = None, id(kind)
        elif parameters:
            key += tuple((name, np.asarray(x).tobytes()) for name, x in parameters.items())
        if key not in known:
            known[key] = kind if axis is None else kind.about((0.0, 0.0, 1.0))
        types.append(known[key])
        direction = b"" if axis is None else axis.tobytes()  # pyright: ignore[reportAttributeAccessIssue]
        if direction not in rotations:
            rotations[direction] = len(distinct)
            distinct.append(z_to(np.frombuffer(direction)))
        turned.append(rotations[direction])
    return types, np.array(distinct)[turned]


def _rotors(joints: list[Joint], n_v: int) -> np.ndarray:
    rotors = np.zeros((len(joints), n_v))
    for k, joint in enumerate(joints):
        if joint.drive is not None:
            reflected = np.asarray(joint.drive.gear_ratio) ** 2 * joint.drive.rotor_inertia
            rotors[k, : joint.type.n_v] = reflected
    return rotors


def _friction(joints: list[Joint]) -> np.ndarray:
    rows = [np.zeros((0, 3))]
    for joint in joints:
        own, drive = np.zeros((joint.type.n_v, 3)), joint.drive
        if drive is not None:
            own[:, 0], own[:, 1], own[:, 2] = drive.viscous, drive.coulomb, drive.offset
        rows.append(own)
    return np.concatenate(rows)


def _kinds(types: list[JointType], constants: np.ndarray) -> tuple[tuple[Kind, ...], np.ndarray, np.ndarray]:
    """Kinds of bodies, the kind of each, and the table of constants that they do not fix."""
    distinct = list({id(kind): kind for kind in types}.values())
    numbers = {id(kind): number for number, kind in enumerate(distinct)}
    which = np.array([numbers[id(kind)] for kind in types], dtype=np.int64)
    kinds = []
    for number, kind in enumerate(distinct):
        own = constants[which == number][:, : 22 + kind.n_v]
        same = (own == own[:1]).all(axis=0) & np.isin(own[0], _FOLDED)
        kinds.append(Kind(kind, tuple(float(x) if fixed else None for x, fixed in zip(own[0], same, strict=True))))
    width = max((len(kind.columns) for kind in kinds), default=0)
    table = np.zeros((len(constants), max(width, 1)))
    for number, kind in enumerate(kinds):
        of_kind = which == number
        table[of_kind, : len(kind.columns)] = constants[of_kind][:, kind.columns]
    return tuple(kinds), which, table
