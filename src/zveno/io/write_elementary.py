"""Writer of a chain as a product of elementary transforms, the form `zveno.io.elementary` reads."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from os import PathLike

import numpy as np

from ..errors import ModelError
from ..mechanism import DEFAULT_GRAVITY, Frame, Joint, Limits, Mechanism
from ..spatial import angles
from ..spatial.rotations import elementary as rotation
from ..spatial.rotations import z_to
from ..spatial.transforms import transform
from .elementary import is_joint_word
from .files import write_text
from .write_losses import coupling_losses, extra_losses, listed, warn_about_losses

ROUNDING = 2e-15
"""Largest difference of equal rotations, and length, m, that is rounding."""

_BARE_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.])")


def write_elementary(mechanism: Mechanism, path: str | PathLike[str], frame: str | None = None) -> None:
    """Write `to_elementary` to a file."""
    write_text(path, to_elementary(mechanism, frame))


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
    terms = [f"T{axis}({_number(p)})" for axis, p in zip("xyz", T[:3, 3], strict=True) if abs(p) > ROUNDING]
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
            if abs(product - R).max() <= ROUNDING:
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
        if angles.off_exact(angle) <= ROUNDING:
            angle = angles.nearest_multiple(angle)
        factors.append((axis, angle))
        R = rotation(axis, angle).T @ R
    return [(axis, angle) for axis, angle in factors if angle != 0.0]


def _about_coordinate_axis(joint: Joint) -> tuple[np.ndarray, str, np.ndarray]:
    """Return constant transforms around the joint's motion, and its term with a placeholder for the argument."""
    letter = {"revolute": "R", "continuous": "R", "prismatic": "T", "helical": "R"}.get(joint.type.kind)
    if letter is None:
        raise ModelError(
            f"a {joint.type.kind} joint is not an elementary transform",
            element=f"joint {joint.name}",
            remedy="Only chains of joints with one axis can be written in this form; write URDF instead",
        )
    parameters = joint.type.parameters()
    axis, pitch = np.asarray(parameters["axis"]), float(parameters.get("pitch", 0.0))

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
            word = joint.name if is_joint_word(joint.name) else re.sub(r"\W", "_", f"q_{joint.name}")
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
