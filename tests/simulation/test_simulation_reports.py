"""The verb, its picture and files."""

import json

import numpy as np
import pytest

import zveno
from zveno.cli.options import Model, Output
from zveno.cli.simulate import simulate as verb
from zveno.errors import ZvenoError
from zveno.report.figure import save
from zveno.simulation import Event, Trajectory
from zveno.simulation.simulate import simulate


def test_verb_prints_and_writes(tmp_path, capsys):
    verb(
        "chain(3)",
        duration=0.2,
        q0=("joint1=-1",),
        plot=tmp_path / "run.png",
        save=tmp_path / "run.csv",
        output=Output(out=tmp_path / "run.npz"),
    )
    out, err = capsys.readouterr()
    assert "finished" in out
    assert "joint3" in out
    assert err.count("wrote") == 3
    run = Trajectory.load(tmp_path / "run.npz")
    assert run.q[0].tolist() == [-1.0, 0.0, 0.0]
    assert (tmp_path / "run.png").stat().st_size > 10_000


@pytest.mark.laws
def test_verb_answers_in_json(capsys):
    verb("puma560", duration=0.1, control="hold", model=Model(base="fixed"), output=Output(json=True))
    data = json.loads(capsys.readouterr().out)
    assert data["finished"]
    # Gravity is compensated, so that an arm at rest stays where it is.
    assert data["final_q"] == pytest.approx(data["initial_q"], abs=1e-9)


@pytest.mark.laws
def test_pictures_of_batches_and_events(tmp_path):
    robot = zveno.load("chain(2)")
    batch = simulate(robot, np.zeros((3, 2)), duration=0.05)
    assert save(batch.plot(), tmp_path / "batch.svg").exists()
    down = Event(lambda t, q, v: q[0] + 0.5, "down")
    run = simulate(robot, [0.0, 0.3], duration=0.5, events=[down])
    assert [one.name for one in run.events] == ["down"]
    assert save(run.plot(), tmp_path / "run.png").exists()
    with pytest.raises(ZvenoError, match=r"\.png"):
        save(run.plot(), tmp_path / "run.pdf")
