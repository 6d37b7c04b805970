"""Laws of closed loops: where a loop is cut, and loops that close nothing, change no answer."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import zveno
from mechanisms import random_inertia
from tiers import few
from zveno import Frame, Joint, Link, Loop, simulation
from zveno.loops import ClosedRobot, assembly_modes, close, mobility
from zveno.mechanism import Revolute
from zveno.mechanism.edit import rebuilt
from zveno.spatial.rotations import exp
from zveno.spatial.transforms import inverse, transform

SAME = 1e-9


class Ring:
    """Bodies in a ring, joined by hinges, closed at the reference by construction; body 0 is the ground.

    A hinge has the same coordinate whichever of its bodies carries the other.
    """

    def __init__(self, n: int, plane: bool, seed: int) -> None:
        rng = np.random.default_rng(seed)
        tilt = transform(exp(rng.normal(size=3)), rng.normal(size=3))
        self.n, self.plane = n, plane
        poses = [np.eye(4)] + [transform(exp(rng.normal(size=3)), rng.normal(size=3)) for _ in range(n - 1)]
        self.q = rng.uniform(-1.0, 1.0, size=n)
        self.ends = []
        for k in range(n):
            if plane:
                hinge = tilt @ transform(exp([0.0, 0.0, rng.uniform(-3, 3)]), [*rng.uniform(-1, 1, size=2), 0.0])
            else:
                hinge = transform(exp(rng.normal(size=3)), rng.normal(size=3))
            turned = hinge @ transform(exp([0.0, 0.0, self.q[k]]))
            self.ends.append((inverse(poses[k]) @ hinge, inverse(poses[(k + 1) % n]) @ turned))
        self.links = [Link("b0"), *(Link(f"b{k}", random_inertia(rng)) for k in range(1, n))]
        self.tool = transform(exp(rng.normal(size=3)), rng.normal(size=3))

    def cut(self, at: int, locked: str = "hinge", frames=(), links=(), joints=(), loops=()) -> zveno.Robot:
        """The ring as a mechanism whose loop is cut at a hinge."""
        n = self.n
        tree = []
        for k in range(at):
            tree.append(Joint(f"h{k}", f"b{k}", f"b{k + 1}", Revolute(), self.ends[k][0], inverse(self.ends[k][1])))
        for k in range(n - 1, at, -1):
            below, above = self.ends[k]
            axis = Revolute((0.0, 0.0, -1.0))
            tree.append(Joint(f"h{k}", f"b{(k + 1) % n}", f"b{k}", axis, above, inverse(below)))
        two = [Frame("one", f"b{at}", self.ends[at][0]), Frame("other", f"b{(at + 1) % n}", self.ends[at][1])]
        motors = ["h0", "h1"][: n - 3] if self.plane else ["h0"]
        mechanism = zveno.assemble(
            "ring", [*self.links, *links], [*tree, *joints], [Frame("tool", "b2", self.tool), *two, *frames],
            loops=[Loop("one", "other", locked), *loops], motors=motors,
            reference={f"h{k}": self.q[k] for k in range(n) if k != at},
        )  # fmt: skip
        return zveno.Robot(mechanism)

    def poses(self, robot: zveno.Robot, q: np.ndarray) -> np.ndarray:
        """Poses (..., n, 4, 4) of the bodies in order."""
        numbers = [robot.mechanism.link_number(f"b{k}") for k in range(self.n)]
        return robot.link_poses(q)[..., numbers, :, :]


RINGS = [(4, True), (5, True), (7, False)]
CASES = [(n, plane, seed) for seed in range(4) for n, plane in RINGS]


def matched(first: np.ndarray, second: np.ndarray) -> float:
    """Largest distance of a set of poses from its nearest in the other set."""
    assert first.shape == second.shape
    off = abs(first[:, None] - second[None]).reshape(len(first), len(second), -1).max(axis=-1)
    return float(max(off.min(axis=0).max(initial=0.0), off.min(axis=1).max(initial=0.0)))


def check_base_parameters(robots, states, plane: bool) -> None:
    """They are as many; a short branch of a spatial ring may leave the number to rounding, and then says so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zveno.ZvenoWarning)
        bases = [robot.base_parameters(q0=q) for robot, q in zip(robots, states, strict=True)]
    clear = all(base.status != "near-degenerate" for base in bases)
    assert clear or not plane
    assert bases[0].rank == bases[1].rank or not clear


@pytest.mark.parametrize(("n", "plane", "seed"), few(CASES, 1))
def test_a_loop_cut_elsewhere_is_the_same_robot(n, plane, seed):
    ring = Ring(n, plane, seed)
    cuts = [ring.cut(at) for at in (n - 1, 2)]
    rng = np.random.default_rng(seed)
    closed = [ClosedRobot(robot) for robot in cuts]
    assert mobility(cuts[0]).mobility == mobility(cuts[1]).mobility == closed[0].n_v
    # Closure: the same motors, the same bodies.
    way = closed[0].random(3, rng)
    motors = way[:, [cuts[0].mechanism.q_slices[name].start for name in closed[0].velocity_names]]
    q = [np.array([close(robot, one).q for one in motors]) for robot in cuts]
    assert abs(ring.poses(cuts[0], q[0]) - ring.poses(cuts[1], q[1])).max() < SAME
    # Dynamics.
    v, a = rng.normal(size=(2, 3, closed[0].n_v))
    for name, arrays in (("mass_matrix", ()), ("gravity_torque", ()), ("bias", (v,)), ("inverse_dynamics", (v, a)),
                         ("forward_dynamics", (v, a)), ("energy", (v,)), ("momentum", (v,))):  # fmt: skip
        one, two = (np.asarray(getattr(robot, name)(x, *arrays)) for robot, x in zip(closed, q, strict=True))
        assert np.allclose(one, two, rtol=1e-7, atol=1e-8 * max(1.0, abs(one).max())), name
    check_base_parameters(cuts, [x[0] for x in q], plane)


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(6))
def test_solutions_do_not_depend_on_the_cut(seed):
    for n in (4, 5):
        ring = Ring(n, True, seed)
        cuts = [ring.cut(at) for at in (n - 1, 2)]
        T = cuts[0].forward_kinematics(cuts[0].mechanism.reference, "tool")
        answers = [robot.ik(T, "tool", limits=False) for robot in cuts]
        assert answers[0].status == answers[1].status == "complete"
        assert matched(*(ring.poses(robot, found.q) for robot, found in zip(cuts, answers, strict=True))) < 1e-7
        modes = [assembly_modes(robot, {}) for robot in cuts]
        assert modes[0].status == modes[1].status == "complete"
        assert matched(*(ring.poses(robot, mode.q) for robot, mode in zip(cuts, modes, strict=True))) < 1e-7


