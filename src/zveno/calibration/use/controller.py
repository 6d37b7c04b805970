"""A calibration as a controller takes it, what of it the form cannot hold, and the accuracy lost by that.

Each form holds some parameters of the model. Most have the values with which the controller's robot is nearest to
the calibrated one over random postures within limits; what is left between the two is what the form loses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...errors import ModelError, unknown_name
from ...spatial.rotations import elementary, to_quaternion, to_rpy, z_to
from ...spatial.transforms import inverse, transform
from ..identifiability.postures import random_postures
from ..model.joint_terms import IN_WORDS
from ..model.kinematics import frame_motion
from ..model.loads import holding_torques
from ..model.models import LETTERS, Model
from .output import deviation

POSTURES = 300
"""Random postures on which forms are fitted; as many others judge them."""
LEVER = 0.1
"""m from the flange at which errors of orientation count like errors of position."""
TURNS = 20
"""Steps of Gauss and Newton at most."""
UR_LINKS = ("shoulder", "upper_arm", "forearm", "wrist_1", "wrist_2", "wrist_3")


@dataclass(frozen=True, eq=False)
class ControllerForm:
    """A calibration as a controller takes it.

    Attributes:
        form: one of `FORMS`.
        text: what is written.
        values: parameters that it holds, as deviations from nominal by name, m and rad.
        lost: what of the calibration it cannot hold, in words; empty if it holds everything.
        position, rotation: root mean square of what that loses over the workspace, m and rad.
        worst: the largest loss of position, m.
        nominal: root mean square of the position error of the nominal robot on the same postures, m.
    """

    form: str
    text: str
    values: dict[str, float]
    lost: tuple[str, ...]
    position: float
    rotation: float
    worst: float
    nominal: float

    @property
    def summary(self) -> str:
        """What is lost, for people."""
        sizes = f"{1e3 * self.position:.3g} mm rms, {1e3 * self.worst:.3g} mm at worst, "
        sizes += f"{1e3 * self.rotation:.3g} mrad rms"
        without = f"the nominal robot is off by {1e3 * self.nominal:.3g} mm rms"
        if not self.lost:
            return f"{self.form}: holds the whole calibration ({without})"
        return f"{self.form}: cannot hold {', '.join(self.lost)}; that loses {sizes} over the workspace ({without})"


def controller_form(model: Model, frame: str, values: np.ndarray, form: str, seed: int = 0) -> ControllerForm:
    """The calibration with parameters `values` (P,) in a controller's form."""
    if form not in FORMS:
        raise unknown_name("form", form, FORMS)
    classes, writer, refitted = FORMS[form]
    held = [model.numbers[name] for name in model.choose(classes)]
    chosen = [number for number in held if number in _of_frame(model, frame)]
    q = random_postures(model.mechanism, 2 * POSTURES, np.random.default_rng(seed))
    near = np.where(np.isin(np.arange(len(values)), chosen), values, 0.0)
    if refitted:
        near = _nearest(model, frame, values, chosen, q[:POSTURES])
    off = _difference(model, frame, near, values, q[POSTURES:])[0]
    before = _difference(model, frame, np.zeros_like(values), values, q[POSTURES:])[0]
    sizes = np.linalg.norm(off[:, :3], axis=1)
    lost = _lost(model, frame, values, set(chosen))
    return ControllerForm(
        form,
        writer(model, frame, near),
        {model.names[k]: float(near[k]) for k in chosen},
        tuple(lost) if float(np.sqrt(np.mean(off**2))) > 1e-9 else (),
        float(np.sqrt(np.mean(sizes**2))),
        float(np.sqrt(np.mean(np.sum(off[:, 3:] ** 2, axis=1)))),
        float(sizes.max()),
        float(np.sqrt(np.mean(np.sum(before[:, :3] ** 2, axis=1)))),
    )


def _of_frame(model: Model, frame: str) -> set[int]:
    """Numbers of the terms on the way to a frame."""
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
    """Twists (n, 6) from a robot to the calibrated one in the frame's axes, and the derivative of the former."""
    tau = holding_torques(model, q)
    T_true, _ = frame_motion(model, frame, q, values, tau)
    T, J = frame_motion(model, frame, q, near, tau)
    E = np.swapaxes(T[:, :3, :3], 1, 2) @ T_true[:, :3, :3]
    moved = (np.swapaxes(T[:, :3, :3], 1, 2) @ (T_true - T)[:, :3, 3, None])[..., 0]
    turned = 0.5 * np.stack([E[:, 2, 1] - E[:, 1, 2], E[:, 0, 2] - E[:, 2, 0], E[:, 1, 0] - E[:, 0, 1]], axis=1)
    return np.concatenate([moved, turned], axis=1), J


def _nearest(model: Model, frame: str, values: np.ndarray, chosen: list[int], q: np.ndarray) -> np.ndarray:
    """Values (P,), zero but for those chosen, of the robot nearest to the calibrated one; what hardly matters stays
    as it was."""
    weight = np.array([1.0, 1.0, 1.0, LEVER, LEVER, LEVER])
    near = np.zeros_like(values)
    near[chosen] = values[chosen]
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
    """What the calibration has and a form has not, in words."""
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
    """Δθ, Δd, Δa and Δα of every joint: offset, along its axis, and along and about the next one's normal."""
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
    """`calibration.yaml` of the UR driver: where every joint is in the link before, as in its URDF."""
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
    """Offsets of axes, and frames as X Y Z A B C: turned about z by A, then y by B, then x by C."""
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
    """Calibration offsets of motors' axes, rad, and frames with quaternions."""
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
    """The constant transforms before the first axis and behind the last one."""
    path = model.paths[frame]
    first, last = (model.blocks[path[place]] for place in (0, -1))
    return first.T @ deviation(first, values), last.T @ deviation(last, values)


def _between_z_axes(model: Model, frame: str, values: np.ndarray) -> list[np.ndarray]:
    """Constant transforms between joints whose frames are turned so that axes are along z, offsets included."""
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
"""Forms by name: classes of parameters that each holds, what writes it, and whether those are fitted anew to make
up for the others. The UR's is the geometry as it is: its tool is set elsewhere on the controller."""
