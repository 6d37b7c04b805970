"""Calibration in the form of a controller, parts that the form cannot hold, and the resulting loss of accuracy.

Each form holds some parameters of the model. Most have the values with which the controller's robot is nearest to
the calibrated one over random postures within limits; the remaining difference is the loss of the form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError, unknown_name
from ..spatial.rotations import elementary, to_quaternion, to_rpy, z_to
from ..spatial.transforms import inverse, transform
from ._harm import REMEDY, doubt
from ._joint_terms import IN_WORDS
from ._kinematics import frame_motion
from ._loads import holding_torques
from ._output import deviation
from ._postures import random_postures
from .models import LETTERS, Model

POSTURES = 300
"""Number of random postures to which forms are fitted; as many others test them."""
LEVER = 0.1
"""Distance, m, from the flange at which orientation errors count like position errors."""
TURNS = 20
"""Maximum number of Gauss–Newton steps."""
UR_LINKS = ("shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "wrist_3")


@dataclass(frozen=True, eq=False)
class ControllerForm:
    """Calibration in the form of a controller.

    Attributes:
        form: one of `FORMS`.
        text: text of the form.
        values: parameters that it holds, as deviations from nominal by name, m and rad.
        lost: parts of the calibration that it cannot hold, in words; empty if it holds everything.
        position, rotation: root mean square of the loss over the workspace, m and rad.
        worst: the largest loss of position, m.
        nominal: root mean square of the position error of the nominal robot on the same postures, m.
        tool_apart: whether the tool, which the form has no place for, must be set on the controller as it was
            measured. All errors are with it.
    """

    form: str
    text: str
    values: dict[str, float]
    lost: tuple[str, ...]
    position: float
    rotation: float
    worst: float
    nominal: float
    tool_apart: bool

    @property
    def summary(self) -> str:
        """Summary of the loss for the user."""
        sizes = f"{1e3 * self.position:.3g} mm rms, {1e3 * self.worst:.3g} mm at worst, "
        sizes += f"{1e3 * self.rotation:.3g} mrad rms"
        without = f"the nominal robot is off by {1e3 * self.nominal:.3g} mm rms"
        tool = "; set the tool as it was measured" if self.tool_apart else ""
        if not self.lost:
            return f"{self.form}: holds the whole calibration ({without}){tool}"
        lost = ", ".join(self.lost)
        return f"{self.form}: cannot hold {lost}; that loses {sizes} over the workspace ({without}){tool}"


def controller_form(
    model: Model, frame: str, values: np.ndarray, covariance: np.ndarray, form: str, seed: int = 0
) -> ControllerForm:
    """Write a calibration with deviations `values` (P,) of that covariance in a controller's form."""
    if form not in FORMS:
        raise unknown_name("form", form, FORMS)
    classes, writer, refitted = FORMS[form]
    on_way = _of_frame(model, frame)
    chosen = [number for number in map(model.numbers.__getitem__, model.choose(classes)) if number in on_way]
    tool = {number for number in on_way if model.terms[number].role == "tool"}
    apart = form not in WITH_TOOL
    if apart:
        chosen = [number for number in chosen if number not in tool]
    q = random_postures(model.mechanism, 2 * POSTURES, np.random.default_rng(seed))
    carried = np.where([apart and k in tool for k in range(len(values))], values, 0.0)
    near = np.where(np.isin(np.arange(len(values)), chosen), values, carried)
    if refitted:
        near = _nearest(model, frame, values, near, chosen, q[:POSTURES])
    off = _difference(model, frame, near, values, q[POSTURES:])[0]
    before = _difference(model, frame, carried, values, q[POSTURES:])[0]
    (position, rotation), (nominal, nominal_rotation) = _sizes(off), _sizes(before)
    if position > nominal or rotation > nominal_rotation:
        raise ModelError(
            f"would make the robot worse: off by {1e3 * position:.3g} mm and {1e3 * rotation:.3g} mrad rms, "
            f"the nominal one by {1e3 * nominal:.3g} mm and {1e3 * nominal_rotation:.3g} mrad",
            element=form,
            remedy="Use `compensate`, or a form that holds more",
        )
    sets = {model.terms[number].role for number in chosen}
    in_doubt = doubt(model, frame, values, covariance, near, carried, q[POSTURES:], sets)
    if in_doubt:
        raise ModelError(in_doubt, element=form, remedy=REMEDY)
    lost = _lost(model, frame, values, set(chosen) | (tool if apart else set()))
    return ControllerForm(
        form,
        writer(model, frame, near - carried),
        {model.names[k]: float(near[k]) for k in chosen},
        tuple(lost) if float(np.sqrt(np.mean(off**2))) > 1e-9 else (),
        position,
        rotation,
        float(np.linalg.norm(off[:, :3], axis=1).max()),
        nominal,
        bool(carried.any()),
    )


