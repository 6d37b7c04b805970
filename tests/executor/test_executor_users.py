"""Functions that take `executor=`: the same bits for 1, 2 and 3 processes and for threads as without."""

import importlib
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

import executor_work
import zveno
from tiers import few
from zveno import scanning
from zveno.calibration import accuracy
from zveno.errors import ZvenoError
from zveno.ik.maps import pieces
from zveno.simulation.trajectory import PER_RUN

PUMA = zveno.load("puma560")
POSES = PUMA.forward_kinematics(PUMA.random(50, 0)).reshape(5, 10, 4, 4)
STATES = PUMA.random(12, 1).reshape(3, 4, 6)
SOLVED = ("q", "count", "codes", "residual", "condition", "nearest", "distance", "target")
MOVED = ("t", *PER_RUN)
MAPPED = ("reached", "undecided", "solutions", "condition")
CELLS = ("index", "number", "before", "after", "worst_before", "worst_after")
GRID = scanning.Grid.by_count([-1.0, -1.0], [1.0, 1.0], 40, ends=True)
LINE = scanning.Grid.by_count([-3.0], [3.0], 900, ends=True)


@pytest.fixture(scope="module", params=few(["threads", 2, 1, 3]))
def executor(request):
    if request.param == "threads":
        pool = ThreadPoolExecutor(2)
    else:
        pool = ProcessPoolExecutor(request.param, multiprocessing.get_context("spawn"))
    with pool:
        yield pool


@pytest.fixture
def small_pieces(monkeypatch):
    for name in ("COMPILED", "CLOSED", "SCANNED"):
        monkeypatch.setattr(pieces, name, 7)
    monkeypatch.setattr(importlib.import_module("zveno.simulation.simulate"), "PIECE", 5)
    monkeypatch.setattr(accuracy, "PIECE", 100)


def bits(result, names):
    return [np.ascontiguousarray(getattr(result, name)).tobytes() for name in names]


@pytest.mark.laws
def test_inverse_kinematics_of_a_batch(executor, small_pieces):
    calls = []
    plain = PUMA.ik(POSES)
    shared = PUMA.ik(POSES, executor=executor, progress=lambda *at: calls.append(at))
    assert shared.batch == (5, 10)
    assert calls[-1] == (8, 8)
    assert bits(plain, SOLVED) == bits(shared, SOLVED)
    assert shared.inputs_hash == plain.inputs_hash
    assert shared.reason(4, 9) == plain.reason(4, 9)
    one = PUMA.ik(POSES[0, 0], executor=executor)
    assert one.batch == ()
    assert bits(one, SOLVED) == bits(PUMA.ik(POSES[0, 0]), SOLVED)


@pytest.mark.parametrize(
    "asked",
    [
        {"method": "scan"},
        {"task": "position", "samples": 3},
    ],
    ids=["scan", "slices"],
)
def test_inverse_kinematics_with_other_arguments(asked, executor, small_pieces):
    """Pieces are compared with pieces: samples and rounding of these methods depend on the batch."""
    with ThreadPoolExecutor(1) as alone:
        expected = PUMA.ik(POSES, executor=alone, **asked)
    assert len(expected)
    assert bits(PUMA.ik(POSES, executor=executor, **asked), SOLVED) == bits(expected, SOLVED)


def test_local_solutions_are_the_same(executor, small_pieces):
    start = PUMA.random(50, 3).reshape(5, 10, 6)
    with ThreadPoolExecutor(1) as alone:
        expected = zveno.ik.local(PUMA, POSES, start, executor=alone).solutions
    assert bits(zveno.ik.local(PUMA, POSES, start, executor=executor).solutions, SOLVED) == bits(expected, SOLVED)


def test_a_time_ends_the_work_of_all_workers(executor, small_pieces):
    poses = PUMA.forward_kinematics(PUMA.random(60, 0))
    found = PUMA.ik(poses, executor=executor, timeout=1e-3, method="scan")
    assert (found.status == "undecided").sum() > 40
    assert "the time was over" in found.reason(59)
    with pytest.raises(ZvenoError, match="timeout"):
        PUMA.ik(poses, executor=executor, timeout=-1.0)


def test_errors_name_the_pose(executor, small_pieces):
    wrong = PUMA.forward_kinematics(PUMA.random(30, 0))
    wrong[25, 0, 0] = np.nan
    with pytest.raises(ZvenoError, match="pose 25"):
        PUMA.ik(wrong, executor=executor)


