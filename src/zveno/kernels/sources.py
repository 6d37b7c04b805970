"""A hash of source files, part of a kernel's key: changed code never meets a kernel traced from the old."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent


@cache
def source_digest(*parts: str) -> str:
    """A hash of the Python files of folders and modules of this package, named relative to its root.

    The tape and the derivatives in `kernels` always count.
    """
    digest = hashlib.sha256()
    for part in sorted({"kernels", *parts}):
        place = ROOT / part
        for source in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            digest.update(source.read_bytes())
    return digest.hexdigest()
