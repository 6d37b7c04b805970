"""Every example runs from anywhere and ends well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))
LONG = {"12_six_legs", "13_biped_walks", "13_whole_bodies", "14_quadruped_trots", "04_biped_static_step"}
"""Examples that take about ten seconds or more."""
RUN = [pytest.param(path, marks=[pytest.mark.slow] if path.stem in LONG else [], id=path.stem) for path in EXAMPLES]


def test_there_are_examples():
    assert {path.stem for path in EXAMPLES} > LONG


@pytest.mark.parametrize("example", RUN)
def test_example_runs(example, tmp_path):
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONWARNINGS": "error"}
    run = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
    assert run.stderr == ""
