"""Denavit–Hartenberg tables as TOML.

    name = "two links"
    source = "where the numbers come from"
    convention = "standard"       # or "modified" (Craig)
    unit = "mm"                   # of bare lengths: "m", "cm" or "mm"
    angle = "deg"                 # of bare angles: "deg" or "rad"
    base = "Tz(670)"              # optional: constant elementary transforms before the first joint
    tool = "Tz(70)"               # optional: the frame `tool` on the last link
    gravity = [0, 0, -9.81]       # optional, m/s²

    [[joint]]                     # one row of the table, from the base outward
    alpha = -90
    a = 0
    d = 0
    theta = 0                     # optional for a revolute joint: its offset (for a prismatic one, d is)
    limits = [-160, 160]          # optional; inf and -inf where there is none
    mass = 17.4                   # optional, of the link the joint moves, with the two below
    center_of_mass = [-363.8, 6, 77.5]
    inertia = [0.13, 0.524, 0.539, 0, 0, 0]

`standard` rows are A = Rz(θ) Tz(d) Tx(a) Rx(α) with the link's frame at their distal end; `modified` rows are
Rx(α) Tx(a) Rz(θ) Tz(d) with the link's frame on the joint's own axis. The joint's coordinate is added to θ (`type =
"revolute"`, the default, or `"continuous"`) or to d (`"prismatic"`); a row of type `"fixed"` has none. `sign = -1`
subtracts it instead.

Lengths and angles are numbers in the file's units, or texts with their own: `"90deg"`, `"pi/2"`, `"670mm"`.
Masses are kg and inertias kg·m², whatever the units of the geometry.

Further keys of a row: `name` (`joint1`, …), `link` (`link1`, …), `parent` (a link's name; the row before by
default) and `at` (elementary transforms from the parent's frame to the row's start, document 003's M_{i,k}), so a
table may branch; `velocity` (unit or angle per second) and `effort` (N·m or N) limits; `drive = {rotor_inertia,
gear_ratio, viscous, coulomb, offset}` in SI units. `inertia` is [xx, yy, zz] or [xx, yy, zz, xy, xz, yz] in the
axes of the link's frame, about the centre of mass; `inertia_about = "frame"` puts it about the frame's origin,
and `"pseudo"` makes it document 000's ∫ r rᵀ dm there.

`[base_link]` gives the fixed link a `name` (`base`), `mass`, `center_of_mass`, `inertia`. `[[frame]]` entries
with `name`, `link` and `at` are further frames. `transmission` is the matrix of motor velocities over joint
velocities, by rows, where joints are coupled. `notes` is a list of remarks kept with the mechanism.

`[[loop]]` entries with the frames `frame` and `other` close loops; `locked` is "point" (the default), "hinge",
"weld" or a list of directions, as in `zveno.Loop`. `motors` lists the driven joints, and `[reference]` gives
coordinates of joints in a closed configuration.

Angles within 1e-5 rad of a multiple of 15° are taken to be that multiple and listed in the mechanism's notes;
`snap = false` in the file, or `snap=False`, keeps them as typed.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, ZvenoError
from ..mechanism import DEFAULT_GRAVITY, JOINT_TYPES, Drive, Frame, Joint, Limits, Link, Loop, Mechanism, assemble
from ..mechanism.plausibility import warn_about_inertia
from ..spatial import inertia
from ..spatial.rotations import elementary as rotation
from ..spatial.transforms import inverse, transform
from ..spatial.vectors import cross
from .elementary import angle_text, constant_terms, constant_transform, needs_literal_reading, snapped_angle
from .expressions import Units, checked_unit
from .files import MAX_TEXT_BYTES, read_text
from .toml import Table, shown
from .write import coupling_losses, extra_losses, listed, warn_about_losses

# --- reading

_CONVENTIONS = ("standard", "modified")
_ROW_TYPES = ("revolute", "continuous", "prismatic", "fixed")
_INERTIA_FORMS = ("center", "frame", "pseudo")
_TOP = (
    *("name", "source", "convention", "unit", "angle", "snap", "base", "tool", "gravity"),
    *("transmission", "notes", "base_link", "joint", "frame"),
    *("loop", "motors", "reference"),
)
_INERTIA = ("mass", "center_of_mass", "inertia", "inertia_about")
_ROW = (
    *("name", "link", "parent", "at", "type", "theta", "d", "a", "alpha", "sign"),
    *("limits", "velocity", "effort", "drive", *_INERTIA),
)
_MAX_KEY_PARTS = 100
_MAX_ROWS = 20_000
"""Largest number of rows; each takes some ten kilobytes of memory."""
_DOTTED_KEY = re.compile(
    r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')(?:[ \t]*+\.[ \t]*+(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+'))*+"""
)
_DRIVE = ("rotor_inertia", "gear_ratio", "viscous", "coulomb", "offset")


