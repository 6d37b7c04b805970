"""Kernels built by the tests go to a cache of their own, shared by the workers of one run and removed after it."""

from __future__ import annotations

import os
import shutil
import tempfile

from hypothesis import settings

settings.register_profile("zveno", deadline=None)
settings.load_profile("zveno")  # a busy machine is no failure


def pytest_configure(config):
    if "ZVENO_CACHE_DIR" not in os.environ:
        place = tempfile.mkdtemp(prefix="zveno-tests-")
        os.environ["ZVENO_CACHE_DIR"] = place
        config.add_cleanup(lambda: shutil.rmtree(place, ignore_errors=True))
