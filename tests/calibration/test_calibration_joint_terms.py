"""Joint terms: all together where the data show them, none where they do not, and worth it."""

from dataclasses import replace

import numpy as np
import pytest
from calibration_arms import FAR, arm, simulated

import zveno
from tiers import few
from zveno.calibration import CalibrationModel
from zveno.calibration._fit import estimate as stage
from zveno.calibration._fit.prior import FLOOR, LIKELY, Linearised
from zveno.calibration._identifiability import identifiability
from zveno.calibration._joint_terms import WORDS
from zveno.calibration._loads import DENSITY, has_masses, loaded
from zveno.calibration.calibrate import calibrate
from zveno.calibration.measurements import Pose, RelativePosition
from zveno.calibration.measurements.datasets import Dataset
from zveno.calibration.models import redundant_model
from zveno.errors import ZvenoError
from zveno.spatial import inertia
from zveno.spatial.transforms import transform

SIZES = {"m": 1e-3, "rad": 2e-3, "1": 5e-4, "rad/Nm": 1e-5, "m/N": 1e-6}
SIGMA = 1e-4


def _true(robot, terms, rng, soft):
    """Every term off by chance, joints stiff or soft but never the wrong way round."""
    model = redundant_model(robot.mechanism, None, terms)
    values = np.array([rng.normal() * SIZES[term.unit] for term in model.terms])
    return np.array([soft * abs(v) if term.kind == "C" else v for v, term in zip(values, model.terms, strict=True)])


def _measured(robot, terms, n, seed, kind=None, soft=1.0):
    rng = np.random.default_rng(seed)
    values = _true(robot, terms, rng, soft)
    kind = RelativePosition() if kind is None else kind
    sigma = {"position": SIGMA} | ({"rotation": 1e-4} if isinstance(kind, Pose) else {})
    campaign = simulated(robot, kind, values, n, rng, sigma, {"tracker": FAR}, joint_terms=terms)
    return campaign, simulated(robot, kind, values, 50, rng, {}, {"tracker": FAR}, joint_terms=terms)


def _fit_with_all_terms(monkeypatch, robot, campaign):
    """The state of the fit with all terms, before they are judged."""
    seen = {}
    monkeypatch.setattr(stage, "evidence", lambda *fit: seen.update(fit=fit[:4]) or 0.0)
    calibrate(robot, campaign, folds=0)
    return seen["fit"]


def _density(linear, P) -> float:
    """Log density of the data of a linear problem, parameters without a prior integrated out."""
    (J,), (y,) = linear.J, linear.y
    free = np.setdiff1d(np.arange(J.shape[1]), linear.at)
    U = np.linalg.qr(J[:, free] / np.linalg.norm(J[:, free], axis=0), mode="complete")[0][:, len(free) :]
    left, seen = U.T @ y, U.T @ J[:, linear.at]
    V = np.eye(len(left)) + seen @ P @ seen.T
    return -0.5 * (left @ np.linalg.solve(V, left) + np.linalg.slogdet(V)[1])


def test_likelihood_is_that_of_the_data(monkeypatch):
    """The difference between two priors, and between two Jacobians, as for the loads of rods and of masses."""
    robot = arm("puma560")
    fit = _fit_with_all_terms(monkeypatch, robot, _measured(robot, ("gear",), 40, 2)[0])
    prior, one = fit[3], np.ones(1)
    linear = Linearised(*fit)
    at = linear.at[:3]
    lighter = Linearised(*fit, (at, 0.3 * fit[2].fit.state.J[:, at]))
    cases = [(linear, prior), (linear, prior.scaled(0.5)), (lighter, prior)]
    by_scales = [problem._at(known, one, ()).log_likelihood for problem, known in cases]
    by_density = [_density(problem, known.covariance()) for problem, known in cases]
    np.testing.assert_allclose(np.diff(by_scales), np.diff(by_density), rtol=1e-6)


def test_likelihood_has_its_derivatives(monkeypatch):
    """By the logarithms of scales and noise; the information is that of the Hessian on average, so positive."""
    robot = arm("puma560")
    *fit, prior = _fit_with_all_terms(monkeypatch, robot, _measured(robot, ("gear",), 40, 2)[0])
    linear, words, step = Linearised(*fit, prior), list(prior.kinds), 1e-4
    prior = replace(prior, wider=np.ones_like(prior.wider))

    def at(k, d):
        sizes = {word: prior.sizes[word] * np.exp(d * (j == k)) for j, word in enumerate(words)}
        return linear._at(prior.with_sizes(sizes), np.exp([d * (k == len(words))]), words)

    now = at(0, 0.0)
    slopes = [(at(k, step).value - at(k, -step).value) / (2 * step) for k in range(len(words) + 1)]
    np.testing.assert_allclose(now.gradient, slopes, rtol=1e-4, atol=1e-5)
    assert np.linalg.eigvalsh(now.information)[0] > 0


