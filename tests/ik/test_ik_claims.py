"""No status claims more than is so: poses made singular on purpose, things taken away, what samples must not say.

Poses come from configurations, so at least one solution is known; kinematics of the oracles is NumPy of their own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ik_arms import Arm, dh_arm, industrial_arms, known_arms, turns

import zveno
from zveno.ik import problem_of, scan, solve_ik
from zveno.ik.checks import candidates
from zveno.ik.checks.no_solutions import out_of_reach
from zveno.ik.choose import only_nearest
from zveno.ik.closed_form import forms
from zveno.ik.redundant import seven_revolute
from zveno.ik.redundant.slices import Sliced
from zveno.mechanism import Continuous, Frame, Joint, Limits, Link, Mimic, Prismatic, Revolute, assemble
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import transform

PI = np.pi
NEGATIVE = ("unreachable", "excluded by limits")
WRIST = (
    [0.1, -0.08, 0, 0, 0, -0.14],
    np.radians([-60, 0, 90, 90, 90, 90]),
    [0.4, 0, -0.43, 0.28, 0, 0.15],
    [2.4386193298129744, -1.7224131796170092, -2.3589923559454644, -1.3299570775518141, 2e-7, 0.33986064851304176],
)
"""An arm with a spherical wrist, a, α, d, and a configuration with its fourth and sixth axes nearly in line."""


def robot_of(arm: Arm) -> zveno.Robot:
    links = [Link(f"l{i}") for i in range(len(arm.F) + 1)]
    joints = [Joint(f"j{i + 1}", f"l{i}", f"l{i + 1}", Continuous(), F) for i, F in enumerate(arm.F)]
    return zveno.Robot(assemble(arm.name, links, joints, [Frame("tool", links[-1].name, arm.tool)]))


def wrapped(d):
    return d - 2 * PI * np.round(d / (2 * PI))


def nearest(q, solutions) -> float:
    return np.abs(wrapped(solutions - q)).max(axis=1).min() if len(solutions) else np.inf


def told(found, k: int, q) -> bool:
    """Whether q is among the answers of pose k, or beside the sample of a family."""
    if nearest(q, found.of(k)) < 1e-3:
        return True
    return any(nearest(q, family.q) < 0.6 for family in found.families.get(k, ()))


# --- poses near singularities


def test_nothing_is_dropped_near_an_aligned_wrist():
    a, alpha, d, q = WRIST
    robot = robot_of(dh_arm("wrist", a, alpha, d))
    found = solve_ik(robot, robot.forward_kinematics(np.array(q)))
    assert (found.status, found.count) == ("complete", 4)
    assert nearest(q, found.q) < 1e-6


@pytest.mark.parametrize("name", ["puma", "ur5", "kuka", "jaco", "industrial2", "industrial4"])
def test_the_configuration_behind_a_singular_pose_is_among_the_answers(name):
    """One joint is 1e-12 to 1 away from where axes align or links stretch. Where it is lost, nothing is claimed."""
    arms = known_arms() | {arm.name: arm for arm in industrial_arms(6, seed=0)}
    arm, rng, n = arms[name], np.random.default_rng(7), 80
    q = rng.uniform(-PI, PI, (n, 6))
    off = 10 ** rng.uniform(-12, 0, n) * rng.choice([-1, 1], n)
    q[np.arange(n), rng.integers(0, 6, n)] = rng.choice([0, PI], n) + off
    found = solve_ik(robot_of(arm), arm.forward(q))
    lost = [k for k in range(n) if not told(found, k, q[k])]
    assert [str(found.status[k]) for k in lost if found.status[k] != "undecided"] == []
    assert np.mean(found.status == "undecided") < 0.05
    assert len(lost) < 0.02 * n
    for k, families in found.families.items():
        for family in families:
            assert np.abs(arm.forward(family.q) - arm.forward(q[k])).max() < 2e-9


def test_elbow_and_wrist_singular_at_once():
    """The sixth angle follows from a sine of 3e-10, so the margin of the elbow is off by 1e-6: it is still real."""
    arm, rng, n = known_arms()["ur10"], np.random.default_rng(2), 100
    q = rng.uniform(-PI, PI, (n, 6))
    q[:, 2], q[:, 4] = 10 ** rng.uniform(-11, -9, n), 10 ** rng.uniform(-9.9, -9.2, n)
    found = solve_ik(robot_of(arm), arm.forward(q))
    assert [k for k in range(n) if not told(found, k, q[k])] == []


@pytest.mark.parametrize(
    ("name", "q"),
    [
        ("industrial14", [-1.7463, 2.6394, -0.20114, 2.6681, -2.2323e-10, -2.0616]),
        (
            "kuka",
            [-1.025131124995439, -2.8161514955235556, 0.2322985539707716, 2.9645192136340066, 1.5709e-12, 1.75],
        ),
        ("kuka", [0.56445, 1.197, -0.38947, 2.4074, 7.3326e-9, -2.6694]),
    ],
)
def test_continua_that_cross_are_both_listed(name, q):
    """The wrist centre on the first axis and the wrist aligned: two continua meet, and only one was followed."""
    arm = ({arm.name: arm for arm in industrial_arms(20, seed=1)} | known_arms())[name]
    q = np.array(q)
    if name == "industrial14" or q[4] > 1e-10:
        q[2] = on_first_axis(arm, q)
    found = solve_ik(robot_of(arm), arm.forward(q)[None])
    assert told(found, 0, q)
    assert found.status[0] in ("sampled", "undecided")


def on_first_axis(arm: Arm, q) -> float:
    """The third angle near q[2] that brings the wrist centre onto the first axis."""

    def off(angle):
        T = np.eye(4)
        for F, x in zip(arm.F[:5], [q[0], q[1], angle, q[3], q[4]], strict=True):
            T = T @ F @ turns(x)
        p = np.linalg.inv(turns(q[0])) @ T[:, 3]
        return p[0]

    low, high = q[2] - 1e-3, q[2] + 1e-3
    assert off(low) * off(high) < 0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if off(middle) * off(low) > 0 else (low, middle)
    return 0.5 * (low + high)


UR_LIKE = (
    [0.0, 0.34375135235168847, 0.24501197227912633, 0.0, 0.0, -0.44193304428700536],
    [PI / 2, 0, 0, PI / 2, -PI / 2, PI / 4],
    [0, 0, 0, 0, -0.42158433634734804, -0.3480413557635582],
)
UR_LIKE_Q = [
    -0.40364179058959554,
    -0.8113511753529763,
    -0.7177716712730041,
    -2.2381107911095723,
    1.2100188172709347,
    -3.4162926647290024,
]


def test_a_continuum_is_not_unreachable():
    """The fifth axis' point on the first axis: the equation of the first angle is 0 = 0, up to rounding."""
    arm = dh_arm("ur_like", *UR_LIKE)
    found = solve_ik(robot_of(arm), arm.forward(UR_LIKE_Q))
    assert found.status == "sampled"
    assert np.abs(arm.forward(found.q) - arm.forward(UR_LIKE_Q)).max() < 1e-9


