"""Formulas of the five source documents, one module per document, as functions of any robot they apply to.

They follow the documents to the letter. They use the library, and nothing in the library uses them. `make
reproduce` compares the numbers printed in the documents with recomputed ones.
"""

from . import base_parameters as base_parameters
from . import calibration as calibration
from . import scanning as scanning
from . import separate_bodies as separate_bodies
from . import trees as trees

__all__ = ["base_parameters", "calibration", "scanning", "separate_bodies", "trees"]
