"""A mechanism for loops over bodies: a table of constants with one row per moving body.

Links on fixed joints are merged into the body that carries them. Every body's frame is its moved joint frame,
turned so that the joint axis is z. Constants that are 0, 1 or −1 in all joints of one kind belong to the structure;
everything else is data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..mechanism import Fixed, Joint, JointType, Mechanism
from ..mechanism.joints import JOINT_TYPES
from ..spatial import inertia as inertial
from ..spatial.rotations import z_to
from ..spatial.transforms import transform
from .pairs import Pairs, pairs
from .slots import Rows, Slots, rows, slots

_FOLDED = (0.0, 1.0, -1.0)
_OURS = frozenset(cls.__module__ for cls in JOINT_TYPES.values())


class Constants(NamedTuple):
    """Constants of a body, as numbers or traced."""

    R: Any
    """(3, 3): joint axes in the parent's frame."""
    p: Any
    """(3,): joint origin in the parent's frame, m."""
    inertia: Any
    """(10,): inertial parameters in the body's frame."""
    rotor: Any
    """(n_v,): rotor inertia reflected to the joint."""


@dataclass(frozen=True)
class Kind:
    """Class of bodies whose joints move alike.

    Attributes:
        type: the joint type, its axis turned to z.
        fixed: the constants of a body that are 0, 1 or −1 in all bodies of the kind, None for the others.
    """

    type: JointType
    fixed: tuple[float | None, ...]

    @property
    def n_q(self) -> int:
        """Number of coordinates of the joint."""
        return self.type.n_q

    @property
    def n_v(self) -> int:
        """Number of velocities of the joint."""
        return self.type.n_v

    @property
    def columns(self) -> list[int]:
        """Numbers of the constants that stand in the table, in order."""
        return [k for k, value in enumerate(self.fixed) if value is None]

    def constants(self, row: Any) -> Constants:
        """Return all constants of a body from its row of the table."""
        c = np.array(self.fixed, dtype=object)
        c[self.columns] = row[: len(self.columns)]
        return Constants(c[:9].reshape(3, 3), c[9:12], c[12:22], c[22:])

    def joint(self, row: Any) -> Joint:
        """Return the joint with its placement on the parent. The body's frame is the moved joint frame."""
        c = self.constants(row)
        return Joint("joint", "parent", "child", self.type, transform(c.R, c.p))

    def identity(self) -> str:
        """Return a text that determines the code of the kind."""
        parameters = {name: np.asarray(value).tolist() for name, value in self.type.parameters().items()}
        return f"{type(self.type).__module__}.{type(self.type).__qualname__} {parameters} {self.fixed}"


@dataclass(frozen=True, eq=False)
class Bodies:
    """The moving bodies of a mechanism, parents first.

    Attributes:
        name: name of the mechanism, for messages.
        parents: (n,), number of each body's parent, −1 for the base.
        kinds: kinds of joints.
        which: (n,), kind of each body.
        constants: (n, 22 + k), the numbers of `Constants` per body; k is the largest number of velocities of a
            joint.
        table: (n, width), those constants that the kind does not fix.
        first_q, first_v: (n,), index of the joint's first coordinate and first velocity.
        n_q, n_v: number of coordinates and velocities.
        gravity: (3,), acceleration of free fall.
        carriers: (n_links,), body of every link of the mechanism, −1 for the base.
        T_body_link: (n_links, 4, 4), link frame on that body.
        base_inertia: (10,), inertial parameters of the links that do not move.
        friction: (n_v, 3), viscous friction, Coulomb friction and offset per velocity.
        n_special: number of bodies whose rotation on the parent has zeros.
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
        """Largest number of velocities of a joint."""
        return max(kind.n_v for kind in self.kinds)

    @cached_property
    def slots(self) -> Slots:
        """Memory for values passed from bodies to their parents."""
        return slots(self.parents)

    @cached_property
    def rows(self) -> Rows:
        """Memory for values passed from bodies to their children."""
        return rows(self.parents)

    @cached_property
    def pairs(self) -> Pairs:
        """Paths from every body to the root."""
        return pairs(self.parents, np.arange(self.n))

    @cached_property
    def velocity_pairs(self) -> Pairs:
        """Paths from the body of every velocity to the root."""
        return pairs(self.parents, np.repeat(np.arange(self.n), np.diff([*self.first_v, self.n_v])))

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that determines the structure of programs over these bodies."""
        parts = [*(kind.identity() for kind in self.kinds), str((self.gravity != 0).tolist()), str(bool(self.n))]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @cached_property
    def code_modules(self) -> frozenset[str]:
        """Modules that define the joint types."""
        return frozenset(type(kind.type).__module__ for kind in self.kinds)


def bodies_of(mechanism: Mechanism, merge: bool = True) -> Bodies:
    """Return the moving bodies of a mechanism without mimic joints and couplings; all links if not `merge`."""
    links, relative = _carriers(mechanism, merge)
    moving = [k for k, joint in enumerate(mechanism.joints) if not merge or type(joint.type) is not Fixed]
    joints = [mechanism.joints[k] for k in moving]
    n = len(joints)
    types, turned = _turned_types(joints)
    A = np.array([joint.T_parent_joint for joint in joints]).reshape(n, 4, 4)
    B = np.array([joint.T_joint_child for joint in joints]).reshape(n, 4, 4)
    back = np.zeros((n + 1, 4, 4))  # T_new_old of every body; the last entry is for the base
    back[n] = np.eye(4)
    back[:n, 3, 3] = 1.0
    back[:n, :3] = turned.transpose(0, 2, 1) @ B[:, :3]
    parent_of = mechanism.tree.parents
    parent_links = [parent_of[k + 1] for k in moving]
    parents = links[parent_links] if n else np.zeros(0, np.int64)
    placed = back[parents] @ relative[parent_links] @ A if n else A
    T_body_link = back[links] @ relative
    totals = np.zeros((n + 1, inertial.N_PARAMETERS))
    inertias = np.array([link.inertia for link in mechanism.links])
    np.add.at(totals, links, _moved_parameters(inertias, T_body_link))
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


