"""A guided tour on the built-in PUMA 560: a list of short sections, each a few words and a few numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .options import OUTPUT, File, OutputFlags
from .output import Answer, deliver, protect

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ..robot import Robot

PICTURE = Path("out") / "puma560.png"
READY = (20.0, -40.0, 30.0, 0.0, 60.0, 0.0)
"""Degrees; the configuration the tour looks at."""


def demo(
    *,
    plot: File = None,
    output: OutputFlags = OUTPUT,
) -> None:
    """A first look: a guided tour of the library on the PUMA 560, with a picture.

    Args:
        plot: where the picture goes; out/puma560.png if not given.
    """
    from .. import load

    protect(output, [], [plot or PICTURE])
    robot = load("puma560")
    tour = Tour(robot, plot)
    deliver(Answer(tour.data, tour.show), output)


@dataclass(frozen=True)
class Section:
    """A stop of the tour: what is said, and the same as data."""

    title: str
    words: Sequence[RenderableType]
    data: dict[str, Any]


@dataclass(frozen=True)
class Tour:
    """The sections on one robot, made one after the other as they are printed."""

    robot: Robot
    plot: Path | None

    def sections(self) -> Iterator[Section]:
        """All stops; `SECTIONS` is the list to extend."""
        return (make(self) for make in SECTIONS)

    def data(self) -> dict[str, Any]:
        """What the tour found, by section."""
        return {section.title: section.data for section in self.sections()}

    def show(self, console: Console) -> None:
        """Print section after section."""
        from rich.text import Text

        for number, section in enumerate(self.sections(), start=1):
            console.print(f"{number}. {section.title}", style="bold")
            for words in section.words:
                console.print(Text(words) if isinstance(words, str) else words)
            console.print()

    @property
    def q(self) -> Any:
        """The configuration the tour looks at, rad."""
        import numpy as np

        return np.radians(READY)


def _what(tour: Tour) -> Section:
    words = [
        "zveno reads a robot (URDF, MJCF, Denavit–Hartenberg, elementary transforms) and gives its equations. "
        "Each algorithm is written once, as in the textbook, and compiled for your robot, so that it takes whole "
        "batches of states at a time. The robot of this tour comes with it: robot = zveno.load('puma560')."
    ]
    return Section("What this is", words, {"robot": tour.robot.name})


def _tree(tour: Tour) -> Section:
    from ..report.text.summary import summary
    from ..report.text.tree import mechanism_tree

    mechanism = tour.robot.mechanism
    words = ["Six revolute joints in a chain, limits in degrees; `zveno info puma560` tells more.", ""]
    return Section("The mechanism", [*words, mechanism_tree(mechanism, degrees=True)], summary(mechanism))


def _kinematics(tour: Tour) -> Section:
    from ..report.text.pose import pose_data, pose_table

    frame = tour.robot.mechanism.default_frame.name
    pose = pose_data(tour.robot.forward_kinematics(tour.q))
    words = [f"robot.forward_kinematics(q) at q = {', '.join(f'{x:g}' for x in READY)} degrees:", ""]
    return Section(
        "Where the flange is", [*words, pose_table(pose, f"T_world_{frame}")], {"q": tour.q.tolist()} | pose
    )


def _jacobian(tour: Tour) -> Section:
    import numpy as np

    from ..report.text.columns import number

    straight = tour.robot.pack({"joint5": 0.0}, default=tour.q)
    rows, data = [], {}
    for name, q in (("here", tour.q), ("wrist straight", straight)):
        values = np.linalg.svd(tour.robot.jacobian(q), compute_uv=False)
        rows.append(f"{name:15s}" + "  ".join(number(x, 4) for x in values))
        data[name] = values.tolist()
    words = [
        "robot.jacobian(q) maps joint velocities to the twist [v, w] of the flange. Its singular values say how "
        "easily it moves in six directions; with the wrist straight (joint5 = 0) axes 4 and 6 align and one "
        "direction is lost:",
        "",
        *rows,
    ]
    return Section("How it can move", words, {"singular_values": data})


def _dynamics(tour: Tour) -> Section:
    import time

    import numpy as np

    from ..report.text.columns import number

    robot, n = tour.robot, 100_000
    hold = robot.gravity_torque(tour.q)
    states = np.random.default_rng(0).uniform(-1.0, 1.0, (3, n, robot.n_v))
    torques = robot.inverse_dynamics(*states)  # builds the kernel, or loads it from the cache
    times = []
    for _ in range(5):
        start = time.perf_counter()
        robot.inverse_dynamics(*states, out=torques)
        times.append(time.perf_counter() - start)
    each = 1e9 * min(times) / n
    words = [
        f"robot.gravity_torque(q) holds it still: {', '.join(number(x, 2) for x in hold)} N·m.",
        f"robot.inverse_dynamics(q, v, a) on a batch of {n} states takes {each:.0f} ns a state on this machine.",
    ]
    return Section("What the motors do", words, {"gravity_torque": hold.tolist(), "nanoseconds_a_state": each})


def _conventions(tour: Tour) -> Section:
    from .. import load

    typed = load("Tz(0.67) Rz(q1) Rx(-1.5708) Tx(0.4318) Rz(q2)").mechanism
    words = [
        "SI units and radians; T_world_tool maps tool coordinates to the world; twists are [v, w]; quaternions are "
        "wxyz; docs/conventions.md has the rest. A right angle typed as 1.5708 would break what depends on exactly "
        "parallel or crossing axes, so hand-typed models are snapped, and told so:",
        *(f"  {note}" for note in typed.notes),
    ]
    return Section("Conventions, and angles that were meant", words, {"notes": list(typed.notes)})


def _picture(tour: Tour) -> Section:
    from ..errors import MissingExtraError
    from ..report.pictures.motion import draw_motion

    file = PICTURE if tour.plot is None else tour.plot
    try:
        if tour.plot is None:
            PICTURE.parent.mkdir(exist_ok=True)
        caption = "PUMA 560: one motion, and the way of its flange"
        draw_motion(tour.robot.mechanism, swing(), file, caption=caption)
    except MissingExtraError as missing:
        return Section("A picture", [f"No picture: {missing}."], {"picture": None})
    return Section(
        "A picture", [f"The arm along a motion, and the way of its flange: {file}"], {"picture": str(file)}
    )


SECTIONS: list[Callable[[Tour], Section]] = [
    _what,
    _tree,
    _kinematics,
    _jacobian,
    _dynamics,
    _conventions,
    _picture,
]


def swing(n: int = 121) -> Any:
    """The motion of the picture: (n, 6) joint values of the PUMA 560, rad."""
    import numpy as np

    s = np.linspace(0.0, 1.0, n)
    over = np.sin(np.pi * s)
    q = np.stack([85 - 140 * s, -20 - 45 * over, 25 - 30 * over, 0 * s, 75 - 25 * over, 0 * s], axis=-1)
    return np.radians(q)
