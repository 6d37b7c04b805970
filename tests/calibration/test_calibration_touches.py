"""Lines, ball bars, several planes, and a robot that touches itself: found again, counted, and read from files."""

import numpy as np
import pytest
from benchmarks.calibration_recovery import stands_for, two_arms
from calibration_arms import arm, rank_by_differences, simulated, truth

import zveno
from tiers import every, few
from zveno import calibration
from zveno.calibration import CalibrationModel
from zveno.calibration._identifiability import identifiability
from zveno.calibration.measurements import BallBar, Line, Plane, RelativePosition, SelfTouch
from zveno.calibration.models import redundant_model
from zveno.errors import ZvenoError

SIGMA = 1e-4
LINE = {"edge": (0.3, 0.2, 0.1, 0.0, 1.0, 0.5)}
PLANES = {"place1": (0.0, 0.0, 1.0, -0.1), "place2": (0.0, 1.0, 0.2, 0.25)}
ARMS = {"frame": "left", "seen_from": "right"}
ONE_ARM = {
    "line": Line(),
    "ball bar": BallBar(length=0.4),
    "ball bar of unknown length": BallBar(),
    "planes": Plane(group_planes=True),
    "planes, two of them known": Plane(planes=PLANES),
}
TWO_ARMS = {
    "frames that coincide": SelfTouch(**ARMS),
    "touches of an unknown point": SelfTouch(**ARMS, unknown_target=True),
    "a bar between two arms": BallBar(**ARMS, length=0.3),
    "seen from the other arm": RelativePosition(**ARMS, reference="eye"),
}
CASES = [("puma560", *case) for case in ONE_ARM.items()] + [("two_arms", *case) for case in TWO_ARMS.items()]


def robot_of(name):
    return two_arms() if name == "two_arms" else arm(name)


def found_again(robot, kind, n, seed):
    """Errors over standard deviations of all parameters that can be found."""
    rng = np.random.default_rng(seed)
    names = identifiability(robot, kind).chosen
    values = truth(robot, names, rng, frames=kind.frames)
    campaign = simulated(robot, kind, values, n, rng, {"position": SIGMA})
    found = robot.calibrate(campaign, model=CalibrationModel(joint_terms=(), strategy="JL"), prior=None, folds=0)
    assert found.converged
    true = dict(zip(found.model.names, values, strict=True))
    return found, (found.values - stands_for(found, true)) / found.std


@pytest.mark.parametrize(("name", "kind"), every(case[::2] for case in CASES))
def test_parameters_are_found_again(name, kind):
    found, z = found_again(robot_of(name), kind, 150, 3)
    assert not found.outliers
    assert abs(z).max() < 4.5
    assert 0.6 < np.sqrt(np.mean(z**2)) < 1.5
    assert next(iter(found.sigma.values())) == pytest.approx(SIGMA, rel=0.3)


@pytest.mark.laws
@pytest.mark.parametrize(("name", "kind"), [case[::2] for case in CASES], ids=[case[1] for case in CASES])
def test_errors_are_as_large_as_said(name, kind):
    z = np.concatenate([found_again(robot_of(name), kind, 120, seed)[1] for seed in range(12)])
    assert 0.85 < np.sqrt(np.mean(z**2)) < 1.15
    assert np.mean(abs(z) > 3.0) < 0.01


@pytest.mark.parametrize(("name", "kind"), few([case[::2] for case in CASES], 1))
def test_rank_is_that_of_a_jacobian_by_differences(name, kind):
    """Derivatives by differences of residuals in contact; and what the closure of twists counts."""
    structure = identifiability(robot_of(name), kind)
    assert structure.rank == rank_by_differences(robot_of(name), kind, 150) == structure.counts.proved
    assert structure.counts.agree(structure.rank)
    assert structure.gap > 1e3
    assert structure.status == "certain"


def test_a_bar_of_known_length_shows_the_scale():
    robot = arm("puma560")
    known, unknown = (identifiability(robot, kind) for kind in (BallBar(length=0.4), BallBar()))
    assert known.rank == unknown.rank + 1
    assert "bar.length" in unknown.unknowns
    assert identifiability(robot, Plane(planes=PLANES)).rank > identifiability(robot, Plane(group_planes=True)).rank