def read_dh(path: str | PathLike[str], *, snap: bool | None = None) -> Mechanism:
    """Read the mechanism of a Denavit–Hartenberg table in a TOML file.

    Args:
        path: a file in the format above.
        snap: True to make near-exact angles exact; None follows the file, whose default is True.

    Warns:
        ZvenoWarning: for moving links without inertia in a table that gives any, and for inertia that no body can
            have.
    """
    mechanism = _mechanism(read_text(path, MAX_TEXT_BYTES), Path(path).stem, snap, path)
    _warn(mechanism)
    return mechanism


def dh_mechanism(text: str, *, name: str = "mechanism", snap: bool | None = None, file: object = None) -> Mechanism:
    """Return the mechanism of a Denavit–Hartenberg table in TOML text; `name` is used if the text has none."""
    mechanism = _mechanism(text, name, snap, file)
    _warn(mechanism)
    return mechanism


def _mechanism(text: str, name: str, snap: bool | None, file: object) -> Mechanism:
    return _Reader(_parsed(text, file), snap).mechanism(name)


def _warn(mechanism: Mechanism):
    """Warn about suspicious inertia; a table without any mass is a kinematic model on purpose."""
    if any(link.inertia_given for link in mechanism.links):
        warn_about_inertia(mechanism, stacklevel=3)


def _parsed(text: str, file: object) -> Table:
    values = toml_values(text, file)
    top = Table(values, file, "")
    if not {"joint", "convention"} & values.keys():
        raise top.error(
            "it is not a Denavit–Hartenberg table", None, "Give convention, unit, angle and [[joint]] rows"
        )
    top.only(*_TOP).choice("convention", _CONVENTIONS)
    for key, words in (("unit", '"m" or "mm"'), ("angle", '"rad" or "deg"')):
        if key not in top:
            raise top.error(f"{key!r} is missing", None, f"Add {key} = {words}")
    units = Units(
        checked_unit(top.text("unit"), "length", file=file, element="unit"),
        checked_unit(top.text("angle"), "angle", file=file, element="angle"),
    )
    return Table(values, file, "", units)


def toml_values(text: str, file: object) -> dict[str, Any]:
    """Parse TOML text of an untrusted file; errors name the line."""
    _check_keys(text, file)
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        message = (
            str(error)
            if isinstance(error, tomllib.TOMLDecodeError)
            else "it is nested too deeply or has a number too long"
        )
        spot = re.search(r" \(at (.*)\)$", message)
        raise ModelError(
            f"it is not TOML: {message[: spot.start()] if spot else message}",
            file=file,
            element=spot.group(1) if spot else None,
            remedy="Correct the line; docs/files.md has a whole table",
        ) from None


def _check_keys(text: str, file: object):
    """Refuse keys of very many parts, for which tomllib takes quadratic time."""
    for chain in _DOTTED_KEY.finditer(text):
        if chain.group().count(".") > _MAX_KEY_PARTS:
            line = text.count("\n", 0, chain.start()) + 1
            raise ModelError(
                f"a key has more than {_MAX_KEY_PARTS} parts",
                file=file,
                element=f"line {line}",
                remedy="Use keys such as joint or drive.viscous",
            )


