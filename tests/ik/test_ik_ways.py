"""One question asked in every way, and operations on answers: the same solutions, fields of their own rows."""

from __future__ import annotations

import numpy as np
import pytest
from arm_classes import arm_classes
from ik_answers import robot_of, wrapped
from ik_arms import known_arms

import zveno
from tiers import every
from zveno.ik.native.answer import native_solver
from zveno.ik.request import request_of

TURN = 2.0 * np.pi
PUMA, UR5 = zveno.load("puma560"), zveno.load("ur5")
CLASSES = {name: of_class for name, of_class in arm_classes().items() if of_class.task == "pose"}


def poses(robot: zveno.Robot, n: int, seed: int = 0) -> np.ndarray:
    return robot.forward_kinematics(robot.random(n, seed))


def test_every_way_of_asking_gives_the_same_answer():
    for T in poses(UR5, 5):
        plain = UR5.ik(T)
        widest = (UR5.lower, UR5.upper)
        by_name = dict.fromkeys(UR5.joint_names, (-10.0, 10.0))
        for answer in (
            UR5.ik(T.tolist()),
            UR5.ik(T[:3]),
            UR5.ik(T, limits=widest),
            UR5.ik(T, limits=by_name),
            UR5.ik(T, limits=np.array(widest)),
            UR5.ik(T, limits=(-7, 7)),
            UR5.ik(T, fixed=np.zeros(6)),
            UR5.ik(T, task=[1, 1, 1, 1, 1, 1]),
            UR5.ik(T, timeout=10.0),
            UR5.ik(T).within(1e-3, 1e-3),
            UR5.ik(T).where(lambda q: np.ones(len(q), bool)),
        ):
            np.testing.assert_array_equal(answer.q, plain.q)
            np.testing.assert_array_equal(answer.condition, plain.condition)
            assert answer.status == plain.status == "complete"


def test_single_precision_is_made_rigid_without_a_warning(recwarn):
    for T in poses(UR5, 5):
        answer, plain = UR5.ik(T.astype(np.float32)), UR5.ik(T)
        assert answer.status == "complete"
        assert np.abs(wrapped(answer.q - plain.q)).max() < 1e-5
        R = answer.target[:3, :3]
        np.testing.assert_allclose(R.T @ R, np.eye(3), atol=1e-15)
    assert not recwarn.list


@pytest.mark.parametrize("name", every(CLASSES))
def test_limits_are_an_input_of_the_program(name):
    """Whatever limits: those of all solutions that are inside, brought into them by whole turns."""
    robot = CLASSES[name].limited
    rng = np.random.default_rng(len(name))
    T, chain = poses(robot, 8), request_of(robot, None, None, True, "pose").chain
    everything, solver = robot.ik(T, limits=False), native_solver(chain)
    assert solver is not None
    for _ in range(2):
        middle, half = rng.uniform(-1.0, 1.0, robot.n_q), rng.uniform(0.3, 2.0, robot.n_q)
        low, high = np.maximum(middle - half, robot.lower), np.minimum(middle + half, robot.upper)
        answer, before = robot.ik(T, limits=(low, high)), native_solver.cache_info().misses
        centre = 0.5 * (low + high)
        for k in range(len(T)):
            q = everything.of(k)
            q = np.where(chain.turning, q - TURN * np.ceil((q - centre) / TURN - 0.5), q)
            expected = q[((q >= low) & (q <= high)).all(axis=1)]
            assert len(answer.of(k)) == len(expected)
            gaps = np.abs(answer.of(k)[:, None] - expected[None]).max(axis=2)
            assert gaps.min(axis=1, initial=0.0).max(initial=0.0) < 1e-9
        assert native_solver.cache_info().misses == before
        assert native_solver(request_of(robot, None, None, (low, high), "pose").chain) is solver


