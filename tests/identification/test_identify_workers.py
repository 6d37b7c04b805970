"""Identification of several logs by workers: the same bits as in one process, also after a resumption."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest
from simulated_logs import recorded

import zveno
from zveno.identification import by_log
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
    return [zveno.Log.of(robot, table[:, 0], table[:, 1:4], table[:, 4:]) for table in tables]


@pytest.fixture(scope="module")
def alone(robot, logs):
    return robot.identify(logs, friction="default")


def assert_same_bits(found, expected):
    for name in ("values", "covariance", "base_values", "base_covariance", "parameters", "sigma", "load"):
        assert getattr(found, name).tobytes() == getattr(expected, name).tobytes(), name
    assert found.validation.overall == expected.validation.overall
    assert found.faults == expected.faults
    assert found.inputs == expected.inputs


@pytest.mark.parametrize("on", ["here", "threads"])
def test_the_same_bits_in_pieces(robot, logs, alone, on):
    assert_same_bits(robot.identify(logs, friction="default", on=on), alone)


def test_the_same_bits_by_processes_from_memory_and_from_files(robot, tables, alone, tmp_path, monkeypatch):
    """Logs that are too long to be kept travel as the names of their files."""
    monkeypatch.setattr(log_module, "KEPT_BYTES", tables[0].nbytes)
    head = "t," + ",".join(f"q{k}" for k in (1, 2, 3)) + "," + ",".join(f"tau{k}" for k in (1, 2, 3))
    paths = []
    for k, table in enumerate([*tables[:2], np.concatenate([tables[2]])]):
        paths.append(tmp_path / f"{k}.csv")
        np.savetxt(paths[-1], table, fmt="%.17g", delimiter=",", header=head, comments="")
    short = zveno.read_log(paths[0], robot)
    monkeypatch.setattr(log_module, "KEPT_BYTES", 0)
    logs = [short, *(zveno.read_log(path, robot) for path in paths[1:])]
    assert [log.portable()._pieces is log._elsewhere for log in logs] == [False, True, True]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        found = robot.identify(logs, friction="default", on=pool)
    for name in ("values", "covariance", "base_values"):
        assert getattr(found, name).tobytes() == getattr(alone, name).tobytes(), name


def test_a_run_that_was_stopped_goes_on(robot, logs, alone, tmp_path, monkeypatch):
    kept, computed, original = tmp_path / "run.json", [], by_log.log_sums

    def counted(*arguments, **options):
        if len(computed) == 2 and not resumed:
            raise KeyboardInterrupt
        computed.append(1)
        return original(*arguments, **options)

    resumed = False
    monkeypatch.setattr(by_log, "log_sums", counted)
    with pytest.raises(KeyboardInterrupt):
        robot.identify(logs, friction="default", checkpoint=kept)
    assert kept.exists()
    resumed = True
    assert_same_bits(robot.identify(logs, friction="default", checkpoint=kept), alone)
    assert len(computed) == 3  # each log once
    with pytest.raises(zveno.ZvenoError, match="checkpoint of other work"):
        robot.identify(logs[:2], friction="default", checkpoint=kept)


def test_user_columns_that_cannot_be_sent_are_named(robot, logs):
    with pytest.raises(zveno.ZvenoError, match="cannot be sent to workers"):
        robot.identify(logs, friction="basic", torques={"spring": lambda q, v, a: q}, on=1)
