"""Small models of the structures in Gepetto's example-parallel-robots, as URDF and YAML in its format.

Each is built in a closed state, so its neutral configuration is closed. Masses and lengths are invented; which
joints there are, which have motors, and which links the loops join are those of the machines named.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

X, Y, Z = np.eye(3)
Point = tuple[float, float, float]


class Machine:
    """Bodies whose frames have the world's axes in the closed state, written as a URDF and a YAML file."""

    def __init__(self, name: str):
        self.name = name
        self.places: dict[str, np.ndarray] = {"base": np.zeros(3)}
        self.joints: list[str] = []
        self.spherical: list[str] = []
        self.universal: list[str] = []
        self.motors: list[str] = []
        self.loops: list[tuple[str, str, str]] = []

    def body(self, name: str, parent: str, place: Point, kind="hinge", axis=Y, motor=False) -> str:
        """A body that hangs on another one by a hinge, slide, ball or universal joint (about x, then y)."""
        origin, axis = np.array(place, dtype=float), np.asarray(axis) / np.linalg.norm(axis)
        word = "prismatic" if kind == "slide" else "revolute"
        self.joints.append(
            f'<link name="{name}"><inertial><origin xyz="0.01 0.02 -0.03"/>'
            f'<mass value="{1 + 0.1 * len(self.joints)}"/>'
            '<inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.001" ixz="0" iyz="0"/></inertial></link>'
            f'<joint name="{name}" type="{word}"><parent link="{parent}"/><child link="{name}"/>'
            f'<origin xyz="{_text(origin - self.places[parent])}"/><axis xyz="{_text(axis)}"/>'
            '<limit lower="-3" upper="3" effort="100" velocity="10"/></joint>'
        )
        self.places[name] = origin
        {"ball": self.spherical, "universal": self.universal}.get(kind, []).append(name)
        if motor:
            self.motors.append(name)
        return name

    def frame(self, name: str, body: str, place: Point) -> str:
        at = np.array(place, dtype=float) - self.places[body]
        self.joints.append(
            f'<link name="{name}"/><joint name="{name}_fixed" type="fixed"><parent link="{body}"/>'
            f'<child link="{name}"/><origin xyz="{_text(at)}"/></joint>'
        )
        return name

    def close(self, first: str, second: str, place: Point, kind="3d") -> None:
        """A loop between two bodies at a place."""
        k = len(self.loops)
        ends = (self.frame(f"loop{k}_{end}", body, place) for end, body in (("a", first), ("b", second)))
        self.loops.append((*ends, kind))

    def rod(self, name: str, start: str, at: Point, end: str, to: Point, kind="universal", motor=False) -> None:
        """A rod from one body to another one."""
        self.body(name, start, at, kind, motor=motor)
        self.close(name, end, to)

    def write(self, folder: Path) -> Path:
        """Write both files; return the YAML."""
        (folder / f"{self.name}.urdf").write_text(
            f'<robot name="{self.name}"><link name="base"/>{"".join(self.joints)}</robot>'
        )
        kinds = [(name, "SPHERICAL") for name in self.spherical] + [(name, "UJOINT_XY") for name in self.universal]
        lines = ["closed_loop:", *(f"  - [{a}, {b}]" for a, b, _ in self.loops)]
        lines += [f"type: [{', '.join(kind for *_, kind in self.loops)}]"]
        lines += [f"name_mot: [{', '.join(self.motors)}]"]
        lines += [f"joint_name: [{', '.join(name for name, _ in kinds)}]"]
        lines += [f"joint_type: [{', '.join(word for _, word in kinds)}]"]
        file = folder / f"{self.name}.yaml"
        file.write_text("\n".join(lines) + "\n")
        return file


def _text(x: np.ndarray) -> str:
    return " ".join(repr(float(v)) for v in x)


def hips(m: Machine, side: str, y: float) -> str:
    """Yaw, roll and pitch of a hip with motors; the thigh hangs from them."""
    m.body(f"{side}yaw", "base", (0, y, 0), axis=Z, motor=True)
    m.body(f"{side}roll", f"{side}yaw", (0.02, y, -0.03), axis=X, motor=True)
    return m.body(f"{side}thigh", f"{side}roll", (0.03, y, -0.06), motor=True)


