"""Inverse kinematics: the public names and where each comes from."""

from ._local_solution import LocalSolution as LocalSolution
from ._local_solution import local as local
from ._manipulability import manipulability as manipulability
from ._tracker.tracker import Tracker as Tracker
from ._tracker.tracker import TrackerStep as TrackerStep
from ._whole_body.posture_result import Configurations as Configurations
from ._whole_body.postures import whole_body as whole_body
from ._whole_body.tasks import CenterOfMassTask as CenterOfMassTask
from ._whole_body.tasks import FrameTask as FrameTask
from ._whole_body.tasks import MomentumTask as MomentumTask
from ._whole_body.tasks import PostureTask as PostureTask
from ._whole_body.tasks import Task as Task
from ._whole_body.velocity_ik import DifferentialIK as DifferentialIK
from ._whole_body.velocity_ik import VelocityStep as VelocityStep
from .maps.results import WorkspaceMap as WorkspaceMap
from .maps.workspace import workspace_map as workspace_map
from .paths.joint_path import JointPath as JointPath
from .paths.pose_curves import PosePath as PosePath
from .proof import Proof as Proof
from .solutions import SelfMotion as SelfMotion
from .solutions import Solutions as Solutions
from .tolerance import Tolerance as Tolerance
