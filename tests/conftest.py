"""One tier of the tests per run, and a kernel cache that the runs of a checkout share."""

from __future__ import annotations

import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # two workers share two cores; NumPy reads it when it is imported
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from hypothesis import settings

import tiers

KERNELS = Path(__file__).resolve().parent.parent / ".cache" / "kernels"
"""Its keys are content, so that an entry is never out of date; ZVENO_CACHE_DIR names another place."""


def pytest_addoption(parser):
    parser.addoption(
        "--tier",
        choices=(*tiers.TIERS, "all"),
        default="test",
        help="which tests run (default: test); a test named by FILE::TEST always runs",
    )


def pytest_configure(config):
    if "ZVENO_CACHE_DIR" not in os.environ:
        for place in (KERNELS.parent, KERNELS):
            place.mkdir(mode=0o700, exist_ok=True)
        os.environ["ZVENO_CACHE_DIR"] = str(KERNELS)
    tier = config.getoption("tier")
    tiers.tier = "laws" if tier == "all" else tier
    settings.register_profile(
        tiers.tier,
        max_examples=tiers.EXAMPLES[tiers.tier],
        deadline=None,  # a busy machine is not a failure
        derandomize=tiers.tier == "test",  # the same examples every time, so that their kernels are in the cache
    )
    settings.load_profile(tiers.tier)


def pytest_collection_modifyitems(config, items):
    tiers.mark_later_cases(items)
    tier = config.getoption("tier")
    if tier == "all" or any("::" in argument for argument in config.args):
        return
    left = [item for item in items if tier not in tiers.tiers_of(item)]
    config.hook.pytest_deselected(items=left)
    items[:] = [item for item in items if tier in tiers.tiers_of(item)]
