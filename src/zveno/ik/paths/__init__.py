"""Inverse kinematics along paths: branches followed, sequences chosen, and files of poses."""

from .joint_path import JointPath as JointPath
from .joint_path import solve_path as solve_path
