"""What base parameters are used for: compiled functions, files, tables and the command line."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest
import tyro
from matplotlib.mathtext import MathTextParser

import zveno
from mechanisms import random_mechanism
from tiers import few
from zveno.base_parameters import BaseModel
from zveno.base_parameters.analyse import base_parameters
from zveno.base_parameters.regressor import base_kernel
from zveno.cli import base as verb
from zveno.kernels.evaluate import evaluate
from zveno.mechanism import Fixed, Free, Joint, Link, assemble
from zveno.report.console import ReportConsole
from zveno.report.text import render


@pytest.fixture(scope="module")
def puma():
    return zveno.load("puma560")


@pytest.fixture(scope="module")
def base(puma):
    return base_parameters(puma)


def states(robot, shape=(4,)):
    return np.random.default_rng(0).normal(size=(3, *shape, robot.n_v))


def test_base_regressor_has_the_base_columns(puma, base):
    q, v, a = states(puma, (2, 3))
    W = base_kernel(base)(q, v, a)
    assert W.shape == (2, 3, 6, 36)
    np.testing.assert_allclose(W, puma.regressor(q, v, a)[..., base.regressor_columns], atol=1e-11)


def test_base_regressor_with_drives(puma):
    base = base_parameters(puma, drives=True)
    q, v, a = states(puma)
    whole = np.concatenate([puma.regressor(q, v, a), puma.kernel("drive_regressor")(v, a)], axis=-1)
    np.testing.assert_allclose(base_kernel(base)(q, v, a), whole[..., base.regressor_columns], atol=1e-11)


@pytest.mark.parametrize("name", ["puma560", "quadruped"])
def test_inverse_dynamics_in_base_parameters(name):
    robot = zveno.load(name)
    joints = tuple(replace(joint, drive=None) for joint in robot.mechanism.joints)
    bare = zveno.Robot(replace(robot.mechanism, joints=joints, transmission=None))
    model = BaseModel(bare)
    rng = np.random.default_rng(0)
    q, (v, a) = bare.random((5,), rng), rng.normal(size=(2, 5, bare.n_v))
    torques = bare.inverse_dynamics(q, v, a)
    found = evaluate(model.program, q, v, a, np.broadcast_to(model.values, (5, len(model.values))))
    np.testing.assert_allclose(np.squeeze(found), torques, atol=1e-10 * abs(torques).max())
    if name == "puma560":
        counted = model.operations
        assert counted.multiplies + counted.adds <= 489
        np.testing.assert_allclose(model.inverse_dynamics(q, v, a), torques, atol=1e-10)


def test_results_survive_a_file(tmp_path, puma):
    base = base_parameters(puma, drives=("rotor",))
    again = zveno.load_result(base.save(tmp_path / "base.json"))
    np.testing.assert_array_equal(again.matrix, base.matrix)
    assert again.expressions == base.expressions
    exact = base_parameters(puma, view="pseudo")
    again = zveno.load_result(exact.save(tmp_path / "exact.json"))
    assert again.terms == exact.terms
    assert again.certified == exact.certified


def test_tables_hold_every_expression(base):
    file = io.StringIO()
    render(ReportConsole(file, width=200), base.describe())
    texts = (file.getvalue(), base.to_markdown(), base.to_csv())
    for text in texts:
        assert all(expression in text for expression in base.expressions)
    assert len(list(csv.reader(io.StringIO(base.to_csv())))) == 37
    assert base.to_latex().count("\\tilde p") == 36
    assert "I_{2, xx}" in base.to_latex()
    assert "m_{3}" in base.to_latex()
    assert json.loads(json.dumps(base.to_dict()["table"]))[0]["name"] == base.names[0]


def test_the_package_is_its_function(puma, base):

    assert puma.base_parameters().rank == base.rank  # pyright: ignore[reportCallIssue]


def test_views_tell_the_same(base):
    pseudo, center = base.viewed("pseudo"), base.viewed("center")
    assert pseudo.rank == center.rank == base.rank
    np.testing.assert_array_equal(center.matrix, base.matrix)
    assert any("(J2xx + m2·(c2y² + c2z²))" in text for text in center.expressions)


def run(*words):
    config = (tyro.conf.FlagCreatePairsOff, tyro.conf.OmitArgPrefixes)
    tyro.cli(verb.base, args=list(words), config=config)


@pytest.mark.parametrize("format", ["table", "md", "latex", "csv", "json"])
def test_command_line(format, capsys):
    run("puma560", "--view", "pseudo", "--format", format)
    out = capsys.readouterr().out
    if format == "json":
        data = json.loads(out)
        assert len(data["table"]) == 36
    else:
        assert "S_{6, y}" in out if format == "latex" else "S6y" in out


def test_command_line_gravity_and_drives(capsys):
    run("puma560", "--gravity", "0", "0", "0", "--drives", "--format", "csv")
    assert len(capsys.readouterr().out.strip().splitlines()) == 1 + 34 + 22


@pytest.mark.parametrize("seed", few(range(6), 3))
def test_the_same_torques_from_all(seed):
    """The robot, its base model and its base regressor agree, rotors included, whatever the drives."""
    robot = zveno.Robot(random_mechanism(seed, n=3 + seed, mimic=0.2, drives=seed != 1))
    _same_torques(robot, seed)
    if any(joint.drive is not None and joint.mimic is not None for joint in robot.mechanism.joints):
        joints = [joint if joint.mimic else replace(joint, drive=None) for joint in robot.mechanism.joints]
        _same_torques(zveno.Robot(replace(robot.mechanism, joints=tuple(joints), transmission=None)), seed)


def _same_torques(robot, seed):
    rng = np.random.default_rng(seed)
    q, (v, a) = robot.random((3,), rng), rng.normal(size=(2, 3, robot.n_v))
    torques = robot.inverse_dynamics(q, v, a)
    near = {"atol": 1e-9 * abs(torques).max()}
    np.testing.assert_allclose(BaseModel(robot).inverse_dynamics(q, v, a), torques, **near)
    base = robot.base_parameters(drives=None)
    p = base.project(base.model_parameters)
    np.testing.assert_allclose(np.squeeze(base.regressor(q, v, a) @ p[:, None], -1), torques, **near)
    rubbing = robot.base_parameters(drives=True)
    W = rubbing.regressor(q, v, a)
    with_friction = robot.inverse_dynamics(q, v, a, joint_friction=True)
    np.testing.assert_allclose(np.squeeze(W @ rubbing.values[:, None], -1), with_friction, **near)


@pytest.mark.parametrize("kind", [Fixed(), Free()])
def test_drives_without_a_driven_joint(kind):
    links = [Link("ground"), Link("body", np.ones(10))]
    body = assemble("body", links, [Joint("only", "ground", "body", kind)])
    for exact in (None, False):
        base, links_alone = (base_parameters(body, drives=drives, exact=exact) for drives in (True, False))
        assert base.expressions == links_alone.expressions
        assert base.project(base.model_parameters).shape == (base.rank,)


@pytest.mark.laws
@pytest.mark.parametrize("name", ["puma560", "scara", "tx40", "Rz(q1) Rx(30deg) Tx(0.3) Rz(q2) Tx(0.2)"])
def test_latex_compiles(name):
    parser = MathTextParser("path")
    lines = zveno.load(name).base_parameters(drives=name == "tx40").to_latex().splitlines()
    assert (lines[0], lines[-1]) == (r"\begin{align*}", r"\end{align*}")
    for line in lines[1:-1]:
        for side in line.removesuffix(r" \\").split("&"):
            parser.parse(f"${side}$")