def _sizes(off: np.ndarray) -> tuple[float, float]:
    """Return the root mean square of positions and rotations of twists (n, 6), m and rad."""
    squares = np.mean(off**2, axis=0)
    return float(np.sqrt(squares[:3].sum())), float(np.sqrt(squares[3:].sum()))


def _of_frame(model: Model, frame: str) -> set[int]:
    """Return the numbers of the terms on the path to a frame."""
    numbers: set[int] = set()
    for place, number in enumerate(model.paths[frame]):
        if place % 2 == 0:
            first = model.blocks[number].first
            numbers.update(range(first, first + 6))
        else:
            move = model.moves[number]
            numbers.update({move.offset_term, *(k for k, _ in move.joint_terms)})
    return numbers


def _difference(model: Model, frame: str, near: np.ndarray, values: np.ndarray, q: np.ndarray):
    """Return twists (n, 6) from a robot to the calibrated one in the frame's axes, and the former's derivative."""
    tau = holding_torques(model, q)
    T_true, _ = frame_motion(model, frame, q, values, tau)
    T, J = frame_motion(model, frame, q, near, tau)
    E = np.swapaxes(T[:, :3, :3], 1, 2) @ T_true[:, :3, :3]
    moved = (np.swapaxes(T[:, :3, :3], 1, 2) @ (T_true - T)[:, :3, 3, None])[..., 0]
    turned = 0.5 * np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
    return np.concatenate([moved, turned], axis=1), J


def _nearest(
    model: Model, frame: str, values: np.ndarray, near: np.ndarray, chosen: list[int], q: np.ndarray
) -> np.ndarray:
    """Return the values (P,) of the robot nearest to the calibrated one that differs from `near` in those chosen;
    parameters that hardly matter stay unchanged."""
    weight = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])
    off, J = _difference(model, frame, near, values, q)
    for _ in range(TURNS):
        A = (weight[:, None] * J[:, :, chosen]).reshape(-1, len(chosen))
        norms = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
        step = np.linalg.lstsq(A / norms, (off * weight).ravel(), rcond=1e-3)[0] / norms
        further = near.copy()
        further[chosen] += step
        before = np.sum((off * weight) ** 2)
        off, J = _difference(model, frame, further, values, q)
        after = np.sum((off * weight) ** 2)
        if after >= before:
            break
        near = further
        if after > (1.0 - 1e-9) * before:
            break
    return near


def _lost(model: Model, frame: str, values: np.ndarray, chosen: set[int]) -> list[str]:
    """Return the parts of the calibration that a form lacks, in words."""
    missing = [k for k in sorted(_of_frame(model, frame) - chosen) if values[k]]
    words = {
        "link": "lengths and angles of links",
        "joint": "joint offsets",
        "tool": "the tool",
        "base": "the base",
    }
    return list(dict.fromkeys(IN_WORDS.get(model.terms[k].role) or words[model.terms[k].role] for k in missing))


# --- texts


def _offsets(model: Model, frame: str, values: np.ndarray) -> str:
    lines = ["# joint, what to add to its reading (deg; mm where it slides)"]
    for move in _moves(model, frame):
        scale = np.degrees(1.0) if move.sigma else 1e3
        lines.append(f"{move.joint.name}, {scale * values[move.offset_term]:.6f}")
    return "\n".join(lines) + "\n"


def _frames(model: Model, frame: str, values: np.ndarray) -> str:
    base, tool = _base_and_tool(model, frame, values)
    lines = ["# frame, x y z (mm), qw qx qy qz; base: of the first axis in the world, tool: behind the last axis"]
    for name, T in (("base", base), ("tool", tool)):
        numbers = [*(1e3 * T[:3, 3]), *to_quaternion(T[:3, :3])]
        lines.append(f"{name}, " + " ".join(f"{x:.6f}" for x in numbers))
    return "\n".join(lines) + "\n"


def _dh(model: Model, frame: str, values: np.ndarray) -> str:
    """Write Δθ, Δd, Δa and Δα of every joint: offset, along its axis, and along and about the next one's normal."""
    lines = ["# joint, delta theta (deg), delta d (mm), delta a (mm), delta alpha (deg)"]
    path = model.paths[frame]
    for place in range(1, len(path), 2):
        move, block = model.moves[path[place]], model.blocks[path[place + 1]]
        if move.sigma is None:
            continue
        across = (move.axis + 1) % 3
        d, a = values[block.first + move.axis], values[block.first + across]
        alpha, offset = values[block.first + 3 + across], values[move.offset_term]
        theta = np.degrees(offset) if move.sigma else 0.0
        d = d if move.sigma else d + offset
        lines.append(f"{move.joint.name}, {theta:.6f}, {1e3 * d:.6f}, {1e3 * a:.6f}, {np.degrees(alpha):.6f}")
    return "\n".join(lines) + "\n"