def rod_ankle(m: Machine, side: str, shank: str, y: float, z: float, kind="universal") -> None:
    """A foot on a universal joint, and two motors on the shank that move it by cranks and rods."""
    foot = m.body(f"{side}foot", shank, (0.02, y, z), "universal")
    for k, (away, height) in enumerate(((0.05, 0.22), (-0.05, 0.15))):
        crank = m.body(f"{side}ankle{k}", shank, (0.03, y + away, z + height), motor=True)
        m.rod(f"{side}rod{k}", crank, (-0.04, y + 1.1 * away, z + height + 0.01), foot,
              (-0.05, y + 0.9 * away, z - 0.02), kind)  # fmt: skip


def bar_knee(m: Machine, side: str, thigh: str, y: float) -> str:
    """A knee whose motor sits in the thigh and pulls it by a crank and a rod: a four-bar in the plane."""
    shank = m.body(f"{side}shank", thigh, (0.05, y, -0.4))
    crank = m.body(f"{side}knee", thigh, (0.0, y, -0.1), motor=True)
    m.rod(f"{side}knee_rod", crank, (-0.05, y, -0.12), shank, (-0.02, y, -0.43), "hinge")
    return shank


def four_bar_knee() -> Machine:
    m = Machine("four_bar_knee")
    bar_knee(m, "", m.body("thigh", "base", (0, 0, 0), motor=True), 0.0)
    return m


def five_bar() -> Machine:
    m = Machine("five_bar")
    left = m.body("left", "base", (-0.15, 0, 0), motor=True)
    right = m.body("right", "base", (0.15, 0, 0), motor=True)
    m.body("left_rod", left, (-0.3, 0, 0.2))
    m.rod("right_rod", right, (0.33, 0, 0.18), "left_rod", (0.02, 0, 0.35), "hinge")
    return m


def five_bar_welded() -> Machine:
    """The five-bar with its loop closed as a weld behind its last hinge."""
    m = Machine("five_bar_welded")
    left = m.body("left", "base", (-0.15, 0, 0), motor=True)
    right = m.body("right", "base", (0.15, 0, 0), motor=True)
    m.body("left_rod", left, (-0.3, 0, 0.2))
    m.body("right_rod", right, (0.33, 0, 0.18))
    m.body("pin", "right_rod", (0.02, 0, 0.35))
    m.close("pin", "left_rod", (0.02, 0, 0.35), "6d")
    return m


def around(angle: float, radius: float, z: float, aside: float = 0.0) -> Point:
    c, s = np.cos(angle), np.sin(angle)
    return (radius * c - aside * s, radius * s + aside * c, z)


def delta() -> Machine:
    """Three arms with motors, six rods with balls."""
    m = Machine("delta")
    arms = []
    for k in range(3):
        angle = 2 * np.pi * k / 3
        axis = (-np.sin(angle), np.cos(angle), 0)
        arms.append(m.body(f"arm{k}", "base", around(angle, 0.2, 0), axis=axis, motor=True))
    for k in range(3):
        for j, aside in enumerate((0.05, -0.05)):
            m.body(f"rod{k}{j}", arms[k], around(2 * np.pi * k / 3, 0.45, -0.17, aside), "universal")
    first = around(0.0, 0.06, -0.75, 0.05)
    platform = m.body("platform", "rod00", first, "ball")
    for k in range(3):
        for j, aside in enumerate((0.05, -0.05)):
            if k or j:
                m.close(f"rod{k}{j}", platform, around(2 * np.pi * k / 3, 0.06, -0.75, aside))
    return m


def stewart() -> Machine:
    """Six legs with slides between universal joints and balls."""
    m = Machine("stewart")
    angles = [0.2, 1.9, 2.3, 4.0, 4.4, 6.1]
    tops = [0.8, 1.3, 2.9, 3.4, 5.0, 5.5]
    for k, angle in enumerate(angles):
        foot, top = np.array(around(angle, 0.5, 0)), np.array(around(tops[k], 0.3, 0.6))
        m.body(f"leg{k}", "base", tuple(foot), "universal")
        m.body(f"slide{k}", f"leg{k}", tuple(0.5 * (foot + top)), "slide", top - foot, motor=True)
        if k == 0:
            m.body("platform", "slide0", tuple(top), "ball")
        else:
            m.close(f"slide{k}", "platform", tuple(top))
    return m