def test_scales_of_geometry_without_information_are_those_of_their_prior(monkeypatch):
    robot = arm("puma560")
    *fit, prior = _fit_with_all_terms(monkeypatch, robot, _measured(robot, (), 40, 2)[0])
    linear = Linearised(*fit, prior)
    linear.J, linear.H, linear.y, linear.g = (
        [0.0 * part for part in parts] for parts in (linear.J, linear.H, linear.y, linear.g)
    )
    linear.H[0] += np.diag(linear.norms**2 * ~np.isin(np.arange(len(linear.norms)), linear.at))
    linear.free = np.zeros(1, dtype=bool)
    found = linear.likeliest(prior)[0]
    for word in set(found.kinds) - set(found.joint_kinds):
        assert found.relative(word) == pytest.approx(LIKELY, rel=0.01)


def test_scales_are_where_the_likelihood_is_largest(monkeypatch):
    """Other scales of a kind that is there, a tenth larger or smaller, are less likely; others are at the floor."""
    robot = arm("puma560")
    problem, options, whole, prior = _fit_with_all_terms(monkeypatch, robot, _measured(robot, ("gear",), 60, 2)[0])
    linear = Linearised(problem, options, whole, prior)
    found = linear.likeliest(prior.with_sizes({word: prior.usual[at[0]] for word, at in prior.kinds.items()}))[0]
    best = linear.likeliest(found, found.joint_kinds)[2]
    assert found.relative("gear (1)") > 0.1
    for factor in (0.8, 1.25):
        other = found.with_sizes({"gear (1)": factor * found.sizes["gear (1)"]})
        assert linear.likeliest(other, found.joint_kinds)[2] < best
    assert min(found.relative(word) for word in found.joint_kinds) == pytest.approx(FLOOR)


TERMS = [("compliance",), (), ("eccentricity", "ovality", "compliance"), ("compliance", "gear")]
TERMS += [(word,) for word in WORDS if word != "compliance"]


@pytest.mark.parametrize("terms", few([(terms,) for terms in TERMS], 2))
def test_terms_are_found_where_they_are(terms):
    robot = zveno.load("ur5").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    campaign, unseen = _measured(robot, terms, 60, 13, Pose())
    found = calibrate(robot, campaign, folds=0)
    assert set(found.joint_terms) >= set(terms)
    assert bool(found.joint_terms) == bool(terms)
    plain = calibrate(robot, campaign, model=CalibrationModel(joint_terms=()), folds=0)
    assert plain.evidence is None
    # The structure is that of the geometry, whatever was fitted besides.
    assert found.identifiability.rank == plain.identifiability.rank == 30
    if not terms:
        assert found.evidence is None
        np.testing.assert_array_equal(found.values, plain.values)
        return
    assert found.evidence > stage.THERE
    asked = calibrate(robot, campaign, model=CalibrationModel(joint_terms=terms), folds=0)
    assert found.score(unseen)[0].rms < 0.7 * plain.score(unseen)[0].rms
    assert found.score(unseen)[0].rms < 1.25 * asked.score(unseen)[0].rms
    assert "The data show joint terms" in found.verdict


@pytest.mark.parametrize(("n", "seed"), few([(n, seed) for seed in range(12) for n in (14, 40)]))
def test_terms_that_are_not_there_are_not_found(n, seed):
    """Odds of e¹⁰ : 1 leave none of 24 such fits with terms."""
    robot = arm("puma560")
    assert not calibrate(robot, _measured(robot, (), n, seed)[0], folds=0).joint_terms


@pytest.mark.laws
def test_all_or_none_is_as_good_as_knowing():
    """Few postures and joints that yield a little: the choice costs less than 15 % against the better of both."""
    robot = arm("panda")
    squares = np.zeros(3)
    for seed in range(6):
        campaign, unseen = _measured(robot, ("compliance",), 25, seed)
        for k, terms in enumerate((None, (), ("compliance",))):
            squares[k] += (
                calibrate(robot, campaign, model=CalibrationModel(joint_terms=terms), folds=0).score(unseen)[0].rms
                ** 2
            )
    rms = np.sqrt(squares)
    assert rms[0] < 1.15 * rms[1:].min()
    assert rms[0] < 0.75 * rms[1]


def test_what_people_restrict_stays_restricted():
    robot = zveno.load("ur5").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    campaign, _ = _measured(robot, ("compliance",), 60, 13, Pose())
    for options in ({"model": CalibrationModel(parameters="dh")}, {"model": CalibrationModel(joint_terms=())}):
        assert not calibrate(robot, campaign, folds=0, **options).joint_terms
    assert not calibrate(robot, campaign, prior=None, folds=0).joint_terms
    with pytest.raises(ZvenoError, match="joint_terms is 'soft'"):
        calibrate(robot, campaign, model=CalibrationModel(joint_terms="soft"))


