"""The same bits for any number of lanes: functions of a robot, native programs, loops over bodies, a simulation."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("lanes_bits.py")


def said(lanes, *what):
    """Hashes by name, computed by a process with so many lanes."""
    environment = os.environ | {"ZVENO_LANES": lanes, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(
        [sys.executable, str(SCRIPT), *what],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    return dict(line.split("|") for line in run.stdout.splitlines())


@pytest.mark.laws
@pytest.mark.parametrize("what", ["functions", "programs"])
def test_the_same_bits_with_two_four_and_eight_lanes(what):
    two, four, eight = (said(lanes, what) for lanes in ("2", "4", "8"))
    assert len(two) > 5
    assert two == four == eight


def test_other_numbers_of_lanes_are_refused():
    for lanes in ("3", "x", "16"):
        code = "import numpy, zveno; zveno.load('planar2').forward_kinematics(numpy.zeros(2))"
        environment = os.environ | {"ZVENO_LANES": lanes, "PYTHONPATH": os.pathsep.join(sys.path)}
        run = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
        )
        assert f"ZVENO_LANES: must be 2, 4 or 8, got '{lanes}'" in run.stderr
