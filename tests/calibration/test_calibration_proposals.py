"""Other kinds of measurement: what is promised comes true, what is hidden is named, and following it shows it."""

from dataclasses import replace
from functools import partial
from io import StringIO
from types import SimpleNamespace
from typing import Any

import calibration_arms
import numpy as np
import pytest
from calibration_arms import FAR, arm, simulated, truth
from rich.console import Console

import zveno
from zveno.calibration.advice.candidates import Candidate
from zveno.calibration.advice.knowledge import eliminated
from zveno.calibration.advice.proposals import SCALE
from zveno.calibration.advice.situation import Situation
from zveno.calibration.estimate import calibrate
from zveno.calibration.fit.prior import prior, usual
from zveno.calibration.identifiability.analysis import identifiability
from zveno.calibration.identifiability.postures import imagined
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
    Sockets,
)
from zveno.calibration.measurements.campaigns import Campaign
from zveno.calibration.measurements.kinds.position import MARKERS
from zveno.calibration.measurements.kinds.tilt import Tilt
from zveno.calibration.model.kinematics import pose_kernel
from zveno.calibration.model.models import redundant_model
from zveno.report.text.calibration import print_calibration
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

HAND = transform(exp(np.array([0.2, -0.3, 0.5])), np.array([0.02, 0.03, 0.04]))
SIGMA = {"position": 1e-4, "rotation": 1e-3}
PLAUSIBLE = (0.5e-3, 2e-3)
ANYWHERE = "seen from anywhere"
REAL = {
    "poses in the robot's world": Pose(),
    f"poses {ANYWHERE}": RelativePose(),
    "poses of a camera on the hand": Camera(),
    "positions in the robot's world": Position(),
    f"positions {ANYWHERE}": RelativePosition(),
    f"positions of three markers on the tool {ANYWHERE}": RelativePosition(points=MARKERS, unknown_points=True),
    "distances to one unknown point": Distance(),
    "touches of one plane": Plane(),
    "touches of one socket": FixedPoint(),
    "touches of two sockets 300 mm apart, known to 0.1 mm": Sockets(distance=0.3, sigma_distance=1e-4),
    "directions of the tool's z axis": AxisDirection(),
    "tilts of the tool by an inclinometer": Tilt(),
}
"""The measurement that each text means."""


def sigma_of(kind) -> dict[str, float]:
    unit = {"m": SIGMA["position"], "rad": SIGMA["rotation"]}
    return {noise.name: unit[noise.unit] for noise in kind.noises}


def measured(robot, kind, values, n, rng, q=None, name="") -> Campaign:
    """A simulated campaign with one target, or two sockets, and its noise known."""
    sigma = sigma_of(kind)
    frames = {"tracker": FAR, "board": FAR, "camera": HAND, "centre1": FAR}
    groups = ("a/1", "a/2") if isinstance(kind, Sockets) else ("a",)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration_arms, "imagined", partial(imagined, groups=groups))
        campaign = simulated(robot, replace(kind, sigma=sigma), values, n, rng, sigma, frames, q=q)
    return replace(campaign, name=name)


def skew(a) -> np.ndarray:
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


@pytest.fixture(scope="module")
def puma():
    return arm("puma560")


def poor(robot, kind):
    """A fit with two dozen postures around one, and the true robot."""
    key = robot.mechanism.fingerprint, kind.kind
    if key not in DONE:
        rng = np.random.default_rng(1)
        values = truth(robot, identifiability(robot, "pose").chosen, rng, *PLAUSIBLE)
        q = None if kind.implicit else 0.4 * robot.random(24, 3)
        campaign = measured(robot, kind, values, 24, rng, q, "first")
        found = calibrate(robot, campaign, folds=0, plausible=PLAUSIBLE, joint_terms=())
        DONE[key] = campaign, values, found
    return DONE[key]


DONE: dict = {}


def together(robot, campaign, values, kind, seed=0, n=10, **options):
    """A real fit with random postures of another kind besides."""
    more = measured(robot, kind, values, n, np.random.default_rng(100 + seed), name="second")
    options = {"plausible": PLAUSIBLE, "joint_terms": ()} | options
    return calibrate(robot, [campaign, more], folds=0, **options)


def now(found) -> float:
    assert found.advice is not None
    return found.advice.now


