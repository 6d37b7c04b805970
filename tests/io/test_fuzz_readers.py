"""A few hundred mutated files for every reader: it refuses them with an error of ours, or what it reads is finite.

`python -m benchmarks.fuzz` runs as many as wanted in processes of their own.
"""

from __future__ import annotations

import sys
from random import Random

import pytest
from benchmarks.fuzz_inputs import TARGETS, Finding, must, outcome
from benchmarks.fuzz_mutations import mutated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

N_INPUTS = 200
"""Inputs of a reader."""


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read(tmp_path, name):
    target = TARGETS[name]
    for seed in target.seeds():
        if not seed.startswith(b"10.0,"):  # rows without a header need to be told what they are
            assert outcome(target, seed, tmp_path) == "read"


@pytest.mark.attack
@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.skipif(sys.platform == "win32", reason="needs the limits of a POSIX process")
def test_mutated_files_are_refused_or_finite(tmp_path_factory, name):
    target, folder = TARGETS[name], tmp_path_factory.mktemp("fuzz")
    seeds = target.seeds()

    # The same inputs in every run, so that a failure is of the change at hand; the campaign looks for new ones.
    @settings(
        max_examples=N_INPUTS,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.integers(0, 2**32))
    def check(seed):
        assert outcome(target, mutated(seeds, Random(f"{name} {seed}")), folder) in ("read", "refused")

    check()


def test_a_finding_is_not_taken_for_an_error_of_ours(tmp_path):
    """The check itself can fail."""
    broken = TARGETS["elementary"].__class__(".ets", lambda: [b"x"], lambda path: must(False, "not finite"), 1)
    with pytest.raises(Finding, match="not finite"):
        outcome(broken, b"x", tmp_path)
