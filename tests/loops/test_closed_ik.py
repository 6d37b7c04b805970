"""Inverse kinematics of mechanisms with closed loops: every solution closes them, and none is missing."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from closed_machines import ankle, at, five_bar, four_bar, palletiser, random_ankle, random_plane_machine, rod
from scipy.optimize import least_squares

import zveno
from zveno import Frame, Joint, Link, Loop, ZvenoError, ik
from zveno.loops import ClosedRobot, assembly_modes
from zveno.mechanism.edit import rebuilt
from zveno.spatial.rotations import log

CASES = Path(__file__).parents[3] / "shared" / "cases" / "loops"
MACHINES = {
    "palletiser": (palletiser, "flange", "pose"),
    "ankle": (ankle, "tool", "pose"),
    "ankle, point": (ankle, "tool", "position"),
    "ankle on balls": (partial(ankle, ball=True), "tool", "position+axis"),
    "five-bar": (five_bar, "tool", "position"),
    "four-bar": (four_bar, "coupler", "pose"),
}


def values(mechanism: zveno.Mechanism, q: np.ndarray) -> np.ndarray:
    """What is left of loops closed by points, from forward kinematics of the tree."""
    place = partial(zveno.Robot(mechanism).opened().forward_kinematics, q)
    return np.concatenate(
        [(place(loop.frame) - place(loop.other))[..., :3, 3] for loop in mechanism.loops], axis=-1
    )


def missed(robot: zveno.Robot, q: np.ndarray, T: np.ndarray, frame: str, task: str) -> np.ndarray:
    F = robot.forward_kinematics(q, frame)
    parts = [F[:3, 3] - T[:3, 3]] if task != "rotation" else []
    if task == "position+axis":
        parts.append(F[:3, 2] - T[:3, 2])
    elif task != "position":
        parts.append(log(T[:3, :3].T @ F[:3, :3]))
    return np.concatenate(parts)


def leg() -> zveno.Robot:
    """Six hinges, the hip's axes through one point; cranks and rods on the shin drive the two of the ankle."""
    hinge = zveno.joints.Revolute
    x, y, z = np.eye(3)
    parts = [("yaw", z, at()), ("roll", x, at()), ("pitch", y, at()), ("knee", y, at(z=-0.4))]
    parts += [("ankle", y, at(z=-0.38)), ("foot", x, at())]
    links, joints, above = [Link("pelvis")], [], "pelvis"
    for name, axis, T in parts:
        links.append(Link(name, rod(2.0, 0.3)))
        joints.append(Joint(name, above, name, hinge(axis), T, limits=zveno.Limits(-2.5, 2.5)))
        above = name
    frames, loops = [Frame("sole", "foot", at(0.05, 0.0, -0.08))], []
    for k, y in enumerate((0.06, -0.06)):
        links += [Link(f"crank{k}", rod(0.1, 0.05)), Link(f"rod{k}", rod(0.1, 0.3))]
        joints.append(Joint(f"motor{k}", "knee", f"crank{k}", hinge((0, 1, 0)), at(0.0, y, -0.08 - 0.06 * k)))
        joints.append(
            Joint(f"swing{k}", f"crank{k}", f"rod{k}", zveno.joints.Universal((0, 1, 0), (1, 0, 0)), at(-0.05))
        )
        frames += [
            Frame(f"end{k}", f"rod{k}", at(z=-0.3 + 0.06 * k)),
            Frame(f"pin{k}", "foot", at(-0.05, 0.9 * y, 0)),
        ]
        loops.append(Loop(f"end{k}", f"pin{k}"))
    motors = ("yaw", "roll", "pitch", "knee", "motor0", "motor1")
    mechanism = zveno.assemble("leg", links, joints, frames, loops=loops, motors=motors)
    q = assembly_modes(zveno.Robot(mechanism), {"knee": 0.6, "pitch": -0.3}).q[0]
    return zveno.Robot(replace(mechanism, reference=q))


def check(robot: zveno.Robot, q: np.ndarray, frame: str, task: str, statuses=("complete",)):
    """Every solution closes the loops and meets the pose; the configuration that gave the pose is among them."""
    T = robot.forward_kinematics(q, frame)
    found = robot.ik(T, frame, limits=False, task=task)
    assert found.status in statuses, found.summary
    assert abs(values(robot.mechanism, found.q)).max() < 1e-12
    assert max(abs(missed(robot, x, T, frame, task)).max() for x in found) < 1e-9
    same = robot.link_poses(found.q) - robot.link_poses(q)
    heavy = [i for i, link in enumerate(robot.mechanism.links) if not link.name.startswith("rod")]
    assert abs(same[:, heavy]).max(axis=(1, 2, 3)).min() < 1e-9
    return found


@pytest.mark.parametrize("name", MACHINES)
def test_closed_configurations_are_found_again(name):
    make, frame, task = MACHINES[name]
    robot = make()
    for q in ClosedRobot(robot).random(3, rng=1):
        check(robot, q, frame, task)


