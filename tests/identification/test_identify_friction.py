"""Friction of every kind is found again: chosen where it acts, of its size, and base parameters stay right."""

import numpy as np
import pytest

import zveno
from zveno.identification._friction import DEFAULT

SECONDS, STEP, STEEP = 40.0, 2e-3, 0.003


@pytest.fixture(scope="module")
def robot():
    puma = zveno.load("puma560").mechanism
    return zveno.Robot(zveno.edit.fix_joints(puma, [puma.joint_names[0], *puma.joint_names[3:]]))


def recorded(robot, extra, seed=4):
    """Reversals of joints 2 and 3, and torques with viscous and Coulomb friction and `extra` of joint 2.

    `extra` is a function of the velocity and of its 99th percentile.
    """
    rng = np.random.default_rng(seed)
    t = np.arange(0.0, SECONDS, STEP)
    w = 2.0 * np.pi * np.array([0.23, 0.37, 0.61, 0.83])
    A = rng.normal(size=(2, 4)) * 0.25
    phase = [np.outer(t, w) + k for k in range(2)]
    q = np.stack([np.sin(x) @ row for x, row in zip(phase, A, strict=True)], axis=1)
    v = np.stack([np.cos(x) @ (w * row) for x, row in zip(phase, A, strict=True)], axis=1)
    a = np.stack([-np.sin(x) @ (w**2 * row) for x, row in zip(phase, A, strict=True)], axis=1)
    scale = np.quantile(abs(v), 0.99, axis=0)
    tau = robot.inverse_dynamics(q, v, a) + 3.0 * v + 4.0 * np.tanh(v / (STEEP * scale))
    tau[:, 0] += extra(v[:, 0], scale[0])
    return zveno.identification.Log.of(robot, t, q, tau + 0.2 * rng.normal(size=tau.shape))


def stribeck(v, scale):
    return 3.0 * np.exp(-((v / (0.1 * scale)) ** 2)) * np.tanh(v / (STEEP * scale))


def asymmetric(v, scale):
    return 1.5 * abs(v)


KINDS = {"stribeck 0.1": (stribeck, "Fst2", 3.0), "asymmetric": (asymmetric, "Fa2", 1.5)}


@pytest.mark.parametrize("term", KINDS)
def test_friction_is_found_with_its_size(robot, term):
    """Within three standard deviations, as base parameters and the other friction are."""
    extra, name, size = KINDS[term]
    found = robot.identify(recorded(robot, extra), friction_terms=("viscous", "coulomb", term))
    values = dict(zip(found.names, zip(found.base_values, found.base_std, strict=True), strict=True))
    truth = {"Fv2": 3.0, "Fc2": 4.0, "Fv3": 3.0, "Fc3": 4.0, name: size, f"{name[:-1]}3": 0.0}
    z = [(values[word][0] - true) / values[word][1] for word, true in truth.items()]
    n = len(found.kept)
    z += list((found.base_values[:n] - found.base.values[found.kept]) / found.base_std[:n])
    assert abs(np.array(z)).max() < 3.5
    assert abs(values[name][0] / size - 1.0) < 0.1


@pytest.mark.laws(after=1)
@pytest.mark.parametrize("term", KINDS)
def test_friction_is_chosen_where_it_acts(robot, term):
    extra, _, _ = KINDS[term]
    log = recorded(robot, extra)
    chosen = robot.identify(log)
    more = {(column.element, column.term) for column in chosen.friction if column.term not in DEFAULT}
    assert {element for element, _ in more} == {0}
    assert any(name.startswith(term.split()[0]) for _, name in more)
    plain = robot.identify(log, friction_terms="default")
    errors = [result.validation.errors["identified"][0] for result in (chosen, plain)]
    assert errors[0] < 0.95 * errors[1]
