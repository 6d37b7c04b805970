"""Chromium without a screen, for tests of pages and of the studio."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

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