def oracle(robot: zveno.Robot, T: np.ndarray, frame: str, task: str, starts: int) -> np.ndarray:
    """Poses of links of solutions by Newton's method on all coordinates of the tree, from random starts."""
    mechanism, rng, tree = robot.mechanism, np.random.default_rng(0), robot.opened()

    def equations(x):
        return np.concatenate([values(mechanism, x), missed(tree, x, T, frame, task)])

    solutions = []
    for start in tree.random(starts, rng=rng):
        fit = least_squares(equations, start, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=60)
        if abs(fit.fun).max() < 1e-9:
            solutions.append(tree.link_poses(fit.x))
    return np.array(solutions)


@pytest.mark.parametrize(
    ("name", "starts"),
    [("five-bar", 20), ("ankle", 10), pytest.param("palletiser", 80, marks=pytest.mark.laws),
     pytest.param("ankle, point", 80, marks=pytest.mark.laws)],
)  # fmt: skip
def test_no_solution_is_missing(name, starts):
    make, frame, task = MACHINES[name]
    robot = make()
    q = ClosedRobot(robot).random(rng=2)
    found = check(robot, q, frame, task)
    others = oracle(robot, robot.forward_kinematics(q, frame), frame, task, starts)
    assert len(others) > 3
    bodies = [i for i, link in enumerate(robot.mechanism.links) if not link.name.startswith("rod")]
    known = robot.link_poses(found.q)[:, bodies]
    assert max(abs(known - other[bodies]).max(axis=(1, 2, 3)).min() for other in others) < 1e-5


def test_a_leg_has_the_solutions_of_its_chain_times_those_of_its_rods():
    robot = leg()
    q = ClosedRobot(robot).random(rng=3)
    T = robot.forward_kinematics(q, "sole")
    chain = robot.opened().ik(T, "sole", limits=False)
    found = check(robot, q, "sole", "pose")
    assert (len(chain), chain.status) == (8, "complete")
    assert len(found) >= 8
    # Each of them is a solution of the chain, and the rods' modes are those of `assembly_modes` with other motors.
    off = abs(np.angle(np.exp(1j * (found.q[:, None, :6] - chain.q[:, :6])))).max(axis=-1)
    assert off.min(axis=1).max() < 1e-9
    loose = zveno.Robot(rebuilt(robot.mechanism, motors=("yaw", "roll", "pitch", "knee", "ankle", "foot")))
    modes = [len(assembly_modes(loose, x[:6])) for x in chain.q]
    assert len(found) == sum(modes)


def test_limits_of_joints_beside_the_chain():
    robot = leg()
    q = ClosedRobot(robot).random(rng=3)
    T = robot.forward_kinematics(q, "sole")
    both = robot.ik(T, "sole")
    assert both.status == "complete"
    motor = robot.mechanism.q_slices["motor0"].start
    some = robot.ik(T, "sole", limits={"motor0": (q[motor] - 0.1, q[motor] + 0.1)})
    assert some.status == "complete"
    assert 0 < len(some) < len(both)
    assert (abs(some.q[:, motor] - q[motor]) < 0.1 + 1e-9).all()
    none = robot.ik(T, "sole", limits={"motor0": (q[motor] + 2.0, q[motor] + 2.001)})
    assert (none.status, len(none)) == ("excluded by limits", 0)
    assert np.flatnonzero(none.limit_excess).tolist() == [motor]
    assert "motor0" in none.summary


def test_out_of_reach():
    """The tool of a five-bar beyond its rods, and a foot whose rods do not reach though its own joint does."""
    far = five_bar().ik([0.0, 0.0, 2.0], "tool", task="position")
    assert (far.status, len(far)) == ("unreachable", 0)
    robot = ankle()
    tree = robot.opened()
    T = tree.forward_kinematics(tree.mechanism.pack({"foot": [-1.95, 0.0]}), "tool")
    found = robot.ik(T, "tool")
    assert (found.status, len(found)) == ("unreachable", 0)
    assert "nan" not in found.summary


def test_batches_and_operations_on_solutions():
    robot = leg()
    q = ClosedRobot(robot).random(3, rng=5)
    T = robot.forward_kinematics(q, "sole")
    found = robot.ik(T, "sole", limits=False)
    assert found.status.tolist() == ["complete"] * 3
    for k in range(3):
        one = robot.ik(T[k], "sole", limits=False)
        assert np.array_equal(one.q, found.of(k))
    turned = q + 2 * np.pi * (np.arange(robot.n_q) == robot.mechanism.q_slices["motor1"].start)
    near = found.nearest_to(turned)
    assert abs(near - turned).max() < 1e-8
    wide = {"motor0": (-7.0, 7.0)}
    assert len(robot.ik(T[0], "sole", limits=wide).windings()) > len(robot.ik(T[0], "sole", limits=wide))
    clear = found.where(lambda q: q[:, 0] > 0)
    assert set(clear.status) <= {"complete", "rejected"}


