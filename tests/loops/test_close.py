"""Closure by continuation: closed states on the branch of the start, with truthful statuses."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from closed_models import at, body, carried, four_bar

import zveno
from zveno import Frame, Joint, Link, Loop, ZvenoError, joints
from zveno.algorithms.loop_rows import loop_rows
from zveno.loops import close, mobility

A, D, REACH = 0.25, 0.3, 0.35


def five_bar() -> zveno.Mechanism:
    """Two motors at ±D/2 with links A and REACH; both elbows outward."""
    links = [Link(name, body()) for name in ("ground", "left", "left_rod", "right", "right_rod")]
    chain = [
        Joint("left", "ground", "left", joints.Revolute(), at(-D / 2)),
        Joint("left_rod", "left", "left_rod", joints.Revolute(), at(A)),
        Joint("right", "ground", "right", joints.Revolute(), at(D / 2)),
        Joint("right_rod", "right", "right_rod", joints.Revolute(), at(A)),
    ]
    frames = [Frame("left_end", "left_rod", at(REACH)), Frame("right_end", "right_rod", at(REACH))]
    loops = [Loop("left_end", "right_end", ("x", "y"))]
    reference = {"left": 2.2, "left_rod": -1.2, "right": 0.9, "right_rod": 1.2}
    return zveno.assemble(
        "five_bar", links, chain, frames, loops=loops, motors=("left", "right"), reference=reference
    )


def elbows(left, right):
    """Ends of the cranks."""
    return [
        np.stack([x + A * np.cos(angle), A * np.sin(angle)], axis=-1)
        for x, angle in ((-D / 2, left), (D / 2, right))
    ]


def side(q):
    """Side of the line between the cranks' ends that the tip is on."""
    P, Q = elbows(q[..., 0], q[..., 2])
    tip = P + REACH * np.stack([np.cos(q[..., 0] + q[..., 1]), np.sin(q[..., 0] + q[..., 1])], axis=-1)
    d, e = Q - P, tip - P
    return np.sign(d[..., 0] * e[..., 1] - d[..., 1] * e[..., 0])


def assert_five_bar(count):
    robot = zveno.Robot(five_bar())
    start = close(robot, {}).q
    rng = np.random.default_rng(7)
    targets = start[[0, 2]] + rng.uniform(-1.5, 1.5, size=(count, 2))
    result = close(robot, targets)
    assert result.residual[result.closed].max() < 1e-14
    assert np.allclose(result.q[result.closed][:, [0, 2]], targets[result.closed], atol=1e-15)
    assert (side(result.q[result.closed]) == side(start)).all(), "no item changes its branch"
    # Along the straight way the cranks' ends must stay closer than both rods are long, and must not meet.
    t = np.linspace(0, 1, 4001)[:, None, None]
    ways = start[[0, 2]] + t * (targets - start[[0, 2]])
    P, Q = elbows(ways[..., 0], ways[..., 1])
    longest = np.linalg.norm(Q - P, axis=-1).max(axis=0)
    possible = longest < 2 * REACH
    assert not result.closed[~possible].any(), "nothing arrives through a gap that is too wide"
    unclear = abs(longest - 2 * REACH) < 1e-4
    assert result.closed[possible & ~unclear].all()
    assert set(result.status[~result.closed]) <= {"singular", "undecided"}
    assert 0.3 < result.closed.mean() < 0.99


def test_five_bar():
    assert_five_bar(300)


@pytest.mark.laws
def test_five_bar_keeps_its_branch_in_thousands_of_moves():
    assert_five_bar(5000)


def test_four_bar_by_its_closed_form():
    a, b, c, d = 0.3, 0.5, 0.4, 0.5
    robot = zveno.Robot(four_bar())
    crank = np.linspace(-3, 4, 200)
    result = close(robot, {"crank": crank})
    assert result.status.tolist() == ["closed"] * 200
    end = np.stack([a * np.cos(crank), a * np.sin(crank)], axis=-1)
    top = np.array([d, 0.0]) + c * np.stack([np.cos(result.q[:, 2]), np.sin(result.q[:, 2])], axis=-1)
    assert np.allclose(np.linalg.norm(top - end, axis=1), b, atol=1e-14)
    e, f = top - end, np.array([d, 0.0]) - end
    assert len(set(np.sign(e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]))) == 1, "one mode for all angles of the crank"


