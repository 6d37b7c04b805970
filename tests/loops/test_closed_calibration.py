"""Calibration and identifiability of machines with closed loops, through the implicit function."""

from dataclasses import replace

import numpy as np
import pytest
from closed_machines import ankle, five_bar, four_bar, palletiser, random_ankle, random_plane_machine
from parallel_robots import delta, stewart

import zveno
from zveno import calibration
from zveno.calibration._closing import closed_postures, random_closed
from zveno.calibration._kinematics import frame_motion, frame_rates
from zveno.calibration.models import redundant_model
from zveno.loops.selection import driven_entries, selection
from zveno.mechanism.edit import rebuilt

# Of the first seven plane machines three are left out: one cannot move, two have kept singular values of 6e-9.
MACHINES = {
    "four_bar": (four_bar, "coupler"),
    "five_bar": (five_bar, "tool"),
    "ankle": (ankle, "tool"),
    "palletiser": (palletiser, "flange"),
    **{f"ankle {seed}": (lambda seed=seed: random_ankle(seed), "foot") for seed in range(4)},
    **{f"plane {seed}": (lambda seed=seed: random_plane_machine(seed), "y2") for seed in (1, 4, 5, 6)},
}
QUICK = ("four_bar", "ankle")
EACH = [pytest.param(name, marks=[] if name in QUICK else pytest.mark.laws) for name in MACHINES]


def measured(name):
    """A machine, its measured frame, and the other name of it where a calibration moves it."""
    make, frame = MACHINES[name]
    robot = make()
    with_tool = rebuilt(
        robot.mechanism,
        frames=[
            *(f for f in robot.mechanism.frames if f.name != "tool"),
            replace(robot.mechanism.frame(frame), name="tool"),
        ],
    )
    return zveno.Robot(with_tool), with_tool.home


def twist(T, D):
    D = np.linalg.inv(T) @ D
    return np.array([D[0, 3], D[1, 3], D[2, 3], D[2, 1], D[0, 2], D[1, 0]])


def closed_at(robot, q):
    flat, closed = closed_postures(robot.mechanism, q[None])
    assert closed.all()
    return flat[0]


@pytest.mark.parametrize("name", EACH)
def test_slopes_are_those_of_closing_a_changed_machine(name):
    """By parameters of members of the loops and of the tool, and by motors; dependent readings do not count."""
    robot, _ = measured(name)
    rng, h = np.random.default_rng(3), 1e-6
    model = redundant_model(robot.mechanism, "tool")
    q = random_closed(robot.mechanism, 1, rng)[0]
    zero = np.zeros(len(model.terms))
    off = q.copy()
    off[selection(robot.mechanism).dependent] += 1e-3
    T, J = frame_motion(model, "tool", off, zero)
    assert np.allclose(T, robot.forward_kinematics(q, frame="tool"), atol=1e-12)
    size = max(1.0, abs(J).max())
    for term in rng.choice(model.names, 6, replace=False):
        changed = [calibration.apply_deviations(robot, {term: sign * h}, "tool") for sign in (1, -1)]
        ends = [one.forward_kinematics(closed_at(one, q), frame="tool") for one in changed]
        assert np.allclose(twist(T, (ends[0] - ends[1]) / (2 * h)), J[:, model.numbers[term]], atol=1e-7 * size)
    _, by_joints = frame_rates(model, "tool", q, zero)
    assert not by_joints[:, selection(robot.mechanism).dependent].any()
    closed = zveno.loops.ClosedRobot(robot)
    order = [closed.mechanism.v_slices[name].start for name in closed.velocity_names]
    assert np.allclose(by_joints[:, order], closed.jacobian(q, frame="tool", reference="local"), atol=1e-9 * size)


@pytest.mark.parametrize(
    ("name", "rank", "all_of_them"),
    [("four_bar", 18, 39), ("ankle", 30, 62), ("five_bar", 20, 46), ("palletiser", 34, 112)],
)
def test_ranks(name, rank, all_of_them):
    robot, _ = measured(name)
    found = calibration.identifiability(robot, calibration.Pose(frame="tool"))
    assert (found.rank, len(found.names), found.status) == (rank, all_of_them, "certain")
    assert found.gap > 1e6
    assert found.counts is None
    assert "nominal geometry" in found.notes[0]
    passive = [n for n in robot.joint_names if n not in robot.mechanism.motors]
    offsets = {f"Rzq{k}" for k, n in enumerate(robot.joint_names, 1) if n in passive}
    assert not offsets & set(found.chosen), "zeros of joints that nobody reads"