def rms(values) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.mark.parametrize("text", REAL)
def test_candidates_tell_what_a_campaign_of_the_kind_tells(puma, text):
    kind = REAL[text]
    assert text in [words for _, words in type(kind).proposals(0.3)]
    model = redundant_model(puma.mechanism)
    groups = ("place/hole1", "place/hole2") if isinstance(kind, Sockets) else ("a",)
    problem = imagined(model, kind, 40, 3, groups=groups)
    part = problem.parts[0]
    T, _ = problem.poses(part, problem.nominal, part.q)
    targets = kind.imagined_targets(T[:, :3, 3], np.array([T[0, :3, 3], T[1, :3, 3]]))
    if kind.implicit:
        targets = list(problem.frames[part.target[: len(targets)]])
    elif isinstance(kind, Distance):
        problem = problem.placed({"centre1": targets[0]})
    problem = problem.placed({"tracker": FAR, "board": FAR})  # where it stands does not matter
    _, D = problem.evaluate(problem.nominal, problem.frames, exact=True)
    sigma = np.array([sigma_of(kind)[name] for _, name, _ in problem.noise_names] + [1e-4])
    D = D / sigma[problem.noise][:, None]
    A, N = D[:, : len(model.terms)], D[:, len(model.terms) :]
    want = eliminated(A.T @ A, A.T @ N, N.T @ N)
    candidate, of_row = Candidate(kind, text, kind.right), np.zeros(kind.n_rows)
    for noise in kind.noises:
        of_row[noise.rows] = sigma_of(kind)[noise.name]
    found = candidate.products(_situation(problem), part.q, targets, of_row, 0.0, 1)
    size = np.sqrt(np.diag(A.T @ A)) + 1e-4 * np.sqrt(np.diag(A.T @ A)).max()
    assert abs(found.together() - want) / np.outer(size, size) == pytest.approx(0.0, abs=1e-10)
    assert abs(found.each()[0] - found.together()) / np.outer(size, size) == pytest.approx(0.0, abs=1e-10)


def test_what_another_kind_would_bring_is_what_it_brings(puma):
    campaign, values, found = poor(puma, Position())
    assert found.advice is not None
    assert found.advice.now == pytest.approx(rms(found.accuracy_map(300).sigma_position), rel=0.02)
    promised = {one.text: one.after for one in found.advice.kinds}
    assert set(promised) == {text for text, kind in REAL.items() if kind.kind != "position"}
    assert list(promised.values()) == sorted(promised.values())
    real = {}
    for text in promised:
        both = [together(puma, campaign, values, REAL[text], seed) for seed in range(2)]
        real[text] = rms([one.accuracy_map(300).sigma_position for one in both])
        # Contacts are made anywhere, and where the socket is matters.
        assert promised[text] == pytest.approx(real[text], rel=0.3 if REAL[text].implicit else 0.05), text
    for a in real:
        for b in real:
            if promised[a] < 0.85 * promised[b]:
                assert real[a] < real[b], (a, b)


@pytest.mark.parametrize("text", ["poses in the robot's world", "distances to one unknown point"])
def test_where_the_base_is_does_not_count_where_it_was_not_seen(puma, text):
    """The tool moves as parameters do by chance; then the base is moved to make up for it as well as it can."""
    campaign, values, found = poor(puma, RelativePosition())
    assert found.advice is not None
    promised = {one.text: one.after for one in found.advice.kinds}
    rng = np.random.default_rng(4)
    q = puma.random(200, rng)
    left = []
    for seed in range(3):
        both = together(puma, campaign, values, REAL[text], seed)
        T, J = pose_kernel(both.model, both.frames[0])(q, np.zeros(len(both.model.terms)), *np.zeros((2, 200, 6)))
        chance = rng.multivariate_normal(np.zeros(len(both.names)), both.covariance, 300)
        moved = (T[:, :3, :3] @ (J[:, :3, both.columns] @ chance.T)).reshape(-1, 300)
        rigid = np.concatenate([np.hstack([np.eye(3), -skew(one)]) for one in T[:, :3, 3]])
        rest = moved - rigid @ np.linalg.lstsq(rigid, moved, rcond=None)[0]
        left.append(np.sqrt(3.0) * rms(rest))
    assert promised[text] == pytest.approx(rms(left), rel=0.1)


