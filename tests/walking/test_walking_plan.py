"""Planned walks: laws at every sample, on level ground, slopes, fields and steps; machines that cannot stand."""

import inspect
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import zveno
from zveno.errors import ZvenoError
from zveno.walking.terrain import heights

SOLVED = 1e-5
"""What the planner asks of its postures, m."""


def dog():
    robot = zveno.load("quadruped")
    bent = {
        name: 0.6 if "pitch" in name else -1.2 for name in robot.joint_names if name.endswith(("pitch", "knee"))
    }
    return robot, [name for name in robot.frame_names if name.endswith("_foot")], robot.pack(bent)


def obeys_the_laws(robot, plan, ground, soles=((0.0, 0.0, 0.0),), margin=0.02):
    """Everything computed again from q alone."""
    assert plan.status == "planned"
    low, high = robot.mechanism.lower, robot.mechanism.upper
    assert (plan.q >= low - 1e-9).all()
    assert (plan.q <= high + 1e-9).all()
    poses = robot.forward_kinematics(plan.q, frames=list(plan.feet))
    points = np.einsum("nfij,kj->nfki", poses[..., :3, :3], np.asarray(soles)) + poses[..., None, :3, 3]
    center = robot.center_of_mass(plan.q)
    for k, standing in enumerate(plan.contacts):
        hull = ConvexHull(points[k, standing].reshape(-1, 3)[:, :2])
        distance = -(hull.equations[:, :2] @ center[k, :2] + hull.equations[:, 2]).max()
        assert distance > margin - SOLVED
        assert distance == pytest.approx(plan.margin[k], abs=1e-9)
    above = points[..., 2] - heights(ground, points)
    assert abs(above[plan.contacts]).max() < 2e-2 if len(soles) > 1 else abs(above[plan.contacts]).max() < SOLVED
    assert above.min() > -2 * SOLVED
    assert above[~plan.contacts].max() > 0.03
    for f in range(len(plan.feet)):  # a foot that stands stays where it is
        for k in np.flatnonzero(plan.contacts[:-1, f] & plan.contacts[1:, f]):
            assert np.linalg.norm(poses[k + 1, f, :3, 3] - poses[k, f, :3, 3]) < 2 * SOLVED
    return True


GROUNDS = {
    "level": zveno.GroundPlane(),
    "slope": zveno.GroundPlane(normal=(-0.08, 0.05, 1.0)),
    "step": zveno.GroundSteps([0.26], [0.0, 0.05]),
    "field": zveno.HeightField(
        0.015 * np.random.default_rng(1).uniform(-1, 1, size=(30, 20)), (0.1, 0.1), (-1.0, -1.0)
    ),
}


@pytest.mark.parametrize("name", GROUNDS)
def test_a_quadruped_walks(name):
    robot, paws, start = dog()
    ground = GROUNDS[name]
    plan = zveno.plan_walk(
        robot,
        paws,
        start,
        stride=(0.08, 0.0),
        cycles=2,
        samples=6,
        ground=ground,
        level=0.03 if name != "step" else 0.01,
    )
    assert obeys_the_laws(robot, plan, ground)
    # The crawl of the textbooks, beginning on either side: a hind foot, then the fore foot of that side.
    assert plan.order in ((2, 0, 3, 1), (3, 1, 2, 0))
    assert plan.positions[-1, :, 0] - plan.positions[0, :, 0] == pytest.approx(np.full(4, 0.16), abs=0.06)
    if name == "step":
        assert plan.footholds[:, 2].max() == pytest.approx(0.05)
        assert abs(plan.footholds[:, 0] - 0.26).min() > 0.01  # no foot on the edge


@pytest.mark.slow
def test_a_machine_with_six_legs_from_a_ten_line_description_walks():
    example = Path(__file__).resolve().parents[2] / "examples" / "12_six_legs.py"
    hexapod = runpy.run_path(str(example))["hexapod"]
    assert len(inspect.getsource(hexapod).splitlines()) <= 12  # its head, a sentence, and ten lines
    robot = hexapod()
    feet = [name for name in robot.frame_names if name.endswith("foot")]
    bent = {name: {"thigh": -0.5, "shin": 1.7}.get(name.split("_")[-1], 0.0) for name in robot.joint_names[1:]}
    plan = zveno.plan_walk(robot, feet, robot.pack(bent), stride=(0.1, 0.0), cycles=1, margin=0.05, samples=5)
    assert obeys_the_laws(robot, plan, zveno.GroundPlane(), margin=0.05)
    assert len(plan.steps) == 6