@pytest.mark.parametrize("name", ["puma560", "ur5"])
@pytest.mark.parametrize("limits", [False, True])
def test_an_aligned_wrist_is_a_family_in_closed_form(name, limits):
    """The whole continuum is inside: q4 + q6 of the one, all that planar links can follow of the other."""
    robot = zveno.load(name)
    problem = problem_of(robot, limits=limits)
    assert forms.solver.applies(problem)
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = rng.uniform(np.maximum(robot.lower, -PI), np.minimum(robot.upper, PI)) * 0.7
        q[4] = 0.0
        T = robot.forward_kinematics(q)
        found = solve_ik(robot, T[None], limits=limits)
        assert found.status[0] == "family"
        assert np.abs(robot.forward_kinematics(found.of(0)) - T).max() < 1e-9
        assert told(found, 0, q)
        for family in found.families[0]:
            assert family.dimension == 1
            if name == "puma560":
                assert np.ptp(wrapped(family.q[:, 3] + family.q[:, 5] - family.q[0, 3] - family.q[0, 5])) < 1e-9
            if limits:
                assert np.all((family.q >= robot.lower - 1e-9) & (family.q <= robot.upper + 1e-9))


def test_limits_cut_a_continuum_exactly():
    """A window of 1e-4 rad about one point of the family is met; one where there is none is excluded."""
    robot = zveno.load("puma560")
    q = np.array([0.4, -0.7, 0.3, 0.5, 0.0, -0.8])
    T = robot.forward_kinematics(q)
    for width in (1e-1, 1e-4, 0.0):
        window = {"joint4": (1.1 - width, 1.1 + width), "joint1": (0.3, 0.5), "joint2": (-0.8, -0.6)}
        found = solve_ik(robot, T, limits=window)
        assert found.status == "family"
        assert np.abs(found.q[:, 3] - 1.1).max() <= width + 1e-9
        assert np.abs(wrapped(found.q[:, 3] + found.q[:, 5] + 0.3)).max() < 1e-9
    beside = {"joint4": (1.0, 1.1), "joint6": (0.0, 1.0), "joint1": (0.3, 0.5), "joint2": (-0.8, -0.6)}
    assert solve_ik(robot, T, limits=beside).status == "excluded by limits"


