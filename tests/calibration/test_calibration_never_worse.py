"""A calibration makes no robot worse, or says so: compensated poses and forms of controllers."""

import contextlib

import numpy as np
import pytest

import zveno
from tiers import few
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.calibration.models import redundant_model
from zveno.calibration.simulated import simulate_dataset
from zveno.errors import ModelError
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

KINDS = ("relative_position", "pose", "plane", "position", "relative_pose", "distance", "camera", "line", "sockets")
CASES = [
    (kind, name, tool, off)
    for off in (0.02, 0.005, 0.0)
    for tool in (True, False)
    for name in ("puma560", "ur5", "panda", "scara")
    for kind in KINDS
]
"""Kind of measurement, robot, whether its model has a tool, and by how much the true tool is elsewhere, m."""
EQUAL = 1.0 + 1e-9
"""Ratio of errors up to which they are equal: offsets of parallel axes change orientations by rounding only."""
LINK, ANGLE = 1e-3, 2e-3
"""Standard deviation of links and joint offsets of true robots, m and rad."""


def errors(wanted: np.ndarray, actual: np.ndarray) -> np.ndarray:
    """Rms of position and orientation of poses (n, 4, 4), up to how the base stands."""
    turn = _turn(np.einsum("nij,nkj->ik", wanted[:, :3, :3], actual[:, :3, :3]))
    chord = np.linalg.norm(wanted[:, :3, :3] - turn @ actual[:, :3, :3], axis=(1, 2))
    angle = 2.0 * np.arcsin(np.clip(chord / np.sqrt(8.0), 0.0, 1.0))  # arccos loses half of the digits
    w, a = (T[:, :3, 3] - T[:, :3, 3].mean(axis=0) for T in (wanted, actual))
    off = w - a @ _turn(w.T @ a).T
    return np.sqrt([np.mean(np.sum(off**2, axis=1)), np.mean(angle**2)])


def _turn(M: np.ndarray) -> np.ndarray:
    U, _, Vt = np.linalg.svd(M)
    return U @ np.diag([1.0, 1.0, np.linalg.det(U @ Vt)]) @ Vt


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
@pytest.mark.parametrize(("kind", "name", "tool", "off"), few(CASES, 3))
def test_poses_and_forms_are_never_worse_than_nominal(kind, name, tool, off, tmp_path):
    """Errors of a tool went into the last joint, 118 mrad of it, and compensation turned the flange."""
    rng = np.random.default_rng([KINDS.index(kind), int(1e4 * off), tool])
    robot = zveno.load(name)
    if tool:
        robot = robot.with_tool(transform(exp(0.3 * rng.normal(size=3)), rng.uniform(-0.1, 0.1, 3)))
    model = redundant_model(robot.mechanism)
    size = {"m": LINK, "rad": ANGLE}
    deviations = {
        term.name: rng.normal() * size[term.unit] for term in model.terms if term.role in ("link", "joint")
    }
    direction = rng.normal(size=3)
    moved = [term.name for term in model.terms if term.role == "tool" and term.unit == "m"]
    true_tool = dict(zip(moved, off * direction / np.linalg.norm(direction), strict=True))
    true, nominal = (
        calibration.apply_deviations(robot, {**deviations, **true_tool}),
        calibration.apply_deviations(robot, true_tool),
    )
    groups: list[str] = []
    if kind in ("plane", "line"):
        groups = [f"target{k % 4}" for k in range(60)]
    elif kind == "sockets":
        groups = [f"place{k % 6}/{'ab'[k // 6 % 2]}" for k in range(60)]
    campaign = simulate_dataset(true, kind, robot.random(60, rng), groups=groups, rng=rng)
    found = robot.calibrate(campaign, model=CalibrationModel(joint_terms=()), folds=0)
    q = robot.random(300, 7)
    wanted, before = nominal.forward_kinematics(q), true.forward_kinematics(q)
    at_nominal = errors(wanted, before)
    compensation = found.compensate(q)
    after = errors(wanted, true.forward_kinematics(compensation.q))
    assert (after <= EQUAL * at_nominal).all() or compensation.doubt
    if compensation.doubt:
        with pytest.raises(ModelError, match="the data do not determine"):
            found.export_compensation(tmp_path)
        assert not any(tmp_path.iterdir())
    for form in ("offsets", "dh"):
        with contextlib.suppress(ModelError):  # refused: worse, or in doubt
            held = calibration.apply_deviations(robot, {**found.controller(form).values, **true_tool})
            assert (errors(held.forward_kinematics(q), before) <= EQUAL * at_nominal).all(), form


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
def test_a_frame_that_parallel_axes_leave_open_is_named(tmp_path):
    """All axes are vertical, so that a camera does not know its height: exact data gave 3.1 for 1.4 mm."""
    robot = zveno.load("scara")
    rng = np.random.default_rng(4)
    terms = redundant_model(robot.mechanism).terms
    size = {"m": LINK, "rad": ANGLE}
    deviations = {term.name: rng.normal() * size[term.unit] for term in terms if term.role in ("link", "joint")}
    true = calibration.apply_deviations(robot, deviations)
    found = robot.calibrate(
        simulate_dataset(true, "camera", robot.random(60, rng), rng=rng), model=CalibrationModel(joint_terms=())
    )
    assert found.undetermined == ("camera.Tz",)
    assert any("do not determine camera.Tz" in note for note in found.notes)
    assert "camera.Tz" in found.compensate(robot.neutral()).doubt
    with pytest.raises(ModelError, match="do not determine"):
        found.export_compensation(tmp_path)
    with pytest.raises(ModelError, match="do not determine"):
        found.controller("dh")