def test_simulation_of_a_batch(executor, small_pieces):
    control = zveno.simulation.PD(STATES[0, 0], 30.0, 5.0)
    plain, shared = (
        PUMA.simulate(STATES, duration=0.02, control=control, **more) for more in ({}, {"executor": executor})
    )
    assert (shared.status == "finished").all()
    assert bits(plain, MOVED) == bits(shared, MOVED)


def test_runs_that_explode_are_counted_over_all_pieces(executor, small_pieces):
    speeds = np.zeros((12, 6))
    speeds[[1, 11], 5] = 1e6
    plain, shared = (
        PUMA.simulate(np.zeros((12, 6)), speeds, 0.01, **more) for more in ({}, {"executor": executor})
    )
    assert np.flatnonzero(shared.status == "diverged").tolist() == [1, 11]
    assert shared.reason.tolist() == plain.reason.tolist()


@pytest.mark.laws
def test_workspace_maps(executor, small_pieces):
    plain, shared = (
        zveno.ik.workspace_map(PUMA, cell=0.5, orientations=4, **more) for more in ({}, {"executor": executor})
    )
    assert bits(plain, MAPPED) == bits(shared, MAPPED)
    assert shared.tally.statuses == plain.tally.statuses
    assert (shared.summary, shared.inputs_hash) == (plain.summary, plain.inputs_hash)


@pytest.fixture(scope="module")
def calibration():
    robot = PUMA.with_tool(zveno.transforms.transform(None, [0.03, 0.05, 0.08]))
    q = robot.random(40, 1)
    true = zveno.calibration.apply_deviations(robot, {"Tx2": 1e-3, "Rz3": 2e-3})
    return robot.calibrate(
        zveno.calibration.Dataset(zveno.calibration.Position(sigma=1e-4), q, true.forward_kinematics(q)[:, :3, 3]),
        folds=0,
    )


@pytest.mark.laws
def test_accuracy_maps_and_cells(executor, calibration, small_pieces):
    plain, shared = (
        zveno.calibration.accuracy_cells(calibration, 350, 0.2, **more) for more in ({}, {"executor": executor})
    )
    assert bits(plain, CELLS) == bits(shared, CELLS)
    assert plain.inputs_hash == shared.inputs_hash
    whole, map_ = (calibration.accuracy_map(350, **more) for more in ({}, {"executor": executor}))
    names = ("q", "points", "sigma_position", "sigma_rotation", "nominal_error")
    assert bits(whole, names) == bits(map_, names)


def scanned(**where):
    """What П1 to П8 give on one small problem."""
    mask = scanning.admissible(GRID, [(executor_work.ring, 0.2, 0.7)])
    table = scanning.CellTable.of(GRID, executor_work.pair_of_rings, **where)
    low, high = table.cells([0.5, 0.3])
    groups = [slice(0, 1), slice(1, 2)]
    found = scanning.dichotomies(
        executor_work.pair_of_rings, [0.5, 0.3], low, high, groups=groups, **(where | {"piece": 5})
    )
    return {
        "П1–П4": scanning.compress(GRID, mask, **where).numbers,
        "П5": scanning.extrema(GRID, executor_work.waves, mask=mask, **where).values,
        "П5 printed": scanning.flat_extrema(LINE, executor_work.wave, **where).numbers,
        "П6": scanning.global_extremum(GRID, executor_work.waves, mask=mask, **where).numbers,
        "П7": np.stack([table.low, table.high]),
        "П7 printed": scanning.ExtremumTable.of(LINE, executor_work.wave, **where).values,
        "П8": np.array([[*one.alpha, one.percent] for one in found]),
    }


@pytest.mark.laws
def test_scanning_in_functions_of_numbers(executor):
    alone, shared = scanned(piece=1 << 20), scanned(executor=executor, piece=300)
    assert all(value.size for value in alone.values())
    for name, value in alone.items():
        assert shared[name].tobytes() == value.tobytes(), name


def test_what_cannot_be_shared_is_refused(executor):
    with pytest.raises(ZvenoError, match="executor: is for a batch"):
        PUMA.simulate(np.zeros(6), duration=0.01, executor=executor)
    for call in (PUMA.ik, PUMA.simulate):
        with pytest.raises(ZvenoError, match="executor: must be an Executor, got int 2"):
            call(POSES if call == PUMA.ik else STATES, executor=2)