def _carriers(mechanism: Mechanism, merge: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the body of every link (−1: the base), and the link frame in that of the body's first link."""
    identity = np.eye(4)
    if not merge or not any(type(joint.type) is Fixed for joint in mechanism.joints):
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
    """Return joint types with the axis turned to z, equal ones as the same object, and the rotations, (n, 3, 3)."""
    known: dict[Any, JointType] = {}
    rotations: dict[bytes, int] = {b"": 0}
    distinct = [np.eye(3)]
    types, turned = [], []
    for joint in joints:
        kind = joint.type
        cls = type(kind)
        parameters = kind.parameters()
        axis = parameters.pop("axis", None)
        # Classes that differ only in their limits, such as revolute and continuous joints, move alike.
        key: Any = (cls.motion, cls.subspace, cls.subspace_rate, axis is None)
        if cls.__module__ not in _OURS:  # the dependencies of user-defined types are unknown
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
        friction, drive = np.zeros((joint.type.n_v, 3)), joint.drive
        if drive is not None:
            friction[:, 0], friction[:, 1], friction[:, 2] = drive.viscous, drive.coulomb, drive.offset
        rows.append(friction)
    return np.concatenate(rows)


def _kinds(types: list[JointType], constants: np.ndarray) -> tuple[tuple[Kind, ...], np.ndarray, np.ndarray]:
    """Return the kinds of bodies, the kind of each body, and the table of constants that kinds do not fix."""
    distinct = list({id(kind): kind for kind in types}.values())
    numbers = {id(kind): number for number, kind in enumerate(distinct)}
    which = np.array([numbers[id(kind)] for kind in types], dtype=np.int64)
    kinds = []
    for number, kind in enumerate(distinct):
        members = constants[which == number][:, : 22 + kind.n_v]
        same = (members == members[:1]).all(axis=0) & np.isin(members[0], _FOLDED)
        kinds.append(
            Kind(kind, tuple(float(x) if fixed else None for x, fixed in zip(members[0], same, strict=True)))
        )
    width = max((len(kind.columns) for kind in kinds), default=0)
    table = np.zeros((len(constants), max(width, 1)))
    for number, kind in enumerate(kinds):
        of_kind = which == number
        table[of_kind, : len(kind.columns)] = constants[of_kind][:, kind.columns]
    return tuple(kinds), which, table


def _moved_parameters(p: np.ndarray, T: np.ndarray) -> np.ndarray:
    """Transform inertial parameters (n, 10) to frames T_new_old (n, 4, 4): `zveno.spatial.inertia.moved` in bulk.

    The second moments Σ = ∫ x xᵀ transform as Σ' = R Σ Rᵀ + R h tᵀ + t (R h)ᵀ + m t tᵀ.
    """
    R, t, m = T[:, :3, :3], T[:, :3, 3], p[:, 0]
    h = np.einsum("nij,nj->ni", R, p[:, 1:4])
    I = p[:, [4, 5, 7, 5, 6, 8, 7, 8, 9]].reshape(-1, 3, 3)
    half = 0.5 * np.trace(I, axis1=1, axis2=2)[:, None, None] * np.eye(3)
    ht = np.einsum("ni,nj->nij", h, t)
    S = R @ (half - I) @ R.transpose(0, 2, 1) + ht + ht.transpose(0, 2, 1) + np.einsum("n,ni,nj->nij", m, t, t)
    J = np.trace(S, axis1=1, axis2=2)[:, None, None] * np.eye(3) - S
    first = h + m[:, None] * t
    return np.column_stack(
        [m, first, J[:, 0, 0], J[:, 0, 1], J[:, 1, 1], J[:, 0, 2], J[:, 1, 2], J[:, 2, 2]],
    )


@dataclass(frozen=True, eq=False)
class Frames:
    """Frames on bodies. Code depends neither on their placement nor on their number.

    Attributes:
        carriers: (k,), body of each frame, −1 for the base.
        T_body_frame: (k, 4, 4), placement on the body.
    """

    carriers: np.ndarray
    T_body_frame: np.ndarray

    fingerprint = "frames"


def frames_on(mechanism: Mechanism, bodies: Bodies, names: Sequence[str | None]) -> tuple[Bodies, Frames]:
    """Return the bodies that carry the named frames, and the frames on them."""
    targets = [mechanism.frame(name) for name in names]
    links = [mechanism.link_number(target.link) for target in targets]
    carriers = bodies.carriers[links]
    on_way = np.zeros(bodies.n, dtype=bool)
    for body in carriers.tolist():
        while body >= 0 and not on_way[body]:
            on_way[body] = True
            body = int(bodies.parents[body])
    numbers = np.append(np.cumsum(on_way) - 1, -1)  # the last entry is for the base
    T = np.array(
        [bodies.T_body_link[link] @ target.T_link_frame for link, target in zip(links, targets, strict=True)]
    )
    way = np.flatnonzero(on_way)
    carrying = replace(
        bodies,
        parents=numbers[bodies.parents[way]],
        **{name: getattr(bodies, name)[way] for name in ("which", "constants", "table", "first_q", "first_v")},
    )
    return carrying, Frames(numbers[carriers], T)
