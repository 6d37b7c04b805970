"""Lever geometry between a cylinder and its joint: extension and lever arm as functions of q."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError
from ...kernels.ops import sqrt
from ...mechanism import Joint


class Lever(ABC):
    """Relation between the extension of a cylinder and the coordinate of a joint."""

    @abstractmethod
    def extension(self, joint: Joint, q: Any, stroke: float) -> tuple[Any, Any]:
        """Return (x, dx/dq): extension from the middle of the stroke, m, and lever arm, m/rad or 1, at q."""

    @abstractmethod
    def check(self, joint: Joint) -> None:
        """Refuse values that do not suit the joint."""


@dataclass(frozen=True)
class ConstantLever(Lever):
    """Constant lever arm: a rack and pinion, a belt, or a cylinder along a prismatic joint.

    Attributes:
        arm: extension over coordinate, m/rad of a turning joint, 1 or −1 of a prismatic one.
        middle: coordinate at which the cylinder is in the middle of its stroke, rad or m.
    """

    arm: float = 1.0
    middle: float = 0.0

    def extension(self, joint: Joint, q: Any, stroke: float) -> tuple[Any, Any]:
        """Return an extension proportional to the coordinate."""
        return self.arm * (q - self.middle), self.arm

    def check(self, joint: Joint) -> None:
        """Raise an error unless the arm is nonzero."""
        if not (np.isfinite([self.arm, self.middle]).all() and self.arm):
            raise ModelError(
                f"the lever has the arm {self.arm} and the middle {self.middle}",
                element=f"joint {joint.name}",
                remedy="Give finite numbers, and an arm that is not zero",
            )


@dataclass(frozen=True)
class PivotLever(Lever):
    """Cylinder between two pins: one on the joint's parent link, one on its child link.

    Attributes:
        parent: pin on the parent link, (3,) m, in that link's frame.
        child: pin on the child link, (3,) m, in that link's frame.
        retracted: distance between the pins when the cylinder is fully retracted, m.
    """

    parent: tuple[float, float, float]
    child: tuple[float, float, float]
    retracted: float

    def extension(self, joint: Joint, q: Any, stroke: float) -> tuple[Any, Any]:
        """Compute x from the pin distance l; dl/dq is the velocity of the child's pin along the cylinder."""
        T_joint_moved = joint.type.motion(np.array([q]))
        T_moved_child = joint.T_joint_child
        R, child = T_joint_moved[:3, :3], T_moved_child[:3, :3] @ np.array(self.child, float) + T_moved_child[:3, 3]
        axis = T_joint_moved[:3, 3] + R @ child - self._parent_in_joint(joint)
        length = sqrt(axis @ axis)
        linear, angular = np.split(joint.type.subspace(np.array([q]))[:, 0], 2)
        speed = R @ (linear + np.cross(angular, child))
        return length - (self.retracted + 0.5 * stroke), (axis @ speed) / length

    def _parent_in_joint(self, joint: Joint) -> np.ndarray:
        T_parent_joint = joint.T_parent_joint
        return T_parent_joint[:3, :3].T @ (np.array(self.parent, dtype=float) - T_parent_joint[:3, 3])

    def check(self, joint: Joint) -> None:
        """Raise an error unless pins and length are valid and the joint has a lever."""
        where = f"joint {joint.name}"
        try:
            points = np.array([self.parent, self.child], dtype=float)
        except (TypeError, ValueError):
            points = np.zeros(0)
        if points.shape != (2, 3) or not np.isfinite(points).all():
            raise ModelError("a pin is not a point of three finite numbers", element=where)
        if not (np.isfinite(self.retracted) and self.retracted > 0):
            raise ModelError(
                f"the retracted length is {self.retracted}", element=where, remedy="Give metres, more than 0"
            )
        with np.errstate(all="ignore"):
            arms = np.array([self.extension(joint, q, 0.0)[1] for q in np.linspace(-1.5, 1.5, 7)])
        if not (np.nan_to_num(abs(arms)) > 1e-9).any():
            raise ModelError(
                "the cylinder has no lever: a pin lies on the axis of the joint, or its motion is square to it",
                element=where,
                remedy="Place both pins away from the axis",
            )