@pytest.mark.slow
def test_a_biped_shifts_onto_one_sole():
    robot = zveno.load("biped")
    sole = [(x, y, 0.0) for x in (0.12, -0.12) for y in (0.05, -0.05)]
    bent = {"hip_pitch": -0.4, "knee": 0.8, "ankle_pitch": -0.4}
    start = robot.pack({f"{side}_{name}": x for side in ("left", "right") for name, x in bent.items()})
    feet = [zveno.Foot(name, sole) for name in ("left_foot", "right_foot")]
    plan = zveno.plan_walk(robot, feet, start, cycles=1, samples=5, margin=0.03)
    assert obeys_the_laws(robot, plan, zveno.GroundPlane(), sole, margin=0.03)
    with pytest.raises(ZvenoError, match=r"largest margin is 0\.050 m"):
        zveno.plan_walk(robot, feet, start, margin=0.06)
    with pytest.raises(ZvenoError, match=r"cannot stand: .*outside"):
        zveno.plan_walk(
            robot, ["left_foot", "right_foot"], robot.pack({"left_hip_pitch": 0.5, "right_hip_pitch": 0.5})
        )


def test_the_claim_falls_with_the_margin():
    robot, paws, start = dog()
    plan = zveno.plan_walk(robot, paws, start, cycles=1, samples=4, stride=(0.05, 0.0))
    assert plan.status == "planned"
    assert replace(plan, least_margin=0.03).status.startswith("margin of 0.02")
    slower = zveno.plan_walk(robot, paws, start, cycles=1, samples=4, stride=(0.05, 0.0), order=paws)
    assert slower.order == (0, 1, 2, 3)
    way = [np.linalg.norm(np.diff(one.center_of_mass[:, :2], axis=0), axis=1).sum() for one in (plan, slower)]
    assert way[0] < way[1]  # another order asks for a longer way of the centre of mass
    assert plan.torque_share.max() < 0.2


def test_machines_that_cannot_stand():
    robot, paws, start = dog()
    weak = [
        joint if joint.type.n_v != 1 else replace(joint, limits=replace(joint.limits, effort=np.array([2.0])))
        for joint in robot.mechanism.joints
    ]
    tired = zveno.Robot(replace(robot.mechanism, joints=tuple(weak)))
    with pytest.raises(ZvenoError, match=r"quadruped cannot stand: joint .* would need .* limit is 2"):
        zveno.plan_walk(tired, paws, start)
    leaning = robot.pack(
        {
            name: -0.9 if "hip_pitch" in name else 0.0
            for name in robot.joint_names
            if "pitch" in name or "knee" in name
        }
    )
    with pytest.raises(ZvenoError, match=r"cannot stand: its centre of mass is .* m outside"):
        zveno.plan_walk(robot, paws, leaning)


