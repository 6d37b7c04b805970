"""Columns of the torque model, and how often a recording is read for them."""

import dataclasses

import numpy as np
import pytest

import zveno
from zveno import identification
from zveno.identification import _series
from zveno.identification._estimate import solved_scaled
from zveno.identification._friction import TERMS, elements_of
from zveno.identification._series import recording_of
from zveno.identification.model import FrictionColumn, torque_model


@pytest.mark.parametrize("name", ["puma560", "tx40", "panda"])
def test_columns_are_those_of_the_robot(name):
    """With the model's own parameters, columns give the torques of inertia, gravity, rotors and offsets."""
    robot = zveno.load(name)
    elements = elements_of(robot.mechanism)
    model = torque_model(robot.mechanism, ("viscous", "load"), (), np.ones(len(elements)))
    q, v, a = np.random.default_rng(1).normal(size=(3, 5, robot.n_v))
    W = model.dense(model.packed(q, v, a))
    values = np.zeros(model.n_columns)
    values[: model.n_inertial] = model.base.values[model.kept]
    drives = [joint.drive or zveno.Drive().shaped(1) for joint in robot.mechanism.joints]
    offsets = np.array([float(drive.offset[0]) for drive in drives])
    np.testing.assert_allclose(W @ values, robot.inverse_dynamics(q, v, a) + offsets, atol=1e-9)
    for column, (element, term) in enumerate([(e, t) for e in range(robot.n_v) for t in ("viscous", "load")]):
        place = model.n_inertial + column
        expected = np.zeros((5, robot.n_v))
        expected[:, element] = v[:, element] if term == "viscous" else 0.0  # no load is given
        np.testing.assert_allclose(W[:, :, place], expected, atol=1e-15)


def test_friction_columns_are_means_of_their_curves():
    robot = zveno.load("tx40")
    elements = elements_of(robot.mechanism)
    scales = np.linspace(0.5, 3.0, len(elements))
    columns = [FrictionColumn(e, term) for e in range(len(elements)) for term in TERMS]
    model = torque_model(robot.mechanism, (), (), scales).with_friction(columns)
    rng = np.random.default_rng(0)
    speeds = rng.normal(size=(20, 4, robot.n_v)) * rng.choice([1e-3, 0.1, 2.0], (20, 1, 1))
    load = rng.normal(size=(20, robot.n_v, 1))
    values = model.friction_values(speeds, load)
    for k, column in enumerate(columns):
        element = elements[column.element]
        along = speeds @ element.direction
        curve = TERMS[column.term].curve(along, scales[column.element], load[:, None, element.coordinate, 0])
        np.testing.assert_allclose(values[:, k], curve.mean(axis=1), atol=1e-13)


def test_a_long_recording_is_read_three_times(monkeypatch):
    """Once for pieces here and there, which all first looks share, and once each for the fit and its covariance."""
    arm = zveno.load("puma560").mechanism
    robot = zveno.Robot(zveno.edit.fix_joints(arm, arm.joint_names[2:]))
    t = np.arange(0.0, 120.0, 2e-3)
    w = 2.0 * np.pi * np.array([0.31, 0.47])
    q, v, a = np.sin(w * t[:, None]), w * np.cos(w * t[:, None]), -(w**2) * np.sin(w * t[:, None])
    tau = robot.inverse_dynamics(q, v, a) + v + 0.05 * np.random.default_rng(0).normal(size=q.shape)
    log = identification.Log.of(robot, t, q, tau)
    passes = []

    def pieces():
        rows = 0
        for block in log.blocks(1000):
            rows += len(block)
            yield block
        passes.append(rows)  # the file was read to its end

    counted = dataclasses.replace(log, _pieces=pieces)
    monkeypatch.setattr(_series, "ROWS", 10_000)
    monkeypatch.setattr(_series, "ENOUGH", 20_000)
    monkeypatch.setattr("zveno.identification._preparation.CACHED", 0)
    found = robot.identify(counted, friction_terms="default", folds=3)
    assert found.status == "usable"
    assert passes == [len(t)] * 3


def test_some_pieces_are_those_of_the_whole():
    robot = zveno.load("puma560")
    t = np.arange(0.0, 100.0, 1e-3)
    q = np.sin(t[:, None] * np.arange(1, 7))
    recording = recording_of(identification.Log.of(robot, t, q, q))
    every = list(recording.pieces())
    some = list(recording.pieces(3))
    assert [piece.start for piece in some] == [piece.start for piece in every[::3]]
    for piece in some:
        np.testing.assert_array_equal(piece.q, q[piece.start : piece.start + len(piece.q)])
    assert [piece.start for piece in every] == list(range(0, len(t), _series.ROWS))


@pytest.mark.parametrize("unseen", [0, 1, 3])
def test_normal_equations_are_solved_without_what_they_do_not_show(unseen):
    """Against NumPy's pseudo-inverse of scaled columns, with columns of very different size."""
    rng = np.random.default_rng(unseen)
    A = rng.normal(size=(60, 12)) * np.geomspace(1e-4, 1e4, 12)
    for k in range(unseen):
        A[:, k] = 3.0 * A[:, k + 5] * np.linalg.norm(A[:, k]) / np.linalg.norm(A[:, k + 5])
    y = rng.normal(size=60)
    solved = solved_scaled(A.T @ A, A.T @ y)
    scale = np.linalg.norm(A, axis=0)
    expected = np.linalg.pinv(A / scale, rcond=1e-6) @ y / scale
    np.testing.assert_allclose(solved.x * scale, expected * scale, atol=1e-9)
    assert solved.unseen.shape == (12, unseen)
    np.testing.assert_allclose(A / scale @ solved.unseen, 0.0, atol=1e-7)
