"""Cases of which some run everywhere and all run in CI."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def rest_slow(cases: Iterable[Any], kept: int = 2) -> list[Any]:
    """The cases for `parametrize`: all but the first few are marked slow."""
    return [case if k < kept else _slow(case) for k, case in enumerate(cases)]


def most_slow(cases: Iterable[Any], every: int = 3) -> list[Any]:
    """The cases for `parametrize`: every third stays, beginning with the first; the others are marked slow."""
    return [_slow(case) if k % every else case for k, case in enumerate(cases)]


def _slow(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