@pytest.mark.parametrize("batch", [(), (4,)])
def test_windings_are_all_whole_turns_inside_limits(batch):
    T = PUMA.forward_kinematics(PUMA.random(batch, 5))
    plain, wound = PUMA.ik(T), PUMA.ik(T).windings()
    for pose in np.ndindex(*batch):
        base, rows = plain.of(*pose), wound.of(*pose)
        low, high = np.ceil((PUMA.lower - base) / TURN), np.floor((PUMA.upper - base) / TURN)
        assert len(rows) == int((high - low + 1).prod(axis=1).sum())
        assert len(np.unique(rows, axis=0)) == len(rows)
        assert ((rows >= PUMA.lower) & (rows <= PUMA.upper)).all()
        np.testing.assert_allclose(
            PUMA.forward_kinematics(rows), np.broadcast_to(T[pose], (len(rows), 4, 4)), atol=1e-12
        )
        assert (np.diff(rows[:, 0]) > -1e-6).all()
    assert wound.residual.shape == wound.q.shape[:-1]


@pytest.mark.parametrize("batch", [(), (6,), (2, 3)])
def test_fields_belong_to_their_rows_after_an_operation(batch):
    T = PUMA.forward_kinematics(PUMA.random(batch, 2))
    plain, goal = PUMA.ik(T), np.full(6, 0.3)
    one = plain.nearest_to(goal)
    last_first = plain.sorted_by(lambda q: -q[:, 0])
    some = plain.where(lambda q: q[:, 3] > 0.0)
    for pose in np.ndindex(*batch):
        known = {row.tobytes(): value for row, value in zip(plain.of(*pose), plain.condition[pose], strict=False)}
        for answer in (last_first, some):
            listed = answer.of(*pose)
            for row, value in zip(listed, answer.condition[pose], strict=False):
                assert known[row.tobytes()] == value
        wound = plain.windings().of(*pose)  # whole turns within limits count
        distances = ((wound - goal) ** 2).sum(axis=1)
        np.testing.assert_allclose(one[pose], wound[np.argmin(distances)], atol=1e-15)
        assert (np.diff(last_first.of(*pose)[:, 0]) <= 0.0).all()
    weighted = plain.nearest_to(goal, weights=np.array([0.0, 0, 0, 0, 0, 1]))
    best = [np.abs(plain.windings().of(*pose)[:, 5] - 0.3).min() for pose in np.ndindex(*batch)]
    np.testing.assert_allclose(np.abs(weighted[..., 5] - 0.3).ravel(), best, atol=1e-15)


def test_between_points_of_a_filtered_self_motion_nothing_is_claimed():
    """Four curves cross the refused band between two of their points: all 15 were called solutions."""
    robot = zveno.load("iiwa14")
    whole = robot.ik(robot.forward_kinematics([0.3, 0.5, -0.4, -1.2, 0.7, 0.9, 0.6]))
    assert whole.status == "self-motion"

    def accepted(q):
        return (q[:, 0] <= 2.7723) | (q[:, 0] >= 2.8586)

    crossing = [
        curve
        for curve in whole.self_motions[0]
        if accepted(curve.q).all() and np.ptp(np.sign(curve.q[:, 0] - 2.8)) > 0
    ]
    assert crossing
    for keep in (accepted, lambda q: np.ones(len(q), bool)):
        some = whole.where(keep)
        assert some.status == "sampled"
        assert not any(curve.followed for curve in some.self_motions[0])
    rejected = whole.where(lambda q: np.zeros(len(q), bool))
    assert (rejected.status, len(rejected)) == ("undecided", 0)


def test_fields_of_the_nearest_solution_are_those_of_its_row():
    """Of 88 of 100 the condition and the residual were those of another row."""
    robot = robot_of(known_arms()["ur5"])
    q = np.random.default_rng(0).uniform(-8, 8, (100, 6))
    T = robot.forward_kinematics(q)
    np.testing.assert_allclose(robot.ik(T).nearest_to(q), q, atol=1e-9)
    for goal, pose in zip(q[:20], T[:20], strict=True):
        answer = robot.ik(pose)
        same = int(np.abs(wrapped(answer.q - goal)).max(axis=1).argmin())
        ordered = answer.sorted_by(lambda rows, goal=goal: (1 - np.cos(rows - goal)).sum(axis=1))
        np.testing.assert_array_equal(ordered[0], answer[same])
        assert (ordered.condition[0], ordered.residual[0]) == (answer.condition[same], answer.residual[same])


