"""Experiment design: postures whose measurements give the most accurate calibration."""

from __future__ import annotations

from ...clearance import Clearance as Clearance
from .candidates import Visibility as Visibility
from .poses import evaluate_poses as evaluate_poses
from .poses import plan_poses as plan_poses
from .result import MeasurementPlan as MeasurementPlan
