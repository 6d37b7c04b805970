"""Chromium without a screen, for tests of pages and of the studio."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PATIENT = 180_000
"""ms; drawing without a graphics card takes seconds on a busy machine."""
KEPT = Path(os.environ.get("ZVENO_SCREENSHOTS", "out/screenshots"))
"""Where screenshots are kept to be looked at."""
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--no-first-run"]


def chromium() -> Iterator[Any]:
    """A browser; skipped where there is none, unless ZVENO_BROWSER says that it is required."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        program, sync_playwright = None, None
    if program is None or sync_playwright is None:
        assert os.environ.get("ZVENO_BROWSER") != "required", "chromium and playwright are required"
        pytest.skip("needs chromium and playwright")
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=program, args=FLAGS)
        yield started
        started.close()


def kept(page: Any, name: str, **options: Any) -> bytes:
    """A screenshot, which is also kept."""
    KEPT.mkdir(parents=True, exist_ok=True)
    return page.screenshot(path=KEPT / f"{name}.png", timeout=PATIENT, **options)
