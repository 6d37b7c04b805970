"""Products of elementary transforms as text: document 001's form of a mechanism.

    name: two links            # optional header: name, source, unit, angle, gravity, snap, motors, reference
    unit: mm
    Tz(670) Rz(q1) Rx(-90deg)  # terms Tx Ty Tz Rx Ry Rz, read from the base to the tool
    Tx(431.8) Rz(-elbow + pi/2) Tz(70)

Numbers are metres and radians unless the header or a suffix (`m`, `cm`, `mm`, `rad`, `deg`) says otherwise. Any
other word is a joint: `q1`, `-q1` (counted the other way), `q1 - 90deg` (an offset). A joint that comes back,
with a factor if wished (`Rz(-q2)`, `Tz(0.5*q3)`), is a mimic joint that follows its first occurrence; so a screw is
`Rz(q1) Tz(0.002*q1)`, 2 mm per radian.

Link k (`link1`, …; `base` is the fixed one) has its frame right after the k-th joint. Terms before a joint are its
placement on the previous link. Terms after the last joint are the frame `tool`.

A product that begins with `=` leads from the base to the same frame on another way, and closes a loop:

    motors: q1
    reference: q1 0.4, q2 0.445, q3 1.729, q4 1.284
    Ry(-q1) Tx(0.3) Ry(-q2) Tx(0.9) Ry(-q4)
    = Tx(1.0) Ry(-q3) Tx(0.8)

Both ends coincide with their axes; a ball at the end is three rotations. A joint of an earlier product, such as one
that carries all of them, is followed by its copy. `motors` names the driven joints, and `reference` a closed state.

Angles within 1e-5 rad of a multiple of 15° are taken to be that multiple and listed in the mechanism's notes;
`snap: no` in the header, or `snap=False`, keeps them as typed.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from ..errors import ModelError, ZvenoError
from ..mechanism import (
    DEFAULT_GRAVITY,
    Frame,
    Joint,
    Limits,
    Link,
    Loop,
    Mechanism,
    Mimic,
    Prismatic,
    Revolute,
    assemble,
)
from ..spatial import angles
from ..spatial.rotations import elementary as rotation
from ..spatial.rotations import z_to
from ..spatial.transforms import transform
from .expressions import Expression, Linear, Place, Units, checked_unit, is_reserved, nearest_of, tokens
from .files import MAX_TEXT_BYTES, read_text
from .write import coupling_losses, extra_losses, listed, warn_about_losses

# --- reading

_MAX_TERMS = 20_000
_TERM_NAMES = ("Tx", "Ty", "Tz", "Rx", "Ry", "Rz")
_HEADER = re.compile(r"\s*([^\W\d]\w*)\s*[:=]\s*(.*?)\s*")
_HEADER_KEYS = ("name", "source", "unit", "angle", "gravity", "snap", "motors", "reference")
_LOOKS_LIKE_TERMS = re.compile(r"[TR][xyz]\s*\(")


@dataclass(frozen=True)
class _Term:
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
    parts = _Parts(body, place, units)
    frames: list[Frame] = []
    for product in _products(body):
        parts.begin()
        for term in parse_terms(product, units, place, snap=snap, notes=notes):
            parts.add(term)
        frames.append(Frame(f"way{len(frames) + 1}" if frames else "tool", parts.end, parts.T_link_end))
    if not parts.joints:
        raise ModelError("it has no joint", file=file, remedy="Write a joint as a word, for example Rz(q1)")
    try:
        return assemble(
            header.get("name") or name,
            parts.links,
            parts.joints,
            frames,
            gravity=_gravity(header.get("gravity"), place),
            source=header.get("source") or (str(file) if file is not None else "elementary transforms"),
            notes=notes,
            loops=[Loop("tool", frame.name, "weld") for frame in frames[1:]],
            motors=re.split(r"[\s,]+", header["motors"]) if "motors" in header else None,
            reference=parts.reference(header["reference"]) if "reference" in header else None,
        )
    except ZvenoError as error:
        raise error.located(file=file) from None


def _products(text: str) -> list[str]:
    """Return the products of a text that `=` separates, each with blanks in place of the others."""
    starts = [0, *(match.start() + 1 for match in re.finditer("=", text)), len(text) + 1]
    blank = re.sub(r"[^\n]", " ", text)
    return [blank[:a] + text[a : b - 1] + blank[b - 1 :] for a, b in itertools.pairwise(starts)]


def constant_transform(text: str, units: Units, place: Place, *, snap: bool, notes: list[str]) -> np.ndarray:
    """Return the (4, 4) product of constant elementary transforms; refuse joint variables."""
    T = np.eye(4)
    for term in parse_terms(text, units, place, snap=snap, notes=notes):
        if term.value.joint is not None:
            raise place.error(f"joint {term.value.joint!r} stands in a constant transform", text, term.offset)
        T = T @ term.constant()
    return T


def parse_terms(text: str, units: Units, place: Place, *, snap: bool, notes: list[str]) -> list[_Term]:
    """Parse the terms of a product, constants in SI units; snapped angles are added to `notes`."""
    items = tokens(text, place)
    terms: list[_Term] = []
    position = line_start = 0
    line = 1
    while items[position].kind != "end":
        token = items[position]
        if token.text == "*" and terms:
            token = items[position := position + 1]
        if token.text not in _TERM_NAMES:
            raise place.error(
                f"an elementary transform was expected, not {token.text!r}",
                text,
                token.offset,
                nearest_of(token.text, _TERM_NAMES) + ", each with an argument in parentheses",
            )
        if len(terms) == _MAX_TERMS:
            raise place.error(f"there are more than {_MAX_TERMS} transforms", text, token.offset)
        line += text.count("\n", line_start, token.offset)
        line_start = token.offset
        kind, axis = token.text
        reader = Expression(text, items, place, units, "angle" if kind == "R" else "length", position + 1)
        reader.expect("(")
        value = reader.value()
        reader.expect(")")
        position = reader.next
        term = _Term(kind, axis, value, token.offset)
        terms.append(_snapped(term, line, place, notes) if snap and kind == "R" else term)
    return terms


def snapped_angle(angle: float, label: str, notes: list[str]) -> float:
    """Return the multiple of 15° within the tolerance of `angle`, else `angle`; a change is added to `notes`."""
    exact = angles.snapped(angle)
    if angles.off_exact(angle) > 0.0 and exact != angle:
        notes.append(f"{label}: {angle!r} rad was taken to be {round(math.degrees(exact))}°")
    return exact


def _snapped(term: _Term, line: int, place: Place, notes: list[str]) -> _Term:
    where = f"{place.element}, R{term.axis}" if place.element else f"line {line}, R{term.axis}"
    value = term.value
    exact = snapped_angle(value.constant, where, notes)
    return _Term(term.kind, term.axis, Linear(exact, value.coefficient, value.joint, True), term.offset)


class _Parts:
    """Links and joints, built from terms from the base outward."""

    def __init__(self, text: str, place: Place, units: Units):
        self.text, self.place, self.units = text, place, units
        self.links = [Link("base", inertia_given=False)]
        self.joints: list[Joint] = []
        self.end = "base"
        self.T_link_end = np.eye(4)
        self._first_use: dict[str, _Term] = {}
        self._taken: set[str] = set()
        self._followers: dict[str, int] = {}

    def begin(self):
        """Begin at the base."""
        self.end, self.T_link_end = "base", np.eye(4)

    def reference(self, text: str) -> dict[str, float]:
        """Return the coordinates of a header entry `q1 0.4, q2 30`, by joint, in SI units."""
        values = {}
        for item in text.split(","):
            name, *numbers = item.split()
            try:
                (value,) = map(float, numbers)
                values[name] = self.units.si(value, self._first_use[name].dimension)
            except (ValueError, KeyError):
                raise ModelError(
                    f"{item.strip()!r} is not a joint and its coordinate",
                    file=self.place.file,
                    element="reference",
                    remedy=f"Write {', '.join(f'{known} 0.5' for known in list(self._first_use)[:2])}",
                ) from None
        return values

    def add(self, term: _Term):
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
        self.joints.append(Joint(name, self.end, child, motion, T_parent_joint=self.T_link_end, mimic=mimic))
        self.links.append(Link(child, inertia_given=False))
        self.end, self.T_link_end = child, np.eye(4)

    def _ratio_of_units(self, term: _Term) -> float:
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
        raise ModelError(
            f"{in_header!r} is neither yes nor no",
            file=place.file,
            element="snap",
            remedy="Write snap: yes or snap: no",
        )
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


def _is_joint_word(name: str) -> bool:
    """Return True if a joint of this name can be written in the text unchanged."""
    return re.fullmatch(r"[^\W\d]\w*", name) is not None and not is_reserved(name)


# --- writing

_ROUNDING = 2e-15
"""Largest difference of equal rotations, and length, m, that is rounding."""

_BARE_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")


def to_elementary(mechanism: Mechanism, frame: str | None = None) -> str:
    """Return the chain from the fixed link to `frame` (the default frame if not named) as text that reads back.

    Geometry and gravity only; a `ZvenoWarning` names the rest: inertia, limits, drives, other frames, branches off
    the chain, closed loops, names that are not words. Fixed joints become constants. A helical joint is a rotation
    and a translation that follows it; it reads back as these two. Joints of other types than revolute, continuous,
    prismatic and helical are refused.
    """
    end = mechanism.frame(frame)
    number = mechanism.link_number(end.link)
    chain = [mechanism.joint_of(i) for i in (*mechanism.tree.ancestors(number), number) if i > 0]
    words = _joint_words(chain)
    warn_about_losses(mechanism, "a product of elementary transforms", _losses(mechanism, chain, end, words))
    lines, T = [], np.eye(4)
    for joint in chain:
        T = T @ joint.T_parent_joint
        if joint.type.n_q:
            before, about, after = _about_coordinate_axis(joint)
            lines.append(" ".join([*constant_terms(T @ before), about.format(_argument(joint, words))]))
            T = after
        T = T @ joint.T_joint_child
    last = constant_terms(T @ end.T_link_frame)
    return "\n".join([*_header(mechanism, [*lines, *last]), *lines, *([" ".join(last)] if last else [])]) + "\n"


def _losses(mechanism: Mechanism, chain: list[Joint], end: Frame, words: dict[str, str]) -> list[str]:
    on_chain = {mechanism.links[0].name, *(joint.child for joint in chain)}
    moving = [joint for joint in chain if joint.type.n_q]
    limits = [joint.name for joint in moving if _is_limited(joint.limits)]
    drives = [joint.name for joint in moving if joint.drive is not None]
    frames = [frame.name for frame in mechanism.frames if frame.name != end.name and frame.link in on_chain]
    return [
        *listed("links off the chain:", [name for name in mechanism.link_names if name not in on_chain]),
        *listed(
            "the inertia of",
            [link.name for link in mechanism.links if link.inertia.any() and link.name in on_chain],
        ),
        *listed("the limits of", limits),
        *listed("the drives of", drives),
        *coupling_losses(mechanism),
        *listed("the frames", frames),
        *listed("joint names that are not words:", [name for name, word in words.items() if name != word]),
        *extra_losses(mechanism),
    ]


def _is_limited(limits: Limits) -> bool:
    return any(np.isfinite(getattr(limits, field.name)).any() for field in dataclasses.fields(limits))


def constant_terms(T: np.ndarray) -> list[str]:
    """Return the fewest elementary terms whose product is the constant `T`: translations, then rotations."""
    terms = [f"T{axis}({_number(p)})" for axis, p in zip("xyz", T[:3, 3], strict=True) if abs(p) > _ROUNDING]
    return terms + [f"R{axis}({angle_text(angle)})" for axis, angle in _rotations(T[:3, :3])]


def angle_text(angle: float) -> str:
    """Return an angle in radians as text that reads back as the same number: `90deg` at multiples of 15°."""
    if angles.off_exact(angle) == 0.0:
        degrees = round(math.degrees(angle))
        return f"{degrees}deg" if degrees else "0"
    return _number(angle)


def needs_literal_reading(text: str) -> bool:
    """Return True if a reader that snaps might change a number of this text."""
    return any(angles.is_near_exact(float(number), angles.SNAP_TOLERANCE) for number in _BARE_NUMBER.findall(text))


def _number(value: float) -> str:
    return repr(float(value))


def _rotations(R: np.ndarray) -> list[tuple[str, float]]:
    """Return (axis, angle) of the fewest elementary rotations whose product is R."""
    for count in (0, 1, 2):
        for axes in itertools.permutations("zyx", count):
            factors = _factors(R, axes)
            product = np.eye(3)
            for axis, angle in factors:
                product = product @ rotation(axis, angle)
            if abs(product - R).max() <= _ROUNDING:
                return factors
    return _factors(R, ("z", "y", "x"))


def _factors(R: np.ndarray, axes: tuple[str, ...]) -> list[tuple[str, float]]:
    """Return angles about the given axes, each removed from R from the left before the next one is measured.

    The remainder is measured anew after each step, so that the product is right even near pitch ±90°, where the
    first of three angles is arbitrary.
    """
    factors = []
    for k, axis in enumerate(axes):
        i = "xyz".index(axis)
        j, m = (i + 1) % 3, (i + 2) % 3
        if len(axes) - k == 3:
            angle = math.atan2(R[1, 0], R[0, 0])  # R = Rz Ry Rx: its first column is Rz Ry x
        elif len(axes) - k == 2:
            other = "xyz".index(axes[k + 1])
            # R = R_axis R_other leaves the image of `other` turned about `axis` alone.
            angle = math.atan2(R[m, other], R[j, other]) - (math.pi / 2 if other == m else 0.0)
        else:
            angle = math.atan2(R[m, j], R[j, j])
        angle = math.remainder(angle, 2 * math.pi)
        if angles.off_exact(angle) <= _ROUNDING:
            angle = angles.nearest_multiple(angle)
        factors.append((axis, angle))
        R = rotation(axis, angle).T @ R
    return [(axis, angle) for axis, angle in factors if angle != 0.0]


def _about_coordinate_axis(joint: Joint) -> tuple[np.ndarray, str, np.ndarray]:
    """Return constant transforms around the joint's motion, and its term with a placeholder for the argument."""
    if joint.type.n_v != 1:
        raise ModelError(
            f"a {joint.type.kind} joint is not an elementary transform",
            element=f"joint {joint.name}",
            remedy="Only chains of joints with one axis can be written in this form; write URDF instead",
        )
    ((kind, axis, pitch, _),) = joint.type.steps()
    letter = "T" if kind == "P" else "R"

    def term(name: str, sign: str) -> str:
        follower = f" T{name}({_number(-pitch if sign else pitch)}*{{0}})" if pitch else ""
        return f"{letter}{name}({sign}{{0}}){follower}"

    for k, name in enumerate("xyz"):
        if abs(axis[k]) == 1.0:
            return np.eye(4), term(name, "" if axis[k] > 0 else "-"), np.eye(4)
    # Turning z to the half space it points into keeps the rotation away from 180°, where digits are lost.
    sign, axis = ("-", -axis) if axis[2] < 0 else ("", axis)
    turn = transform(z_to(axis))
    return turn, term("z", sign), turn.T


