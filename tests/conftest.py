"""Kernels built by the tests go to a cache of their own, shared by the workers of one run and removed after it."""

from __future__ import annotations

import os
import shutil
import tempfile

import pytest
from hypothesis import settings

settings.register_profile("zveno", deadline=None)
settings.load_profile("zveno")  # a busy machine is no failure


SLOW = bool(os.environ.get("CI") or os.environ.get("ZVENO_SLOW"))
"""Tests marked slow run in CI, and wherever ZVENO_SLOW is set."""


def pytest_collection_modifyitems(items):
    if not SLOW:
        for item in items:
            if "slow" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="slow: runs in CI, or with ZVENO_SLOW=1"))


def pytest_configure(config):
    if "ZVENO_CACHE_DIR" not in os.environ:
        place = tempfile.mkdtemp(prefix="zveno-tests-")
        os.environ["ZVENO_CACHE_DIR"] = place
        config.add_cleanup(lambda: shutil.rmtree(place, ignore_errors=True))
