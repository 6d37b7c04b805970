"""Walking machines as MuJoCo models: the same tree, inertias and feet, with position servos at the joints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zveno.mechanism import Mechanism
from zveno.spatial import inertia


def mjcf(
    mechanism: Mechanism,
    spheres: Sequence[tuple[str, Sequence[float], float]],
    *,
    friction: float,
    kp: float,
    kd: float,
    option: str = "",
    solref: str = "0.02 1",
) -> str:
    """MJCF text of a tree of revolute joints on a free base whose joint frames are parallel.

    Args:
        mechanism: the machine.
        spheres: (frame, centre in it, radius) of what touches the plane z = 0.
        friction, kp, kd: of the contacts and of the servos.
        option: attributes of `option`, besides a step of 1 ms.
        solref: of the contacts; shorter is stiffer.
    """
    frames = {frame.name: frame for frame in mechanism.frames}
    children = {
        name: [joint for joint in mechanism.joints if joint.parent == name] for name in mechanism.link_names
    }
    links = {link.name: link for link in mechanism.links}

    def body(joint) -> str:
        own = links[joint.child].inertia
        center = own[1:4] / own[0]
        spread = own[0] * (center @ center * np.eye(3) - np.outer(center, center))
        about_center = inertia.tensor(own) - spread
        text = f'<body name="{joint.child}" pos="{_text(joint.T_parent_joint[:3, 3])}">'
        if joint.type.kind == "free":
            text += "<freejoint/>"
        else:
            text += f'<joint name="{joint.name}" type="hinge" axis="{_text(joint.type.axis)}"/>'
        full = about_center[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        text += f'<inertial pos="{_text(center)}" mass="{own[0]:.15g}" fullinertia="{_text(full)}"/>'
        for name, local, radius in spheres:
            if frames[name].link == joint.child:
                place = frames[name].T_link_frame[:3, 3] + np.asarray(local)
                text += f'<geom type="sphere" size="{radius}" pos="{_text(place)}" friction="{friction} 0 0" '
                text += f'condim="3" contype="1" conaffinity="0" solref="{solref}"/>'
        return text + "".join(map(body, children[joint.child])) + "</body>"

    bodies = "".join(map(body, children[mechanism.link_names[0]]))
    hinges = [joint.name for joint in mechanism.joints if joint.type.kind == "revolute"]
    servos = "".join(f'<position joint="{name}" kp="{kp}" kv="{kd}"/>' for name in hinges)
    plane = '<geom type="plane" size="50 50 1" contype="0" conaffinity="1" '
    plane += f'friction="{friction} 0 0" solref="{solref}"/>'
    return (
        f'<mujoco><option timestep="0.001" {option}/><worldbody>{plane}{bodies}</worldbody>'
        f"<actuator>{servos}</actuator></mujoco>"
    )


def _text(numbers) -> str:
    return " ".join(f"{number:.15g}" for number in np.asarray(numbers, dtype=float))