@pytest.mark.laws
def test_platforms_have_as_many_parameters_as_their_closed_forms(tmp_path):
    """Ranks are those counted by hand from |p + R b − a| = l.

    Six rods have two points and a length each, 42 parameters; frames of both instruments take 12. An arm of a delta
    on six rods has an axis (4), two points that turn about it (3 each), and two rods with a length and a point of
    the platform (4 each): 54 for three, of which the nominal geometry hides 12.
    """
    platform, hanging = stewart(), delta()
    platform.frame("tool", "platform", (0.0, 0.0, 0.65))
    hanging.frame("tool", "platform", (0.0, 0.0, -0.75))

    def rank(robot, kind, **options):
        found = calibration.identifiability(robot, kind(frame="tool", **options))
        assert found.status == "certain"
        return found.rank

    robot = zveno.load(platform.write(tmp_path))
    assert rank(robot, calibration.Pose) == 42
    assert rank(robot, calibration.Position) == 39
    assert rank(robot, calibration.Pose, reference="tracker") == 30 + 6  # and the tool's frame
    robot = zveno.load(hanging.write(tmp_path))
    assert rank(robot, calibration.Pose) == 42
    assert rank(robot, calibration.Position) == 38
    rng = np.random.default_rng(0)
    names = calibration.identifiability(robot, calibration.Pose(frame="tool")).names
    off = {name: (0.02 if name[0] == "T" else 0.1) * rng.normal() for name in names}
    assert rank(calibration.apply_deviations(robot, off, "tool"), calibration.Pose) == 54


def test_a_loop_cut_elsewhere_identifies_as_much():
    """The identified subspace of poses is that of the machine, wherever its loop is cut."""
    ranks, spaces = [], []
    rng = np.random.default_rng(0)
    cranks = rng.uniform(-1, 1, 8)
    for cut in ("coupler", "crank"):
        robot = four_bar(("x", "z"), cut=cut)
        model = redundant_model(robot.mechanism, "rocker")
        q = zveno.loops.close(robot, cranks[:, None]).q
        _, J = frame_motion(model, "rocker", q, np.zeros(len(model.terms)))
        U, s, _ = np.linalg.svd(J.reshape(-1, J.shape[-1]), full_matrices=False)
        ranks.append(int((s > 1e-9 * s[0]).sum()))
        spaces.append(U[:, : ranks[-1]] @ U[:, : ranks[-1]].T)
    assert ranks[0] == ranks[1]
    assert np.allclose(*spaces, atol=1e-9)


def test_a_loop_of_no_effect():
    """Two bodies that are already rigidly joined: parameters and their relations are those of the tree."""
    tree = zveno.load("ur5")
    at = zveno.transforms.transform(None, [0.1, 0.2, 0.3])
    mechanism = rebuilt(
        tree.mechanism,
        links=[*tree.mechanism.links, zveno.Link("twin")],
        joints=[
            *tree.mechanism.joints,
            zveno.Joint("glued", "forearm", "twin", zveno.joints.Fixed()),
        ],
        frames=[*tree.mechanism.frames, zveno.Frame("a", "forearm", at), zveno.Frame("b", "twin", at)],
        loops=[zveno.Loop("a", "b", "weld")],
        motors=tree.joint_names,
    )
    found = calibration.identifiability(
        zveno.Robot(mechanism), calibration.Pose(frame=tree.mechanism.default_frame.name)
    )
    assert found.rank == calibration.identifiability(tree, "pose").rank


