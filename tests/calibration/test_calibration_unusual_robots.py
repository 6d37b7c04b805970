"""Robots that are not arms with six joints: gantries, heads, long chains, couplings, trees, free bases."""

from contextlib import nullcontext

import numpy as np
import pytest
from calibration_arms import FAR, NEAR, simulated

import zveno
from tiers import every, few
from zveno.calibration import CalibrationModel
from zveno.calibration._fit.parameters import encoder_variance
from zveno.calibration._identifiability import identifiability
from zveno.calibration._kinematics import frame_motion
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import (
    AxisDirection,
    Camera,
    Distance,
    FixedPoint,
    Plane,
    Pose,
    Position,
    RelativePose,
    RelativePosition,
)
from zveno.calibration.measurements._fit_problem import fit_problem
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.models import redundant_model
from zveno.errors import ZvenoError, ZvenoWarning
from zveno.mechanism import Frame, Joint, Limits, Link, Mimic, Revolute, assemble
from zveno.mechanism.joints import Free
from zveno.spatial.transforms import transform

SIGMA = 5e-5
CHAIN = " ".join(f"R{'zyx'[k % 3]}(q{k + 1}) Tx(0.{k % 3 + 1}) Tz(0.05)" for k in range(12))
TEXTS = {
    "gantry": "Tx(q1) Ty(q2) Tz(q3)",
    "head": "Rz(q1) Tz(0.3) Ry(q2) Tx(0.2)",
    "one joint": "Rz(q1) Tx(0.3)",
    "one slide": "Tx(q1)",
    "twelve joints": CHAIN,
}
KINDS = {
    "pose": (RelativePose(), {"position": SIGMA, "rotation": 1e-4}, {"tracker": FAR}),
    "position": (RelativePosition(), {"position": SIGMA}, {"tracker": FAR}),
    "distance": (
        Distance(centres=3),
        {"distance": SIGMA},
        {
            f"centre{k}": transform(None, np.array(p))
            for k, p in enumerate([(0.9, 0, 0), (0, 0.9, 0.2), (-0.5, -0.5, 0.9)], start=1)
        },
    ),
    "direction": (AxisDirection(), {"direction": 1e-4}, {}),
    "camera": (Camera(), {"position": SIGMA, "rotation": 1e-4}, {"board": FAR, "camera": NEAR}),
    "point": (FixedPoint(), {"position": SIGMA}, {}),
    "plane": (Plane(), {"height": SIGMA}, {}),
}


def _off(model, names, rng):
    values = np.zeros(len(model.terms))
    for name in names:
        if name in model.numbers:
            values[model.numbers[name]] = rng.normal() * (1e-3 if model.term(name).unit == "m" else 3e-3)
    return values


def _joint(name, parent, child, axis, xyz, **more):
    return Joint(name, parent, child, Revolute(axis), transform(None, np.array(xyz)), limits=Limits(-2, 2), **more)


@pytest.mark.parametrize(("name", "kind"), every([(name, kind) for name in TEXTS for kind in KINDS]))
def test_every_robot_with_every_kind(name, kind):
    """What is found is finite and right, or one sentence says why nothing is."""
    robot = zveno.load(TEXTS[name])
    what, sigma, frames = KINDS[kind]
    found = identifiability(robot, what)
    model = redundant_model(robot.mechanism)
    rng = np.random.default_rng(1)
    values = _off(model, found.chosen, rng)
    campaign = simulated(robot, what, values, 70, rng, sigma, frames)
    if kind in ("point", "plane") and name in ("head", "one joint"):
        with pytest.raises(ZvenoError, match="a point that never moves"):
            calibrate(robot, campaign)
        return
    said = pytest.warns(ZvenoWarning, match="cannot find any") if not found.chosen else nullcontext()
    with said:
        fit = calibrate(robot, campaign, folds=3, model=CalibrationModel(joint_terms=(), strategy="JL"))
    assert fit.converged
    assert np.isfinite(fit.values).all()
    assert np.isfinite(fit.covariance).all()
    assert np.isfinite([one.rms for one in fit.held_out]).all()
    assert "nan" not in fit.verdict
    if len(fit.names):
        true = values[[model.numbers[one] for one in fit.names]]
        assert np.sqrt(np.mean(((fit.values - true) / fit.std) ** 2)) < 2.0


def _coupled():
    """Three joints, the third moving with the second."""
    links = [Link(name) for name in ("base", "one", "two", "three")]
    joints = [
        _joint("j1", "base", "one", (0, 0, 1), (0, 0, 0)),
        _joint("j2", "one", "two", (0, 1, 0), (0.3, 0, 0.1)),
        _joint("j3", "two", "three", (0, 1, 0), (0.3, 0, 0), mimic=Mimic("j2", -0.5, 0.1)),
    ]
    return assemble(
        "coupled", links, joints, [Frame("tool", "three", transform(None, np.array([0.2, 0.05, 0.03])))]
    )