def test_a_filter_cuts_self_motions():
    panda = zveno.load("panda")
    T = panda.forward_kinematics((panda.lower + panda.upper) / 2)
    whole = panda.ik(T)
    first = whole.self_motions[0][0].q
    k = int(np.argmax(np.ptp(first, axis=0)))
    half = float(np.median(first[:, k])) + 1e-9
    answer = whole.where(lambda q: q[:, k] > half)
    cut = [curve for curve in answer.self_motions[0] if not any(curve is other for other in whole.self_motions[0])]
    assert all((curve.q[:, k] > half).all() for curve in answer.self_motions[0])
    assert cut
    assert not any(curve.closed or curve.joint for curve in cut)  # nothing is known between samples
    assert answer.status == "sampled"


@pytest.mark.parametrize("seed", range(3))
def test_limits_that_were_asked_for_count_as_limits(seed):
    """Sorting by the distance from limits took those of the model, whatever was asked for."""
    robot, rng = zveno.load("ur5"), np.random.default_rng(seed)
    T = robot.forward_kinematics(robot.random((), rng))
    narrow = {joint: (-rng.uniform(2.5, 4.0), rng.uniform(2.5, 4.0)) for joint in robot.joint_names[:3]}
    lower, upper = robot.lower.copy(), robot.upper.copy()
    for k, ends in enumerate(narrow.values()):
        lower[k], upper[k] = ends
    answer = robot.ik(T, limits=narrow).sorted_by("limit distance")
    margin = (np.minimum(answer.q - lower, upper - answer.q) / (upper - lower)).min(axis=-1)
    assert len(margin) > 1
    assert (np.diff(margin) <= 1e-12).all()


def test_one_sided_limits_count_as_limits():
    links = [zveno.mechanism.Link(f"l{i}") for i in range(3)]
    limits = [zveno.mechanism.Limits(-np.inf, 1.0), zveno.mechanism.Limits()]
    kind = [zveno.mechanism.Revolute(), zveno.mechanism.Continuous()]
    away = np.eye(4)
    away[0, 3] = 1.0
    joints = [
        zveno.mechanism.Joint(f"j{i}", f"l{i}", f"l{i + 1}", kind[i], away, limits=limits[i]) for i in range(2)
    ]
    robot = zveno.Robot(zveno.mechanism.assemble("two", links, joints, [zveno.mechanism.Frame("tool", "l2", away)]))
    T = robot.forward_kinematics(np.array([0.9, -1.2]))
    answer = robot.ik(T, task=[1, 1, 0, 0, 0, 0])
    assert len(answer) == 2
    best = answer.sorted_by("limit distance")
    assert best.q[0, 0] == answer.q[:, 0].min()


@pytest.mark.parametrize("name", every(CLASSES))
def test_negatives_of_the_program_are_those_of_the_careful_way(name):
    robot = CLASSES[name].limited
    T = poses(robot, 40, 3)
    T[:, :3, 3] *= np.random.default_rng(4).uniform(0.3, 3.0, (40, 1))
    answer = robot.ik(T)
    careful = robot.ik(T, method=answer.method)
    np.testing.assert_array_equal(answer.codes, careful.codes)
    np.testing.assert_allclose(answer.distance, careful.distance, atol=1e-12)
    assert answer.notes == careful.notes
    for k in np.flatnonzero(answer.count == 0)[:3]:
        alone = robot.ik(T[k])
        assert alone.status == answer.status[k]
        assert alone.summary == answer.reason(k)


@pytest.mark.parametrize("robot", [PUMA, UR5, zveno.load("tx40")], ids=lambda robot: robot.name)
def test_what_a_configuration_reaches_is_never_out_of_reach(robot):
    """Stretched elbows with aligned wrists, to rounding and beside it: at roots of order four rounding decides."""
    rng = np.random.default_rng(6)
    q = rng.uniform(-2.0, 2.0, (60, 6))
    stretched = -np.pi / 2 if robot.name == "puma560" else 0.0
    q[:, 2] = stretched + rng.choice([0.0, 1e-12, 1e-9, -1e-8, 1e-6], 60)
    q[:30, 4] = rng.choice([0.0, 1e-12, 1e-9, -1e-8, 1e-6], 30)
    answer = robot.ik(robot.forward_kinematics(q), limits=False)
    assert not np.isin(answer.status, ["unreachable", "excluded by limits"]).any()
