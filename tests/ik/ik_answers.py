"""What tests of inverse kinematics ask of an answer: is a configuration among its solutions or on its continua?"""

from __future__ import annotations

import numpy as np
from ik_arms import Arm

from zveno.mechanism import Continuous, Frame, Joint, Link, assemble
from zveno.robot import Robot

PI = np.pi


def robot_of(arm: Arm) -> Robot:
    """The arm as a robot without limits."""
    links = [Link(f"l{i}") for i in range(len(arm.F) + 1)]
    joints = [Joint(f"j{i + 1}", f"l{i}", f"l{i + 1}", Continuous(), F) for i, F in enumerate(arm.F)]
    return Robot(assemble(arm.name, links, joints, [Frame("tool", links[-1].name, arm.tool)]))


def wrapped(d: np.ndarray) -> np.ndarray:
    """Differences of angles, whole turns aside."""
    return d - 2 * PI * np.round(d / (2 * PI))


def nearest(q, solutions: np.ndarray) -> float:
    """How far, rad, the nearest of some configurations (s, n) is from q in its worst joint."""
    return float(np.abs(wrapped(solutions - q)).max(axis=1).min(initial=np.inf))


def told(answer, k: int, q) -> bool:
    """Whether q is among the solutions of pose k, or beside the sample of a family."""
    if nearest(q, answer.of(k)) < 1e-3:
        return True
    return any(nearest(q, family.q) < 0.6 for family in answer.families.get(k, ()))
