"""Motions as moving pictures: as many frames as asked for, moving, from one place; formats and refusals."""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np
import pytest

import zveno
from zveno.cli import main

SMALL = {"size": (96, 64), "progress": False}


@pytest.fixture(scope="module")
def motion():
    robot = zveno.load("puma560")
    return robot.joint_path(np.zeros(6), [1.5, 0, 0, 0, 0, 0], velocity=3.0, acceleration=9.0, rate=100.0)


def frames(file) -> list[np.ndarray]:
    taken = []
    with pytest.importorskip("PIL.Image").open(file) as image:
        for k in range(image.n_frames):
            image.seek(k)
            taken.append(np.asarray(image.convert("RGB"), dtype=float))
    return taken


@pytest.mark.parametrize("suffix", ["gif", "webp"])
def test_the_robot_moves_and_the_ground_stays(motion, tmp_path, suffix):
    file = motion.animate(tmp_path / f"motion.{suffix}", rate=10.0, **SMALL)
    taken = frames(file)
    assert len(taken) == round(motion.t[-1] * 10) + 1
    assert {frame.shape for frame in taken} == {(64, 96, 3)}
    changes = [abs(b - a).max() for a, b in pairwise(taken)]
    assert min(changes[1:-1]) > 30  # between neighbours something moves
    corner = np.stack([frame[:6, :6] for frame in taken])
    assert np.ptp(corner, axis=0).max() < 12  # where there is nothing, nothing changes but the palette


def test_speed_and_progress(motion, tmp_path):
    told = []
    file = motion.animate(
        tmp_path / "slow.gif", rate=10.0, speed=0.5, size=(64, 48), progress=lambda *done: told.append(done)
    )
    n = round(motion.t[-1] * 20) + 1
    assert len(frames(file)) == n
    assert told == [(k + 1, n) for k in range(n)]


def test_a_motion_at_rest_is_one_picture(tmp_path):
    robot = zveno.load("puma560")
    file = robot.joint_path(np.zeros(6), np.zeros(6)).animate(tmp_path / "rest.gif", **SMALL)
    assert len(frames(file)) == 1


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("x.avi", {}, "Use .gif, .webp, .mp4"),
        ("x.gif", {"speed": 0.0}, "speed: is 0"),
        ("x.gif", {"rate": float("nan")}, "rate: is nan"),
        ("x.gif", {"size": (33, 64)}, "even numbers"),
        ("x.gif", {"speed": 1e-3}, "Raise speed or lower rate"),
    ],
)
def test_what_cannot_be_drawn_is_refused(motion, tmp_path, name, options, message):
    with pytest.raises(zveno.ZvenoError, match=message):
        motion.animate(tmp_path / name, **options)
    assert not (tmp_path / name).exists()


def test_without_ffmpeg_the_remedy_is_named(motion, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(zveno.MissingExtraError, match=r"imageio-ffmpeg, or use \.gif"):
        motion.animate(tmp_path / "x.mp4")


def test_the_command(tmp_path, capsys):
    file = tmp_path / "fall.gif"
    assert main(["simulate", "puma560", "--duration", "0.04", "--animate", str(file)]) == 0
    assert f"wrote {file}" in capsys.readouterr().err
    assert len(frames(file)) == 2
