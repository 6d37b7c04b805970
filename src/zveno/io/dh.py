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

import re
import tomllib
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError, ZvenoError
from ..mechanism import DEFAULT_GRAVITY, JOINT_TYPES, Drive, Frame, Joint, Limits, Link, Loop, Mechanism, assemble
from ..mechanism.plausibility import warn_about_inertia
from ..spatial import inertia
from ..spatial.rotations import elementary as rotation
from ..spatial.transforms import transform
from .elementary import constant_transform, snapped_angle
from .files import MAX_TEXT_BYTES, read_text
from .table import Table, shown
from .units import Units, checked_unit

CONVENTIONS = ("standard", "modified")
ROW_TYPES = ("revolute", "continuous", "prismatic", "fixed")
INERTIA_FORMS = ("center", "frame", "pseudo")
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
MAX_KEY_PARTS = 100
MAX_ROWS = 20_000
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
    top.only(*_TOP).choice("convention", CONVENTIONS)
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
        ) from None


def _check_keys(text: str, file: object):
    """Refuse keys of very many parts, for which tomllib takes quadratic time."""
    for chain in _DOTTED_KEY.finditer(text):
        if chain.group().count(".") > MAX_KEY_PARTS:
            line = text.count("\n", 0, chain.start()) + 1
            raise ModelError(f"a key has more than {MAX_KEY_PARTS} parts", file=file, element=f"line {line}")


class _Reader:
    """Reader in one pass over the rows."""

    def __init__(self, top: Table, snap: bool | None):
        self.top = top
        self.modified = top.choice("convention", CONVENTIONS) == "modified"
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
        if len(rows) > MAX_ROWS:
            raise top.error(f"it has {len(rows)} rows, and at most {MAX_ROWS} are read", "joint")
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
        kind = row.choice("type", ROW_TYPES, "revolute")
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
        form = table.choice("inertia_about", INERTIA_FORMS, "center")
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
        lengths = {joint.name for joint in self.joints if joint.type.kind == "prismatic"}
        return {name: table.quantity(name, "length" if name in lengths else "angle") for name in table.values}
