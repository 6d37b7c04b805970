"""Results speak for themselves: printed, drawn, saved, and read back by a process that knows nothing of them."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import zveno
from zveno.io.results import HOMES

WITHOUT_PICTURE = {"Compensation", "Constrained", "DriveGains", "Export", "Payload"}
WITH_MODEL = {"Calibration", "Identification"}


def all_result_classes() -> set[type]:
    for module in pkgutil.walk_packages(zveno.__path__, "zveno."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    def below(cls: type) -> set[type]:
        return {one for child in cls.__subclasses__() for one in {child} | below(child)}

    return {cls for cls in below(zveno.Result) if cls.__module__.startswith("zveno.")}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, zveno.Result]:
    from zveno.documents.calibration_001 import plan_study

    robot = zveno.load("planar2").with_tool(zveno.transforms.transform(None, [0.05, 0.02, 0.0]))
    robot = robot.with_inertia({name: [1.0, 0.1, 0, 0, 0.1, 0, 0.1, 0, 0, 0.1] for name in robot.link_names[1:]})
    puma = zveno.load("puma560")
    q = robot.random(30, 1)
    T = robot.forward_kinematics(q[0])
    tracker = zveno.Position(sigma=1e-4)
    campaign = zveno.Campaign(tracker, q, robot.with_deviations({"Tx1": 1e-3}).forward_kinematics(q)[:, :3, 3])
    calibration = robot.calibrate(campaign, folds=3)
    plan = robot.plan_poses(tracker, 8, candidates=60, refine=False)
    t = np.linspace(0.0, 8.0, 1600)
    motion = np.stack([np.sin(2.0 * t) + 0.3 * np.sin(5.0 * t), np.cos(3.0 * t)], axis=1)
    v = np.gradient(motion, t, axis=0)
    torques = robot.inverse_dynamics(motion, v, np.gradient(v, t, axis=0)) + 0.2 * np.sign(v) + 0.1 * v
    log = zveno.Log.of(robot, t, motion, torques)
    found = [
        puma.ik(puma.forward_kinematics(puma.random((), 2))),
        robot.ik_path(np.stack([T, T]), task="position"),
        robot.simulate(q[0], duration=0.05),
        robot.constrained_dynamics(q[0], 0 * q[0], 0 * q[0], [zveno.PointOnPlane("tool")]),
        robot.base_parameters(),
        robot.identifiability("position"),
        calibration,
        robot.identify(log, friction="basic"),
        zveno.identify_payload(robot, log, frame=robot.link_names[-1], friction="basic"),
        zveno.drive_gains(robot, log, log, 0.1, friction="basic"),
        calibration.accuracy_map(50),
        calibration.compensate(q),
        plan,
        zveno.accuracy_curve(robot, tracker, 20, candidates=60),
        robot.plan_excitation(2.0, harmonics=3, starts=1, draws=16),
        robot.export_c(("gravity_torque",), tmp_path_factory.mktemp("c"), timed=False),
        plan_study.simulate_study(plan_study.proposed_plan(), 3),
    ]
    return {type(one).__name__: one for one in found}


def test_every_result_of_the_package_is_here_and_has_a_home(results):
    classes = all_result_classes()
    assert {cls.__name__: cls.__module__ for cls in classes} == HOMES
    assert set(results) == set(HOMES)


@pytest.mark.parametrize("name", HOMES)
def test_a_result_prints_itself(name, results):
    result = results[name]
    assert "\n" not in repr(result)
    assert repr(result).startswith(f"<{name}: ")
    assert len(repr(result)) < 120
    assert result.summary
    assert str(result.status)
    text = str(result)
    words = getattr(result, "verdict", result.summary).split()[:3]
    assert all(word in text for word in words), "what is printed begins with, or holds, the summary"
    assert "−" not in text, "numbers that are printed can be pasted"
    html = result._repr_html_()
    assert html.startswith("<pre")
    assert words[0] in html


@pytest.mark.parametrize("name", HOMES)
def test_a_result_draws_itself(name, results, tmp_path):
    if name in WITHOUT_PICTURE:
        with pytest.raises(zveno.ZvenoError, match="no picture"):
            results[name].plot(tmp_path / "picture.png")
        return
    picture = results[name].plot(tmp_path / "picture.png")
    assert picture == tmp_path / "picture.png"
    assert picture.stat().st_size > 3000


def test_every_result_is_read_back_in_a_fresh_process(results, tmp_path):
    for name, result in results.items():
        path = tmp_path / f"{name}.json"
        assert result.save(path) == path
    program = (
        "import sys, pathlib, zveno\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).glob('[A-Z]*.json')):\n"
        "    result = zveno.load_result(path)\n"
        "    again = result.save(path.with_name('again_' + path.name))\n"
        "    same = again.read_bytes() == path.read_bytes()\n"
        "    print(type(result).__name__, same, len(str(result)) > 10, sep='|')\n"
    )
    run = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.splitlines()) == sorted(f"{name}|True|True" for name in HOMES)
    printed = {name: str(zveno.load_result(tmp_path / f"{name}.json")) for name in results}
    assert printed == {name: str(result) for name, result in results.items()}


def test_a_trajectory_comes_back_from_npz(results, tmp_path):
    run = zveno.load_result(results["Trajectory"].save(tmp_path / "run.npz"))
    np.testing.assert_array_equal(run.q, results["Trajectory"].q)


@pytest.mark.parametrize("name", HOMES)
def test_only_results_with_a_model_write_one(name, results, tmp_path):
    assert hasattr(results[name], "write") == (name in WITH_MODEL)
    if name in WITH_MODEL:
        assert zveno.load(results[name].write(tmp_path / "model.urdf")).n_q


def test_the_classes_are_frozen_and_described():
    for cls in all_result_classes():
        assert cls.__dataclass_params__.frozen
        documented = (inspect.getdoc(cls) or "") + (inspect.getdoc(zveno.Result) or "")
        for field in dataclasses.fields(cls):
            assert field.name in documented, f"{cls.__name__}.{field.name} is not described"


def test_a_class_that_is_no_result_is_refused(tmp_path):
    file = tmp_path / "bad.json"
    file.write_text('{"format": "zveno result", "format_version": 1, "content": {"class": "Popen", "args": "x"}}')
    with pytest.raises(zveno.ModelError, match="unknown type 'Popen'"):
        zveno.load_result(file)
