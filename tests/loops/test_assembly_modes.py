"""Assembly modes: all of them where a bound says so, poses of bodies counted once."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from closed_machines import four_bar as plane_four_bar
from closed_machines import palletiser, random_ankle, random_plane_machine
from closed_models import at, body, carried, four_bar

import zveno
from tiers import few
from zveno import Frame, Joint, Link, Loop, ZvenoError, joints
from zveno.loops import _modes, assembly_modes, close
from zveno.loops._close import Follower
from zveno.loops.selection import selection
from zveno.mechanism.edit import rebuilt

CASES = Path(__file__).parents[3] / "shared" / "cases" / "loops"


@pytest.mark.parametrize("crank", [-2.0, -0.4, 0.9, 2.5])
def test_four_bar(crank):
    """Both intersections of the coupler's and the rocker's circles, in closed form."""
    a, b, c, d = 0.3, 0.5, 0.4, 0.5
    modes = assembly_modes(zveno.Robot(four_bar("point")), [crank])
    assert (modes.status, modes.bound, len(modes)) == ("complete", 2, 2)
    end = np.array([a * np.cos(crank), a * np.sin(crank)])
    base = np.array([d, 0.0])
    far = np.linalg.norm(base - end)
    u = (base - end) / far
    along = (far**2 + b**2 - c**2) / (2 * far)
    height = np.sqrt(b**2 - along**2)
    expected = [end + along * u + sign * height * np.array([-u[1], u[0]]) for sign in (1, -1)]
    tops = [base + c * np.array([np.cos(q[2]), np.sin(q[2])]) for q in modes.q]
    assert min(np.abs(np.array(tops) - expected).max(), np.abs(np.array(tops[::-1]) - expected).max()) < 1e-12


def test_the_state_of_continuation_is_among_them():
    robot = zveno.Robot(carried(four_bar("point")))
    target = {"crank": 0.5, "yaw": 0.3}
    state, modes = close(robot, target).q, assembly_modes(robot, target)
    moves = [robot.mechanism.difference(state, q) for q in modes.q]
    assert min(abs((move + np.pi) % (2 * np.pi) - np.pi).max() for move in moves) < 1e-9
    assert modes.status == "complete"


def test_a_loop_cut_elsewhere():
    """The same four-bar, cut at the crank's foot instead of the coupler's end, has the same states."""
    links = [Link(name, body()) for name in ("ground", "rocker", "coupler", "crank")]
    chain = [
        Joint("rocker", "ground", "rocker", joints.Revolute(), at(0.5)),
        Joint("top", "rocker", "coupler", joints.Revolute(), at(0.4)),
        Joint("elbow", "coupler", "crank", joints.Revolute(), at(-0.5)),
    ]
    frames = [Frame("foot", "crank", at(-0.3)), Frame("pivot", "ground")]
    loops = [Loop("foot", "pivot", "hinge")]
    other = zveno.assemble("cut", links, chain, frames, loops=loops, motors=("rocker",), reference={"rocker": 1.8})
    first = assembly_modes(zveno.Robot(four_bar(motors=("rocker",))), [1.9])
    second = assembly_modes(zveno.Robot(other), [1.9])
    assert (first.status, second.status) == ("complete", "complete")
    angles = first.q[:, 0], second.q.sum(axis=1)
    pairs = [np.sort_complex(np.exp(1j * angle)) for angle in angles]
    assert np.allclose(*pairs, atol=1e-12)


def test_a_slide():
    """A slider-crank: the rod reaches the guide on both sides."""
    links = [Link(name, body()) for name in ("ground", "crank", "rod", "slider")]
    chain = [
        Joint("crank", "ground", "crank", joints.Revolute()),
        Joint("rod", "crank", "rod", joints.Revolute(), at(0.2)),
        Joint("slider", "ground", "slider", joints.Prismatic((1.0, 0.0, 0.0)), at(0.6)),
    ]
    frames = [Frame("end", "rod", at(0.6))]
    mechanism = zveno.assemble("slider", links, chain, frames, loops=[Loop("end", "slider", ("x", "y"))])
    modes = assembly_modes(zveno.Robot(replace(mechanism, motors=("crank",))), [0.7])
    assert (modes.status, len(modes)) == ("complete", 2)
    y = 0.2 * np.sin(0.7)
    expected = 0.2 * np.cos(0.7) + np.array([-1, 1]) * np.sqrt(0.36 - y**2) - 0.6
    assert np.allclose(np.sort(modes.q[:, 2]), expected, atol=1e-12)


def test_a_meeting_of_modes_is_undecided():
    """The coupler folds back along the rocker, b = c − |base − end|: the two modes are one."""
    mechanism = four_bar(a=0.3, b=0.3, c=0.5, d=0.5)
    modes = assembly_modes(zveno.Robot(mechanism), [1e-5])
    assert modes.status == "undecided"
    assert "meet" in modes.reason


def test_faults(tmp_path):
    robot = zveno.Robot(four_bar())
    with pytest.raises(ZvenoError, match="one set"):
        assembly_modes(robot, [[0.1], [0.2]])
    modes = assembly_modes(robot, [0.9])
    assert zveno.load_result(modes.save(tmp_path / "modes.json")).status == modes.status == "complete"


@pytest.mark.laws
@pytest.mark.parametrize(
    ("name", "count", "status"),
    [("four_bar", 2, "complete"), ("five_bar", 2, "complete"), ("slider_crank", 2, "complete"),
     ("palletiser", 8, "complete"), ("ankle", 4, "complete"), ("three_rpr", 2, "complete"),
     ("delta", 16, "sampled")],
)  # fmt: skip
def test_known_modes_of_the_cases(name, count, status):
    if not CASES.exists():
        pytest.skip("models of loops are not there")
    path = CASES / f"{name}.xml"
    robot = zveno.load(path if path.exists() else CASES / name / "robot.yaml")
    known = json.loads((CASES / "answers.json").read_text())[name].get("modes", count)
    modes = assembly_modes(robot, {})
    assert known == count
    assert (len(modes), modes.status) == (count, status)


def test_a_palletiser_has_eight():
    """Three loops with two modes each; a loop closed by hinges is the same as one closed by points."""
    robot = palletiser()
    modes = assembly_modes(robot, {"shoulder": 1.1})
    assert (len(modes), modes.status, modes.bound) == (8, "complete", 8)
    hinged = [replace(loop, locked="hinge") for loop in robot.mechanism.loops]
    frames = [replace(f, T_link_frame=f.T_link_frame @ at(rpy=(np.pi / 2, 0, 0))) for f in robot.mechanism.frames]
    again = assembly_modes(zveno.Robot(rebuilt(robot.mechanism, loops=hinged, frames=frames)), {"shoulder": 1.1})
    assert again.status == "complete"
    assert np.allclose(again.q, modes.q, atol=1e-9)


def test_out_of_reach_is_complete_too():
    """A crank longer than the others reach: no state, and it is known that there is none."""
    robot = zveno.Robot(four_bar(a=0.5, b=0.3, c=0.3, d=0.5))
    assert len(assembly_modes(robot, [0.7])) == 2
    modes = assembly_modes(robot, [2.5])
    assert (len(modes), modes.status) == (0, "complete")


def check_against_samples(robot):
    """Every state closes, the reference is among them, and random starts find no other."""
    mechanism = robot.mechanism
    modes = assembly_modes(robot, {})
    assert modes.status == "complete"
    chosen = selection(mechanism)
    follower = Follower(robot, chosen)
    assert abs(follower.kernel(modes.q)[0]).max() < 1e-9
    starts = _modes.random_starts(mechanism, chosen.dependent, chosen.q, 300, np.random.default_rng(1))
    q = _modes._newton(follower, starts)
    q = q[(abs(follower.kernel(q)[0]) < 1e-9).all(axis=1)] if len(q) else q
    together, _ = _modes.distinct(robot, np.concatenate([modes.q, chosen.q[None], q]))
    assert len(together) == len(modes) <= modes.bound
    return modes, q


@pytest.mark.laws
@pytest.mark.parametrize("locked", ["point", "hinge", ("x", "y")])
@pytest.mark.parametrize("seed", range(8))
def test_random_dyads(seed, locked):
    modes, q = check_against_samples(random_plane_machine(seed, locked))
    # Joints in a plane have one set of coordinates a state: none may pass for another one.
    off = abs(np.angle(np.exp(1j * (q[:, None] - modes.q)))).max(axis=-1)
    assert off.min(axis=1).max(initial=0.0) < 1e-6


def test_a_dyad_that_hangs_on_a_crank_without_mass():
    """The elbow is up or down: two states, though only the coupler has a mass and it ends at the same point."""
    for cut in ("coupler", "crank"):
        mechanism = plane_four_bar(cut=cut).mechanism
        light = [Link(link.name) if link.name == "rocker" else link for link in mechanism.links]
        modes = assembly_modes(zveno.Robot(rebuilt(mechanism, links=light)), {})
        assert (len(modes), modes.status) == (2, "complete")


@pytest.mark.laws
@pytest.mark.parametrize("seed", range(16))
def test_random_ankles(seed):
    check_against_samples(random_ankle(seed))


def ring(seed, n, locked):
    """Hinges in any directions from one to the next, closed by construction; the first is the motor."""
    rng = np.random.default_rng(seed)
    names = ["ground", *(f"link{k}" for k in range(n))]
    hinges = [Joint(f"q{k}", *names[k : k + 2], joints.Revolute(), anywhere(rng, 0.5)) for k in range(n)]
    links = [Link(name) for name in names]
    tree = zveno.Robot(zveno.assemble("ring", links, hinges))
    q, end = rng.uniform(-2, 2, n), anywhere(rng, 0.2)
    place = tree.forward_kinematics(q, frame=names[-1]) @ end
    frames, loop = [Frame("end", names[-1], end), Frame("place", "ground", place)], Loop("end", "place", locked)
    return zveno.Robot(zveno.assemble("ring", links, hinges, frames, loops=[loop], motors=("q0",), reference=q))


def anywhere(rng, size):
    return zveno.transforms.transform(zveno.rotations.exp(rng.normal(size=3)), rng.uniform(-size, size, 3))


@pytest.mark.parametrize(
    ("n", "locked", "seed"),
    few([(7, "weld", 2), (4, "point", 0), *((7, "weld", k) for k in range(12) if k != 2)], 2),
)
def test_one_loop_is_an_arm(n, locked, seed):
    """Seven hinges about a weld and four about a ball, one of them driven."""
    check_against_samples(ring(seed, n, locked))
