"""Laws of tasks, those of users included: J is the derivative of the error, dead zones, and what "solved" means."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from body_model import FEET, HANDS, humanoid, targets_at

import zveno
from mechanisms import random_mechanism
from tiers import few
from zveno import ik, ops
from zveno.ik._whole_body.task_rows import BodyState

DT = 0.01


@dataclass(frozen=True)
class DistanceTask(ik.Task):
    """Two frames are to be a distance apart: a task that this library does not have."""

    first: str
    second: str
    weight: float = 1.0
    name: str = "distance"
    n_rows: int = 1
    dead_zone: float = 0.0

    def error(self, state: BodyState, target: Any) -> Any:
        apart = state.frame_pose(self.first)[:3, 3] - state.frame_pose(self.second)[:3, 3]
        return np.array([target[0] - ops.sqrt(apart @ apart)])

    def jacobian(self, state: BodyState, target: Any) -> Any:
        apart = state.frame_pose(self.first)[:3, 3] - state.frame_pose(self.second)[:3, 3]
        J = state.frame_jacobian(self.first)[:3] - state.frame_jacobian(self.second)[:3]
        return ((apart / ops.sqrt(apart @ apart)) @ J)[None]


@pytest.fixture(scope="module")
def body():
    return humanoid()


def bent(robot, seed=0):
    rng = np.random.default_rng(seed)
    return robot.mechanism.integrate(robot.neutral(), 0.3 * rng.normal(size=robot.n_v))


def every_task(robot, seed):
    """A task of every class and kind, with the numbers of a target that q = robot.random((), seed) reaches."""
    names, q = robot.mechanism.link_names, robot.random((), seed)
    T, R = robot.forward_kinematics(q, frame=names[-1]), robot.forward_kinematics(q, frame=names[2])
    for relative, seen in ((None, T), (names[2], np.linalg.inv(R) @ T)):
        targets = {
            "pose": seen,
            "position": seen[:3, 3],
            "rotation": seen[:3, :3],
            "position+axis": (seen[:3, 3], seen[:3, 2]),
        }
        for kind, target in targets.items():
            yield ik.FrameTask(names[-1], kind=kind, relative_to=relative), target
    yield ik.CenterOfMassTask(), robot.center_of_mass(q)
    yield ik.PostureTask(), q
    positions = {name: robot.forward_kinematics(q, frame=name)[:3, 3] for name in names}
    farthest = max(names, key=lambda name: np.linalg.norm(positions[name] - T[:3, 3]))
    yield DistanceTask(names[-1], farthest), [0.3]  # a distance of zero has no derivative


@pytest.mark.parametrize("seed", few(range(12), 2))
def test_jacobians_are_derivatives_of_errors(seed):
    """By central differences at the target, on random mechanisms of every joint type."""
    mechanism = random_mechanism(seed, 7)
    robot, q = zveno.Robot(mechanism), zveno.Robot(mechanism).random((), seed)
    v = np.random.default_rng(seed).normal(size=robot.n_v)
    classes = set()
    for task, given in every_task(robot, seed):
        target = task.numbers(mechanism, given)
        J = task.jacobian(BodyState(mechanism, q), target)
        ahead, behind = (
            task.error(BodyState(mechanism, mechanism.integrate(q, h * v)), target) for h in (1e-6, -1e-6)
        )
        assert len(J) == len(ahead) == (task.n_rows or len(ahead))
        assert np.allclose(-(np.asarray(J, float) @ v), (ahead - behind) / 2e-6, atol=2e-7 * (1 + abs(v).max())), (
            task
        )
        classes.add(type(task))
    exported = {value for value in vars(ik).values() if isinstance(value, type) and issubclass(value, ik.Task)}
    assert exported | {getattr(ik, name) for name in ik.__all__ if name.endswith("Task")} <= classes | {
        ik.Task,
        ik.MomentumTask,  # whose error is no difference of states: see test_velocity_ik_laws
    }


@pytest.mark.parametrize("weight", [1.0, math.inf])
def test_a_task_of_the_user_is_served(body, weight):
    """Alone and strictly above others, for one state and a batch."""
    q = np.stack([bent(body, k) for k in range(3)])
    tasks = [DistanceTask(HANDS[0], FEET[0], weight), ik.PostureTask(0.1)]
    solver = ik.DifferentialIK(body, tasks, DT, velocity=5.0)
    step = None
    for _ in range(80):
        step = solver(q, {"distance": [0.7], "posture": q}, previous=step)
        q = step.q
    apart = [
        np.linalg.norm(np.subtract(*(T[:3, 3] for T in body.frame_poses(x, frames=[HANDS[0], FEET[0]])))) for x in q
    ]
    assert step is not None
    assert step.solved.all()
    assert np.abs(np.array(apart) - 0.7).max() < 1e-6
    alone = solver(q[0], {"distance": [0.7], "posture": q[0]})
    assert np.allclose(alone.v, solver(q, {"distance": [0.7], "posture": q}).v[0], atol=1e-9)


def test_configurations_for_a_task_of_the_user(body):
    """Solved only where the residual and all limits hold at what is returned; never solved out of reach."""
    goal = body.random((), 3)
    feet = targets_at(body, goal, FEET)
    apart = np.linalg.norm(np.subtract(*(T[:3, 3] for T in body.frame_poses(goal, frames=[HANDS[0], FEET[0]]))))
    tasks = [*(ik.FrameTask(foot) for foot in FEET), DistanceTask(HANDS[0], FEET[0])]
    answer = ik.whole_body(body, feet | {"distance": [apart]}, tasks=tasks)
    assert answer.status == "solved"
    for q in answer.q:
        poses = body.frame_poses(q, frames=[*FEET, HANDS[0]])
        assert np.abs(poses[:2] - np.stack(list(feet.values()))).max() < 3e-6
        assert abs(np.linalg.norm(poses[2, :3, 3] - poses[0, :3, 3]) - apart) < 2e-6
        assert ((q >= body.lower - 1e-9) & (q <= body.upper + 1e-9)).all()
    far = ik.whole_body(body, feet | {"distance": [9.0]}, tasks=tasks)
    assert far.status == "undecided"
    assert far.worst == "distance"


def test_classes_of_the_same_name_with_other_equations_are_told_apart(body):
    def task_with(scale: float) -> ik.Task:
        @dataclass(frozen=True)
        class Twisted(ik.Task):
            name: str = "height"
            n_rows: int = 1

            def error(self, state, target):
                return np.array([target[0] - scale * state.center_of_mass[2]])

            def jacobian(self, state, target):
                return scale * state.center_of_mass_jacobian[2:]

        return Twisted()

    q = bent(body)
    for scale in (1.0, 2.0):
        x = q
        solver = ik.DifferentialIK(body, [task_with(scale)], DT, velocity=False)
        for _ in range(10):
            x = solver(x, {"height": [0.1]}).q
        assert scale * body.center_of_mass(x)[2] == pytest.approx(0.1, abs=1e-6)


# --- dead zones


@pytest.mark.parametrize("weight", [1.0, math.inf])
def test_inside_its_dead_zone_a_task_does_not_pull(body, weight):
    q = bent(body)
    T = body.forward_kinematics(q, frame=HANDS[0])
    near = T @ zveno.transforms.transform(zveno.rotations.exp(np.array([0.05, 0.0, 0.0])), [0.01, 0.0, 0.0])
    task = ik.FrameTask(HANDS[0], weight, dead_zone=(0.02, 0.1))
    step = ik.DifferentialIK(body, [task], DT)(q, {HANDS[0]: near})
    assert np.abs(step.v).max() < 1e-9
    assert step.errors[0] > 0.01
    pulled = ik.DifferentialIK(body, [ik.FrameTask(HANDS[0], weight)], DT)(q, {HANDS[0]: near})
    assert np.abs(pulled.v).max() > 1e-3


def test_from_outside_the_frame_stops_at_the_edge_of_the_zone(body):
    q, zone = bent(body), (0.02, 0.1)
    start = body.forward_kinematics(q, frame=HANDS[0])
    goal = start @ zveno.transforms.transform(zveno.rotations.exp(np.array([0.0, 0.4, 0.0])), [0.0, 0.1, 0.05])
    solver = ik.DifferentialIK(
        body, [ik.FrameTask(HANDS[0], dead_zone=zone), ik.PostureTask(1e-4)], DT, velocity=False
    )
    home = q
    for _ in range(60):
        q = solver(q, {HANDS[0]: goal, "posture": home}).q
    E = np.linalg.inv(body.forward_kinematics(q, frame=HANDS[0])) @ goal
    assert np.linalg.norm(E[:3, 3]) == pytest.approx(zone[0], abs=2e-3)
    assert np.arccos((np.trace(E[:3, :3]) - 1) / 2) == pytest.approx(zone[1], abs=2e-3)


def test_a_dead_zone_of_configurations(body):
    """The point is out of reach by less than the zone: solved, and by more: undecided."""
    goal = body.random((), 4)
    feet = targets_at(body, goal, FEET)
    for beyond, status in ((0.01, "solved"), (0.5, "undecided")):
        moved = dict(feet)
        apart = feet[FEET[1]][:3, 3] - feet[FEET[0]][:3, 3]
        moved[FEET[1]] = zveno.transforms.transform(
            feet[FEET[1]][:3, :3], feet[FEET[0]][:3, 3] + apart / np.linalg.norm(apart) * (1.3 + beyond)
        )[:3, 3]
        tasks = [ik.FrameTask(FEET[0]), ik.FrameTask(FEET[1], kind="position", dead_zone=0.15)]
        answer = ik.whole_body(body, moved, tasks=tasks)
        assert answer.status == status
        for q in answer.q:
            place = body.forward_kinematics(q, frame=FEET[1])[:3, 3]
            assert np.linalg.norm(place - moved[FEET[1]]) <= 0.15 + 1e-9


# --- bad tasks


def test_bad_tasks_are_refused_with_one_clear_error(body):
    @dataclass
    class Unhashable(ik.Task):
        name: str = "x"
        n_rows: int = 1

        def error(self, state, target):
            return target

        def jacobian(self, state, target):
            return state.center_of_mass_jacobian[:1]

    class Countless(Unhashable):
        n_rows = None
        __hash__ = object.__hash__

    hand = ik.FrameTask(HANDS[0])
    cases = [
        (lambda: ik.DifferentialIK(body, [Unhashable()], DT), "hash"),
        (lambda: ik.DifferentialIK(body, [Countless(n_rows=None)], DT), "n_rows"),
        (lambda: ik.DifferentialIK(body, [ik.FrameTask(HANDS[0], dead_zone=-1.0)], DT), "dead zone"),
        (lambda: ik.DifferentialIK(body, [ik.FrameTask(HANDS[0], dead_zone=(1.0, 2.0, 3.0))], DT), "dead zone"),
        (lambda: ik.whole_body(body, {"tail": np.eye(4)}, tasks=[hand]), "tail"),
        (lambda: ik.whole_body(body, {}, tasks=[hand]), "missing"),
        (lambda: ik.whole_body(body, {"distance": [1, 2]}, tasks=[DistanceTask(*FEET)]), "numbers"),
    ]
    for call, says in cases:
        with pytest.raises(zveno.ZvenoError, match=says):
            call()
    with pytest.raises(TypeError):
        ik.Task()
