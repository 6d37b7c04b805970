"""Plans of experiments: where to measure so that the answer is best."""

from __future__ import annotations

from ..clearance import Clearance as Clearance
from .candidates import Visibility as Visibility
from .curve import accuracy_curve as accuracy_curve
from .poses import judge_poses as judge_poses
from .poses import plan_poses as plan_poses
from .result import Curve as Curve
from .result import Plan as Plan
