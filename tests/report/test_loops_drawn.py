"""Drawings of mechanisms with closed loops: bars reach both ends of every loop, and the tool beside them."""

import sys
from pathlib import Path

import numpy as np
import pytest

from zveno.report._skeleton import skeleton

sys.path.insert(0, str(Path(__file__).parents[1] / "loops"))
from closed_machines import ankle, five_bar, four_bar, palletiser


@pytest.mark.parametrize("make", [four_bar, five_bar, palletiser, ankle])
def test_bars_reach_the_ends_of_loops(make):
    robot = make()
    mechanism = robot.mechanism
    T = robot.link_poses(mechanism.home)
    drawn = skeleton(mechanism)
    for loop in mechanism.loops:
        ends = robot.frame_poses(mechanism.home, [loop.frame, loop.other])[:, :3, 3]
        assert np.allclose(*ends, atol=1e-9)
        for name, end in zip((loop.frame, loop.other), ends, strict=True):
            link = mechanism.link_number(mechanism.frame(name).link)
            tips = [T[link][:3, :3] @ bar.end + T[link][:3, 3] for bar in drawn.bars if bar.link == link]
            assert min(np.linalg.norm(tip - end) for tip in tips) < 1e-9
