"""Geometric calibration: models of elementary transforms, identifiability, measurements, estimation, accuracy."""

from .campaigns import Campaign as Campaign
from .estimate import calibrate as calibrate
from .identifiability import identifiability as identifiability
from .information import information as information
from .result import Calibration as Calibration
from .tables import read_campaign as read_campaign
