"""Walking machines in one file: read, checked, written, and walked as in Python."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import zveno
from zveno import simulation, walking
from zveno.errors import ZvenoError
from zveno.simulation.hydraulics.parts import (
    ConstantLever,
    HydraulicCylinder,
    HydraulicSupply,
    PivotLever,
    ServoValve,
)
from zveno.walking.machine_file import Tiles, WalkingMachine

DOG = """
robot = "quadruped"
friction = 0.6

[[foot]]
frame = "front_left_foot"
[[foot]]
frame = "front_right_foot"
[[foot]]
frame = "rear_left_foot"
[[foot]]
frame = "rear_right_foot"

[start]
front_left_hip_pitch = 0.6
front_right_hip_pitch = 0.6
rear_left_hip_pitch = 0.6
rear_right_hip_pitch = 0.6
front_left_knee = "-68.75493541569878deg"
front_right_knee = -1.2
rear_left_knee = -1.2
rear_right_knee = -1.2

[gait]
type = "static"
steps = 2
"""


@pytest.fixture
def dog(tmp_path):
    path = tmp_path / "dog.toml"
    path.write_text(DOG)
    return path


def test_a_file_is_what_python_takes(dog):
    machine = WalkingMachine.read(dog)
    feet, start = walking.default_stance(zveno.load("quadruped"))
    assert [foot.frame for foot in machine.feet] == [foot.frame for foot in feet]
    np.testing.assert_allclose(machine.q, start, atol=1e-15)
    assert (machine.gait, machine.friction, machine.drive) == (walking.StaticGait(steps=2), 0.6, None)


def test_a_machine_written_and_read_back_is_the_same(dog, tmp_path):
    first = WalkingMachine.read(dog)
    valve = ServoValve(5e-5, frequency=60.0)
    levers = [ConstantLever(0.05, 0.01), PivotLever((0.0, 0.0, 0.1), (0.02, 0.0, 0.0), 0.06)]
    cylinders = {
        joint: HydraulicCylinder(valve, 3e-4, lever=lever, viscous=20.0)
        for joint, lever in zip(("front_left_knee", "rear_left_knee"), levers, strict=True)
    }
    grounds = [
        simulation.GroundPlane((0.05, 0.0, 1.0), 0.01),
        simulation.GroundSteps([0.2, 0.5], [0.0, 0.03, 0.0]),
        Tiles(0.01, rng=3),
    ]
    for ground in grounds:
        machine = WalkingMachine(
            first.model,
            [walking.Foot(foot.frame, [(0.0, 0.0, -0.01), (0.01, 0.0, 0.0)]) for foot in first.feet],
            first.start,
            walking.DynamicGait(steps=3, stride=(0.1, 0.0)),
            ground,
            0.5,
            simulation.HydraulicDrive(cylinders, HydraulicSupply(18e6)),
        )
        machine.write(tmp_path / "again.toml")
        again = WalkingMachine.read(tmp_path / "again.toml")
        assert again.gait == walking.DynamicGait(steps=3, stride=[0.1, 0.0], adjust=[0.18, 0.12, 0.09])
        assert repr(again.ground).replace("[", "(").replace("]", ")") == repr(ground).replace("[", "(").replace(
            "]", ")"
        )
        assert [foot.points.tolist() for foot in again.feet] == [foot.points.tolist() for foot in machine.feet]
        assert again.start == dict(machine.start)
        assert again.friction == 0.5
        assert again.drive.supply == machine.drive.supply
        assert again.drive.cylinders["front_left_knee"] == cylinders["front_left_knee"]
        assert again.drive.cylinders["rear_left_knee"].lever.retracted == 0.06


def test_models_are_named_from_the_file(tmp_path):
    (tmp_path / "models").mkdir()
    model = tmp_path / "models" / "legs.toml"
    rows = "".join(
        f'[[joint]]\nlink = "{side}"\nparent = "body"\nat = "Ty({y})"\nalpha = 0\na = 0.3\nd = 0\nmass = 1\n'
        f"center_of_mass = [-0.1, 0, 0]\ninertia = [0.01, 0.01, 0.01]\n"
        for side, y in (("left", 0.1), ("right", -0.1))
    )
    base = '[base_link]\nname = "body"\nmass = 5\ncenter_of_mass = [0, 0, 0]\ninertia = [0.1, 0.1, 0.1]\n'
    model.write_text(f'name = "legs"\nconvention = "standard"\nunit = "m"\nangle = "rad"\n{base}{rows}')
    path = tmp_path / "machine.toml"
    path.write_text('robot = "models/legs.toml"\n[[foot]]\nframe = "left"\n[[foot]]\nframe = "right"\n')
    machine = WalkingMachine.read(path)
    assert machine.mechanism.joints[0].type.kind == "free"
    machine.write(tmp_path / "models" / "copy.toml")
    assert 'robot = "legs.toml"' in (tmp_path / "models" / "copy.toml").read_text()
    assert WalkingMachine.read(tmp_path / "models" / "copy.toml").mechanism.n_v == 8


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (('frame = "front_left_foot"', 'frame = "paw"'), "paw"),
        (("front_left_knee", "front_left_elbow"), "front_left_elbow"),
        (('type = "static"', 'type = "gallop"'), "gallop"),
        (("steps = 2", "strides = 2"), "strides"),
        (("steps = 2", "steps = true"), "neither a number"),
        (('robot = "quadruped"', ""), "'robot' is missing"),
        (('robot = "quadruped"', 'robot = "cat.urdf"'), "cat.urdf"),
        (("friction = 0.6", "friction = nan"), "not finite"),
        (("[gait]", '[[cylinder]]\njoint = "rear_left_knee"\narea = 1e-4\n[gait]'), "'rated_flow' is missing"),
        (("[gait]", "[supply]\npressure = 2e7\n[gait]"), "supply without cylinders"),
        (("[gait]", "[ground]\ntype = 'steps'\n[gait]"), "'edges' is missing"),
        (("[start]", "[start"), "TOML"),
    ],
)
def test_what_is_missing_or_wrong_is_one_error(dog, change, words):
    dog.write_text(DOG.replace(*change))
    with pytest.raises(ZvenoError, match=words) as found:
        WalkingMachine.read(dog)
    assert str(dog) in str(found.value) or "cat.urdf" in words


def test_a_machine_is_drawn_where_it_stands(dog):
    """On a slope all feet are on the ground; a slope that friction does not hold has no picture."""
    slope = simulation.GroundPlane((-0.2, 0.1, 1.0), 0.05)
    machine = replace(WalkingMachine.read(dog), ground=slope)
    poses = zveno.Robot(machine.mechanism).frame_poses(machine.standing(), [foot.frame for foot in machine.feet])
    np.testing.assert_allclose(poses[:, :3, 3] @ slope.normal / np.linalg.norm(slope.normal), 0.05, atol=1e-6)
    assert machine.plot().axes
    with pytest.raises(ZvenoError, match="quadruped cannot stand: the ground has a slope"):
        replace(machine, friction=0.2).plot()


@pytest.mark.laws
def test_a_machine_read_back_walks_the_same_steps(dog, tmp_path):
    machine = WalkingMachine.read(dog)
    machine.write(tmp_path / "again.toml")
    first, second = machine.walk(), WalkingMachine.read(tmp_path / "again.toml").walk()
    assert first.status == second.status == "walked"
    np.testing.assert_array_equal(first.trajectory.q, second.trajectory.q)