def test_any_shape():
    robot = zveno.Robot(carried(four_bar("point")))
    one = close(robot, {"crank": 1.3})
    assert (one.status, one.q.shape) == ("closed", (5,))
    many = close(robot, np.full((2, 3, 3), 0.2))
    assert many.q.shape == (2, 3, 5)
    assert many.status.shape == (2, 3)
    assert np.allclose(close(robot, {"yaw": 0.4}).q[0], 0.4)
    assert np.array_equal(close(robot, {}).q, close(robot, {}).q0)


def test_all_ways_lead_to_the_same_state():
    """On one branch, the closed state depends on the motors, not on the way there."""
    robot = zveno.Robot(five_bar())
    way = [(2.0, 1.0), (1.8, 0.7), (2.4, 1.2)]
    q = None
    for target in way:
        q = close(robot, target, q0=q).q
    assert np.allclose(q, close(robot, way[-1]).q, atol=1e-13)


def test_loop_of_balls():
    """Two levers about different axes and a rod with balls between them; the rod's spin is idle."""
    links = [Link(name, body()) for name in ("ground", "lever", "rod", "rocker")]
    chain = [
        Joint("lever", "ground", "lever", joints.Revolute()),
        Joint("rod", "lever", "rod", joints.Spherical(), at(0.2)),
        Joint("rocker", "ground", "rocker", joints.Revolute((0.0, 1.0, 0.0)), at(0.5, 0.3, 0.1)),
    ]
    frames = [Frame("end", "rod", at(0.6)), Frame("mate", "rocker", at(0.25))]
    mechanism = zveno.assemble("rssr", links, chain, frames, loops=[Loop("end", "mate")], motors=("lever",))
    robot = zveno.Robot(mechanism)
    assert len(mobility(robot).idle) == 1
    result = close(robot, close(robot, {}).q[:1] + np.linspace(-0.3, 0.3, 7)[:, None])
    assert result.closed.all()
    for q in result.q:
        assert abs(loop_rows(mechanism, q, np.zeros(mechanism.n_v)).value).max() < 1e-14


@pytest.mark.parametrize("tilt", [0.0, 1e-6, 1e-4])
def test_rounded_axes(tilt):
    """Rows that follow from others only up to rounding do not disturb the others."""
    result = close(zveno.Robot(four_bar("hinge", tilt=tilt)), {"crank": np.linspace(-2, 3, 20)})
    assert result.closed.all()
    assert result.residual.max() < 1e-14


def test_bennett():
    """The rows that are independent at the start are not so on the whole turn of a Bennett linkage."""
    folder = Path(__file__).parents[3] / "shared" / "cases" / "loops" / "bennett"
    if not folder.exists():
        pytest.skip("models of loops are not there")
    robot = zveno.load(folder / "robot.yaml")
    turn = mobility(robot).q[:1] + np.linspace(-3.1, 3.1, 41)[:, None]
    result = close(robot, turn)
    assert result.closed.all()
    assert result.residual.max() < 1e-14


def test_a_singular_start_is_refused():
    flat = replace(four_bar(a=0.3, b=0.5, c=0.3, d=0.5), reference=np.zeros(3))
    with pytest.raises(ZvenoError, match="branches meet"):
        close(zveno.Robot(flat), [0.1])


def test_wrong_input():
    robot = zveno.Robot(five_bar())
    with pytest.raises(ZvenoError, match="rod"):
        close(robot, {"left_rod": 0.1})
    with pytest.raises(ZvenoError, match="2 numbers"):
        close(robot, [0.1])
    with pytest.raises(ZvenoError, match="finite"):
        close(robot, [0.1, np.nan])
    with pytest.raises(ZvenoError, match="no closed loops"):
        close(zveno.load("ur5"), [0.1])


def test_limits_are_told():
    mechanism = five_bar()
    limited = replace(mechanism.joints[1], limits=zveno.Limits(-1.25, -1.0))
    robot = zveno.Robot(replace(mechanism, joints=(mechanism.joints[0], limited, *mechanism.joints[2:])))
    result = close(robot, [(2.2, 0.9), (1.6, 1.5)])
    assert result.closed.all()
    assert not result.within_limits[1]
    assert zveno.loops.mobility is mobility
