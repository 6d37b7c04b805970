"""Geometric calibration: models of elementary transforms, identifiability, measurements, estimation, accuracy."""

from .estimate import calibrate as calibrate
from .files.tables import read_campaign as read_campaign
from .measurements.campaigns import Campaign as Campaign
from .result import Calibration as Calibration