def _argument(joint: Joint, words: dict[str, str]) -> str:
    if joint.mimic is None:
        return words[joint.name]
    # The sign of the axis stands before this text, so a sum needs parentheses.
    inner = f"{joint.mimic.multiplier!r}*{words[joint.mimic.joint]}"
    if joint.mimic.offset:
        inner += f" + {joint.mimic.offset!r}"
    return f"({inner})"


def _joint_words(chain: list[Joint]) -> dict[str, str]:
    """Return a word for every joint that has a coordinate; names that are not words are converted."""
    words: dict[str, str] = {}
    for joint in chain:
        if joint.mimic is not None and joint.mimic.joint not in words:
            raise ModelError(
                f"it follows {joint.mimic.joint!r}, which does not come before it in the chain",
                element=f"joint {joint.name}",
                remedy="In this form a joint that follows another comes after it",
            )
        if joint.mimic is None and joint.type.n_q:
            word = joint.name if _is_joint_word(joint.name) else re.sub(r"\W", "_", f"q_{joint.name}")
            while word in words.values():
                word += "_"
            words[joint.name] = word
    if not words:
        raise ModelError("the chain has no joint that moves", remedy="Choose a frame further out")
    return words


def _header(mechanism: Mechanism, lines: list[str]) -> list[str]:
    name = re.sub(r"[#\s]+", " ", mechanism.name).strip()
    header = [f"name: {name}"] if name else []
    if not np.array_equal(mechanism.gravity, DEFAULT_GRAVITY):
        header.append("gravity: " + " ".join(_number(value) for value in mechanism.gravity))
    if needs_literal_reading(" ".join(lines)):
        header.append("snap: no")
    return header