@pytest.mark.filterwarnings("ignore:.*have no inertia")
@pytest.mark.parametrize("name", EACH)
def test_recovery(name, tmp_path):
    """Half a millimetre and half a milliradian in every identifiable parameter are found from exact readings."""
    robot, _ = measured(name)
    rng = np.random.default_rng(5)
    kind = calibration.Pose(frame="tool")
    found = calibration.identifiability(robot, kind)
    true = calibration.apply_deviations(robot, {key: 5e-4 * rng.normal() for key in found.chosen}, "tool")
    q = random_closed(robot.mechanism, 80, rng)
    data = calibration.simulate_dataset(true, kind, q[:50], noise=0.0)
    fit = robot.calibrate(data, model=calibration.CalibrationModel(joint_terms=()))
    assert fit.status == "calibrated"
    there = closed_postures(true.mechanism, q[50:])[0]
    wanted = true.forward_kinematics(there, frame="tool")[:, :3, 3]
    before = robot.forward_kinematics(q[50:], frame="tool")[:, :3, 3]
    predicted = fit.predict(q[50:]).T_world_frame[:, :3, 3]
    size = np.sqrt(np.mean((before - wanted) ** 2))
    assert size > 1e-4
    assert np.sqrt(np.mean((predicted - wanted) ** 2)) < 1e-5 * size
    again = zveno.load(fit.write(tmp_path / "calibrated.urdf"))
    same = again.forward_kinematics(closed_postures(again.mechanism, q[50:])[0], frame="tool")[:, :3, 3]
    assert np.sqrt(np.mean((same - wanted) ** 2)) < 1e-4 * size


def test_noise_is_carried_to_predictions():
    """Errors of predictions are as large as their standard deviations say."""
    robot, _ = measured("ankle")
    rng = np.random.default_rng(1)
    kind = calibration.Position(frame="tool", sigma=1e-4)
    found = calibration.identifiability(robot, kind)
    ratios = []
    q = 0.5 * random_closed(robot.mechanism, 200, rng)  # away from the edge of the reach
    for seed in range(6):
        true = calibration.apply_deviations(robot, {key: 3e-4 * rng.normal() for key in found.chosen}, "tool")
        data = calibration.simulate_dataset(true, kind, q[:60], rng=seed)
        fit = robot.calibrate(data, model=calibration.CalibrationModel(joint_terms=()))
        prediction = fit.predict(q[60:])
        there = true.forward_kinematics(closed_postures(true.mechanism, q[60:])[0], frame="tool")[:, :3, 3]
        miss = np.linalg.norm(prediction.T_world_frame[:, :3, 3] - there, axis=1)
        ratios.append(np.mean(miss**2) / np.mean(prediction.sigma_position**2))
    assert 0.3 < np.mean(ratios) < 1.7


def test_motors_are_enough(tmp_path):
    """A file has the columns of motors alone; gear errors belong to motors alone."""
    robot, _ = measured("five_bar")
    kind = calibration.Position(frame="tool", sigma=2e-5)
    q = random_closed(robot.mechanism, 60, np.random.default_rng(2))
    data = calibration.simulate_dataset(robot, kind, q, joint_errors={"Kq1": 2e-3})
    names = robot.mechanism.coordinate_names
    entries = driven_entries(selection(robot.mechanism))
    rows = [
        ",".join([*(repr(float(x[k])) for k in entries), *(repr(float(v)) for v in y[0])])
        for x, y in zip(data.q, data.y, strict=True)
    ]
    head = ",".join([*(names[k] for k in entries), "x", "y", "z"])
    file = tmp_path / "measured.csv"
    file.write_text("\n".join(["# kind = position", "# unit = m", "# angle = rad", head, *rows]))
    read = calibration.read_dataset(file, robot, kind)
    fit = robot.calibrate(read, model=calibration.CalibrationModel(joint_terms=["gear"]))
    assert fit.status == "calibrated"
    gears = [name for name in fit.model.names if name.startswith("K")]
    assert len(gears) == 2
    assert dict(zip(fit.names, fit.values, strict=True))["Kq1"] == pytest.approx(2e-3, rel=0.1)


def test_what_is_refused():
    robot, _ = measured("five_bar")
    q = np.tile(robot.mechanism.reference, (30, 1))
    q[:, 0] -= np.linspace(0, 0.3, 30)
    far = q.copy()
    far[3:, [0, 2]] = 3.1, 0.05
    with pytest.raises(zveno.ZvenoError, match=r"do not close in 27 of 30 postures, first at left = 3\.1"):
        calibration.simulate_dataset(robot, "position", far)
    kind = calibration.Position(frame="tool")
    data = calibration.simulate_dataset(robot, kind, random_closed(robot.mechanism, 40, np.random.default_rng(0)))
    data.q[5, [0, 2]] = 3.1, 0.05
    with pytest.warns(zveno.ZvenoWarning, match="the loops do not close"):
        fit = robot.calibrate(data, model=calibration.CalibrationModel(joint_terms=()))
    assert len(fit.data[0]) == 39
    with pytest.raises(zveno.ZvenoError, match="compensate does not know closed loops"):
        fit.compensate(q[0])
