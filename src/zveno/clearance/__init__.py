"""Capsules around links, how far they keep from each other and the ground, and how that changes with the joints."""

from .capsules import Capsules as Capsules
from .capsules import Clearance as Clearance
