"""Readers and writers of models: URDF, MJCF, Denavit–Hartenberg tables and elementary transforms."""

from .load import FORMATS as FORMATS
from .load import load_mechanism as load_mechanism