@pytest.mark.parametrize("first", [RelativePosition(), FixedPoint()], ids=lambda kind: kind.kind)
def test_what_one_kind_hides_and_another_shows_is_named(puma, first):
    campaign, values, found = poor(puma, first)
    assert found.advice is not None
    before = identifiability(puma, first)
    assert before.rank == found.identifiability.rank
    for one in found.advice.kinds:
        kind = REAL[one.text]
        shown = [name for name in one.shows if name != SCALE]
        assert not set(shown) & set(before.of_class("identifiable"))
        both = together(puma, campaign, values, kind, n=40)
        mounting = 12 if isinstance(kind, Camera) else 0
        assert both.identifiability.rank == before.rank + len(one.shows) + mounting, one.text
        if shown and one.kind in ("pose", "relative_pose"):
            names = (*found.identifiability.chosen, *shown)
            again = together(puma, campaign, values, kind, n=40, parameters=names)
            assert set(again.names) == set(names)
    whole = identifiability(puma, "pose").rank
    assert whole == before.rank + max(len(one.shows) for one in found.advice.kinds)


def test_a_socket_does_not_show_the_scale(puma):
    campaign, values, found = poor(puma, FixedPoint())
    assert found.advice is not None
    showing = {one.text for one in found.advice.kinds if SCALE in one.shows}
    assert showing == {text for text in REAL if not text.startswith(("touches of one", "directions", "tilts"))}
    assert found.advice.unseen[SCALE][0].startswith("touches of two sockets")
    assert "the scale (touches of two sockets 300 mm apart, known to 0.1 mm)" in found.verdict
    # Unseen lengths are as uncertain as they were before: more of the same does not help, a known distance does.
    assert found.advice.chosen > 0.9 * found.advice.now
    both = together(puma, campaign, values, Sockets(distance=0.3, sigma_distance=1e-4), n=40)
    assert both.advice is not None
    assert both.advice.now < 0.5 * found.advice.now
    assert SCALE not in both.advice.unseen
    promised = {one.text: one.after for one in found.advice.kinds}
    both = [now(together(puma, campaign, values, RelativePosition(), seed)) for seed in range(3)]
    assert promised[f"positions {ANYWHERE}"] == pytest.approx(rms(both), rel=0.1)


def test_what_is_not_seen_counts_as_much_as_robots_differ_in_it(puma):
    """True robots by chance, fitted with one socket, their terms as expected from it; then the base is moved to
    make up for what is wrong as well as it can."""
    model = redundant_model(puma.mechanism)
    size = np.array([usual(term, PLAUSIBLE) for term in model.terms])
    q = puma.random(200, 1)
    errors, said = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        true = size * rng.normal(size=len(size)) * [term.role != "base" for term in model.terms]
        campaign = measured(puma, FixedPoint(), true, 40, rng)
        found = calibrate(puma, campaign, folds=0, plausible=PLAUSIBLE, joint_terms=(), strategy="JL")
        known = prior(model, found.identifiability, PLAUSIBLE, {})
        assert known is not None
        B, S = known.relations, np.diag(known.size**2)
        expected = S @ B.T @ np.linalg.solve(B @ S @ B.T, found.all_values[list(known.columns)])
        T, guess = (pose_kernel(model, "tool")(q, x, *np.zeros((2, 200, 6)))[0] for x in (true, expected))
        apart = (guess - T)[:, :3, 3].ravel()
        rigid = np.concatenate([np.hstack([np.eye(3), -skew(one)]) for one in T[:, :3, 3]])
        errors.append(np.sqrt(3.0) * rms(apart - rigid @ np.linalg.lstsq(rigid, apart, rcond=None)[0]))
        assert found.advice is not None
        said.append(found.advice.now)
    assert 0.7 < np.median(errors) / np.median(said) < 1.5


@pytest.mark.parametrize("first", [RelativePosition(), Position()], ids=lambda kind: kind.kind)
def test_a_point_on_the_last_axis_is_moved_and_shows_what_it_hid(first):
    robot = zveno.load("puma560")
    campaign, values, found = poor(robot, first)
    assert found.advice is not None
    assert not any("beside" in one.text for one in poor(arm("puma560"), first)[2].advice.kinds)
    beside = next(one for one in found.advice.kinds if "100 mm beside the last axis" in one.text)
    assert len(beside.shows) == 2
    assert found.advice.unseen[", ".join(beside.shows)][0] == beside.text
    assert beside.text in found.verdict
    chosen = found.identifiability.chosen
    moved = replace(first, points=[[0.1, 0.0, 0.0]], unknown_points=True)
    names = (*chosen, *beside.shows)
    both = together(robot, campaign, values, moved, n=24, parameters=names)
    assert set(both.names) == set(names)
    for name in beside.shows:
        k = both.names.index(name)
        assert both.std[k] < (0.2e-3 if both.units[k] == "m" else 1e-3)
    unused = measured(robot, moved, values, 50, np.random.default_rng(7))
    assert both.score(unused)[0].rms < 1.2 * np.sqrt(3.0) * SIGMA["position"] < 0.8 * found.score(unused)[0].rms
    same = together(robot, campaign, values, first, n=24)
    assert same.identifiability.rank == len(chosen)