# --- samples prove nothing


def test_a_scan_without_result_is_undecided_and_reach_is_a_proof():
    robot = zveno.load("puma560")
    T = robot.forward_kinematics(np.zeros(6))
    T[:3, 3] = (0.0, 0.0, 0.05)  # inside the arm, where only the elbow's geometry forbids it
    exact, scanned = solve_ik(robot, T, limits=False), solve_ik(robot, T, limits=False, method="scan")
    assert exact.status == "unreachable"
    assert "no branch is real" in exact.summary
    assert scanned.status == "undecided"
    T[:3, 3] = (5.0, 0.0, 0.0)
    far = solve_ik(robot, T, limits=False, method="scan")
    assert far.status == "unreachable"
    assert "out of the arm's reach" in far.summary


@pytest.mark.parametrize("seed", range(4))
def test_what_is_out_of_reach_is_never_reached(seed):
    rng = np.random.default_rng(seed)
    links, joints = [Link("l0")], []
    for i in range(4):
        links.append(Link(f"l{i + 1}"))
        kind = Prismatic() if rng.random() < 0.3 else Revolute()
        T = transform(exp(rng.normal(size=3)), rng.uniform(-1, 1, 3) * rng.choice([0.1, 1.0]))
        joints.append(Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind, T, limits=Limits(-0.5, 0.8)))
    robot = zveno.Robot(assemble("random", links, joints, [Frame("tool", "l4", transform(None, [1.0, 0, 0]))]))
    problem = problem_of(robot, task="position")
    assert out_of_reach(problem, robot.forward_kinematics(robot.random(400, seed))).max() == 0
    away = np.tile(np.eye(4), (2, 1, 1))
    away[:, 0, 3] = (1e3, -1e3)
    assert out_of_reach(problem, away).min() > 0


@pytest.mark.parametrize(("name", "joint"), [("panda", 0), ("iiwa14", 6), ("panda", 4)])
def test_a_locked_joint_leaves_an_exact_arm(name, joint):
    """Poses made inside the limits are found: what is left is an arm of six, with nothing to slice."""
    robot = zveno.load(name)
    q = robot.random(12, 1)
    locked = float(q[0, joint])
    q[:, joint] = locked
    T = robot.forward_kinematics(q)
    found = solve_ik(robot, T, limits={robot.joint_names[joint]: (locked, locked)})
    for k in range(len(q)):
        assert nearest(q[k], found.of(k)) < 1e-5
        assert np.all(found.of(k)[:, joint] == locked)
    assert set(found.status) <= {"complete", "undecided"}


@pytest.mark.filterwarnings("ignore::zveno.errors.ZvenoWarning")
@pytest.mark.parametrize(
    ("file", "base", "tip"),
    [
        ("tiago_description/robots/tiago.urdf", "torso_lift_link", "arm_7_link"),
        ("talos_data/robots/talos_full_v2.urdf", "torso_2_link", "arm_left_7_link"),
    ],
)
def test_arms_of_humanoids_reach_what_they_came_from(file, base, tip):
    """Seven joints with narrow and one-sided limits, poses made inside them: all are reached."""
    pin = pytest.importorskip("pinocchio")
    robot = zveno.load(Path(pin.__file__).parents[4] / "share/example-robot-data/robots" / file, snap=True)
    chain = list(problem_of(robot, frame=tip, relative_to=base).chain)
    q = np.tile(robot.neutral(), (24, 1))
    low, high = np.maximum(robot.lower[chain], -PI), np.minimum(robot.upper[chain], PI)
    q[:, chain] = np.random.default_rng(0).uniform(low, high, (24, len(chain)))
    T = np.linalg.inv(robot.forward_kinematics(q, frame=base)) @ robot.forward_kinematics(q, frame=tip)
    found = solve_ik(robot, T, frame=tip, relative_to=base)
    assert set(found.status) <= {"sampled", "undecided"}
    assert (found.count > 0).all()


@pytest.mark.parametrize("width", [1e-6, 1e-3, 0.1])
def test_a_narrow_joint_is_the_one_that_is_sliced(width):
    robot = zveno.load("iiwa14")
    q = robot.random(6, 2)
    narrow = {"joint3": (float(q[0, 2]) - width, float(q[0, 2]) + width)}
    q[:, 2] = q[0, 2]
    found = solve_ik(robot, robot.forward_kinematics(q), limits=narrow)
    assert "joint3" in found.method
    assert set(found.status) == {"sampled"}
    assert max(nearest(q[k], found.of(k)) for k in range(6)) < 0.05