def cassie_like() -> Machine:
    """A knee motor, a tarsus that a long rod couples to the thigh, and a foot on a crank with a rod."""
    m = Machine("cassie_like")
    thigh = hips(m, "", 0.1)
    knee = m.body("knee", thigh, (0.08, 0.1, -0.4), motor=True)
    shin = m.body("shin", knee, (0.12, 0.1, -0.43))
    tarsus = m.body("tarsus", shin, (-0.2, 0.1, -0.75))
    m.rod("achilles", thigh, (-0.02, 0.13, -0.1), tarsus, (-0.27, 0.13, -0.72))
    m.body("foot", tarsus, (0.05, 0.1, -1.05))
    crank = m.body("foot_crank", tarsus, (-0.14, 0.1, -0.8), motor=True)
    m.rod("plantar", crank, (-0.18, 0.11, -0.83), "foot", (0.0, 0.11, -1.09))
    return m


def digit_leg(m: Machine, side: str, y: float) -> None:
    thigh = hips(m, side, y)
    knee = m.body(f"{side}knee", thigh, (0.08, y, -0.4), motor=True)
    tarsus = m.body(f"{side}tarsus", knee, (-0.1, y, -0.7))
    m.rod(f"{side}achilles", thigh, (-0.03, y + 0.03, -0.1), tarsus, (-0.17, y + 0.03, -0.66))
    rod_ankle(m, side, tarsus, y, -1.05)


def digit_like() -> Machine:
    m = Machine("digit_like")
    digit_leg(m, "", 0.1)
    return m


def digit_like_2legs() -> Machine:
    m = Machine("digit_like_2legs")
    digit_leg(m, "left_", 0.1)
    digit_leg(m, "right_", -0.1)
    return m


def battobot_like() -> Machine:
    """Four-bar knees and ankles with two rods."""
    m = Machine("battobot_like")
    for side, y in (("left_", 0.1), ("right_", -0.1)):
        rod_ankle(m, side, bar_knee(m, side, hips(m, side, y), y), y, -0.8)
    return m


def bipetto_like() -> Machine:
    """A hip moved by two rods behind its yaw motor, a knee, and an ankle with two rods."""
    m = Machine("bipetto_like")
    yaw = m.body("yaw", "base", (0, 0.1, 0), axis=Z, motor=True)
    thigh = m.body("thigh", yaw, (0.01, 0.1, -0.1), "universal")
    for k, aside in enumerate((0.06, -0.06)):
        crank = m.body(f"hip{k}", yaw, (-0.05, 0.1 + aside, 0.02), motor=True)
        m.rod(f"hip_rod{k}", crank, (-0.11, 0.1 + aside, 0.03), thigh, (-0.08, 0.1 + 0.8 * aside, -0.2))
    shank = m.body("shank", thigh, (0.05, 0.1, -0.45), motor=True)
    rod_ankle(m, "", shank, 0.1, -0.85)
    return m


def talos_like() -> Machine:
    """A serial leg whose ankle is moved by two rods from the shank."""
    m = Machine("talos_like")
    shank = m.body("shank", hips(m, "", 0.08), (0.04, 0.08, -0.42), motor=True)
    rod_ankle(m, "", shank, 0.08, -0.8, "ball")
    return m


def kangaroo_like() -> Machine:
    """Slides with motors in the thigh: one pulls the knee by a rod, two move the ankle."""
    m = Machine("kangaroo_like")
    thigh = hips(m, "", 0.1)
    shank = m.body("shank", thigh, (0.05, 0.1, -0.45))
    slide = m.body("knee_slide", thigh, (-0.03, 0.12, -0.15), "slide", Z, motor=True)
    m.rod("knee_rod", slide, (-0.03, 0.12, -0.2), shank, (-0.02, 0.11, -0.48))
    foot = m.body("foot", shank, (0.03, 0.1, -0.9), "universal")
    for k, aside in enumerate((0.05, -0.05)):
        slide = m.body(f"ankle_slide{k}", shank, (-0.02, 0.1 + aside, -0.6), "slide", (0.1, 0, 1), motor=True)
        m.rod(f"ankle_rod{k}", slide, (-0.02, 0.1 + aside, -0.65), foot, (-0.05, 0.1 + 0.9 * aside, -0.92))
    return m


