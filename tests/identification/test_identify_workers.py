"""Identification of several logs by the workers of an executor: the same bits as in one process."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from simulated_logs import recorded

import zveno
from tiers import few
from zveno import identification
from zveno.io.logs import log as log_module


@pytest.fixture(scope="module")
def robot():
    puma = zveno.load("puma560").mechanism
    return zveno.Robot(zveno.edit.fix_joints(puma, puma.joint_names[3:]))


@pytest.fixture(scope="module")
def tables(robot):
    return [np.column_stack(recorded(robot, seed, 8.0)) for seed in range(3)]


@pytest.fixture(scope="module")
def logs(robot, tables):
    return [identification.Log.of(robot, table[:, 0], table[:, 1:4], table[:, 4:]) for table in tables]


@pytest.fixture(scope="module")
def alone(robot, logs):
    return robot.identify(logs, friction_terms="default")


def assert_same_bits(found, expected):
    for name in ("values", "covariance", "base_values", "base_covariance", "parameters", "sigma", "load"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    assert found.validation.overall == expected.validation.overall
    assert found.faults == expected.faults
    assert found.inputs_hash == expected.inputs_hash


def processes(n):
    return ProcessPoolExecutor(n, multiprocessing.get_context("spawn"))


@pytest.mark.parametrize("n", few(["threads", 2, 3], 1))
def test_the_same_bits_by_any_workers(robot, logs, alone, n):
    with ThreadPoolExecutor(2) if n == "threads" else processes(n) as pool:
        assert_same_bits(robot.identify(logs, friction_terms="default", executor=pool), alone)


@pytest.mark.laws
def test_the_same_bits_by_processes_from_memory_and_from_files(robot, tables, alone, tmp_path, monkeypatch):
    """Logs that are too long to be kept travel as the names of their files."""
    monkeypatch.setattr(log_module, "KEPT_BYTES", tables[0].nbytes)
    head = "t," + ",".join(f"q{k}" for k in (1, 2, 3)) + "," + ",".join(f"tau{k}" for k in (1, 2, 3))
    paths = []
    for k, table in enumerate([*tables[:2], np.concatenate([tables[2]])]):
        paths.append(tmp_path / f"{k}.csv")
        np.savetxt(paths[-1], table, fmt="%.17g", delimiter=",", header=head, comments="")
    short = identification.read_log(paths[0], robot)
    monkeypatch.setattr(log_module, "KEPT_BYTES", 0)
    logs = [short, *(identification.read_log(path, robot) for path in paths[1:])]
    assert [log.portable()._pieces is log._elsewhere for log in logs] == [False, True, True]
    with processes(1) as pool:
        found = robot.identify(logs, friction_terms="default", executor=pool)
    for name in ("values", "covariance", "base_values"):
        assert getattr(found, name).tobytes() == getattr(alone, name).tobytes(), name


def test_user_columns_that_cannot_be_sent_are_named(robot, logs):
    with processes(1) as pool, pytest.raises(zveno.ZvenoError, match="cannot be sent to workers"):
        robot.identify(logs, friction_terms="basic", extra_columns={"spring": lambda q, v, a: q}, executor=pool)
