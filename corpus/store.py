"""The data files: one compressed archive for each part."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from .cases import Values, as_stored

DATA = Path(os.environ.get("CORPUS_DATA", Path(__file__).parent / "data"))
INPUT = "inputs"


class Archive:
    """Frozen values of one part by case, and the inputs they were computed from."""

    def __init__(self, part: str, *, recording: bool = False):
        self.path = DATA / f"{part}.npz"
        self.recording = recording
        self._arrays: dict[str, np.ndarray] = {}
        if self.path.exists():
            with np.load(self.path, allow_pickle=False) as file:
                self._arrays = {name: file[name] for name in file.files}

    def given(self, name: str, make: Callable[[], Any]) -> np.ndarray:
        """The input of a name: what is stored, or made now where nothing is."""
        key = f"{INPUT}|{name}"
        if key not in self._arrays:
            made = as_stored(make())
            if not self.recording:
                return made
            self._arrays[key] = made
        return self._arrays[key]

    def names(self) -> list[str]:
        """Names of the cases that are frozen."""
        return list(dict.fromkeys(key.split("|")[0] for key in self._arrays if not key.startswith(f"{INPUT}|")))

    def values(self, case: str) -> Values:
        """Frozen values of a case."""
        return {key.split("|", 1)[1]: value for key, value in self._arrays.items() if key.split("|")[0] == case}

    def put(self, case: str, values: Values) -> None:
        """Replace the values of a case."""
        self.drop([case])
        self._arrays |= {f"{case}|{name}": value for name, value in values.items()}

    def drop(self, cases: Iterable[str]) -> None:
        """Forget cases."""
        gone = set(cases)
        self._arrays = {key: value for key, value in self._arrays.items() if key.split("|")[0] not in gone}

    def save(self) -> None:
        """Write the file."""
        self.path.parent.mkdir(exist_ok=True)
        np.savez_compressed(self.path, **dict(sorted(self._arrays.items())))  # pyright: ignore[reportArgumentType]