def rail(rng) -> zveno.Robot:
    """A slide of 6 m with six joints of ±1.5 rad on it, no geometry special."""
    links, joints = [Link("l0")], []
    for i in range(7):
        links.append(Link(f"l{i + 1}"))
        T = transform(exp(rng.normal(size=3)), rng.uniform(-0.3, 0.3, 3)) if i else np.eye(4)
        kind, limits = (Prismatic(), Limits(-3, 3)) if i == 0 else (Revolute(), Limits(-1.5, 1.5))
        joints.append(Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind, T, limits=limits))
    return zveno.Robot(assemble("rail", links, joints, [Frame("tool", "l7", transform(None, [0.2, 0, 0.1]))]))


def test_slices_never_say_that_there_is_nothing():
    robot = rail(np.random.default_rng(5))
    found = solve_ik(robot, robot.forward_kinematics(robot.random(20, 5)))
    assert not set(found.status) & set(NEGATIVE)
    assert all("between the slices" in note for note in found.notes.values())
    assert np.mean(found.count > 0) > 0.8


def test_mimic_joints_with_many_solutions():
    """A joint that turns eight times as fast: signs cancel, and random starts of another iteration find no more."""
    rng = np.random.default_rng(2)
    links, joints = [Link("l0")], []
    for i in range(4):
        links.append(Link(f"l{i + 1}"))
        T = transform(exp(rng.normal(size=3)), rng.uniform(-0.4, 0.4, 3))
        joints.append(
            Joint(f"j{i}", f"l{i}", f"l{i + 1}", Continuous(), T, mimic=Mimic("j1", 8.0) if i == 3 else None)
        )
    robot = zveno.Robot(assemble("fast", links, joints, [Frame("tool", "l4", transform(None, [0.3, 0.1, 0.2]))]))
    points = robot.forward_kinematics(rng.uniform(-PI, PI, (6, 3)))[:, :3, 3]
    found = solve_ik(robot, points, task="position")
    assert np.mean(found.status == "complete") > 0.5
    for k in range(6):
        own = found.of(k)
        truth = multistart(robot, points[k], 400)
        missing = [q for q in truth if nearest(q, own) > 1e-4]
        assert found.status[k] != "complete" or not missing
        if found.status[k] == "complete":
            assert np.sign(np.linalg.det(robot.jacobian(own)[:, :3])).sum() == 0


def multistart(robot, point, starts: int) -> np.ndarray:
    """Solutions for a point by damped least squares on NumPy matrices, from random starts."""
    q = np.random.default_rng(0).uniform(-PI, PI, (starts, robot.n_q))
    for _ in range(60):
        e, J = point - robot.forward_kinematics(q)[:, :3, 3], robot.jacobian(q)[:, :3]
        A = J @ np.swapaxes(J, 1, 2) + (0.02 * np.sum(e * e, axis=1) + 1e-14)[:, None, None] * np.eye(3)
        step = (np.swapaxes(J, 1, 2) @ np.linalg.solve(A, e[..., None]))[..., 0]
        q = q + step * np.minimum(1, 0.3 / np.maximum(np.abs(step).max(axis=1), 1e-12))[:, None]
    return q[np.linalg.norm(point - robot.forward_kinematics(q)[:, :3, 3], axis=1) < 1e-10]


# --- something is taken away, and the status falls


POSES = known_arms()["puma"].poses(6, seed=4)[1]


@pytest.mark.parametrize("which", range(3))
def test_a_missing_solution_breaks_the_balance_of_signs(monkeypatch, which):
    robot = robot_of(known_arms()["puma"])
    assert set(solve_ik(robot, POSES).status) == {"complete"}
    solve = forms.ClosedForm.solve

    def lacking(self, problem, T):
        raw = solve(self, problem, T)
        x = np.delete(raw.x, which, axis=1)
        return raw._replace(x=x, count=raw.count - 1)

    monkeypatch.setattr(forms.ClosedForm, "solve", lacking)
    found = solve_ik(robot, POSES)
    assert set(found.status) == {"undecided"}
    assert "missing" in found.reason(0)


