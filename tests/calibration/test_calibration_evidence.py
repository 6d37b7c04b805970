"""Joint terms that the data ask for: found where they are, not found where they are not, and worth it."""

import numpy as np
import pytest
from calibration_arms import FAR, arm, simulated

import zveno
from zveno.calibration import rounds
from zveno.calibration.estimate import calibrate
from zveno.calibration.fit.evidence import SIZES as SIZES_TRIED
from zveno.calibration.fit.evidence import _evidence
from zveno.calibration.identifiability.analysis import identifiability
from zveno.calibration.measurements import Pose, RelativePosition
from zveno.calibration.measurements.campaigns import Campaign
from zveno.calibration.model.joint_terms import WORDS
from zveno.calibration.model.loads import DENSITY, has_masses, loaded
from zveno.calibration.model.models import redundant_model
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


def test_evidence_is_the_ratio_of_likelihoods():
    """Of readings that the fit has not used up, with and without parameters of a size, as normal densities."""
    rng = np.random.default_rng(1)
    J, C, y = rng.normal(size=(30, 6)), rng.normal(size=(30, 4)) * [1, 0.1, 3, 1], rng.normal(size=30)
    y += C @ rng.normal(size=4)
    U = np.linalg.qr(J, mode="complete")[0][:, 6:]
    left, seen = U.T @ y, U.T @ C
    gain, size = _evidence(U @ seen, U @ left)

    def ratio(s):
        V = np.eye(24) + s**2 * seen @ seen.T
        return 0.5 * (left @ left - left @ np.linalg.solve(V, left) - np.linalg.slogdet(V)[1])

    assert gain == pytest.approx(ratio(size), rel=1e-9)
    assert gain == pytest.approx(max(ratio(s) for s in SIZES_TRIED), rel=1e-9)
    assert 0.3 < size < 3.0


@pytest.mark.parametrize(
    "terms", [*((word,) for word in WORDS), ("compliance", "gear"), ("eccentricity", "ovality", "compliance"), ()]
)
def test_terms_are_found_where_they_are(terms):
    robot = zveno.load("ur5").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    campaign, unseen = _measured(robot, terms, 60, 13, Pose())
    found = calibrate(robot, campaign, folds=0)
    assert set(found.joint_terms) == set(terms) == set(found.evidence)
    assert not found.lacking
    plain = calibrate(robot, campaign, joint_terms=(), folds=0)
    assert bool(plain.lacking) == bool(terms)
    # The structure is that of the geometry, whatever was fitted besides.
    assert found.identifiability.rank == plain.identifiability.rank == 30
    if terms:
        assert found.score(unseen)[0].rms < 0.7 * plain.score(unseen)[0].rms
        assert all(f"joint_terms=['{word}']" in plain.verdict for word in plain.lacking)
        assert "The data ask for" in found.verdict
    if len(terms) == 1:
        assert set(plain.lacking) == set(terms)
        kept = np.mean([(found.sigma[name] / plain.sigma[name]) ** 2 for name in plain.sigma])
        assert 1.0 - plain.lacking[terms[0]] == pytest.approx(kept, abs=0.1)


def test_terms_that_do_not_help_hide_no_others(monkeypatch):
    """Where postures not used are predicted no better with one kind, the next is tried, and the first is named."""
    robot = zveno.load("ur5").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    campaign, _ = _measured(robot, ("compliance", "gear"), 60, 13, Pose())
    better = rounds._predicts_better
    monkeypatch.setattr(
        rounds,
        "_predicts_better",
        lambda state, before: "gear" not in state.joint_terms and better(state, before),
    )
    found = calibrate(robot, campaign, folds=0)
    assert found.joint_terms
    assert "gear" not in found.joint_terms
    assert set(found.lacking) == {"gear"}
    assert any("gear ratios that are off, but" in note for note in found.notes)


def test_terms_that_are_not_there_are_hardly_ever_found():
    """Odds of e⁵ : 1 leave less than one of 24 such fits with a term too many, and that one no worse for it."""
    robot = arm("puma560")
    wrong = [
        calibrate(robot, _measured(robot, (), n, seed)[0], folds=0).joint_terms
        for n in (14, 40)
        for seed in range(12)
    ]
    assert sum(bool(terms) for terms in wrong) <= 1


def test_choosing_by_evidence_is_as_good_as_knowing():
    """Few postures and joints that yield a little: what is chosen predicts about as well as the better of both."""
    robot = arm("panda")
    squares = np.zeros(3)
    for seed in range(6):
        campaign, unseen = _measured(robot, ("compliance",), 25, seed)
        for k, terms in enumerate(("auto", (), ("compliance",))):
            squares[k] += calibrate(robot, campaign, joint_terms=terms, folds=0).score(unseen)[0].rms ** 2
    assert squares[0] < 1.1 * squares[1:].min()


def test_what_people_restrict_stays_restricted():
    robot = zveno.load("ur5").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    campaign, _ = _measured(robot, ("compliance",), 60, 13, Pose())
    for options in ({"parameters": "dh"}, {"joint_terms": ()}, {"linear": True}):
        assert not calibrate(robot, campaign, folds=0, **options).joint_terms
    assert not calibrate(robot, campaign, plausible=None, folds=0).lacking
    with pytest.raises(ZvenoError, match="no joint_terms named 'soft'"):
        calibrate(robot, campaign, joint_terms="soft")


def test_a_robot_that_nobody_weighed_yields_like_rods():
    """Masses taken from a likeness of rods: the true robot's joints yield under those of the real links."""
    robot = zveno.load("panda").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    campaign, unseen = _measured(robot, ("compliance",), 60, 3, soft=5.0)
    bare = {link.name: np.zeros(10) for link in robot.mechanism.links}
    light = robot.with_inertia(bare)
    assert not has_masses(light.mechanism)
    found = calibrate(light, campaign, folds=0)
    assert found.joint_terms == ("compliance",)
    assert any(f"rods of {DENSITY:g} kg/m" in note for note in found.notes)
    stiff = calibrate(light, campaign, joint_terms=(), folds=0).score(unseen)[0].rms
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
    found = calibrate(robot, campaign, joint_terms=["gear"], folds=0)
    assert found.identifiability.rank == identifiability(robot, "pose", joint_terms=["gear"]).rank == 36
    assert not found.evidence


def test_masses_do_not_matter_where_gravity_does_nothing():
    """A vertical slide and a turn about the vertical: the load is constant, or none."""
    robot = zveno.load("Tz(q1) Rz(q2) Tx(0.3)")
    rng = np.random.default_rng(0)
    q = robot.random(30, 2)
    y = robot.forward_kinematics(q)[:, :3, 3] + 1e-4 * rng.normal(size=(30, 3))
    assert not calibrate(robot, Campaign("position", q, y), folds=0).joint_terms  # type: ignore[arg-type]


def test_all_terms_are_recovered_and_compensated(tmp_path):
    robot = zveno.load("ur5").with_tool(transform(None, np.array([0.05, 0.04, 0.1])))
    campaign, unseen = _measured(robot, WORDS, 120, 4, Pose())
    found = calibrate(robot, campaign, joint_terms=WORDS, folds=0)
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