class _Reader:
    """Reader in one pass over the rows."""

    def __init__(self, top: Table, snap: bool | None):
        self.top = top
        self.modified = top.choice("convention", _CONVENTIONS) == "modified"
        self.snap = top.flag("snap", True) if snap is None else bool(snap)
        self.notes: list[str] = []
        self.links: list[Link] = []
        self.joints: list[Joint] = []

    def mechanism(self, name: str) -> Mechanism:
        """Assemble links, joints and frames."""
        top = self.top
        base = top.table("base_link").only("name", *_INERTIA)
        self.links.append(self._link(base, base.text("name", "base")))
        T_base = self._transform(top, "base")
        rows = top.tables("joint", "joint")
        if not rows:
            raise top.error("it has no joint", None, "Add [[joint]] rows")
        if len(rows) > _MAX_ROWS:
            raise top.error(f"it has {len(rows)} rows, and at most {_MAX_ROWS} are read", "joint")
        for row in rows:
            if "offset" in row:
                raise row.error(
                    "'offset' is not a key here", None, "The joint's offset is theta, or d if it slides"
                )
            self._add_row(row.only(*_ROW), T_base)
        frames = [self._frame(entry.only("name", "link", "at")) for entry in top.tables("frame", "frame")]
        if "tool" in top:
            frames.append(Frame("tool", self.links[-1].name, self._transform(top, "tool")))
        loops = [self._loop(entry.only("frame", "other", "locked")) for entry in top.tables("loop", "loop")]
        motors = top.texts("motors") if "motors" in top else None
        n_v = sum(joint.type.n_v for joint in self.joints)
        try:
            return assemble(
                top.text("name", name),
                self.links,
                self.joints,
                frames,
                gravity=top.numbers("gravity", (3,), list(DEFAULT_GRAVITY)),
                transmission=top.matrix("transmission", n_v) if "transmission" in top else None,
                source=top.text("source", str(top.file) if top.file is not None else "Denavit–Hartenberg table"),
                notes=[*top.texts("notes"), *self.notes],
                loops=loops,
                motors=motors,
                reference=self._reference() if "reference" in top else None,
            )
        except ZvenoError as error:
            raise error.located(file=top.file) from None

    def _add_row(self, row: Table, T_base: np.ndarray):
        number = len(self.joints) + 1
        name = row.text("name", f"joint{number}")
        link = self._link(row, row.text("link", f"link{number}"))
        root, before = self.links[0].name, self.links[-1].name
        parent = row.text("parent", before)
        kind = row.choice("type", _ROW_TYPES, "revolute")
        T_start, T_end = self._row_transforms(row, kind)
        T_start = self._transform(row, "at") @ T_start
        if parent == root:
            T_start = T_base @ T_start
        motion = JOINT_TYPES[kind]()
        if "sign" in row:
            if row.values["sign"] not in (1, -1) or kind == "fixed":
                raise row.error(
                    f"{shown(row.values['sign'])} is not a sign", "sign", "Write 1 or -1, on a row that moves"
                )
            motion = motion.about((0.0, 0.0, -1.0)) if row.values["sign"] == -1 else motion
        self.links.append(link)
        self.joints.append(
            Joint(
                name,
                parent,
                link.name,
                motion,
                T_parent_joint=T_start,
                T_joint_child=T_end,
                limits=self._limits(row, kind),
                drive=self._drive(row, kind),
            )
        )

    def _row_transforms(self, row: Table, kind: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the constant transforms before and after the joint's motion about its z axis."""
        moves_theta, moves_d = kind in ("revolute", "continuous"), kind == "prismatic"
        theta = self._angle(row, "theta", *((0.0,) if moves_theta else ()))
        d = row.quantity("d", "length", *((0.0,) if moves_d else ()))
        along_z = transform(rotation("z", theta), np.array([0.0, 0.0, d]))
        alpha = self._angle(row, "alpha")
        along_x = transform(rotation("x", alpha), np.array([row.quantity("a", "length"), 0.0, 0.0]))
        # Rz and Tz commute with the motion: a modified row needs nothing after it, a standard one nothing before.
        return (along_x @ along_z, np.eye(4)) if self.modified else (np.eye(4), along_z @ along_x)

    def _angle(self, row: Table, key: str, *default: float) -> float:
        angle = row.quantity(key, "angle", *default)
        return snapped_angle(angle, f"{row.element}, {key}", self.notes) if self.snap else angle

    def _transform(self, table: Table, key: str) -> np.ndarray:
        text = table.text(key, "")
        return constant_transform(text, table.units, table.place(key), snap=self.snap, notes=self.notes)

    def _limits(self, row: Table, kind: str) -> Limits:
        if kind == "fixed":
            for key in ("limits", "velocity", "effort"):
                if key in row:
                    raise row.error("a fixed row does not move", key, "Remove it")
            return Limits()
        dimension = "length" if kind == "prismatic" else "angle"
        low, high = (-np.inf, np.inf)
        if "limits" in row:
            low, high = row.quantities("limits", dimension, 2, infinite=True)
        return Limits(
            low,
            high,
            row.quantity("velocity", dimension) if "velocity" in row else np.inf,
            row.number("effort") if "effort" in row else np.inf,
        )

    def _drive(self, row: Table, kind: str) -> Drive | None:
        if "drive" not in row:
            return None
        if kind == "fixed":
            raise row.error("a fixed row does not move", "drive", "Remove it")
        drive = row.table("drive").only(*_DRIVE)
        return Drive(**{key: drive.number(key) for key in _DRIVE if key in drive})

    def _link(self, table: Table, name: str) -> Link:
        given = [key for key in _INERTIA if key in table]
        if not given:
            return Link(name, inertia_given=False)
        mass = table.number("mass")
        center = table.quantities("center_of_mass", "length", 3, [0.0, 0.0, 0.0])
        values = table.numbers("inertia", (3, 6), [0.0, 0.0, 0.0])
        xx, yy, zz, xy, xz, yz = [*values, 0.0, 0.0, 0.0][:6]
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        form = table.choice("inertia_about", _INERTIA_FORMS, "center")
        if form == "pseudo":
            tensor = np.trace(tensor) * np.eye(3) - tensor
        if form == "center":
            return Link(name, inertia.parameters(mass, center, tensor))
        return Link(name, inertia.from_moments(mass, mass * center, tensor))

    def _frame(self, entry: Table) -> Frame:
        return Frame(entry.text("name"), entry.text("link", self.links[-1].name), self._transform(entry, "at"))

    def _loop(self, entry: Table) -> Loop:
        locked = (
            entry.texts("locked") if isinstance(entry.values.get("locked"), list) else entry.text("locked", "point")
        )
        try:
            return Loop(
                entry.text("frame"), entry.text("other"), tuple(locked) if isinstance(locked, list) else locked
            )
        except ZvenoError as error:
            raise error.located(file=self.top.file) from None

    def _reference(self) -> dict[str, object]:
        """Closed configuration by joint name, in the units of the file."""
        table = self.top.table("reference")
        lengths = {joint.name for joint in self.joints if joint.type.units == ("m",)}
        return {name: table.quantity(name, "length" if name in lengths else "angle") for name in table.values}


# --- frames from axes

_PARALLEL = 1e-12
"""Largest sine of the angle between parallel axes."""
_ROUNDING = 2e-15


@dataclass(frozen=True)
class _Row:
    """Row of a standard table, metres and radians."""

    theta: float
    d: float
    a: float
    alpha: float

    def transform(self) -> np.ndarray:
        """Return Rz(θ) Tz(d) Tx(a) Rx(α)."""
        turned = transform(rotation("z", self.theta), np.array([0.0, 0.0, self.d]))
        return turned @ transform(rotation("x", self.alpha), np.array([self.a, 0.0, 0.0]))


def _standard_rows(joints: list[Joint], T_last_link: np.ndarray) -> tuple[np.ndarray, list[_Row]]:
    """Return the pose of frame 0 in the world and one row for every joint of a chain at q = 0.

    Args:
        joints: revolute, continuous and prismatic joints from the base outward; fixed ones already merged.
        T_last_link: desired end of the last row, relative to the last moved joint frame; if no row can reach it,
            the last row is zero.
    """
    frame, rows = np.eye(4), []
    walk = np.eye(4)
    T_world_first = np.eye(4)
    for k, joint in enumerate(joints):
        walk = walk @ joint.T_parent_joint
        direction = walk[:3, :3] @ np.asarray(joint.type.parameters()["axis"])
        point = walk[:3, 3]
        if k == 0:
            T_world_first = frame = _first_frame(direction, point)
        else:
            # Only the direction of a sliding joint matters, so its axis goes through the frame before it.
            row = _row_to_axis(frame, direction, None if joint.type.sigma == 0 else point)
            rows.append(row)
            frame = frame @ row.transform()
        walk = walk @ joint.T_joint_child
    rows.append(_row_of(inverse(frame) @ walk @ T_last_link) or _Row(0.0, 0.0, 0.0, 0.0))
    return T_world_first, rows


def _row_of(T: np.ndarray) -> _Row | None:
    """Return the row whose transform is T, or None: x must cross the old z axis at a right angle."""
    if abs(T[2, 0]) > _ROUNDING:
        return None
    theta = _clean_angle(math.atan2(T[1, 0], T[0, 0]))
    row = _Row(
        theta,
        _clean(T[2, 3]),
        _clean(T[0, 3] * math.cos(theta) + T[1, 3] * math.sin(theta)),
        _clean_angle(math.atan2(T[2, 1], T[2, 2])),
    )
    scale = max(1.0, abs(T[:3, 3]).max())
    return row if abs(row.transform() - T).max() <= 10 * _ROUNDING * scale else None


def _first_frame(direction, point) -> np.ndarray:
    """Return frame 0: the world's if the first axis is its z axis, else at the axis' point nearest the origin."""
    z = direction
    foot = point - (point @ z) * z
    if abs(foot).max() <= _ROUNDING and abs(z - [0.0, 0.0, 1.0]).max() <= _ROUNDING:
        return np.eye(4)
    side = np.eye(3)[0] if abs(z[0]) < 0.9 else np.eye(3)[1]
    x = side - (side @ z) * z
    x = x / np.linalg.norm(x)
    return transform(np.stack([x, cross(z, x), z], axis=1), foot)


def _row_to_axis(frame: np.ndarray, direction, point) -> _Row:
    """Return the row from a frame to the one on the next axis, whose x lies along the common normal.

    Of the two directions of x, the one nearer to the old x is taken, so that offsets stay small and existing tables
    are reproduced, negative lengths included.
    """
    w = frame[:3, :3].T @ direction
    p = np.zeros(3) if point is None else frame[:3, :3].T @ (point - frame[:3, 3])
    across = math.hypot(w[0], w[1])
    if across > _PARALLEL:
        x = np.array([-w[1], w[0]]) / across  # along z × w
        # The foot on the old z axis: p + s w meets the plane of z and x where its part along w's shadow vanishes.
        s = -(p[0] * w[0] + p[1] * w[1]) / across**2
        d = p[2] + s * w[2]
    else:
        reach = math.hypot(p[0], p[1])
        x = p[:2] / reach if reach > _ROUNDING else np.array([1.0, 0.0])
        d = 0.0
    if x[0] < -_ROUNDING or (abs(x[0]) <= _ROUNDING and x[1] < 0):
        x = -x
    theta = _clean_angle(math.atan2(x[1], x[0]))
    a = p[0] * x[0] + p[1] * x[1]
    alpha = _clean_angle(math.atan2(x[0] * -w[1] + x[1] * w[0], w[2]))
    return _Row(theta, _clean(d), _clean(a), alpha)


def _clean(length: float) -> float:
    return 0.0 if abs(length) <= _ROUNDING else float(length)


def _clean_angle(angle: float) -> float:
    exact = round(angle / (math.pi / 12)) * math.pi / 12
    return exact if abs(angle - exact) <= _ROUNDING else angle


# --- writing

_FARTHEST = 1000.0
"""Largest ratio of lengths of the table to those of the chain for poses good to 1e-12."""


def to_dh(mechanism: Mechanism) -> str:
    """Return a serial chain of revolute and prismatic joints as a standard table, in metres and radians.

    Link frames follow the convention; inertia and named frames are expressed there. Links on fixed joints are
    merged into the one that carries them. The frame `tool` is the default frame. A chain that no table describes
    (branches, other joint types, mimic joints, axes too nearly parallel) is refused with the reason. A
    `ZvenoWarning` names the losses: closed loops that do not end at named frames, first moments without mass,
    shapes and sections of a URDF.
    """
    chain = _Chain(mechanism)
    chain.place(*_standard_rows(chain.joints, T_last_link=chain.bodies[-1][0][1]))
    held = chain.loops
    losses = [
        *coupling_losses(mechanism, transmission_held=True, loops_held=held),
        *chain.massless_moments(),
        *extra_losses(mechanism),
    ]
    warn_about_losses(mechanism, "a Denavit–Hartenberg table", losses)
    joints = [_joint_block(chain, k) for k in range(len(chain.joints))]
    frames = [_frame_block(chain, frame) for frame in chain.frames]
    return "\n".join([_top(chain), *joints, *frames, *map(_loop_block, held), *_reference_block(mechanism)])


class _Chain:
    """Mechanism as a chain of moving joints, fixed ones merged."""

    def __init__(self, mechanism: Mechanism):
        self.mechanism = mechanism
        self.joints: list[Joint] = []
        self.bodies: list[list[tuple[Link, np.ndarray]]] = [[(mechanism.links[0], np.eye(4))]]
        """Links merged into the base and every moving link, with their poses in the joint's moved frame."""
        self.number_of: dict[str, int] = {mechanism.links[0].name: 0}
        self.T_of: dict[str, np.ndarray] = {mechanism.links[0].name: np.eye(4)}
        for _, _, joint in mechanism.outward():
            self._add(joint)
        if not self.joints:
            raise ModelError("it has no joint that moves", element=mechanism.name, remedy="Write it as URDF")
        self.T_world_first = np.eye(4)
        self.rows: list[_Row] = []
        self.T_moved_frame: list[np.ndarray] = []

    def _add(self, joint: Joint):
        where = f"joint {joint.name}"
        body = self.number_of[joint.parent]
        T = self.T_of[joint.parent] @ joint.T_parent_joint
        if joint.type.n_v == 0:
            self._attach(joint.child, body, T @ joint.T_joint_child)
            return
        if joint.mimic is not None:
            raise ModelError(
                "it follows another joint, which a Denavit–Hartenberg table cannot say",
                element=where,
                remedy="Write elementary transforms or URDF instead",
            )
        if joint.type.sigma is None:
            raise ModelError(
                f"a {joint.type.kind} joint has no Denavit–Hartenberg row",
                element=where,
                remedy="Only revolute and prismatic joints have; write URDF instead",
            )
        if body != len(self.joints):
            raise ModelError(
                "the chain branches there",
                element=where,
                remedy="Cut the other branches off, or write URDF instead",
            )
        # From here on poses are relative to the joint's moved frame, so the child's own placement is the body's.
        self.joints.append(Joint(joint.name, "", "", joint.type, T, limits=joint.limits, drive=joint.drive))
        self.bodies.append([])
        self._attach(joint.child, len(self.joints), joint.T_joint_child)

    def _attach(self, name: str, body: int, T: np.ndarray):
        link = self.mechanism.links[self.mechanism.link_number(name)]
        self.bodies[body].append((link, T))
        self.number_of[name], self.T_of[name] = body, T

    def place(self, T_world_first: np.ndarray, rows: list[_Row]):
        """Take the table's frames, if poses computed from it are accurate."""
        self.T_world_first, self.rows = T_world_first, rows
        self._refuse_far_normals()
        self.T_moved_frame = [np.eye(4)]
        table = T_world_first
        walk = np.eye(4)
        for joint, row in zip(self.joints, rows, strict=True):
            walk = walk @ joint.T_parent_joint
            table = table @ row.transform()
            self.T_moved_frame.append(inverse(walk) @ table)

    def _refuse_far_normals(self):
        """Refuse nearly parallel axes: their common normals lie far out, and poses lose as many digits."""
        size = max([1.0, *(abs(joint.T_parent_joint[:3, 3]).max() for joint in self.joints)])
        for row, joint in zip(self.rows, self.joints[1:], strict=False):
            if max(abs(row.d), abs(row.a)) > _FARTHEST * size:
                raise ModelError(
                    "its axis is so nearly parallel to the one before "
                    f"({abs(row.alpha):.1g} rad) that their common normal is {abs(row.d):.1g} m away",
                    element=f"joint {joint.name}",
                    remedy="Tables describe such axes badly; write elementary transforms instead",
                )

    @property
    def tool(self) -> Frame | None:
        """Frame that the table's `tool` stands for: the default frame, if the last link carries it."""
        mechanism = self.mechanism
        if "tool" not in mechanism.frame_names and len(mechanism.tree.leaves) != 1:
            return None
        frame = mechanism.default_frame
        return frame if self.number_of[frame.link] == len(self.joints) else None

    @property
    def frames(self) -> list[Frame]:
        """Frames to write beside `tool`: the named ones, and those of links that were merged."""
        merged = [Frame(link.name, link.name) for body in self.bodies for link, _ in body[1:]]
        tool = self.tool
        return merged + [other for other in self.mechanism.frames if tool is None or other.name != tool.name]

    @property
    def loops(self) -> list[Loop]:
        """Closed loops whose ends are frames of the table."""
        tool = self.tool
        written = {frame.name for frame in self.frames} | ({"tool"} if tool and tool.name == "tool" else set())
        return [loop for loop in self.mechanism.loops if {loop.frame, loop.other} <= written]

    def T_frame_of(self, frame: Frame) -> tuple[int, np.ndarray]:
        """Return the number of the body that carries a frame, and its pose in the body's table frame."""
        body = self.number_of[frame.link]
        return body, inverse(self.T_moved_frame[body]) @ self.T_of[frame.link] @ frame.T_link_frame

    def inertia_of(self, body: int) -> np.ndarray:
        """Return the ten parameters of all links of a body together, in its table frame."""
        T = inverse(self.T_moved_frame[body])
        return sum((inertia.moved(link.inertia, T @ T_link) for link, T_link in self.bodies[body]), np.zeros(10))

    def massless_moments(self) -> list[str]:
        """List lost first moments, which have no mass and so no centre."""
        inertias = [self.inertia_of(body) for body in range(len(self.bodies))]
        names = [self.link_name(k) for k, p in enumerate(inertias) if p[0] <= 0 and inertia.first_moment(p).any()]
        return listed("the first moments of links without mass:", names)

    def link_name(self, body: int) -> str:
        """Return the name of the link that carries a body."""
        return self.bodies[body][0][0].name


def _top(chain: _Chain) -> str:
    mechanism = chain.mechanism
    lines = [f"name = {_quoted(mechanism.name)}"]
    if mechanism.source:
        lines.append(f"source = {_quoted(mechanism.source)}")
    lines += ['convention = "standard"', 'unit = "m"', 'angle = "rad"']
    base = " ".join(constant_terms(chain.T_world_first))
    tool = chain.tool
    at_tool = "" if tool is None else " ".join(constant_terms(chain.T_frame_of(tool)[1]))
    angles = [angle_text(angle) for row in chain.rows for angle in (row.theta, row.alpha)]
    others = [term for frame in chain.frames for term in constant_terms(chain.T_frame_of(frame)[1])]
    if needs_literal_reading(" ".join([base, at_tool, *angles, *others])):
        lines.append("snap = false")
    if base:
        lines.append(f"base = {_quoted(base)}")
    if tool is not None and (at_tool or tool.name == "tool"):
        lines.append(f"tool = {_quoted(at_tool or 'Tz(0)')}")
    if mechanism.motors is not None:
        lines.append(f"motors = [{', '.join(map(_quoted, mechanism.motors))}]")
    if not np.array_equal(mechanism.gravity, DEFAULT_GRAVITY):
        lines.append(f"gravity = {_list(mechanism.gravity)}")
    if mechanism.transmission is not None:
        rows = ",\n".join("    " + _list(row) for row in mechanism.transmission)
        lines.append(f"transmission = [\n{rows},\n]")
    if mechanism.notes:
        notes = ",\n".join("    " + _quoted(note) for note in mechanism.notes)
        lines.append(f"notes = [\n{notes},\n]")
    lines += ["", "[base_link]", f"name = {_quoted(chain.link_name(0))}", *_inertia_lines(chain, 0)]
    return "\n".join(lines) + "\n"


def _joint_block(chain: _Chain, k: int) -> str:
    joint, row = chain.joints[k], chain.rows[k]
    lines = ["[[joint]]", f"name = {_quoted(joint.name)}", f"link = {_quoted(chain.link_name(k + 1))}"]
    if joint.type.kind != "revolute":
        lines.append(f"type = {_quoted(joint.type.kind)}")
    lines += [
        f"theta = {_angle(row.theta)}",
        f"d = {_number(row.d)}",
        f"a = {_number(row.a)}",
        f"alpha = {_angle(row.alpha)}",
        *_limit_lines(joint.limits),
    ]
    if joint.drive is not None:
        keys = ("rotor_inertia", "gear_ratio", "viscous", "coulomb", "offset")
        words = ", ".join(f"{key} = {_number(getattr(joint.drive, key)[0])}" for key in keys)
        lines.append(f"drive = {{ {words} }}")
    return "\n".join(lines + _inertia_lines(chain, k + 1)) + "\n"


def _loop_block(loop: Loop) -> str:
    locked = ", ".join(map(_quoted, loop.locked))
    lines = ["[[loop]]", f"frame = {_quoted(loop.frame)}", f"other = {_quoted(loop.other)}", f"locked = [{locked}]"]
    return "\n".join(lines) + "\n"


def _reference_block(mechanism: Mechanism) -> list[str]:
    if mechanism.reference is None:
        return []
    values = zip(mechanism.coordinate_names, mechanism.reference, strict=True)
    return ["\n".join(["[reference]", *(f"{_quoted(name)} = {_number(x)}" for name, x in values)]) + "\n"]


def _frame_block(chain: _Chain, frame: Frame) -> str:
    body, T = chain.T_frame_of(frame)
    lines = ["[[frame]]", f"name = {_quoted(frame.name)}", f"link = {_quoted(chain.link_name(body))}"]
    terms = constant_terms(T)
    return "\n".join(lines + ([f"at = {_quoted(' '.join(terms))}"] if terms else [])) + "\n"


def _limit_lines(limits: Limits) -> list[str]:
    lines = []
    low, high = np.ravel(limits.lower)[0], np.ravel(limits.upper)[0]
    if np.isfinite(low) or np.isfinite(high):
        lines.append(f"limits = {_list((low, high))}")
    for key in ("velocity", "effort"):
        value = np.ravel(getattr(limits, key))[0]
        if np.isfinite(value):
            lines.append(f"{key} = {_number(value)}")
    return lines


def _inertia_lines(chain: _Chain, body: int) -> list[str]:
    p = chain.inertia_of(body)
    if not p.any() and not any(link.inertia_given for link, _ in chain.bodies[body]):
        return []
    lines = [f"mass = {_number(p[0])}"]
    if p[0] > 0:
        lines.append(f"center_of_mass = {_list(inertia.center_of_mass(p))}")
        I = inertia.tensor_at_center(p)
    else:
        lines.append('inertia_about = "frame"')
        I = inertia.tensor(p)
    return [*lines, f"inertia = {_list((I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))}"]


def _angle(angle: float) -> str:
    text = angle_text(angle)
    return f'"{text}"' if text.endswith("deg") else text


def _number(value: float) -> str:
    return repr(float(value))


def _list(values) -> str:
    return "[" + ", ".join(_number(value) for value in values) + "]"


def _quoted(text: str) -> str:
    """Return a TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04X}" for c in escaped) + '"'