def test_a_candidate_that_does_not_close_is_told(monkeypatch):
    """The closed form itself is in doubt, and without another method the pose is not complete."""
    arm = known_arms()["puma"]
    polish = forms.polish

    def failing(*arguments, **options):
        q, closed = polish(*arguments, **options)
        closed[0] = False
        return q, closed

    monkeypatch.setattr(forms, "polish", failing)
    form = forms.form_of(arm.F.tobytes())
    assert form is not None
    before = np.linalg.inv(arm.F[0]) @ POSES @ np.linalg.inv(arm.tool)
    assert form.solve(before)[2].tolist() == [True] + [False] * 5


def test_a_solution_that_misses_is_dropped_and_told(monkeypatch):
    robot = robot_of(known_arms()["puma"])
    solve = forms.ClosedForm.solve

    def off(self, problem, T):
        raw = solve(self, problem, T)
        raw.x[:, 0] += 0.7
        return raw

    monkeypatch.setattr(forms.ClosedForm, "solve", off)
    monkeypatch.setattr(candidates, "newton", lambda problem, x, targets, tool, iterations: (x, np.ones(len(x))))
    assert set(solve_ik(robot, POSES).status) == {"undecided"}


def test_a_method_that_finds_nothing_is_contradicted_by_a_solution(monkeypatch):
    """`unreachable` is not said where the nearest configuration is a solution."""
    robot = robot_of(known_arms()["puma"])

    def nothing(self, problem, T):
        return forms.as_raw(np.zeros(0, int), np.zeros((0, 6)), np.ones(len(T), bool))

    monkeypatch.setattr(forms.ClosedForm, "solve", nothing)
    found = solve_ik(robot, POSES)
    assert set(found.status) == {"undecided"}
    assert (found.count == 1).all()


def test_a_start_less_is_noticed_by_a_scan(monkeypatch):
    """A solution that one start alone has reached leaves the set unstable."""
    robot = robot_of(known_arms()["puma"])
    hits = scan._hits
    monkeypatch.setattr(scan, "_hits", lambda *given: np.where(np.arange(len(given[2])) == 0, 1, hits(*given)))
    found = solve_ik(robot, POSES, method="scan")
    assert found.status[0] == "undecided"


def test_chosen_is_not_complete():
    robot = robot_of(known_arms()["puma"])
    found = solve_ik(robot, POSES[0])
    one = only_nearest(found, found.q[3], robot)
    assert (one.count, one.status) == (1, "chosen")
    assert f"nearest of {found.count}" in one.summary


def test_without_its_slices_a_redundant_arm_is_undecided(monkeypatch):
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.random(4, 0))
    assert set(solve_ik(robot, T).status) == {"sampled"}

    def no_slices(problem, T, coordinate, values):
        return Sliced(np.zeros(0, int), np.zeros(0, int), np.zeros((0, 7)))

    monkeypatch.setattr(seven_revolute, "solve_slices", no_slices)
    assert set(solve_ik(robot, T).status) == {"undecided"}


def test_a_slice_less_takes_nothing_from_the_claim(monkeypatch):
    """What slices find is a sample, and its status says so: with one of them missing it is as true as before."""
    robot = zveno.load("panda")
    T = robot.forward_kinematics(robot.random(3, 0))
    solve = seven_revolute.solve_slices

    def one_less(problem, T, coordinate, values):
        sliced = solve(problem, T, coordinate, values)
        kept = sliced.slice != len(values) // 2
        return Sliced(sliced.pose[kept], sliced.slice[kept], sliced.x[kept])

    whole = solve_ik(robot, T)
    monkeypatch.setattr(seven_revolute, "solve_slices", one_less)
    lacking = solve_ik(robot, T)
    assert (lacking.count < whole.count).any()
    assert set(whole.status) == set(lacking.status) == {"sampled"}
    assert all("there may be others" in whole.reason(k) for k in range(3))


def test_a_continuum_less_takes_the_claim_away(monkeypatch):
    """Candidates of one elbow branch of an aligned wrist are dropped: what is left is not said to be all."""
    robot = robot_of(known_arms()["puma"])
    T = robot.forward_kinematics(np.array([0.4, -0.7, 0.3, 0.5, 0.0, -0.8]))
    assert solve_ik(robot, T).status == "family"
    solve = forms.ClosedForm.solve

    def off(self, problem, T):
        raw = solve(self, problem, T)
        raw.x[:, 0] += 0.7
        return raw

    monkeypatch.setattr(forms.ClosedForm, "solve", off)
    monkeypatch.setattr(candidates, "newton", lambda problem, x, targets, tool, iterations: (x, np.ones(len(x))))
    assert solve_ik(robot, T).status == "sampled"
