"""Writer of a serial chain as a standard Denavit–Hartenberg table, the TOML that `zveno.io.dh` reads."""

from __future__ import annotations

from os import PathLike

import numpy as np

from ..errors import ModelError
from ..mechanism import DEFAULT_GRAVITY, Frame, Joint, Limits, Link, Mechanism
from ..spatial import inertia
from ..spatial.transforms import inverse
from .dh_frames import Row, standard_rows
from .files import write_text
from .write_elementary import angle_text, constant_terms, needs_literal_reading
from .write_losses import coupling_losses, extra_losses, listed, warn_about_losses

FARTHEST = 1000.0
"""Largest ratio of lengths of the table to those of the chain for poses good to 1e-12."""


def write_dh(mechanism: Mechanism, path: str | PathLike[str]) -> None:
    """Write `to_dh` to a file."""
    write_text(path, to_dh(mechanism))


def to_dh(mechanism: Mechanism) -> str:
    """Return a serial chain of revolute and prismatic joints as a standard table, in metres and radians.

    Link frames follow the convention; inertia and named frames are expressed there. Links on fixed joints are
    merged into the one that carries them. The frame `tool` is the default frame. A chain that no table describes
    (branches, other joint types, mimic joints, axes too nearly parallel) is refused with the reason. A
    `ZvenoWarning` names the losses: closed loops, first moments without mass, shapes and sections of a URDF.
    """
    chain = _Chain(mechanism)
    chain.place(*standard_rows(chain.joints, T_last_link=chain.bodies[-1][0][1]))
    losses = [
        *coupling_losses(mechanism, transmission_held=True),
        *chain.massless_moments(),
        *extra_losses(mechanism),
    ]
    warn_about_losses(mechanism, "a Denavit–Hartenberg table", losses)
    joints = [_joint_block(chain, k) for k in range(len(chain.joints))]
    return "\n".join([_top(chain), *joints, *(_frame_block(chain, frame) for frame in chain.frames)])


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
            raise ModelError("it has no joint that moves", element=mechanism.name)
        self.T_world_first = np.eye(4)
        self.rows: list[Row] = []
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

    def place(self, T_world_first: np.ndarray, rows: list[Row]):
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
            if max(abs(row.d), abs(row.a)) > FARTHEST * size:
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
