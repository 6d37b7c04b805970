"""Products of elementary transforms as text: document 001's form of a mechanism.

    name: two links            # optional header: name, source, unit, angle, gravity, snap
    unit: mm
    Tz(670) Rz(q1) Rx(-90deg)  # terms Tx Ty Tz Rx Ry Rz, read from the base to the tool
    Tx(431.8) Rz(-elbow + pi/2) Tz(70)

Numbers are metres and radians unless the header or a suffix (`m`, `cm`, `mm`, `rad`, `deg`) says otherwise. Any
other word is a joint: `q1`, `-q1` (counted the other way), `q1 - 90deg` (an offset). A joint that comes back,
with a factor if wished (`Rz(-q2)`, `Tz(0.5*q3)`), is a mimic joint that follows its first occurrence; so a screw is
`Rz(q1) Tz(0.002*q1)`, 2 mm per radian.

Link k (`link1`, …; `base` is the fixed one) has its frame right after the k-th joint. Terms before a joint are its
placement on the previous link. Terms after the last joint are the frame `tool`.

Angles within 1e-5 rad of a multiple of 15° are taken to be that multiple and listed in the mechanism's notes;
`snap: no` in the header, or `snap=False`, keeps them as typed.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from ..errors import ModelError, ZvenoError
from ..mechanism import DEFAULT_GRAVITY, Frame, Joint, Link, Mechanism, Mimic, Prismatic, Revolute, assemble
from ..spatial import angles
from ..spatial.rotations import elementary as rotation
from ..spatial.transforms import transform
from .files import MAX_TEXT_BYTES, read_text
from .text import Expression, Linear, Place, is_reserved, tokens
from .units import Units, checked_unit, nearest_of

MAX_TERMS = 20_000
TERM_NAMES = ("Tx", "Ty", "Tz", "Rx", "Ry", "Rz")
_HEADER = re.compile(r"\s*([^\W\d]\w*)\s*[:=]\s*(.*?)\s*")
_HEADER_KEYS = ("name", "source", "unit", "angle", "gravity", "snap")
_LOOKS_LIKE_TERMS = re.compile(r"[TR][xyz]\s*\(")


@dataclass(frozen=True)
class Term:
    """Elementary transform: a constant, or a joint with an offset."""

    kind: str
    """"T" or "R"."""
    axis: str
    """"x", "y" or "z"."""
    value: Linear
    offset: int
    """Start of the term in its text."""

    @property
    def dimension(self) -> str:
        """Dimension of the argument: "angle" or "length"."""
        return "angle" if self.kind == "R" else "length"

    def constant(self) -> np.ndarray:
        """Return the (4, 4) transform of the constant part."""
        if self.kind == "R":
            return transform(rotation(self.axis, self.value.constant))
        return transform(None, self.direction * self.value.constant)

    @property
    def direction(self) -> np.ndarray:
        """Unit vector of the axis, (3,)."""
        return np.eye(3)["xyz".index(self.axis)]


def is_elementary_text(text: str) -> bool:
    """Return True if a string looks like a product of elementary transforms rather than a name or a path."""
    return _LOOKS_LIKE_TERMS.search(text) is not None


def read_elementary(path: str | PathLike[str], *, snap: bool | None = None) -> Mechanism:
    """Read the mechanism of a file of elementary transforms.

    Args:
        path: a text file in the format above.
        snap: True to make near-exact angles exact; None follows the file's header, whose default is True.
    """
    return elementary_mechanism(read_text(path, MAX_TEXT_BYTES), name=Path(path).stem, snap=snap, file=path)


def elementary_mechanism(
    text: str, *, name: str = "mechanism", snap: bool | None = None, file: object = None
) -> Mechanism:
    """Return the mechanism of a product of elementary transforms; `name` is used if its header gives none."""
    place = Place(file)
    text = _without_comments(text)
    header, body = _split_header(text, place)
    units = Units(
        checked_unit(header.get("unit", "m"), "length", file=file, element="unit"),
        checked_unit(header.get("angle", "rad"), "angle", file=file, element="angle"),
    )
    notes: list[str] = []
    snap = _snap_choice(header.get("snap"), snap, place)
    terms = parse_terms(body, units, place, snap=snap, notes=notes)
    parts = _Parts(body, place, units)
    for term in terms:
        parts.add(term)
    if not parts.joints:
        raise ModelError("it has no joint", file=file, remedy="Write a joint as a word, for example Rz(q1)")
    frames = [Frame("tool", parts.links[-1].name, parts.T_link_end)]
    try:
        return assemble(
            header.get("name") or name,
            parts.links,
            parts.joints,
            frames,
            gravity=_gravity(header.get("gravity"), place),
            source=header.get("source") or (str(file) if file is not None else "elementary transforms"),
            notes=notes,
        )
    except ZvenoError as error:
        raise error.located(file=file) from None


def constant_transform(text: str, units: Units, place: Place, *, snap: bool, notes: list[str]) -> np.ndarray:
    """Return the (4, 4) product of constant elementary transforms; refuse joint variables."""
    T = np.eye(4)
    for term in parse_terms(text, units, place, snap=snap, notes=notes):
        if term.value.joint is not None:
            raise place.error(f"joint {term.value.joint!r} stands in a constant transform", text, term.offset)
        T = T @ term.constant()
    return T


def parse_terms(text: str, units: Units, place: Place, *, snap: bool, notes: list[str]) -> list[Term]:
    """Parse the terms of a product, constants in SI units; snapped angles are added to `notes`."""
    items = tokens(text, place)
    terms: list[Term] = []
    position = line_start = 0
    line = 1
    while items[position].kind != "end":
        token = items[position]
        if token.text == "*" and terms:
            token = items[position := position + 1]
        if token.text not in TERM_NAMES:
            raise place.error(
                f"an elementary transform was expected, not {token.text!r}",
                text,
                token.offset,
                nearest_of(token.text, TERM_NAMES) + ", each with an argument in parentheses",
            )
        if len(terms) == MAX_TERMS:
            raise place.error(f"there are more than {MAX_TERMS} transforms", text, token.offset)
        line += text.count("\n", line_start, token.offset)
        line_start = token.offset
        kind, axis = token.text
        reader = Expression(text, items, place, units, "angle" if kind == "R" else "length", position + 1)
        reader.expect("(")
        value = reader.value()
        reader.expect(")")
        position = reader.next
        term = Term(kind, axis, value, token.offset)
        terms.append(_snapped(term, line, place, notes) if snap and kind == "R" else term)
    return terms


def snapped_angle(angle: float, label: str, notes: list[str]) -> float:
    """Return the multiple of 15° within the tolerance of `angle`, else `angle`; a change is added to `notes`."""
    exact = angles.snapped(angle)
    if angles.off_exact(angle) > 0.0 and exact != angle:
        notes.append(f"{label}: {angle!r} rad was taken to be {round(math.degrees(exact))}°")
    return exact


def _snapped(term: Term, line: int, place: Place, notes: list[str]) -> Term:
    where = f"{place.element}, R{term.axis}" if place.element else f"line {line}, R{term.axis}"
    value = term.value
    exact = snapped_angle(value.constant, where, notes)
    return Term(term.kind, term.axis, Linear(exact, value.coefficient, value.joint, True), term.offset)


class _Parts:
    """Links and joints, built from terms from the base outward."""

    def __init__(self, text: str, place: Place, units: Units):
        self.text, self.place, self.units = text, place, units
        self.links = [Link("base", inertia_given=False)]
        self.joints: list[Joint] = []
        self.T_link_end = np.eye(4)
        self._first_use: dict[str, Term] = {}
        self._taken: set[str] = set()
        self._followers: dict[str, int] = {}

    def add(self, term: Term):
        """Add a term: a constant moves the end of the last link; a joint starts a new link."""
        # The constant part of a joint's argument is about the same axis, so it may as well come first.
        self.T_link_end = self.T_link_end @ term.constant()
        variable, factor = term.value.joint, term.value.coefficient
        if variable is None:
            return
        moves = Revolute if term.kind == "R" else Prismatic
        mimic = None
        name = variable
        if variable not in self._first_use:
            if abs(factor) != 1.0:
                raise self.place.error(
                    f"joint {variable!r} has the factor {factor:g} where it comes first",
                    self.text,
                    term.offset,
                    f"Write {variable} or -{variable} there; a factor is for a joint that follows another",
                )
            self._first_use[variable] = term
            motion = moves(factor * term.direction + 0.0)  # no −0 among the entries
        else:
            motion = moves(term.direction)
            mimic = Mimic(variable, factor * self._ratio_of_units(term))
            name = self._fresh_name(variable)
        self._taken.add(name)
        child = f"link{len(self.links)}"
        self.joints.append(
            Joint(name, self.links[-1].name, child, motion, T_parent_joint=self.T_link_end, mimic=mimic)
        )
        self.links.append(Link(child, inertia_given=False))
        self.T_link_end = np.eye(4)

    def _ratio_of_units(self, term: Term) -> float:
        """Return the SI value of one file unit of the follower over one of the leader: 0.001 for mm by radians."""
        leader = self._first_use[term.value.joint or ""]
        if leader.dimension == term.dimension:
            return 1.0
        return self.units.si(1.0, term.dimension) / self.units.si(1.0, leader.dimension)

    def _fresh_name(self, variable: str) -> str:
        k = self._followers.get(variable, 1) + 1
        while f"{variable}_{k}" in self._taken:
            k += 1
        self._followers[variable] = k
        return f"{variable}_{k}"


def _without_comments(text: str) -> str:
    return re.sub(r"#[^\n]*", "", text)


def _split_header(text: str, place: Place) -> tuple[dict[str, str], str]:
    """Return header entries, and the text with their lines blanked so that positions in it stay right."""
    header: dict[str, str] = {}
    lines = text.split("\n")
    for number, line in enumerate(lines):
        match = _HEADER.fullmatch(line)
        if match is None:
            if line.strip():
                break
            continue
        key, value = match.groups()
        where = f"line {number + 1}"
        if key not in _HEADER_KEYS:
            raise ModelError(
                f"{key!r} is not a header entry",
                file=place.file,
                element=where,
                remedy=nearest_of(key, _HEADER_KEYS),
            )
        if key in header or not value:
            problem = f"{key!r} is given twice" if key in header else f"{key!r} has no value"
            raise ModelError(problem, file=place.file, element=where)
        header[key] = value
        lines[number] = ""
    return header, "\n".join(lines)


def _snap_choice(in_header: str | None, asked: bool | None, place: Place) -> bool:
    if in_header not in (None, "yes", "no"):
        raise ModelError(f"{in_header!r} is neither yes nor no", file=place.file, element="snap")
    return (in_header != "no") if asked is None else bool(asked)


def _gravity(text: str | None, place: Place):
    if text is None:
        return DEFAULT_GRAVITY
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != 3:
        raise ModelError(
            f"{text!r} is not three numbers", file=place.file, element="gravity", remedy="Write, in m/s², 0 0 -9.81"
        )
    return values


def is_joint_word(name: str) -> bool:
    """Return True if a joint of this name can be written in the text unchanged."""
    return re.fullmatch(r"[^\W\d]\w*", name) is not None and not is_reserved(name)