def _floating():
    links = [Link(name) for name in ("world", "base", "one", "two")]
    joints = [
        Joint("free", "world", "base", Free()),
        _joint("j1", "base", "one", (0, 0, 1), (0.1, 0, 0.1)),
        _joint("j2", "one", "two", (0, 1, 0), (0.3, 0, 0.1)),
    ]
    return assemble("floating", links, joints, [Frame("tool", "two", transform(None, np.array([0.2, 0.05, 0.03])))])


@pytest.mark.parametrize(("make", "rank"), few([(_coupled, (9, 18)), (_floating, (11, 20))], 1))
def test_couplings_and_free_bases(make, rank):
    robot = zveno.Robot(make())
    model = redundant_model(robot.mechanism)
    for k, (what, sigma) in enumerate(
        ((RelativePosition(), {"position": SIGMA}), (Pose(), {"position": SIGMA, "rotation": 1e-4}))
    ):
        found = identifiability(robot, what)
        assert found.rank == rank[k]
        rng = np.random.default_rng(k)
        values = _off(model, found.chosen, rng)
        fit = calibrate(robot, simulated(robot, what, values, 60, rng, sigma, {"tracker": FAR}), folds=3)
        true = values[[model.numbers[name] for name in fit.names]]
        assert np.sqrt(np.mean(((fit.values - true) / fit.std) ** 2)) < 1.8
        assert fit.held_out[0].rms < 3 * SIGMA


def test_a_follower_has_no_encoder_of_its_own():
    """Variance of a reading by encoders is Σ (∂r/∂q)² σ²: what leader and follower do adds before it is squared."""
    robot, sigma_q = zveno.Robot(_coupled()), 1e-3
    q = robot.random(7, np.random.default_rng(0))
    problem = fit_problem(redundant_model(robot.mechanism), [Dataset.unread(Position(sigma_q=sigma_q), q)])
    by_q = robot.jacobian(q)[:, :3].reshape(-1, robot.n_v)
    expected = sigma_q**2 * np.sum(by_q**2, axis=1)
    assert encoder_variance(problem, problem.nominal, problem.frames) == pytest.approx(expected, rel=1e-12)


def test_two_arms_on_one_torso_in_one_fit(tmp_path):
    """Both hands seen by one tracker: what they share is found once, and every hand is predicted well."""
    links = [Link(name) for name in ("base", "torso", "a1", "a2", "b1", "b2", "b3")]
    joints = [
        _joint("t", "base", "torso", (0, 0, 1), (0, 0, 0.3)),
        _joint("a1", "torso", "a1", (0, 1, 0), (0.1, 0.2, 0.4)),
        _joint("a2", "a1", "a2", (0, 0, 1), (0.3, 0, 0)),
        _joint("b1", "torso", "b1", (1, 0, 0), (0.1, -0.2, 0.4)),
        _joint("b2", "b1", "b2", (0, 1, 0), (0.05, 0, 0.3)),
        _joint("b3", "b2", "b3", (0, 0, 1), (0.25, 0, 0.02)),
    ]
    hands = [
        Frame("left", "a2", transform(None, np.array([0.2, 0.03, 0.04]))),
        Frame("right", "b3", transform(None, np.array([0.2, -0.03, 0.04]))),
    ]
    robot = zveno.Robot(assemble("torso", links, joints, hands))
    model = redundant_model(robot.mechanism, ("left", "right"))
    assert model.text(frame="left").startswith("[Tx Ty Tz Rx Ry Rz]o Rz(q1) [Tx Ty Tz Rx Ry Rz]1.2 Ry(q2)")
    rng = np.random.default_rng(0)
    values = _off(model, model.names, rng)

    def seen(frame, q):
        return (FAR @ frame_motion(model, frame, q, values)[0])[:, :3, 3]

    q = robot.random(60, rng)
    campaigns = [
        Dataset(RelativePosition(frame=one), q, seen(one, q) + 1e-4 * rng.normal(size=(60, 3)), name=one)
        for one in ("left", "right")
    ]
    fit = calibrate(robot, campaigns, folds=3)
    assert list(fit.unknowns) == ["tracker"]
    unseen = robot.random(40, rng)
    for one in ("left", "right"):
        p = fit.predict(unseen, one)
        predicted = (fit.unknowns["tracker"] @ p.T_world_frame)[:, :3, 3]
        assert np.sqrt(np.mean(np.sum((predicted - seen(one, unseen)) ** 2, axis=1))) < 2e-4
        assert fit.compensate(unseen, one).q.shape == unseen.shape
    assert fit.write(tmp_path / "both.urdf").exists()
    with pytest.raises(ZvenoError, match="the frame must be named"):
        identifiability(robot, "pose")