def test_derivatives_keep_the_loops_closed():
    robot = leg()
    q = ClosedRobot(robot).random(rng=5)
    found = robot.ik(robot.forward_kinematics(q, "sole"), "sole", limits=False)
    D, h = found.derivatives(), 1e-6
    for k, x in enumerate(found):
        for twist in np.eye(6):
            step = robot.opened().integrate(x, h * D[k] @ twist)
            assert abs(values(robot.mechanism, step)).max() < 1e-9
            moved = robot.forward_kinematics(step, "sole") - robot.forward_kinematics(x, "sole")
            assert np.allclose(moved[:3, 3] / h, twist[:3], atol=1e-4)


def test_local_solutions_and_refused_arguments():
    robot = palletiser()
    q = ClosedRobot(robot).random(rng=1)
    T = robot.forward_kinematics(q, "flange")
    near = ik.local(robot, T, q + 0.02, "flange", limits=False)
    assert near.status == "converged"
    assert abs(near.q - q).max() < 1e-9
    for given in (
        {"samples": 3},
        {"redundant_joint": "yaw"},
        {"tolerance": ik.Tolerance(0.1, 0.1)},
        {"method": "scan"},
    ):
        with pytest.raises(ZvenoError):
            robot.ik(T, "flange", **given)
    with pytest.raises(ZvenoError, match="prove does not know closed loops"):
        near.solutions.prove()


def test_more_freedoms_than_equations_are_sampled():
    robot = palletiser()
    q = ClosedRobot(robot).random(rng=1)
    T = robot.forward_kinematics(q, "flange")
    found = robot.ik(T[:3, 3], "flange", limits=False, task="position")
    assert found.status == "sampled"
    assert found.self_motions[0][0].dimension == 1
    assert abs(values(robot.mechanism, found.q)).max() < 1e-12
    assert np.abs(robot.forward_kinematics(found.q, "flange")[:, :3, 3] - T[:3, 3]).max() < 1e-9


def test_loops_beside_the_chain_stay_closed():
    """An arm on a base that also carries a four-bar: its answers are the tree's, with the four-bar closed."""
    arm = zveno.load("ur5").mechanism
    bars = four_bar().mechanism
    both = zveno.mechanism.edit.attach(arm, bars, arm.links[0].name, prefix="bars_")
    robot = zveno.Robot(both)
    T = zveno.load("ur5").forward_kinematics(np.array([0.3, -1.0, 1.2, 0.4, 0.7, 0.1]))
    found, alone = robot.ik(T, arm.frame().name), zveno.load("ur5").ik(T)
    assert (found.status, len(found)) == (alone.status, len(alone))
    assert abs(values(robot.mechanism, found.q)).max() < 1e-12
    assert np.allclose(np.sort(found.q[:, 0]), np.sort(alone.q[:, 0]))
    with pytest.raises(ZvenoError, match="does not close loop"):
        robot.ik(T, arm.frame().name, fixed=robot.neutral() + 0.3)


def test_a_loop_cut_elsewhere_has_the_same_solutions():
    """The end of the coupler, reached by the chain on either side."""
    T = np.eye(4)
    answers = []
    for cut in ("coupler", "crank"):
        robot = four_bar(cut=cut)
        x = 0.9 if cut == "coupler" else 0.0
        mechanism = robot.mechanism
        robot = zveno.Robot(rebuilt(mechanism, frames=[*mechanism.frames, Frame("pin", "coupler", at(x))]))
        T[:3, 3] = robot.forward_kinematics(mechanism.reference, "pin")[:3, 3]
        found = robot.ik(T, "pin", task="position")
        assert found.status == "complete"
        answers.append(robot.link_poses(found.q)[:, [mechanism.link_number(name) for name in ("crank", "rocker")]])
    assert answers[0].shape == answers[1].shape
    for pose in answers[0]:
        assert abs(answers[1] - pose).max(axis=(1, 2, 3)).min() < 1e-9


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(10))
def test_random_ankles(seed):
    robot = random_ankle(seed)
    check(robot, robot.mechanism.reference, "foot", "pose")


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(10))
def test_random_plane_machines(seed):
    robot = random_plane_machine(seed)
    check(robot, robot.mechanism.reference, "y1", "pose", ("complete", "sampled", "undecided"))


@pytest.mark.parametrize(("name", "count"), [("delta", 8), ("stewart", 64), ("ankle", 4)])
def test_platforms(name, count):
    if not CASES.exists():
        pytest.skip("models of loops are not there")
    robot = zveno.load(CASES / f"{name}.xml")
    q = ClosedRobot(robot).q
    found = robot.ik(robot.forward_kinematics(q, "tool"), "tool", limits=False)
    assert (found.status, len(found)) == ("complete", count)
    assert abs(values(robot.mechanism, found.q)).max() < 1e-12


def test_near_singular_roots_are_undecided():
    """The tool of a five-bar where one arm is straight: two solutions meet."""
    p = np.array([-0.15, 0.0, 0.0]) + (0.6 - 1e-13) * np.array([np.cos(1.2), 0.0, np.sin(1.2)])
    found = five_bar().ik(p, "tool", task="position")
    assert found.status == "undecided"
