"""Drop of a floating robot onto the ground, with default contact points."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import ModelError
from ..geometry.bounding import link_bars
from ..geometry.shapes import Sphere
from ..mechanism import Mechanism
from ..robot_functions import RobotFunctions
from ..simulation.contact import Contact
from ..simulation.control import PD, unactuated
from ..simulation.integrators import TimeStepping
from ..simulation.simulate import simulate
from ..simulation.trajectory import Trajectory
from .playback import Playback
from .stage import Stage
from .views.trajectory import show_trajectory

RADIUS = 0.02
"""Radius of the contact spheres as a fraction of the longest bar."""
STIFFNESS = 2 * np.pi * 3.0
"""Natural frequency of the joint springs that hold the configuration, rad/s."""


def drop(
    robot: RobotFunctions,
    q: ArrayLike,
    duration: float = 2.0,
    *,
    height: float = 0.2,
    hold: bool = True,
    friction: float = 0.7,
    sample: float = 0.01,
) -> Trajectory:
    """Simulate the drop of a floating robot onto the ground, the plane z = 0, by time stepping.

    Contact spheres are at the ends of the leaf links and of the floating body.

    Args:
        robot: a robot with a floating base.
        q: initial configuration, (n_q,); only its height is changed.
        duration: simulated time, s.
        height: initial height of the lowest sphere above the ground, m.
        hold: True if springs of 3 Hz hold the joints; otherwise they are free.
        friction: friction coefficient of the ground.
        sample: time between stored samples, s.
    """
    mechanism = robot.mechanism
    root = _floating(mechanism)
    contacts = _contacts(mechanism, root, friction)
    start = np.array(mechanism.checked_q(q), dtype=float)
    control = None
    if hold:
        inertia = np.diagonal(np.asarray(robot.mass_matrix(start)))
        control = PD(start, kp=STIFFNESS**2 * inertia, kd=2.0 * STIFFNESS * inertia, gravity=False)
    start = _raise_base(robot, start, root, height - _lowest(robot, start, contacts))
    return simulate(
        robot, start, duration=duration, control=control, constraints=contacts,
        integrator=TimeStepping(), sample_time=sample, joint_limits=True,
    )  # fmt: skip


def _floating(mechanism: Mechanism) -> int:
    """Number of the floating link, the first with six undriven velocities before it."""
    free = unactuated(mechanism)
    if not (mechanism.n_v >= 6 and free[:6].all()):
        raise ModelError(
            "its base is fixed to the ground", element=mechanism.name, remedy="Give it a floating base"
        )
    passed = 0
    for i, _, joint in mechanism.outward():
        passed += joint.type.n_v
        if passed >= 6:
            return i
    raise AssertionError("six velocities have passed")


def _contacts(mechanism: Mechanism, root: int, friction: float) -> list[Contact]:
    bars = [bar for bar in link_bars(mechanism) if bar[0] > 0]
    longest = max((float(np.linalg.norm(end - start)) for _, start, end in bars), default=0.5)
    places = [(i, end) for i, _, end in bars if i == root or not mechanism.tree.children(i)]
    places = places or [(root, np.zeros(3))]
    radius = RADIUS * longest
    named = {}
    for i, center in places:
        link = mechanism.link_names[i]
        frame = next(
            (f for f in mechanism.frames if f.link == link and np.allclose(f.T_link_frame[:3, 3], center)), None
        )
        at = (frame.name, np.zeros(3)) if frame is not None else (link, center)
        named[(at[0], *np.round(center, 9).tolist())] = at
    taken: dict[str, int] = {}
    contacts = []
    for frame, center in named.values():
        taken[frame] = taken.get(frame, 0) + 1
        name = None if taken[frame] == 1 else f"Contact({frame}, {taken[frame]})"
        contacts.append(Contact(frame, Sphere(radius, tuple(center)), friction=friction, name=name))
    return contacts


def _lowest(robot: RobotFunctions, q: np.ndarray, contacts: list[Contact]) -> float:
    heights = []
    for contact in contacts:
        assert isinstance(contact.shape, Sphere)
        T = np.asarray(robot.forward_kinematics(q, contact.frame))
        heights.append((T[:3, :3] @ np.asarray(contact.shape.center) + T[:3, 3])[2] - contact.shape.radius)
    return float(min(heights))


def _raise_base(robot: RobotFunctions, q: np.ndarray, root: int, by: float) -> np.ndarray:
    """Raise the floating base without rotating it."""
    J = np.asarray(robot.jacobian(q, frame=robot.mechanism.link_names[root]))[:, :6]
    step = np.zeros(robot.n_v)
    step[:6] = np.linalg.solve(J, np.array([0.0, 0.0, by, 0.0, 0.0, 0.0]))
    return np.asarray(robot.integrate(q, step))


MOST_SECONDS = 10.0


class DropPanel:
    """Tab of a floating robot."""

    def __init__(self, stage: Stage, gui: Any):
        self.stage: Stage = stage
        self.gui: Any = gui
        self.playback: Playback | None = None
        self.folder: Any = None
        gui.add_markdown("Let go above the ground from the posture it has; spheres at its ends touch.")
        self.height: Any = gui.add_slider("height mm", min=0.0, max=1000.0, step=10.0, initial_value=200.0)
        self.duration: Any = gui.add_slider("duration s", min=0.2, max=MOST_SECONDS, step=0.1, initial_value=2.0)
        self.hold: Any = gui.add_checkbox("Joints hold", True)
        button = gui.add_button("Drop it")
        self.status: Any = gui.add_markdown("")
        button.on_click(lambda _: self.start())

    def start(self) -> None:
        """Simulate and show the drop; the first run compiles, which takes seconds."""
        stage, q = self.stage, self.stage.q.copy()
        height = 1e-3 * float(np.clip(self.height.value, 0.0, 1000.0))
        duration = float(np.clip(self.duration.value, 0.2, MOST_SECONDS))
        hold = bool(self.hold.value)
        self.status.content = "simulating …"
        if not stage.worker.aside(
            (stage.node, "drop"), lambda: drop(stage.robot, q, duration, height=height, hold=hold), self._done
        ):
            self.status.content = "something else is being computed"

    def _done(self, result: Any) -> None:
        self.status.content = ""
        if self.playback is not None and self.playback.playing:
            self.playback.toggle()
        if self.folder is not None:
            self.folder.remove()
        self.folder = self.gui.add_folder("The fall")
        with self.folder:
            self.playback = show_trajectory(self.stage, self.gui, result)
        self.stage.show_ground(0.0)
        self.playback.toggle()


def can_fall(stage: Stage) -> bool:
    """Return True if the robot has a floating base and masses."""
    mechanism = stage.mechanism
    return mechanism.n_v >= 6 and bool(unactuated(mechanism)[:6].all())
