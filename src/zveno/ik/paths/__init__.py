"""Inverse kinematics along paths: branches followed, sequences chosen, timed, and files of poses."""

from .branches import Branch as Branch
from .joint_path import JointPath as JointPath
from .pose_curves import PosePath as PosePath
from .solve_path import solve_path as solve_path
