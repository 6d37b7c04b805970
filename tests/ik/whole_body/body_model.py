"""A small body for tests: two legs and an arm of three joints each."""

from __future__ import annotations

import zveno
from zveno.io.urdf import parse_urdf

FEET = ("left_leg_tip", "right_leg_tip")
HANDS = ("arm_tip",)


def humanoid(base: str = "free") -> zveno.Robot:
    """Two legs and an arm of three joints on a trunk, all links with mass."""
    joints, links = [], ["trunk"]
    limbs = (("left_leg", 0.1, -0.1, -0.3), ("right_leg", -0.1, -0.1, -0.3), ("arm", 0.1, 0.3, 0.25))
    for limb, y, z, length in limbs:
        parent, at = "trunk", (0.0, y, z)
        for k, axis in enumerate(("1 0 0", "0 1 0", "0 1 0")):
            name = f"{limb}{k}"
            joints.append(
                f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/>'
                f'<origin xyz="{at[0]} {at[1]} {at[2]}"/><axis xyz="{axis}"/>'
                '<limit lower="-2" upper="2" velocity="5" effort="1"/></joint>'
            )
            links.append(f"{name}_link")
            parent, at = f"{name}_link", (0.0, 0.0, length) if k >= 1 else (0.0, 0.0, 0.0)
        joints.append(
            f'<joint name="{limb}_end" type="fixed"><parent link="{parent}"/>'
            f'<child link="{limb}_tip"/><origin xyz="0 0 {length}"/></joint>'
        )
        links.append(f"{limb}_tip")
    return _robot(links, joints).with_base(base)


def _robot(links: list[str], joints: list[str]) -> zveno.Robot:
    bodies = "".join(
        f'<link name="{name}"><inertial><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        for name in links
    )
    return zveno.Robot(parse_urdf(f'<robot name="body">{bodies}{"".join(joints)}</robot>'))


def two_arms() -> zveno.Robot:
    """Two arms of seven revolute joints, with spherical shoulders and wrists, on a free trunk."""
    joints, links = [], ["trunk"]
    for side, y in (("left", 0.2), ("right", -0.2)):
        parent, at = "trunk", f"0 {y} 0"
        for k, axis in enumerate(("0 0 1", "0 1 0", "1 0 0", "0 1 0", "1 0 0", "0 1 0", "0 0 1")):
            name = f"{side}{k}"
            joints.append(
                f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{name}_link"/>'
                f'<origin xyz="{at}"/><axis xyz="{axis}"/>'
                '<limit lower="-2.5" upper="2.5" velocity="5" effort="1"/></joint>'
            )
            links.append(f"{name}_link")
            parent, at = f"{name}_link", "0.3 0 0" if k in (2, 3) else "0 0 0"
        joints.append(
            f'<joint name="{side}_end" type="fixed"><parent link="{parent}"/><child link="{side}_tip"/>'
            '<origin xyz="0.1 0 0"/></joint>'
        )
        links.append(f"{side}_tip")
    return _robot(links, joints).with_base("free")


def targets_at(robot, q, frames):
    """Poses of frames at q, by name."""
    return dict(zip(frames, robot.frame_poses(q, frames=list(frames)), strict=True))
