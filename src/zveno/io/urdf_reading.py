"""Shared parts of the URDF reader: numbers and placements with their place in the file, and notes."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..errors import ModelError
from ..mechanism.assemble import MAX_MAGNITUDE
from ..spatial import rotations
from ..spatial.transforms import transform
from .near_exact import near_exact_notes, snapped_rpy
from .xml import Element, to_floats

_ATTRIBUTES = {
    "link": {"name"},
    "mass": {"value"},
    "inertia": {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"},
    "joint": {"name", "type", "pitch"},
    "origin": {"xyz", "rpy", "quat_xyzw"},
    "limit": {"lower", "upper", "velocity", "effort"},
    "dynamics": {"damping", "friction", "offset"},
    "mimic": {"joint", "multiplier", "offset"},
}
"""Attributes that are read; others are listed in the notes, because a misspelt one would be lost silently."""


def where(element: Element, attribute: str, owner: str) -> str:
    """Return the name of an attribute in errors: `joint elbow, origin rpy (line 12)`."""
    tag = "" if owner.startswith(f"{element.tag} ") else f"{element.tag} "
    return f"{owner}, {tag}{attribute} (line {element.line})"


def numbers(
    element: Element,
    attribute: str,
    owner: str,
    *,
    counts: tuple[int, ...] = (1,),
    default: str | None = None,
    bound: float = MAX_MAGNITUDE,
) -> np.ndarray:
    """Return the numbers of an attribute; raise an error unless their count is one of `counts`."""
    text = element.attributes.get(attribute, default)
    place = where(element, attribute, owner)
    if text is None:
        raise ModelError("the attribute is missing", element=place, remedy=f'Add {attribute}="…"')
    return np.array(to_floats(text, counts, place, bound))


def number(element: Element, attribute: str, owner: str, default: str | None = None) -> float:
    """Return the single number of an attribute."""
    return float(numbers(element, attribute, owner, default=default)[0])


class Reading:
    """State of one pass over a file, with its notes.

    Attributes:
        snap: True to make near-exact angles and axes exact.
        near: texts about near-exact angles and axes, by place ("joint elbow").
        lines: first line of every link and joint, by `link name` and `joint name`.
    """

    def __init__(self, snap: bool):
        self.snap = snap
        self.near: dict[str, list[str]] = {}
        self.lines: dict[str, int] = {}
        self._notes: dict[str, list[str]] = {}
        self._ignored: Counter[str] = Counter()

    def note(self, text: str, owner: str) -> None:
        """Record a note about a link or joint; equal notes of several become one."""
        self._notes.setdefault(text, []).append(owner)

    def named(self, element: Element) -> str:
        """Return the name of a link or joint in errors; refuse missing and duplicate names."""
        name = element.attributes.get("name")
        if not name:
            raise ModelError(
                "it has no name", element=f"{element.tag} on line {element.line}", remedy='Add name="…"'
            )
        owner = f"{element.tag} {name}"
        if owner in self.lines:
            raise ModelError(
                f"line {self.lines[owner]} has a {element.tag} of the same name",
                element=f"{owner} (line {element.line})",
                remedy="Names must be unique; rename one of them",
            )
        self.lines[owner] = element.line
        self.count_ignored(element)
        return owner

    def only(self, element: Element, tag: str, owner: str) -> Element | None:
        """Return the child with that tag, or None; count its unknown attributes."""
        child = element.only(tag, owner)
        if child is not None:
            self.count_ignored(child)
        return child

    def count_ignored(self, element: Element) -> None:
        """Record attributes that nothing reads."""
        known = _ATTRIBUTES.get(element.tag)
        self._ignored.update(f"{element.tag} {name}" for name in element.attributes if known and name not in known)

    def origin(self, element: Element, owner: str) -> tuple[np.ndarray, list[str]]:
        """Return the (4, 4) transform of an `<origin>` and a joint's near-exact angles, snapped on request."""
        origin = self.only(element, "origin", owner)
        if origin is None:
            return np.eye(4), []
        xyz = numbers(origin, "xyz", owner, counts=(3,), default="0 0 0")
        if "quat_xyzw" in origin.attributes:
            return transform(_from_quaternion(origin, owner), xyz), []
        rpy = numbers(origin, "rpy", owner, counts=(3,), default="0 0 0")
        exact, near = snapped_rpy(rpy.tolist()) if element.tag == "joint" else (rpy, [])
        return transform(rotations.from_rpy(exact if self.snap else rpy), xyz), near

    def all_notes(self) -> list[str]:
        """Return all notes for the user."""
        counts = ", ".join(f"{name} ({count}×)" for name, count in sorted(self._ignored.items()))
        ignored = [f"attributes not read: {counts}"] if counts else []
        grouped = [f"{text}: {', '.join(owners)}" for text, owners in self._notes.items()]
        return [*grouped, *ignored, *near_exact_notes(self.near, self.snap)]


def _from_quaternion(origin: Element, owner: str) -> np.ndarray:
    if "rpy" in origin.attributes:
        raise ModelError(
            "it has both rpy and quat_xyzw",
            element=f"{owner}, origin (line {origin.line})",
            remedy="Keep one of them",
        )
    x, y, z, w = numbers(origin, "quat_xyzw", owner, counts=(4,))
    wxyz = np.array([w, x, y, z])
    norm = np.linalg.norm(wxyz)
    if not abs(norm - 1.0) <= 1e-3:
        raise ModelError(
            f"the quaternion has norm {norm:.4g}",
            element=where(origin, "quat_xyzw", owner),
            remedy="A rotation is a quaternion of norm 1, scalar part last",
        )
    return rotations.from_quaternion(wxyz / norm)
