"""Inverse kinematics along paths: branches followed, sequences chosen, timed, and files of poses."""

from .joint_path import JointPath as JointPath
from .pose_curves import PosePath as PosePath
from .solve_path import solve_path as solve_path
from .strands import Branch as Branch
