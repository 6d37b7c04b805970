"""Class `Mechanism`: the immutable tree of links and joints that all algorithms work on."""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from ..errors import ModelError, ShapeError, UnknownNameError, unknown_name
from .joint_space import JointSpace
from .joints import JOINT_TYPES
from .loops import Loop
from .parts import Extra, Frame, Joint, Link, frozen_array
from .tree import Tree

DEFAULT_GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True, eq=False)
class Mechanism(JointSpace):
    """Links, joints and frames of a robot. Use `zveno.mechanism.assemble` to build a checked one.

    Links are numbered depth first in file order, so that every parent comes before its children; link 0 is fixed
    in the world and its frame is the world frame. `joints[i - 1]` connects link i to its parent.

    Attributes:
        name: name of the robot.
        links: N + 1 links, link 0 first.
        joints: N joints, in the order of the links they move.
        frames: named frames beside the links' own.
        gravity: acceleration of free fall in world axes, (3,), m/s².
        transmission: (n_v, n_v) matrix N with motor velocities = N q̇ if joints are coupled; None if N is the
            diagonal matrix of gear ratios.
        source: origin of the model (file, publication), for human readers.
        notes: remarks of the file reader: snapped or rounded angles, omitted parts.
        loops: joints that close loops; used by simulation and base parameters.
        extras: shapes, materials and other sections of a URDF, kept for writing.
        motors: names of the driven joints, in the order of q; None if the model does not say, as in most trees. All
            velocities of a driven joint are driven.
        reference: a configuration (n_q,) that closes the loops and says which branch is meant; None if the model
            does not give one.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    frames: tuple[Frame, ...] = ()
    gravity: np.ndarray = field(default_factory=lambda: np.array(DEFAULT_GRAVITY))
    transmission: np.ndarray | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    loops: tuple[Loop, ...] = ()
    extras: tuple[Extra, ...] = ()
    motors: tuple[str, ...] | None = None
    reference: np.ndarray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "gravity", frozen_array(self.gravity, (3,), "gravity"))
        if self.transmission is not None:
            n = self.n_v
            object.__setattr__(
                self, "transmission", frozen_array(self.transmission, (n, n), "the transmission matrix")
            )
        if self.reference is not None:
            object.__setattr__(
                self, "reference", frozen_array(self.reference, (self.n_q,), "the reference configuration")
            )

    def __reduce__(self) -> tuple[Any, ...]:
        return restored, (self._pickled,)

    @cached_property
    def _pickled(self) -> bytes:
        return pickle.dumps([getattr(self, item.name) for item in dataclasses.fields(self)], 5)

    # --- structure

    @cached_property
    def tree(self) -> Tree:
        """Tree with parents and the index functions of document 003."""
        return Tree([-1] + [self.link_number(joint.parent) for joint in self.joints])

    @cached_property
    def inertial_parameters(self) -> np.ndarray:
        """Parameters p (10 N,) of links 1 … N, in the order of the regressor's columns."""
        return np.concatenate([np.zeros(0), *(link.inertia for link in self.links[1:])])

    @property
    def n_links(self) -> int:
        """Number of links, the fixed link 0 included."""
        return len(self.links)

    def outward(self) -> Iterator[tuple[int, int, Joint]]:
        """Iterate over (i, f(i), joint) of every moving link, parents before children: the forward recursion."""
        return ((i, self.tree.parents[i], joint) for i, joint in enumerate(self.joints, start=1))

    def inward(self) -> Iterator[tuple[int, int, Joint]]:
        """Iterate over (i, f(i), joint) of every moving link, children before parents: the backward recursion."""
        return reversed(list(self.outward()))

    def auxiliary_transform(self, i: int, k: int) -> np.ndarray:
        """Constant (4, 4) transform M_{i,k} from the joint frame of the k-th child to link i's frame."""
        return self.joints[self.tree.child(i, k) - 1].T_parent_joint

    def sigma(self, i: int) -> int:
        """Joint type code σ_i: 1 if joint i is revolute, 0 if it is prismatic."""
        joint = self.joint_of(i)
        if joint.type.sigma is None:
            raise ModelError(
                f"σ is defined for revolute and prismatic joints only, and this joint is {joint.type.kind}",
                element=f"joint {joint.name}",
                remedy="Fix the joint with zveno.edit.fix_joints",
            )
        return joint.type.sigma

    def joint_of(self, i: int) -> Joint:
        """Joint that connects link i to its parent."""
        if not 1 <= i < self.n_links:
            raise ShapeError(
                f"there is no joint {i}; joints are numbered 1 to {len(self.joints)}",
                remedy="Give one of these numbers",
            )
        return self.joints[i - 1]

    # --- names

    @cached_property
    def link_names(self) -> tuple[str, ...]:
        """Names of all links, link 0 first."""
        return tuple(link.name for link in self.links)

    @cached_property
    def frame_names(self) -> tuple[str, ...]:
        """Names that can be used as a frame: every link and every named frame."""
        return self.link_names + tuple(frame.name for frame in self.frames)

    def link_number(self, name: str) -> int:
        """Number of the link called `name`."""
        try:
            return self._link_numbers[name]
        except KeyError:
            raise unknown_name("link", name, self.link_names) from None

    def joint(self, name: str) -> Joint:
        """Joint called `name`; fixed and mimic joints are included."""
        try:
            return self._joints_by_name[name]
        except KeyError:
            raise unknown_name("joint", name, self._joints_by_name) from None

    def frame(self, name: str | None = None) -> Frame:
        """Frame called `name`, which may be the name of a link; the default frame if no name is given."""
        if name is None:
            return self.default_frame
        try:
            return self._frames_by_name[name]
        except KeyError:
            raise unknown_name("frame", name, self.frame_names) from None

    @cached_property
    def default_frame(self) -> Frame:
        """Frame named `tool`, else the frame of the only leaf link, else the frame or link named `tool0`."""
        if "tool" in self._frames_by_name:
            return self._frames_by_name["tool"]
        leaves = self.tree.leaves
        if len(leaves) == 1:
            return self._frames_by_name[self.link_names[leaves[0]]]
        if "tool0" in self._frames_by_name:
            return self._frames_by_name["tool0"]
        raise UnknownNameError(
            f"{self.name} has {len(leaves)} end links, no 'tool' and no 'tool0': the frame must be named",
            remedy="Frames: " + ", ".join(self.frame_names),
        )

    def loop_links(self, loop: Loop) -> tuple[str, str]:
        """Names of the two links that a loop joins."""
        return self.frame(loop.frame).link, self.frame(loop.other).link

    @cached_property
    def transmission_matrix(self) -> np.ndarray:
        """Matrix N (n_v, n_v) with motor velocities = N q̇: `transmission`, or the diagonal of gear ratios."""
        if self.transmission is not None:
            return self.transmission
        ratios = np.ones(self.n_v)
        for joint in self._coordinate_joints:
            if joint.drive is not None:
                ratios[self.v_slices[joint.name]] = joint.drive.gear_ratio
        return np.diag(ratios)

    @property
    def home(self) -> np.ndarray:
        """Configuration that is drawn: the closed reference of a mechanism with loops, else neutral."""
        return self.neutral() if self.reference is None else self.reference

    @property
    def driven_velocities(self) -> tuple[int, ...]:
        """Entries of v that belong to driven joints; all entries if the model does not name its motors."""
        if self.motors is None:
            return tuple(range(self.n_v))
        return tuple(k for name in self.motors for k in range(self.n_v)[self.v_slices[name]])

    # --- identity

    @cached_property
    def code_modules(self) -> frozenset[str]:
        """Modules that define the joint types, user-defined types included."""
        return frozenset(type(joint.type).__module__ for joint in self.joints)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of everything that results depend on; the same in every process."""
        digest = hashlib.sha256()

        def add(part):
            if dataclasses.is_dataclass(part) and not isinstance(part, type):
                digest.update(type(part).__name__.encode())
                for item in dataclasses.fields(part):
                    add(getattr(part, item.name))
            elif isinstance(part, np.ndarray):
                digest.update(repr(part.shape).encode() + part.tobytes())
            elif isinstance(part, tuple):
                digest.update(f"({len(part)}".encode())
                for item in part:
                    add(item)
            else:
                digest.update(repr(part).encode())

        add(dataclasses.replace(self, source="", notes=(), extras=()))
        return digest.hexdigest()

    def __repr__(self) -> str:
        counts = [
            f"{sum(joint.type.kind == kind for joint in self.joints)} {kind}"
            for kind in JOINT_TYPES
            if any(joint.type.kind == kind for joint in self.joints)
        ]
        joints = ", ".join(counts) or "none"
        return f"<Mechanism {self.name}: {self.n_links} links, joints: {joints}, n_v = {self.n_v}>"

    # --- private

    @cached_property
    def _link_numbers(self) -> dict[str, int]:
        return {link.name: i for i, link in enumerate(self.links)}

    @cached_property
    def _joints_by_name(self) -> dict[str, Joint]:
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def _frames_by_name(self) -> dict[str, Frame]:
        of_links = {link.name: Frame(link.name, link.name) for link in self.links}
        return of_links | {frame.name: frame for frame in self.frames}


@lru_cache(maxsize=64)
def restored(pickled: bytes) -> Mechanism:
    """Restore a mechanism from its pickle, as the same object each time.

    Workers receive the robot with every chunk of work. Because the object is the same, its kernels, tables and
    solvers are built once.
    """
    values = pickle.loads(pickled)
    _freeze(values)
    return Mechanism(*values)


def _freeze(value: object) -> None:
    """Make arrays read-only again: pickles lose the flag, and the arrays are shared."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, tuple | list):
        for item in value:
            _freeze(item)
    elif dataclasses.is_dataclass(value):
        for item in dataclasses.fields(value):
            _freeze(getattr(value, item.name))
