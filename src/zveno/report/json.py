"""JSON values of a result, in which missing and infinite numbers are null."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import Any

import numpy as np

from .description import Description


def values(description: Description) -> dict[str, Any]:
    """Return the named fields of a description as JSON values."""
    return {each.name: plain(each.value) for each in description.fields if each.name}


def plain(value: Any) -> Any:
    """Convert arrays, numbers, strings, mappings and sequences to JSON values."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, PurePath) else value