def test_a_point_found_beside_the_last_axis_hides_nothing():
    """Drawn on the axis, it is 60 mm beside it: what is proposed starts from where it is."""
    robot = zveno.load("puma560")
    rng = np.random.default_rng(2)
    model = redundant_model(robot.mechanism)
    values = truth(robot, identifiability(robot, "pose").chosen, rng, *PLAUSIBLE)
    values[model.numbers["Tx6"]] = 0.06
    found = calibrate(robot, measured(robot, RelativePosition(), values, 40, rng), folds=0, joint_terms=())
    assert found.advice is not None
    assert list(found.advice.unseen) == ["how the tool is turned", "where the base is"]
    assert not any("beside" in one.text for one in found.advice.kinds)
    again = measured(robot, RelativePosition(), values, 40, rng)
    both = together(robot, again, values, REAL[f"poses {ANYWHERE}"])
    promised = {one.text: one.after for one in found.advice.kinds}[f"poses {ANYWHERE}"]
    assert promised == pytest.approx(now(both), rel=0.2)


def test_noise_is_that_found_or_a_usual_one_and_encoders_add_theirs(puma):
    rng = np.random.default_rng(2)
    values = truth(puma, identifiability(puma, "pose").chosen, rng, *PLAUSIBLE)
    campaign = simulated(puma, RelativePosition(), values, 40, rng, {"position": 3e-4}, {"tracker": FAR})
    found = calibrate(puma, campaign, folds=0)
    assert found.advice is not None
    noise = found.sigma["relative_position: position"]
    assert noise == pytest.approx(3e-4, rel=0.2)
    sigma = {one.text: one.sigma for one in found.advice.kinds}
    assert sigma["poses in the robot's world"] == {"m": noise, "rad": 1e-3}
    assert sigma["directions of the tool's z axis"] == {"rad": 1e-3}
    q, candidate = puma.random(1, 0), Candidate(Position(), "", Position().right)
    here = _situation(imagined(redundant_model(puma.mechanism), Position(), 3))
    noisy = candidate.products(here, q, [np.eye(4)], np.full(3, 3e-4), 4e-4, 1).together()
    variance = 3e-4**2 + 4e-4**2 * np.sum(puma.jacobian(q)[0, :3] ** 2, axis=1)
    rows = candidate.rows(here, q, [np.eye(4)])
    J = rows.evaluate(rows.nominal, rows.frames)[1] / np.sqrt(variance)[:, None]
    assert noisy == pytest.approx(J.T @ J, rel=1e-9, abs=1e-9 * np.trace(J.T @ J))


def _situation(problem) -> Situation:
    """Where a comparison starts, as far as rows of candidates need it: all terms."""
    part, none = problem.parts[0], None
    T, _ = problem.poses(part, problem.nominal, part.q)
    terms: Any = SimpleNamespace(columns=np.arange(len(problem.model.terms)))
    return Situation(problem, none, np.zeros(3), terms, none, none, part.q, T)  # pyright: ignore[reportArgumentType]


def test_the_command_line_compares_kinds(puma):
    found = poor(puma, FixedPoint())[2]
    console = Console(width=100, record=True, file=StringIO())
    print_calibration(console, found)
    lines = console.export_text().splitlines()
    best = found.advice.kinds[0]
    at = next(k for k, line in enumerate(lines) if line.startswith("measured next"))
    assert any(f"{1e3 * found.advice.now:.3f} mm" in line for line in lines[at : at + 2])
    row = next(line for line in lines[at:] if f"{1e3 * best.after:.3f} mm" in line)
    assert row.startswith(f"10 {best.text}"[:20])
    assert best.noise in row


def test_advice_survives_being_saved(puma, tmp_path):
    found = poor(puma, FixedPoint())[2]
    found.save(tmp_path / "found.json")
    again = zveno.load_result(tmp_path / "found.json")
    assert found.advice is not None
    assert again.advice.unseen == found.advice.unseen
    assert [(one.described, one.after, one.shows) for one in again.advice.kinds] == [
        (one.described, one.after, one.shows) for one in found.advice.kinds
    ]