RAGGED = zveno.GroundSteps(np.linspace(0.25, 0.36, 12), 0.1 * (np.arange(13) % 2))
BAD = [
    ({"feet": ["front_left_foot"]}, "feet: 1 different"),
    ({"feet": ["paw", "front_left_foot"]}, "paw.*Known"),
    ({"feet": [zveno.Foot("front_left_foot", ()), "rear_left_foot"]}, "front_left_foot: the foot has no shape"),
    ({"stride": (1.5, 0.0)}, r"a step of 1\.5 m is too long|do not support|largest margin"),
    ({"stride": (0.4, 0.0)}, r"step 1 \(\w+_foot\): a step of 0\.4 m is too long.*longest .* is 0\.[23]\d* m"),
    ({"ground": zveno.GroundSteps([0.25], [0.0, 0.4]), "stride": (0.1, 0.0)}, r"\+0\.4 m in height.*lower steps"),
    ({"stride": (np.nan, 0.0)}, "stride"),
    ({"stride": "ab"}, "stride: is 'ab'"),
    ({"friction": None}, "friction: is None"),
    ({"friction": 0.0}, "friction: is 0"),
    ({"search": -1.0}, "search: is -1"),
    ({"level": np.nan}, "level: is nan"),
    ({"margin": -0.1}, "margin"),
    ({"margin": 0.5}, "largest margin is"),
    ({"cycles": 0}, "cycles"),
    ({"order": ["front_left_foot"]}, "order: .*Name each once"),
    ({"ground": 3.0}, "ground: is 3.0"),
    ({"ground": zveno.GroundSteps([0.2], [0.0, np.nan])}, "ground: .*hole"),
    ({"ground": zveno.HeightField(np.full((3, 3), np.inf))}, "ground: .*hole"),
    ({"ground": RAGGED, "search": 0.01}, "is level"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_input(change, message):
    robot, paws, start = dog()
    options = {"feet": paws, "start": start, "samples": 3, "cycles": 1} | change
    with pytest.raises(ZvenoError, match=message):
        zveno.plan_walk(robot, **options)


@pytest.mark.parametrize(("share", "reached"), [(0.97, True), (1.05, False)])
def test_the_longest_step_is_as_long_as_the_error_says(share, reached):
    robot, paws, start = dog()
    options = {"samples": 3, "cycles": 1, "order": ["rear_left_foot", *(p for p in paws if p != "rear_left_foot")]}
    with pytest.raises(ZvenoError, match="step 1") as caught:
        zveno.plan_walk(robot, paws, start, stride=(0.4, 0.0), **options)
    longest = float(caught.value.problem.split()[-2])
    try:
        zveno.plan_walk(robot, paws, start, stride=(share * longest, 0.0), **options)
        failed = ""
    except ZvenoError as error:
        failed = str(error)
    assert ("step 1" not in failed) == reached


def test_a_leg_reaches_what_its_length_and_limits_let_it():
    robot, paws, start = dog()
    # Thigh of 0.21 m and shin of 0.22 m hang at hip_pitch, 0.06 m beside the axis of the hip's roll.
    axis = robot.forward_kinematics(start, frame="front_left_hip_link")[:3, 3]
    rng = np.random.default_rng(3)
    places = axis + rng.uniform((-0.5, -0.3, -0.5), (0.5, 0.5, -0.1), size=(30, 3))
    verdicts = zveno.reachable_footholds(robot, paws[0], places, start)
    reach = 0.21 + 0.22
    for place, verdict in zip(places - axis, verdicts, strict=True):
        square = place @ place - 0.06**2  # from the axis of hip_pitch, in the plane of the leg
        if square > reach**2 or square < 0:
            assert verdict == "unreachable"
        if verdict == "reachable":
            assert square <= reach**2 + 1e-12
    assert {"reachable", "unreachable"} <= set(verdicts)
    with pytest.raises(ZvenoError, match="places"):
        zveno.reachable_footholds(robot, paws[0], [[0.0, 0.0]], start)


def test_trot_timing():
    robot, paws, start = dog()
    trot = zveno.trot_timing(robot, paws, start, period=0.4, duty=0.6)
    offsets = dict(zip(trot.feet, trot.offsets, strict=True))
    assert offsets["front_left_foot"] == offsets["rear_right_foot"] != offsets["front_right_foot"]
    assert offsets["front_right_foot"] == offsets["rear_left_foot"]
    t = np.linspace(0.0, 0.4, 4001)[:-1]
    contacts = trot.contacts(t)
    assert contacts.mean(axis=0) == pytest.approx(np.full(4, 0.6), abs=1e-3)
    assert set(contacts.sum(axis=1)) == {2, 4}
    assert (np.isnan(trot.swing_phase(t)) == contacts).all()
    with pytest.raises(ZvenoError, match="feet"):
        zveno.trot_timing(robot, paws[:3], start)
    with pytest.raises(ZvenoError, match="timing"):
        zveno.trot_timing(robot, paws, start, duty=1.0)