@pytest.mark.laws
def test_a_robot_that_nobody_weighed_yields_like_rods():
    """Masses taken from a likeness of rods: the true robot's joints yield under those of the real links."""
    robot = zveno.load("panda").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    campaign, unseen = _measured(robot, ("compliance",), 60, 3, soft=5.0)
    bare = {link.name: np.zeros(10) for link in robot.mechanism.links}
    light = robot.with_inertia(bare)
    assert not has_masses(light.mechanism)
    found = calibrate(light, campaign, folds=0)
    assert "compliance" in found.joint_terms
    assert any(f"rods of {DENSITY:g} kg/m" in note for note in found.notes)
    stiff = calibrate(light, campaign, model=CalibrationModel(joint_terms=()), folds=0).score(unseen)[0].rms
    weighed = calibrate(robot, campaign, folds=0).score(unseen)[0].rms
    rods = found.score(unseen)[0].rms
    assert rods < 0.6 * stiff
    assert rods < 1.3 * weighed
    # What is found can be used: the commanded posture brings the yielding robot where the stiff one would be.
    q = light.random(20, 5)
    compensation = found.compensate(q, tool="nominal")
    miss = abs(found.predict(compensation.q).T_world_frame - light.forward_kinematics(q)).max(axis=(1, 2))
    assert compensation.reached.sum() >= 15, compensation.summary
    assert miss[compensation.reached].max() < 1e-6


def test_rods_are_bodies():
    robot = zveno.load("panda")
    bare = robot.with_inertia({link.name: np.zeros(10) for link in robot.mechanism.links}).mechanism
    heavy = loaded(bare)
    assert loaded(heavy) is heavy
    for link in heavy.links:
        if link.inertia[0]:
            assert not inertia.problems(link.inertia)
    elbow = next(link for link in heavy.links if link.name == "link2")
    np.testing.assert_allclose(inertia.mass(elbow.inertia), 0.316 * DENSITY)
    np.testing.assert_allclose(np.linalg.norm(inertia.center_of_mass(elbow.inertia)), 0.158)


def test_terms_of_an_explicit_choice_are_in_the_structure():
    robot = zveno.load("ur5").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    campaign, _ = _measured(robot, ("gear",), 40, 2, Pose())
    found = calibrate(robot, campaign, model=CalibrationModel(joint_terms=["gear"]), folds=0)
    assert (
        found.identifiability.rank
        == identifiability(robot, "pose", model=CalibrationModel(joint_terms=["gear"])).rank
        == 36
    )
    assert found.evidence is None


def test_masses_do_not_matter_where_gravity_does_nothing():
    """A vertical slide and a turn about the vertical: the load is constant, or none."""
    robot = zveno.load("Tz(q1) Rz(q2) Tx(0.3)")
    rng = np.random.default_rng(0)
    q = robot.random(30, 2)
    y = robot.forward_kinematics(q)[:, :3, 3] + 1e-4 * rng.normal(size=(30, 3))
    assert not calibrate(robot, Dataset("position", q, y), folds=0).joint_terms  # type: ignore[arg-type]


def test_all_terms_are_recovered_and_compensated(tmp_path):
    robot = zveno.load("ur5").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    campaign, unseen = _measured(robot, WORDS, 120, 4, Pose())
    found = calibrate(robot, campaign, model=CalibrationModel(joint_terms=WORDS), folds=0)
    assert {name[0] for name in found.names} == {"T", "R", "K", "C", "E", "O", "H"}
    assert found.score(unseen)[0].rms < SIGMA
    true = _true(robot, WORDS, np.random.default_rng(4), 1.0)
    chosen = [k for k, name in enumerate(found.names) if name[0] in "KCEOH"]
    alone = [
        k
        for k in chosen
        if found.identifiability.classes[found.identifiability.names.index(found.names[k])] == "identifiable"
    ]
    assert len(alone) > 12
    off = [(found.values[k] - true[found.model.numbers[found.names[k]]]) / found.std[k] for k in alone]
    assert np.sqrt(np.mean(np.square(off))) < 1.5
    q = robot.random(100, 6)
    q = q[np.linalg.svd(robot.jacobian(q), compute_uv=False)[:, -1] > 0.05]
    compensation = found.compensate(q, tool="nominal")
    assert compensation.reached.mean() > 0.95, compensation.summary
    reached = found.predict(compensation.q).T_world_frame
    target = robot.forward_kinematics(q)
    np.testing.assert_allclose(reached[compensation.reached], target[compensation.reached], atol=1e-8)
    assert abs(found.robot.forward_kinematics(compensation.q) - reached).max() > 1e-4
    found.save(tmp_path / "found.json")
    assert zveno.load_result(tmp_path / "found.json").joint_terms == found.joint_terms
    with pytest.warns(zveno.ZvenoWarning, match="no place for gear, compliance, eccentricity, ovality, hysteresis"):
        assert found.write(tmp_path / "arm.urdf").exists()
    note = next(note for note in found.mechanism.notes if "Cq2" in note)
    assert "yield under gravity" in note
