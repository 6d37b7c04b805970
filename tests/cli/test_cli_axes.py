"""`zveno axes`: a robot from motions of one joint at a time."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import refused, run

import zveno
from zveno.errors import ZvenoWarning


@pytest.fixture
def motions(tmp_path):
    """A planar arm whose joints move one after the other, in mm and degrees."""
    q = np.array([*((x, 20.0) for x in range(-60, 61, 20)), *((10.0, x) for x in range(-60, 61, 30))])
    p = zveno.load("planar2").forward_kinematics(np.radians(q))[:, :3, 3]
    lines = [",".join(map(repr, row)) for row in np.c_[q, 1e3 * p].tolist()]
    path = tmp_path / "axes.csv"
    path.write_text("\n".join(["# unit = mm", "# angle = deg", "first,second,x,y,z", *lines]))
    return path


def test_the_robot_written_places_the_target(capsys, motions, tmp_path):
    code, out, _ = run(capsys, "axes", str(motions), str(tmp_path / "found.urdf"), "--json")
    assert code == 0
    data = json.loads(out)
    assert [axis["type"] for axis in data["axes"]] == ["revolute", "revolute"]
    assert data["q_rest"] == pytest.approx({"first": np.radians(10), "second": np.radians(20)})
    with pytest.warns(ZvenoWarning, match="no inertia"):
        found = zveno.load(tmp_path / "found.urdf")
    q = np.array([[0.3, -0.8], [-1.0, 2.0]])
    expected = zveno.load("planar2").forward_kinematics(q)[:, :3, 3]
    np.testing.assert_allclose(found.forward_kinematics(q, "tool")[:, :3, 3], expected, atol=1e-9)


def test_what_is_printed_and_what_is_wrong(capsys, motions, tmp_path):
    code, out, _ = run(capsys, "axes", str(motions), str(tmp_path / "found.ets"))
    assert code == 0
    assert "2 axes, residuals up to" in out
    assert (tmp_path / "found.ets").exists()
    code, _, _ = run(capsys, "axes", str(motions), str(tmp_path / "a.toml"), "--report", str(tmp_path / "a.html"))
    assert code == 0
    assert "Distances from circles and lines" in (tmp_path / "a.html").read_text()
    kept = tmp_path / "kept.csv"
    kept.write_text(motions.read_text())
    motions.write_text(motions.read_text().replace("10.0,-60", "20.0,-50") + "\n30.0,40.0,1,2,3\n")
    assert "move together" in refused(capsys, "axes", str(motions), str(tmp_path / "other.urdf"))
    (tmp_path / "folder").mkdir()
    for out in ("nowhere/x.txt", "folder", "folder/../found.urdf", f"x.{'a' * 250}"):
        before = sorted(tmp_path.iterdir())
        refused(capsys, "axes", str(kept), str(tmp_path / "found.urdf"), "--out", f"{tmp_path}/{out}")
        assert sorted(tmp_path.iterdir()) == before
    assert "nowhere.csv" in refused(capsys, "axes", str(tmp_path / "nowhere.csv"), str(tmp_path / "other.urdf"))