def test_what_is_seen_from_another_arm_tells_nothing_of_the_base():
    structure = identifiability(two_arms(), SelfTouch(**ARMS))
    blind = set(structure.of_class("unidentifiable"))
    assert {"Txo", "Rzo", "Rzq1"} <= blind
    assert not {name for name in structure.chosen if name.endswith("o")}


def test_the_length_of_a_bar_is_found():
    robot, rng = arm("puma560"), np.random.default_rng(1)
    model = redundant_model(robot.mechanism)
    campaign = simulated(robot, BallBar(), np.zeros(len(model.terms)), 60, rng, {"length": SIGMA})
    found = robot.calibrate(campaign, model=CalibrationModel(parameters="offsets"), folds=0)
    place = found.unknown_names.index("bar.length")
    assert found.unknowns["bar"][0, 3] == pytest.approx(0.3, abs=5 * found.unknown_std[place])
    assert 0 < found.unknown_std[place] < 1e-3


def test_files_say_lines_planes_and_frames(tmp_path):
    robot = arm("puma560")
    rows = [
        ",".join(map(str, [*q, group])) for q, group in zip(robot.random(12, 1).tolist(), "ab" * 6, strict=True)
    ]

    def read(*settings):
        file = tmp_path / "touches.csv"
        file.write_text("\n".join([*settings, "q1,q2,q3,q4,q5,q6,group", *rows]) + "\n")
        return calibration.read_dataset(file, robot.mechanism)

    planes = read("# kind = plane", "# unit = mm", "# planes = a 0 0 1 120; b: 0 1 0 300").measurement
    assert planes.planes["a"] == pytest.approx([0, 0, 1, 0.12])
    assert planes.target_of("b").value[:3, 3] == pytest.approx([0, 0.3, 0])
    line = read("# kind = line", "# unit = mm", "# lines = a 100 0 0 0 0 2").measurement
    assert line.target_of("a").value[:3, 3] == pytest.approx([0.1, 0, 0])
    assert line.target_of("b").free
    assert not line.target_of("a").free
    bar = read("# kind = ball_bar", "# unit = mm", "# length = 300", "# seen_from = base").measurement
    assert bar.length == pytest.approx(0.3)
    assert bar.frames == (None, "base")
    for settings, words in (
        (("# kind = plane", "# planes = a 0 0 1"), "names with 4 numbers each"),
        (("# kind = line", "# lines = a"), "names with 6 numbers each"),
    ):
        with pytest.raises(ZvenoError, match=words):
            read(*settings)


def test_groups_of_a_plane_are_planes():
    robot, rng = arm("puma560"), np.random.default_rng(2)
    model = redundant_model(robot.mechanism)
    campaign = simulated(robot, Plane(group_planes=True), np.zeros(len(model.terms)), 60, rng, {"height": SIGMA})
    again = calibration.Dataset(Plane(), campaign.q, groups=campaign.groups)
    found = robot.calibrate(again, model=CalibrationModel(parameters="offsets", joint_terms=()), folds=0)
    assert len(found.unknowns) == 6
    assert found.training[0].rms < 2 * SIGMA
    mixed = calibration.Dataset(Plane(group_planes=False), campaign.q, groups=campaign.groups)
    # A robot that hardly moves would touch any plane: degrees are no explanation, wrong groups are.
    with pytest.warns(zveno.ZvenoWarning, match="check which target each posture touches") as words:
        one = robot.calibrate(mixed, model=CalibrationModel(parameters="offsets", joint_terms=()), folds=0)
    assert not any("degrees" in str(word.message) for word in words)
    assert len(one.unknowns) == 1
    assert one.training[0].rms > 0.01


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (lambda: BallBar(length=-1.0), "a ball bar of -1.0 m is none"),
        (lambda: Line(lines={"": (1, 2, 3)}).target_of(""), "is not a line"),
        (lambda: Plane(planes={"a": (0, 0, 0, 1)}).target_of("a"), "is not a direction"),
        (lambda: identifiability(arm("puma560"), SelfTouch(seen_from="nowhere")), "no frame named 'nowhere'"),
    ],
)
def test_what_cannot_be_is_refused(kind, words):
    with pytest.raises(ZvenoError, match=words):
        kind()
