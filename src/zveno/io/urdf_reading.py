"""What the parts of the URDF reader share: numbers and placements with their place in the file, and the notes."""

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
"""The attributes read; others are listed in the notes, because a misspelt one would be lost in silence."""


def where(element: Element, attribute: str, owner: str) -> str:
    """How errors call an attribute: `joint elbow, origin rpy (line 12)`."""
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
    """The numbers of an attribute, refused if they are not as many as one of `counts` says."""
    text = element.attributes.get(attribute, default)
    place = where(element, attribute, owner)
    if text is None:
        raise ModelError("the attribute is missing", element=place, remedy=f'Add {attribute}="…"')
    return np.array(to_floats(text, counts, place, bound))


def number(element: Element, attribute: str, owner: str, default: str | None = None) -> float:
    """The one number of an attribute."""
    return float(numbers(element, attribute, owner, default=default)[0])


class Reading:
    """One pass over one file, with what is to be told about it afterwards.

    Attributes:
        snap: whether near-exact angles and axes are made exact.
        near: near-exact angles and axes in words, by place ("joint elbow").
        lines: where every link and joint begins, by `link name` and `joint name`.
    """

    def __init__(self, snap: bool):
        self.snap = snap
        self.near: dict[str, list[str]] = {}
        self.lines: dict[str, int] = {}
        self._notes: dict[str, list[str]] = {}
        self._ignored: Counter[str] = Counter()

    def note(self, text: str, owner: str) -> None:
        """Remembers something people should know about a link or joint; the same of several becomes one note."""
        self._notes.setdefault(text, []).append(owner)

    def named(self, element: Element) -> str:
        """How errors call a link or joint; refused without a name or with one that is taken."""
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
        """The child with that tag, or None, with its unknown attributes counted."""
        child = element.only(tag, owner)
        if child is not None:
            self.count_ignored(child)
        return child

    def count_ignored(self, element: Element) -> None:
        """Remembers attributes that nothing reads."""
        known = _ATTRIBUTES.get(element.tag)
        self._ignored.update(f"{element.tag} {name}" for name in element.attributes if known and name not in known)

    def origin(self, element: Element, owner: str) -> tuple[np.ndarray, list[str]]:
        """The (4, 4) transform of an element's `<origin>` and a joint's near-exact angles, snapped on request."""
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
        """Everything for people to read."""
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