@pytest.mark.parametrize(("n", "plane", "seed"), few(CASES, 1))
def test_a_loop_of_no_effect_changes_nothing(n, plane, seed):
    """Two bodies that a fixed joint joins already, welded once more."""
    ring = Ring(n, plane, seed)
    place = transform(exp([0.3, -0.2, 0.5]), [0.1, 0.2, 0.3])
    more = {
        "links": [Link("plate")],
        "joints": [Joint("plate", "b2", "plate", zveno.joints.Fixed(), place)],
        "frames": [Frame("here", "b2", place), Frame("there", "plate")],
    }
    plain, twice = (ring.cut(n - 1, **more, loops=loops) for loops in ([], [Loop("here", "there", "weld")]))
    assert mobility(plain).mobility == mobility(twice).mobility
    assert len(mobility(twice).constant_rows) >= 6
    closed = [ClosedRobot(robot) for robot in (plain, twice)]
    rng = np.random.default_rng(seed)
    q, v, a = closed[0].q, rng.normal(size=closed[0].n_v), rng.normal(size=closed[0].n_v)
    assert np.allclose(closed[1].q, q, atol=SAME)
    for name, arrays in (("mass_matrix", ()), ("inverse_dynamics", (v, a)), ("forward_dynamics", (v, a))):
        one, two = (getattr(robot, name)(robot.q, *arrays) for robot in closed)
        assert np.allclose(one, two, rtol=1e-8, atol=1e-9 * max(1.0, abs(one).max())), name
    whole = closed[0].velocities(q, v)
    motion = [simulation.constrained_dynamics(robot, q, whole, np.zeros(robot.n_v), []) for robot in (plain, twice)]
    assert np.allclose(motion[0].a, motion[1].a, rtol=1e-7, atol=1e-8 * abs(motion[0].a).max())
    check_base_parameters([plain, twice], [q, q], plane)
    if plane:
        T = plain.forward_kinematics(q, "tool")
        answers = [robot.ik(T, "tool", limits=False) for robot in (plain, twice)]
        assert answers[0].status == answers[1].status
        assert matched(*(ring.poses(plain, found.q) for found in answers)) < 1e-7


@pytest.mark.parametrize(("n", "plane", "seed"), few(CASES, 3))
def test_projection_is_kkt_and_reactions_do_no_work(n, plane, seed):
    """Accelerations of the motors' coordinates, and the reactions' power along every motion of the loop."""
    robot = Ring(n, plane, seed).cut(n - 1)
    closed, rng = ClosedRobot(robot), np.random.default_rng(seed)
    q, v = closed.q, rng.normal(size=closed.n_v)
    tau = rng.normal(size=len(closed.torque_names))
    whole, torques = closed.velocities(q, v), np.zeros(robot.n_v)
    torques[list(closed.division.torques)] = tau
    motion = simulation.constrained_dynamics(robot, q, whole, torques, [])
    a = closed.forward_dynamics(q, v, tau)
    assert np.allclose(closed.independent(motion.a), a, rtol=1e-7, atol=1e-8 * max(1.0, abs(a).max()))
    force = robot.opened().inverse_dynamics(q, whole, motion.a) - torques  # of the reactions, on all joints
    for u in np.eye(closed.n_v):
        along = closed.velocities(q, u)
        assert abs(force @ along) < 1e-8 * max(1.0, np.linalg.norm(force) * np.linalg.norm(along))


@pytest.mark.parametrize("at", [3, 2])
def test_a_loop_that_cannot_close_is_refused_wherever_it_is_cut(at):
    """A hinge of a plane ring is moved out of the plane: the direction and its size are named."""
    ring = Ring(4, True, 1)
    robot = ring.cut(at, "point")
    across = transform(None, [0.0, 0.0, 0.02])
    frames = [
        Frame(f.name, f.link, f.T_link_frame @ across) if f.name == "other" else f for f in robot.mechanism.frames
    ]
    broken = zveno.Robot(rebuilt(robot.mechanism, frames=frames))
    found = mobility(broken)
    assert found.status == "cannot close"
    assert "0.02 m" in found.reason
    assert "loop one–other" in found.reason
    T = np.eye(4)
    calls = [
        ClosedRobot,
        lambda robot: close(robot, [0.1]),
        lambda robot: assembly_modes(robot, [0.1]),
        lambda robot: robot.ik(T, "tool"),
        lambda robot: zveno.ik.DifferentialIK(robot, [zveno.ik.FrameTask("tool")], 0.1),
        lambda robot: zveno.ik.whole_body(robot, {"tool": T}),
    ]
    for call in calls:
        with pytest.raises(zveno.ZvenoError, match=r"loop one–other.*0\.02 m"):
            call(broken)
