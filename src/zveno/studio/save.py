"""Offline page of the scene or of a motion."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ZvenoError
from ..io.files import write_text

if TYPE_CHECKING:
    from .studio import Studio

MOST_FRAMES = 300
"""Maximum number of frames of a motion; more are subsampled evenly."""


def save_scene(studio: Studio, path: str | PathLike[str]) -> Path:
    """Write the page and return the file."""
    file = Path(path)
    if file.suffix.lower() not in (".html", ".htm"):
        raise ZvenoError(f"a scene cannot be saved as {file.suffix!r}", file=file, remedy="Use .html")
    return write_text(file, scene_page(studio).decode())


def scene_page(studio: Studio) -> bytes:
    """Render the page: the motion of the first time bar, or else the current scene."""
    serializer = studio.server.get_scene_serializer()
    if studio.playbacks:
        stage, playback = studio.playbacks[0]
        t, before = playback.t, playback.at
        kept = np.unique(np.linspace(0, len(t) - 1, min(len(t), MOST_FRAMES)).round().astype(int))
        pauses = np.append(np.diff(t[kept]), 0.5) if playback.unit == "s" else np.full(len(kept), 0.5)
        for k, pause in zip(kept.tolist(), pauses.tolist(), strict=True):
            playback.show(k)
            stage.place()
            serializer.insert_sleep(max(pause, 1e-3))
        playback.show(before)
        stage.place()
    return serializer.as_html().encode()
