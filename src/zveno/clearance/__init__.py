"""Capsules around links, their distances to each other and to the ground, and the gradients of these distances."""

from .capsules import Capsules as Capsules
from .capsules import Clearance as Clearance