def ostrich_like() -> Machine:
    """A leg of two plane loops in a row: a pantograph that two motors at the hip move."""
    m = Machine("ostrich_like")
    m.body("roll", "base", (0, 0.1, 0), axis=X, motor=True)
    front = m.body("front", "roll", (0.05, 0.1, -0.05), motor=True)
    back = m.body("back", "roll", (-0.05, 0.1, -0.05), motor=True)
    shank = m.body("shank", front, (0.2, 0.1, -0.3))
    m.rod("pull", back, (-0.1, 0.1, -0.28), shank, (0.1, 0.1, -0.42), "hinge")
    tarsus = m.body("tarsus", shank, (-0.1, 0.1, -0.7))
    m.rod("parallel", front, (0.14, 0.1, -0.33), tarsus, (-0.17, 0.1, -0.66), "hinge")
    return m


def spherical_ankle() -> Machine:
    """A foot that a motor turns and two slides tilt: three motors for a rotation."""
    m = Machine("spherical_ankle")
    shank = m.body("shank", "base", (0, 0, 0), axis=Z, motor=True)
    foot = m.body("foot", shank, (0, 0, -0.4), "universal")
    for k, aside in enumerate((0.06, -0.05)):
        cylinder = m.body(f"cylinder{k}", shank, (-0.08, aside, -0.1), "universal")
        piston = m.body(f"piston{k}", cylinder, (-0.085, aside, -0.25), "slide", (0.03, 0, 1), motor=True)
        m.close(piston, foot, (-0.09, aside, -0.42))
    return m


def palletiser() -> Machine:
    """Two motors at the shoulder, a drive rod, and two parallelograms that keep the flange level."""
    m = Machine("palletiser")
    yaw = m.body("yaw", "base", (0, 0, 0.4), axis=Z, motor=True)
    shoulder = m.body("shoulder", yaw, (0.1, 0, 0.6), motor=True)
    elbow = m.body("elbow", shoulder, (0.3, 0, 1.3))
    crank = m.body("crank", yaw, (0.1, 0, 0.6), motor=True)
    m.rod("drive_rod", crank, (-0.05, 0, 0.65), elbow, (0.15, 0, 1.35), "hinge")
    plate = m.body("plate", shoulder, (0.3, 0, 1.3))
    m.rod("level_rod", yaw, (0.0, 0, 0.7), plate, (0.2, 0, 1.4), "hinge")
    wrist = m.body("wrist", elbow, (0.9, 0, 1.1))
    m.rod("level_rod2", plate, (0.35, 0, 1.42), wrist, (0.95, 0, 1.22), "hinge")
    m.body("flange", wrist, (1.0, 0, 1.0), axis=Z, motor=True)
    return m


def wl16_like() -> Machine:
    """A leg that is a platform on six slides: the machine of stewart() upside down, on a waist that turns."""
    m = Machine("wl16_like")
    waist = m.body("waist", "base", (0, 0, 0), axis=Z, motor=True)
    for k, angle in enumerate([0.1, 1.8, 2.4, 3.9, 4.5, 6.0]):
        top, foot = np.array(around(angle, 0.12, 0)), np.array(around(angle + (-1) ** k * 0.5, 0.08, -0.7))
        m.body(f"leg{k}", waist, tuple(top), "universal")
        m.body(f"slide{k}", f"leg{k}", tuple(0.5 * (foot + top)), "slide", top - foot, motor=True)
        if k == 0:
            m.body("foot", "slide0", tuple(foot), "ball")
        else:
            m.close(f"slide{k}", "foot", tuple(foot))
    return m


MACHINES: tuple[Callable[[], Machine], ...] = (
    four_bar_knee, five_bar, five_bar_welded, delta, stewart, wl16_like, spherical_ankle, palletiser, cassie_like,
    digit_like, digit_like_2legs, battobot_like, bipetto_like, talos_like, kangaroo_like, ostrich_like,
)  # fmt: skip