def _ur(model: Model, frame: str, values: np.ndarray) -> str:
    """Write `calibration.yaml` of the UR driver: the pose of every joint in the link before, as in its URDF."""
    moves = _moves(model, frame)
    if len(moves) != len(UR_LINKS) or any(move.sigma != 1 for move in moves):
        raise ModelError(f"has {len(moves)} joints", element="ur", remedy="The form is for six that turn")
    lines = ["kinematics:"]
    for link, T in zip(UR_LINKS, _between_z_axes(model, frame, values), strict=False):
        roll, pitch, yaw = to_rpy(T[:3, :3])
        numbers = dict(zip(("x", "y", "z", "roll", "pitch", "yaw"), (*T[:3, 3], roll, pitch, yaw), strict=True))
        lines += [f"  {link}:", *(f"    {name}: {float(x)!r}" for name, x in numbers.items())]
    return "\n".join(lines) + "\n"


def _kuka(model: Model, frame: str, values: np.ndarray) -> str:
    """Write axis offsets, and frames as X Y Z A B C: turned about z by A, then y by B, then x by C."""
    base, tool = _base_and_tool(model, frame, values)
    lines = ["; offsets to master, deg (mm where an axis slides)"]
    for k, move in enumerate(_moves(model, frame), start=1):
        lines.append(f"A{k} {(np.degrees(1.0) if move.sigma else 1e3) * values[move.offset_term]:.6f}")
    for name, T in (("BASE", base), ("TOOL", tool)):
        c, b, a = np.degrees(to_rpy(T[:3, :3]))
        x, y, z = 1e3 * T[:3, 3]
        lines.append(f"${name}={{X {x:.4f},Y {y:.4f},Z {z:.4f},A {a:.5f},B {b:.5f},C {c:.5f}}}")
    return "\n".join(lines) + "\n"


def _abb(model: Model, frame: str, values: np.ndarray) -> str:
    """Write calibration offsets of motors' axes, rad, and frames with quaternions."""
    base, tool = _base_and_tool(model, frame, values)
    lines = ["! offsets of the axes, rad (m where an axis slides)"]
    for k, move in enumerate(_moves(model, frame), start=1):
        lines.append(f"! rob1_{k} {values[move.offset_term]:.9f}")
    for name, T in (("base", base), ("tool", tool)):
        place = ",".join(f"{1e3 * x:.4f}" for x in T[:3, 3])
        turn = ",".join(f"{x:.9f}" for x in to_quaternion(T[:3, :3]))
        lines.append(f"PERS pose {name}_frame := [[{place}],[{turn}]];")
    return "\n".join(lines) + "\n"


def _moves(model: Model, frame: str):
    moves = [model.moves[number] for number in model.paths[frame][1::2]]
    return [move for move in moves if move.sigma is not None]


def _base_and_tool(model: Model, frame: str, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the constant transforms before the first axis and behind the last one."""
    path = model.paths[frame]
    first, last = (model.blocks[path[place]] for place in (0, -1))
    return first.T @ deviation(first, values), last.T @ deviation(last, values)


def _between_z_axes(model: Model, frame: str, values: np.ndarray) -> list[np.ndarray]:
    """Return constant transforms between joints whose frames are turned so that axes are along z, with offsets."""
    path, out, before = model.paths[frame], [], np.eye(4)
    for place in range(0, len(path) - 1, 2):
        block, move = model.blocks[path[place]], model.moves[path[place + 1]]
        axis = np.zeros(3)
        axis[move.axis] = move.sign
        turn = transform(z_to(axis))
        out.append(before @ block.T @ deviation(block, values) @ turn)
        offset = transform(elementary(LETTERS[2], float(values[move.offset_term])))
        before = offset @ inverse(turn)
    last = model.blocks[path[-1]]
    return [*out, before @ last.T @ deviation(last, values)]


Writer = Callable[[Model, str, np.ndarray], str]
FORMS: dict[str, tuple[tuple[str, ...], Writer, bool]] = {
    "offsets": (("offsets",), _offsets, True),
    "frames": (("hand_eye",), _frames, True),
    "dh": (("dh",), _dh, True),
    "ur": (("links", "offsets", "base"), _ur, False),
    "kuka": (("controller",), _kuka, True),
    "abb": (("controller",), _abb, True),
}
"""Forms by name: the classes of parameters that each holds, its writer, and whether those are refitted to
compensate for the others. The UR's is the geometry unchanged."""
WITH_TOOL = ("frames", "kuka", "abb")
"""Forms that include the tool. With others it is set elsewhere on the controller: a tool that is not at its place
in the model must not become joint offsets."""
