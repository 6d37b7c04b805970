"""Every example runs from anywhere and ends well."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / "examples").glob("*.py"))
QUICK = {"01_first_look", "05_base_parameters", "06_all_solutions", "06_four_bar_by_scanning", "08_real_data"}
"""Examples in the tier `test`: less than two seconds each."""
LONG = {
    "00_drawing_to_controller",
    "12_six_legs",
    "13_biped_walks",
    "13_whole_bodies",
    "14_quadruped_trots",
    "04_biped_static_step",
}
"""Examples in the tier `attack`: about ten seconds or more. The others are in `laws`."""


def tier(path: Path) -> list:
    if path.stem in QUICK:
        return []
    return [pytest.mark.attack if path.stem in LONG else pytest.mark.laws]


RUN = [pytest.param(path, marks=tier(path), id=path.stem) for path in EXAMPLES]


def test_there_are_examples():
    assert {path.stem for path in EXAMPLES} > LONG | QUICK


@pytest.mark.parametrize("example", RUN)
def test_example_runs(example, tmp_path):
    environment = os.environ | {"MPLBACKEND": "Agg", "PYTHONWARNINGS": "error"}
    run = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip()
    assert run.stderr == ""
